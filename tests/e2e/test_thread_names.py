# SPDX-License-Identifier: Apache-2.0
"""Threads have the names that their program gave them, wherever it said so, or that tell what they are for."""

import re
import subprocess
import sys

import pytest
from harness import TARGETS, strict_json
from pythons import VERSIONS, interpreter

# The target gives all of these; up to 3.9 Python does not say what a thread runs.
NAMES = {"main", "producer", "Träger", "later name", "kernel-name", "pool_0", "pool_1"}


def names_of(strata, result, *args):
    rows = strata.report(result, "hotspots", "-group-by", "thread", *args)["rows"]
    return {re.sub(r" \(\d+\)$", "", row["thread"]): row["cpu_total_ns"] for row in rows}


@pytest.mark.parametrize("version", VERSIONS)
def test_python_and_kernel_names(strata, version, tmp_path):
    result = tmp_path / "named"
    done = strata(
        *("-collect", "hotspots", "-quiet", "-no-summary", "-r", result, "-knob", "sampling-interval=5", "--"),
        *(interpreter(version), TARGETS / "named_threads.py", "0.15"),
    )
    assert done.status == 0, done.err
    unnamed = "Thread-1 (burn)" if int(version.split(".")[1]) >= 10 else "Thread-1"
    assert set(names_of(strata, result)) == NAMES | {unnamed}


def test_names_of_a_running_program_and_in_exports(strata, tmp_path):
    result, chrome = tmp_path / "attached", tmp_path / "trace.json"
    process = subprocess.Popen([sys.executable, TARGETS / "named_threads.py", "3"])
    try:
        done = strata("-collect", "hotspots", "-quiet", "-target-pid", str(process.pid), "-duration", "3", "-r", result)
    finally:
        process.kill()
        process.wait()
    assert done.status == 0, done.err
    found = set(names_of(strata, result))
    assert {"producer", "Träger", "pool_0", "pool_1"} <= found
    assert strata("export", "chrome", "-r", result, "-o", chrome).status == 0
    events = strict_json(chrome.read_bytes())
    events = events["traceEvents"] if isinstance(events, dict) else events
    told = {event["args"]["name"] for event in events if event.get("name") == "thread_name"}
    assert {"producer", "Träger"} <= {re.sub(r" \(\d+\)$", "", name) for name in told}
    rows = strata("query", "-r", result, "-format", "csv", "SELECT DISTINCT thread FROM samples").out
    assert "producer (" in rows


def test_pools_and_workers_are_named_by_what_they_are(strata, python, tmp_path):
    result = tmp_path / "pools"
    done = strata(
        "-collect", "hotspots", "-quiet", "-no-summary", "-r", result, "--", python, TARGETS / "loader_parts.py"
    )
    assert done.status == 0, done.err
    found = names_of(strata, result)
    assert {"main", "OpenMP worker", "OpenBLAS worker", "DataLoader worker 0", "DataLoader worker 1"} <= set(found)
    # 24 items of 20 ms, shared by two workers.
    assert 0.4e9 < found["DataLoader worker 0"] + found["DataLoader worker 1"] < 1.2e9
