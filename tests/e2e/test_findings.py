# SPDX-License-Identifier: Apache-2.0
"""What is worth changing: each rule has a program that it is about, and one where it says nothing. What it promises is
held against the program itself, with and without the remedy in turns."""

import json

import pytest
from harness import TARGETS

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "findings.py"
# By the type of collection: spinning and threads are seen by samples.
RULES = {
    "double-precision": "operators",
    "tiny-operators": "operators",
    "data-wait": "operators",
    "scalar-reads": "operators",
    "work-in-range": "operators",
    "layout": "operators",
    "spin": "hotspots",
    "oversubscription": "hotspots",
}
IN_SHORT = ["double-precision", "work-in-range"]
# Rules whose estimate is a number, and whose remedy saves half of the step.
NUMBERS = ["double-precision", "tiny-operators", "scalar-reads"]


def find(strata, python, rule, way, steps=20):
    result = strata.folder / f"{rule}-{way}"
    options = ["-knob", "collect-operators=true"] if RULES[rule] == "hotspots" else []
    done = strata("-collect", RULES[rule], *options, "-quiet", "-no-summary", "-r", result, "--",
                  python, PROGRAM, rule, way, str(steps))  # fmt: skip
    assert done.status == 0, done.err
    report = strata.report(result, "findings")
    return result, report, {row["rule"]: row for row in report["rows"]}


@pytest.mark.parametrize("rule", RULES)
def test_rule(strata, python, scale, rule):
    if scale != "full" and rule not in IN_SHORT:
        pytest.skip("at full scale")
    result, report, found = find(strata, python, rule, "bad")
    assert rule in found, report
    row = found[rule]
    assert 0 <= row["saving_low_ns"] <= row["saving_ns"] and row["saving_ns"] > 0
    assert row["remedy"] and row["command"].startswith("strata report ")
    # The command that shows the evidence works.
    words = row["command"].split()[2:]
    assert strata("report", words[0], "-r", result, *words[1:]).status == 0
    assert rule not in find(strata, python, rule, "good")[2]


@pytest.mark.parametrize("rule", NUMBERS)
def test_saving_is_what_the_remedy_saves(strata, python, scale, rule):
    if scale != "full":
        pytest.skip("at full scale")
    row = find(strata, python, rule, "bad", 60)[2][rule]
    done = strata.run([python, PROGRAM, rule, "both", "60"])
    took = json.loads(done.stdout)
    saved = took["bad"] - took["good"]
    assert saved > took["bad"] / 2
    assert row["saving_ns"] / 1e9 == pytest.approx(saved, rel=0.3)


def test_what_a_person_reads(strata, python):
    result, _, found = find(strata, python, "double-precision", "bad", 12)
    text = strata("report", "findings", "-r", result).out
    assert "1  double-precision  saves about" in text and "per step" in text
    assert max(len(line) for line in text.splitlines()) <= 120
    summary = strata("report", "summary", "-r", result).out
    assert "FIX" in summary and found["double-precision"]["what"].split(",")[0] in " ".join(summary.split())
