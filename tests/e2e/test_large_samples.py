# SPDX-License-Identifier: Apache-2.0
"""What answers about many samples cost, and that callers which are cut are counted and said."""

import json
import os
import subprocess

import pytest
from harness import cost

SAMPLES, STACKS = (1_000_000, 50_000) if os.environ.get("STRATA_TEST_SCALE") == "full" else (200_000, 10_000)
GROUPING = "task-domain,task-type,function,callstack"
CALLERS_MAX = 100_000


@pytest.fixture(scope="module")
def large(shared_strata, programs):
    result = shared_strata.folder / "large"
    result.mkdir()
    shared_strata.run([programs / "make_samples", result, str(SAMPLES), str(STACKS), "20"])
    return result


@pytest.mark.parametrize("words", [["summary"], ["hotspots", "-group-by", GROUPING]], ids=["summary", "callers"])
def test_cost(strata, large, tmp_path, words):
    cpu, memory = cost(strata, ["report", *words, "-r", large], tmp_path / "out.txt")
    print(f"{SAMPLES} samples: {cpu:.2f} s of CPU, {memory >> 20} MiB")
    # Some 4 s here; what grows with the square of the callers takes minutes.
    assert cpu < 30
    assert memory < 1 << 30


def walk(rows):
    stack = list(rows)
    while stack:
        row = stack.pop()
        yield row
        stack.extend(row.get("children", ()))


def test_nothing_is_lost(strata, large, tmp_path):
    """Every caller's time is the sum of those behind it, up to the outermost function or to the others."""
    cost(strata, ["report", "hotspots", "-group-by", GROUPING, "-format", "json", "-r", large], tmp_path / "out.json")
    report = json.loads((tmp_path / "out.json").read_bytes())
    callers = others = 0
    for row in walk(report["rows"]):
        # Under a caller or right under the function, and one at most: it has all that were not followed.
        assert sum(child.get("callstack") == "[Others]" for child in row.get("children", ())) <= 1
        if "callstack" not in row:
            continue
        if row["callstack"] == "[Others]":
            others += 1
            assert not row.get("children")
        else:
            callers += 1
        if row.get("children"):
            assert sum(child["samples"] for child in row["children"]) == row["samples"]
    assert CALLERS_MAX <= callers < CALLERS_MAX + STACKS
    assert others > 0
    assert report["totals"]["samples"] == SAMPLES
    assert report["totals"]["cpu_self_ns"] == SAMPLES * 100_000


def test_is_said_and_a_part_is_whole(strata, large):
    words = [strata.binary, "report", "hotspots", "-group-by", "function,callstack", "-r", large]
    assert "heaviest callers" in subprocess.run(words, capture_output=True, text=True, check=True).stdout
    part = subprocess.run(
        [*words, "-filter", "function=function_7"], capture_output=True, text=True, check=True
    ).stdout
    assert "heaviest callers" not in part
    assert "[Others]" not in part
