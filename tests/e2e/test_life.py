# SPDX-License-Identifier: Apache-2.0
"""How processes end and part, and what the large libraries send: nothing lost, nothing invented."""

import collections
import signal

import pytest
from trace_reader import Result


def counts(result):
    return dict(collections.Counter((one.name.decode(), one.unfinished) for one in result.slices))


@pytest.mark.parametrize("how", ["abort", "kill", "exec", "quick", "exit", "return"])
def test_every_end(strata, programs, how):
    """Whatever was closed is there; the open task is flagged; handlers that run late still record."""
    tasks = 300
    program = [programs / "process_life", how, str(tasks)]
    plain = strata.run(program)
    done = strata.collect(*program, ok=False)
    ends = {"abort": -signal.SIGABRT, "kill": -signal.SIGKILL}
    assert done.status == plain.status == ends.get(how, 7)
    result = Result(done.result)
    assert not any(result.loss.values()), result.loss
    expected = {("before", False): tasks, ("open", True): 1}
    if how in ("quick", "exit", "return"):
        expected["late", False] = tasks
    assert counts(result) == expected
    rows = strata.types(done.result)
    assert {name: row["count"] for name, row in rows.items()} == {name: count for (name, _), count in expected.items()}


def test_fork_inside_tasks(strata, programs):
    """The parent's tasks are whole and not doubled; the child's ends of them close nothing of its own."""
    tasks = 50
    done = strata.collect(programs / "process_life", "fork", str(tasks))
    result = Result(done.result)
    parent, child = sorted(result.processes.values(), key=lambda process: process.number)
    assert child.parent == parent.number and child.pid != parent.pid

    def names(process):
        return collections.Counter(one.name for track in process.tracks.values() for one in track.slices)

    assert names(parent) == {b"outer": 1, b"inner": 1, b"before": tasks, b"parent": 2 * tasks}
    assert names(child)[b"child"] == 2 * tasks
    assert not names(child)[b"before"] and not names(child)[b"parent"]
    (track,) = parent.tracks.values()
    assert not any(one.unfinished or one.mismatched for one in track.slices)
    assert {one.parent.name for one in track.slices[2 : 2 + 2 * tasks]} == {b"inner"}
    assert {one.parent for one in track.slices[2 + 2 * tasks :]} == {None}


@pytest.mark.slow
def test_thread_churn(strata, programs, scale):
    """100,000 short threads (a tenth of them in make test): counts exact, memory of the target flat."""
    threads = 10_000 if scale == "quick" else 100_000
    done = strata.collect(programs / "process_life", "churn", str(threads), "3")
    result = Result(done.result)
    assert not any(result.loss.values()), result.loss
    assert counts(result) == {("short", False): 3 * threads}
    assert len(result.tracks) == threads
    assert all(len(track.slices) == 3 for track in result.tracks)
    assert int(done.out) < 2048, f"{done.out} KiB more for the second half of the threads"


def test_torch_pattern(strata, programs):
    """8 threads, 2,000 names made again at every call, marks, and ends with nothing open."""
    threads, calls = 8, 4000
    done = strata.collect(programs / "library_patterns", "torch", str(threads), str(calls))
    result = Result(done.result)
    too_many = threads * calls // 100
    assert {name: value for name, value in result.loss.items() if value} == {"unmatched_ends": too_many}
    for track in result.tracks:
        number = next(one for one in range(threads) if track.slices[0].name == b"aten::op_%d" % one)
        want = collections.Counter(b"aten::op_%d" % ((7 * i + number) % 2000) for i in range(calls))
        have = collections.Counter(one.name for one in track.slices)
        assert have.pop(b"mark") == calls // 10
        assert have == want
        assert all(one.parent for one in track.slices if one.name == b"mark")
        assert not any(one.parent for one in track.slices if one.name != b"mark")
    assert len(result.tracks) == threads
    assert len({one.name for one in result.slices}) == 2001
    # A mark is a task of no length and must stay visible.
    assert strata.counts(done.result, "-limit", "3000")["mark"] == threads * calls // 10
