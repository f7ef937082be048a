# SPDX-License-Identifier: Apache-2.0
"""Pause, resume and detach asked for by the program: nothing recorded meanwhile, nesting kept."""

import subprocess

import pytest

MS = 1_000_000


@pytest.fixture(scope="module")
def paused(shared_strata, programs):
    done = shared_strata.collect(programs / "pause_resume")
    assert done.stdout == b"done\n"
    return shared_strata, done.result


def test_counts(paused):
    """What ran while paused or after the detach is not there; what ran before and between is."""
    strata, result = paused
    counts = strata.counts(result)
    assert {name: counts.get(name) for name in ("before", "after", "top")} == {"before": 10, "after": 10, "top": 10}
    for name in ("paused", "detached", "detached for good", "child of a paused process"):
        assert name not in counts
    assert counts["outer"] == 1


def test_child_of_a_paused_process(paused):
    """A child starts as its parent was, paused; its own resume is its own."""
    strata, result = paused
    assert strata.counts(result).get("child after its resume") == 10


def test_nesting_is_kept(paused):
    """Tasks after the resume lie inside those opened before and during the pause."""
    strata, result = paused
    after = [one for one in strata.slices(result) if one.name == "after"]
    assert {one.parent.name for one in after} == {"open at the resume"}
    assert {one.parent.parent.name for one in after} == {"outer"}
    assert {one.parent for one in strata.slices(result) if one.name == "top"} == {None}
    before = [one for one in strata.slices(result) if one.name == "before"]
    assert {one.parent.name for one in before} == {"outer"}


def test_straddling_tasks_are_clipped_and_flagged(paused):
    strata, result = paused
    slices = {one.name: one for one in strata.slices(result) if one.name.startswith(("outer", "open"))}
    for one in slices.values():
        assert "clipped" in one.row["flags"], one
    # The pause, 600 ms of it in each of the two inside, is in none of them; the 50 ms after the resume are.
    assert 50 * MS <= slices["outer"].total_ns < 600 * MS
    assert slices["open at the pause"].total_ns < 500 * MS
    assert slices["open at the resume"].total_ns < 500 * MS
    assert strata.report(result, "tasks")["quality"]["clipped"] == len(slices)


def test_start_paused_is_resumed_by_the_program(strata, programs):
    done = strata.collect(programs / "pause_resume", options=["-start-paused"])
    counts = strata.counts(done.result)
    assert counts.get("after") == 10 and counts.get("top") == 10
    assert "before" not in counts and "paused" not in counts and "detached" not in counts
    strata.opens(done.result)


BUSY = """
import time
def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
busy(0.5)
print("paused", flush=True)
input()
before = time.thread_time()
busy(0.3)
print(time.thread_time() - before)
"""


def test_no_sample_stands_for_a_pause(strata, python):
    """A program that strata has heard nothing of before the resume: what it used until then is in no sample."""
    result = strata.folder / "busy"
    command = [strata.binary, "-collect", "hotspots", "-start-paused", "-no-summary", "-r", result]
    run = strata.popen([*command, "--", python, "-S", "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"paused\n"
    done = strata("-command", "resume", "-r", result)
    assert done.status == 0, done.err
    out, _ = run.communicate(b"\n", timeout=60)
    assert run.returncode == 0
    used_ms = float(out) * 1000
    sampled_ms = sum(row["cpu_self_ns"] for row in strata.report(result, "hotspots")["rows"]) / MS
    # An interval for the first sample, and what Python does at its end.
    assert 0.8 * used_ms < sampled_ms < used_ms + 10 + 50
