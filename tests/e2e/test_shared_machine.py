# SPDX-License-Identifier: Apache-2.0
"""What a reader must know beside figures: who else had the CPUs, and when in the run something happened."""

import os
import re
import subprocess
import sys

import pytest
from harness import TARGETS, clean_env

OTHER = "import sys\nprint('runs', flush=True)\nwhile True: pass\n"
BURN = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: sum(range(1000))\n"


@pytest.fixture
def others():
    """Two programs for every CPU, so that they have at least a quarter of each, whatever else runs."""
    count = 2 * len(os.sched_getaffinity(0))
    command = [sys.executable, "-c", OTHER]
    programs = [subprocess.Popen(command, env=clean_env(), stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for program in programs:
            program.stdout.readline()
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()
            program.stdout.close()


def test_machine_that_others_fill(strata, others):
    result = strata.folder / "busy"
    done = strata("-collect", "hotspots", "-r", result, "--", sys.executable, "-c", BURN)
    assert done.status == 0, done.err
    words = r"other (programs|virtual machines) took \d+ % of the (machine's )?CPUs"
    for report in ("summary", "hotspots"):
        text = strata("report", report, "-r", result).out
        assert re.search(words, " ".join(text.split("data quality: ")[-1].split()) or text), text
    rows = {row["fact"]: row for row in strata.report(result, "quality")["rows"]}
    assert rows["CPUs that other programs had"]["verdict"] == "shared"
    subject = strata.report(result, "utilization")["subject"]
    waited = re.search(
        r"waited ([\d.]+) s in all for a CPU: ([\d.]+) s behind the program's own .* ([\d.]+) s behind", subject
    )
    if not waited:
        pytest.skip("the kernel does not tell how long threads wait for a CPU")
    everything, own, behind = map(float, waited.groups())
    assert everything > 0 and behind > 0 and everything == pytest.approx(own + behind, abs=0.02), subject


@pytest.mark.parametrize("kind", ["marked", "plain"])
def test_collection_that_no_step_pays_for(strata, kind):
    """As much of the CPU time is garbage collection as is work, but all of it before the loop."""
    result = strata.folder / "early"
    program = [sys.executable, TARGETS / "collects_early.py", kind, "0.6"]
    done = strata("-collect", "hotspots", "-knob", "sampling-interval=2", "-r", result, "--", *program)
    assert done.status == 0, done.err
    rows = strata.report(result, "summary")["rows"]
    findings = [row for row in rows if row["section"] == "finding"]
    (text,) = [row["value"] for row in findings if row["name"] == "garbage_collection"]
    where = (
        r"at start-up, .* after the last step, .* of the steps" if kind == "marked" else r"in imports, .* at exit, .*"
    )
    found = re.search(rf"([\d.]+) % of CPU time is Python's garbage collection: ([\d.]+) % {where}", text)
    assert found and float(found[1]) > 20 and float(found[2]) > 0.8 * float(found[1]), text
    loop = float(re.search(r"and ([\d.]+) % of the CPU time", text)[1])
    assert loop < 5 and "gc.freeze() after start-up" not in text, text
    assert findings[-1]["name"] == "garbage_collection", "what saves nothing of the loop comes last"


def test_filtered_summary_is_of_the_filter(strata):
    """Of the marked steps: no figure of the whole run stands beside theirs."""
    result = strata.folder / "early"
    program = [sys.executable, TARGETS / "collects_early.py", "marked", "0.4"]
    assert strata("-collect", "hotspots", "-knob", "sampling-interval=2", "-r", result, "--", *program).status == 0
    rows = strata.report(result, "summary", "-filter", "task=step")["rows"]
    facts = {row["name"]: row["value"] for row in rows if row["section"] == "cpu"}
    assert 0.2e9 < facts["cpu_ns"] < 0.6e9, facts
    assert not facts.keys() & {"cpu_used_ns", "gc_ns", "cpus", "effective_utilization_ratio", "others_ratio"}, facts
    named = {row["name"] for row in rows if row["section"] in ("utilization", "finding", "fix")}
    assert not named - {"hotspot", "interpreter", "spin_and_overhead"}, named
    text = strata("report", "summary", "-r", result, "-filter", "task=step").out
    assert re.search(r"^CPU +CPU time [\d.]+ ms +effective ", text, re.M) and "idle" not in text, text


def test_info_keeps_to_the_width(strata):
    result = strata.folder / "info"
    done = strata("-collect", "hotspots", "-r", result, "--", sys.executable, "-c", "pass", *["a word"] * 30)
    assert done.status == 0, done.err
    for width in (80, 120):
        text = strata("report", "info", "-r", result, "-report-width", str(width)).out
        long = [line for line in text.splitlines() if len(line) > width]
        assert not [line for line in long if os.fspath(strata.folder) not in line], long
        assert " ".join(text.split()).count("a word") >= 30
