# SPDX-License-Identifier: Apache-2.0
"""Threads and processes that come and go in unkind ways: counts are exact."""

import json

import pytest
from harness import strict_json


def lossless(strata, result):
    quality = strata.report(result, "tasks")["quality"]
    assert quality.get("slices_dropped", 0) == 0, quality
    assert quality.get("no_slot", 0) == 0, quality


def threads_of(strata, result, *args):
    report = strata.report(result, "tasks", "-group-by", "process,thread", *args)
    return [thread for process in report["rows"] for thread in process["children"]]


def test_thousand_threads(strata, programs):
    done = strata.collect(programs / "thread_life", "many", "1000", "20")
    lossless(strata, done.result)
    assert strata.counts(done.result) == {"thread": 20000}
    assert len(threads_of(strata, done.result)) == 1000
    assert {row["count"] for row in threads_of(strata, done.result)} == {20}


def test_more_live_threads_than_a_segment(strata, programs):
    """Over 64 at the same time: further segments, nothing lost."""
    done = strata.collect(programs / "thread_life", "live", "200", "30")
    lossless(strata, done.result)
    assert strata.counts(done.result) == {"live": 200 * 60}
    rows = threads_of(strata, done.result)
    assert len(rows) == 200 and {row["count"] for row in rows} == {60}


def test_threads_outlive_main(strata, programs):
    done = strata.collect(programs / "thread_life", "outlive", "5", "200")
    lossless(strata, done.result)
    assert strata.counts(done.result) == {"main": 200, "after main": 1000}


def test_exit_from_a_thread(strata, programs):
    """_exit in a thread while main holds a task open: all closed tasks, and the open one flagged."""
    done = strata.collect(programs / "thread_life", "exit", "500", ok=False)
    assert done.status == 6
    lossless(strata, done.result)
    assert strata.counts(done.result) == {"main": 500, "thread": 500, "open at exit": 1}
    assert strata.report(done.result, "tasks")["quality"]["unfinished"] == 1


def test_exec_in_the_middle_of_a_task(strata, programs):
    done = strata.collect(programs / "thread_life", "exec", "100")
    lossless(strata, done.result)
    assert strata.counts(done.result) == {"before exec": 100, "cut by exec": 1, "thread": 400}
    quality = strata.report(done.result, "tasks")["quality"]
    assert quality["unfinished"] == 1
    # The cut task ends with the exec: it does not swallow what the next program did.
    slices = {one.name: one for one in strata.slices(done.result)}
    first = min(one.begin_ns for one in strata.slices(done.result) if one.name == "thread")
    assert slices["cut by exec"].end_ns <= first
    assert not slices["cut by exec"].children


@pytest.mark.parametrize("how", ["fork", "raw"])
def test_fork_while_others_record(strata, programs, how):
    """Every child by fork or raw clone, half of them killed: exact counts, none in the wrong process."""
    children, tasks = 20, 300
    done = strata.collect(programs / "thread_life", how, str(children), str(tasks))
    lossless(strata, done.result)
    recorder = int(done.out.split()[1])
    report = strata.report(done.result, "tasks", "-group-by", "process,task-type")
    found = [{child["task_type"]: child["count"] for child in row["children"]} for row in report["rows"]]
    assert found.count({"child": tasks}) == children
    assert found.count({"recorder": recorder, "parent": children * tasks}) == 1
    assert len(found) == children + 1


def test_target_counts_are_ours(strata, target):
    """Threads, rounds, labels, nesting and forks at once: label by label what the program says."""
    done = strata.collect(
        target,
        "--threads",
        "4",
        "--rounds",
        "3",
        "--pairs",
        "3000",
        "--labels",
        "7",
        "--depth",
        "3",
        "--burst",
        "900",
        "--print-counts",
    )
    told = strict_json(done.stdout)
    assert strata.counts(done.result) == told["labels"]
    lossless(strata, done.result)


def test_threads_have_their_own_tasks(strata, target):
    done = strata.collect(target, "--threads", "3", "--pairs", "100", "--thread-name", "worker ")
    told = json.loads(done.stdout)
    rows = threads_of(strata, done.result)
    assert len(rows) == 3
    for index, thread in enumerate(told["threads"]):
        row = [row for row in rows if f"worker {index}" in row["thread"] and str(thread["tid"]) in row["thread"]]
        assert len(row) == 1, (thread, [row["thread"] for row in rows])
        assert row[0]["count"] == 100


def test_forked_children_of_the_target(strata, target):
    done = strata.collect(target, "--threads", "2", "--pairs", "2000", "--fork", "5", "--burst", "500")
    told = json.loads(done.stdout)
    report = strata.report(done.result, "tasks", "-group-by", "process")
    counts = sorted(row["count"] for row in report["rows"])
    assert counts == sorted([child["pairs"] for child in told["children"]] + [told["pairs"]])
    for child in told["children"]:
        assert any(str(child["pid"]) in row["process"] for row in report["rows"])


def test_exec_chain(strata, target):
    """itt_target becomes itt_target becomes itt_target: three incarnations of one pid."""
    one = [target, "--threads", "0", "--quiet", "--pairs", "10", "--label-prefix"]
    done = strata.collect(*one, "a", "--exec", *one, "b", "--exec", *one, "c")
    counts = strata.counts(done.result)
    assert counts == {f"{prefix}{n}": 1 for prefix in "abc" for n in range(10)}
    assert len(strata.report(done.result, "tasks", "-group-by", "process")["rows"]) == 3
