# SPDX-License-Identifier: Apache-2.0
"""Preemption Wait Time: how long threads could have run and had no CPU. Every table of a result says the same."""

import sys
from collections import defaultdict

import pytest
from harness import strict_json
from waiting import compiled, threading, tid_of

SPIN = """
import threading, time
lock = threading.Lock()
def work():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        with lock:
            sum(range(200))
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def recorded(strata, *program):
    done = threading(strata, *program, options=["-quiet"])
    assert done.status == 0, done.err
    if not strata.result_json(done.result)["sampling"]["threads"]["context_switches"]:
        pytest.skip("perf_event_open is refused here")
    return done


@pytest.fixture(scope="module", params=["spinners", "libomp", "python"])
def result(shared_strata, request):
    if request.param == "spinners":
        program = [compiled(shared_strata, "gcc", "preempted.c", "-pthread")]
    elif request.param == "libomp":
        program = [compiled(shared_strata, "clang-14", "wait_openmp.c", "-fopenmp")]
    else:
        script = shared_strata.folder / "spin.py"
        script.write_text(SPIN)
        program = [sys.executable, script]
    return recorded(shared_strata, *program).result


def preempted(strata, result, report, grouping):
    """{name: ns}, and the sum that the report itself says."""
    said = strata.report(result, report, "-group-by", grouping)
    key = grouping.replace("-", "_")
    named = defaultdict(int)
    for row in said["rows"]:  # functions of two modules may have one name
        named[row[key]] += row["preempted_ns"]
    return dict(named), said["totals"]["preempted_ns"]


def of_threads(strata, result):
    """What report thread-time says: {thread: ns}"""
    query = "SELECT thread, sum(wall_ns) AS ns FROM thread_time WHERE wait_class = 'Preempted' GROUP BY 1"
    rows = strict_json(strata("query", query, "-r", result, "-format", "json").stdout)["rows"]
    return {row["thread"]: row["ns"] for row in rows}


def test_threads_agree(shared_strata, result):
    by_thread, total = preempted(shared_strata, result, "threading", "thread")
    said = of_threads(shared_strata, result)
    assert said, "nobody was preempted"
    assert {name: ns for name, ns in by_thread.items() if ns} == said
    assert total == sum(said.values())


@pytest.mark.parametrize("grouping", ["function", "sync-object", "task-type", "python-line", "wait-class"])
def test_groupings_add_up(shared_strata, result, grouping):
    rows, total = preempted(shared_strata, result, "threading", grouping)
    assert total == sum(rows.values()) == sum(of_threads(shared_strata, result).values())


def test_waits_have_a_part_of_it(shared_strata, result):
    """What lies in waits is the same by object, kind, function and thread, and no more than the threads have."""
    by_object, total = preempted(shared_strata, result, "waits", "sync-object")
    for grouping in ("sync-type", "function", "thread", "wait-class"):
        rows, again = preempted(shared_strata, result, "waits", grouping)
        assert again == total == sum(rows.values()), grouping
    of_thread = of_threads(shared_strata, result)
    for name, ns in preempted(shared_strata, result, "waits", "thread")[0].items():
        assert ns <= of_thread.get(name, 0)
    seen, _ = preempted(shared_strata, result, "threading", "sync-object")
    for name, ns in by_object.items():
        assert seen.get(name, 0) == ns, name
    query = "SELECT sum(preempted_ns) AS ns, max(preempted_ns - wall_ns) AS over FROM waits WHERE kind = 'wait'"
    (row,) = strict_json(shared_strata("query", query, "-r", result, "-format", "json").stdout)["rows"]
    assert row["ns"] == total
    assert row["over"] <= 0


@pytest.mark.alone
def test_against_the_kernels_count(strata):
    """Threads that only compute: what they did not run, the kernel has counted as waiting for a CPU."""
    done = recorded(strata, compiled(strata, "gcc", "preempted.c", "-pthread"))
    own = {int(tid): int(ns) for tid, ns in (line.split() for line in done.out.splitlines())}
    rows, _ = preempted(strata, done.result, "threading", "thread")
    seen = {tid_of(name): ns for name, ns in rows.items()}
    for tid, ns in own.items():
        assert ns > 100_000_000, "three threads share a CPU"
        assert seen[tid] == pytest.approx(ns, rel=0.05, abs=5_000_000)
    functions, total = preempted(strata, done.result, "threading", "function")
    assert functions["spin"] + functions.get("cpu_ns", 0) + functions.get("clock_gettime", 0) > 0.5 * total
