# SPDX-License-Identifier: Apache-2.0
"""The example, unmodified, through its wrapper script: the first thing a user sees."""

import json

import pytest
from harness import ROOT, above_commands

pytestmark = pytest.mark.torch
LAUNCH = ROOT / "examples" / "launch.sh"


CASES = {"push": ("small", "push"), "range": ("small", "range"), "real size": ("full", "push")}


@pytest.fixture(scope="module", params=CASES)
def recipe(request, shared_strata, python):
    """One run of the example per label style and one at its real size; (strata, done, what it told)."""
    size, style = CASES[request.param]
    if not LAUNCH.is_file():
        pytest.fail(f"no {LAUNCH}")
    times = shared_strata.folder / f"times-{request.param}.json"
    done = shared_strata.collect(
        "bash",
        LAUNCH,
        "--size",
        size,
        "--label-style",
        style,
        "--times-json",
        times,
        env={"PYTHON": str(python)},
        result=shared_strata.folder / request.param,
        timeout=180,
    )
    return shared_strata, done, {"size": size, **json.loads(times.read_text())}


def test_counts(recipe):
    strata, done, _ = recipe
    types = strata.types(done.result)
    for number in range(3):
        assert types[f"iteration_{number}"]["count"] == 1
    assert types["aten::conv2d"]["count"] == 3
    assert types["aten::linear"]["count"] == 3


def test_domain(recipe):
    strata, done, _ = recipe
    report = strata.report(done.result, "tasks", "-group-by", "task-domain,task-type")
    domains = {row["task_domain"]: {child["task_type"] for child in row["children"]} for row in report["rows"]}
    assert {"iteration_0", "iteration_1", "iteration_2", "aten::conv2d", "aten::linear"} <= domains["PyTorch"]


def test_nested_in_their_iteration(recipe):
    """Each operator lies inside exactly one iteration, by parent, on that iteration's thread."""
    strata, done, _ = recipe
    slices = strata.slices(done.result)
    iterations = [one for one in slices if one.name.startswith("iteration_")]
    assert [one.name for one in sorted(iterations, key=lambda one: one.begin_ns)] == [
        "iteration_0",
        "iteration_1",
        "iteration_2",
    ]
    assert len({(one.process, one.thread) for one in iterations}) == 1
    for wanted in ("aten::conv2d", "aten::linear"):
        enclosing = []
        for one in (one for one in slices if one.name == wanted):
            ancestor = one.parent
            while ancestor and not ancestor.name.startswith("iteration_"):
                ancestor = ancestor.parent
            assert ancestor, f"{wanted} outside every iteration"
            assert (ancestor.process, ancestor.thread) == (one.process, one.thread)
            assert ancestor.begin_ns <= one.begin_ns and one.end_ns <= ancestor.end_ns
            enclosing.append(ancestor.name)
        assert sorted(enclosing) == ["iteration_0", "iteration_1", "iteration_2"]


def test_thread_is_the_main_one(recipe):
    strata, done, told = recipe
    report = strata.report(
        done.result, "tasks", "-group-by", "process,thread,task-type", "-filter", "task-type=iteration_*"
    )
    (process,) = report["rows"]
    assert "recipe" in process["process"] or "python" in process["process"]
    assert str(told["pid"]) in process["process"]
    (thread,) = process["children"]
    assert str(told["tid"]) in thread["thread"]


def test_durations_agree_with_the_script(recipe):
    """perf_counter is CLOCK_MONOTONIC inside the script: within 5 % for what is worth comparing."""
    strata, done, told = recipe
    types = strata.types(done.result)
    assert len(told["iterations"]) == 3
    compared = 0
    for number, line in enumerate(told["iterations"]):
        own = line["seconds"]
        ours = types[f"iteration_{number}"]["wall_total_ns"] / 1e9
        if own > 0.1:
            compared += 1
            assert abs(ours - own) <= 0.05 * own, f"iteration_{number}: {ours} s, the script says {own} s"
        else:
            # A shorter one: the script's own calls between its clock and the label are all that differs.
            assert ours <= own + 0.002
    if told["size"] == "full" and not compared:
        pytest.skip("this machine runs even the real size in under 100 ms an iteration")


def test_family_folds_iterations(recipe):
    strata, done, _ = recipe
    types = strata.types(done.result)
    report = strata.report(done.result, "tasks", "-group-by", "task-family")
    row = {row["task_family"]: row for row in report["rows"]}["iteration_*"]
    own = [types[f"iteration_{number}"] for number in range(3)]
    assert row["count"] == 3
    assert row["wall_total_ns"] == sum(one["wall_total_ns"] for one in own)
    assert row["wall_self_ns"] == sum(one["wall_self_ns"] for one in own)
    assert row["wall_min_ns"] == min(one["wall_min_ns"] for one in own)
    assert row["wall_max_ns"] == max(one["wall_max_ns"] for one in own)


def test_family_children_keep_the_numbers(recipe):
    strata, done, _ = recipe
    report = strata.report(done.result, "tasks", "-group-by", "task-family,task-type")
    row = {row["task_family"]: row for row in report["rows"]}["iteration_*"]
    assert {child["task_type"]: child["count"] for child in row["children"]} == {f"iteration_{n}": 1 for n in range(3)}


def test_all_reports(recipe):
    strata, done, _ = recipe
    strata.opens(done.result)


def test_summary_reads_well(recipe):
    """At most 40 lines of 100 columns, no blank heading, the program and the labels in it."""
    strata, done, _ = recipe
    text = strata("report", "summary", "-r", done.result).out
    lines = text.rstrip("\n").splitlines()
    assert 4 <= len(lines) <= 40
    body = above_commands(lines)
    assert max(map(len, body)) <= 100, max(body, key=len)
    assert all(line.strip() for line in lines), "a blank line"
    assert lines[0].startswith("strata") and "tasks" in lines[0] and "exit 0" in lines[0]
    assert "iteration_" in text
    # The one printed at the end of the run, on stderr, is the same.
    assert lines[0].split()[:3] == done.err.rstrip("\n").splitlines()[-len(lines)].split()[:3]


def test_nothing_lost(recipe):
    strata, done, _ = recipe
    quality = strata.report(done.result, "tasks")["quality"]
    for key, value in quality.items():
        said = ("unmatched_ends", "unfinished", "mismatched", "clipped", "copies", "twins")
        if isinstance(value, int) and key not in said:
            assert value == 0, f"{key} = {value}"
