# SPDX-License-Identifier: Apache-2.0
"""Programs whose answer is known: the numbers must be right within stated bounds.

known_times measures each task from inside and from outside on the clock strata calibrates against, so
the truth of every single duration lies between two printed numbers. The slack is the resolution of the
clock (10 ns and the mapping's error) and nothing else.
"""

import json
import math

import pytest

ROUNDS = 100
SLACK_NS = 500


@pytest.fixture(scope="module")
def truth(shared_strata, programs):
    done = shared_strata.collect(programs / "known_times", str(ROUNDS))
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert len(lines) == 1 + 3 * ROUNDS + 100
    return shared_strata, done.result, lines


def named(lines, name):
    return [line for line in lines if line["name"] == name]


def test_every_duration(truth):
    strata, result, lines = truth
    slices = strata.slices(result)
    assert len(slices) == len(lines)
    for name in ("warm-up", "outer", "middle", "leaf", "ladder"):
        ours = sorted((one for one in slices if one.name == name), key=lambda one: one.begin_ns)
        own = sorted(named(lines, name), key=lambda line: line["begin_ns"])
        assert len(ours) == len(own)
        for one, line in zip(ours, own, strict=True):
            assert line["inside_ns"] - SLACK_NS <= one.total_ns <= line["outside_ns"] + SLACK_NS, (one, line)


def test_begins_are_on_one_clock(truth):
    """Distances between begins agree with the program's clock; the origin is the start of collection."""
    strata, result, lines = truth
    slices = sorted(strata.slices(result), key=lambda one: one.begin_ns)
    own = sorted(lines, key=lambda line: line["begin_ns"])
    assert [one.name for one in slices] == [line["name"] for line in own]
    late = sorted(one.begin_ns - line["begin_ns"] for one, line in zip(slices, own, strict=True))
    # A begin is stamped after the program read its clock, by some 100 ns; scheduling only adds to that.
    assert late[len(late) * 9 // 10] - late[0] < 2_000, late
    assert slices[0].begin_ns >= 0


def test_nesting(truth):
    strata, result, _ = truth
    for one in strata.slices(result):
        expected = {"leaf": "middle", "middle": "outer"}.get(one.name)
        assert (one.parent.name if one.parent else None) == expected


def test_totals_and_self(truth):
    strata, result, lines = truth
    types = strata.types(result)
    for name in ("outer", "middle", "leaf"):
        row, own = types[name], named(lines, name)
        assert row["count"] == ROUNDS
        low, high = sum(line["inside_ns"] for line in own), sum(line["outside_ns"] for line in own)
        assert low - ROUNDS * SLACK_NS <= row["wall_total_ns"] <= high + ROUNDS * SLACK_NS
    assert types["leaf"]["wall_self_ns"] == types["leaf"]["wall_total_ns"]
    assert types["middle"]["wall_self_ns"] == types["middle"]["wall_total_ns"] - types["leaf"]["wall_total_ns"]
    assert types["outer"]["wall_self_ns"] == types["outer"]["wall_total_ns"] - types["middle"]["wall_total_ns"]
    # The busy loops: 2 ms, 1 ms and 0.6 ms a round, never less.
    assert types["outer"]["wall_self_ns"] >= ROUNDS * 2_000_000
    assert types["middle"]["wall_self_ns"] >= ROUNDS * 1_000_000
    assert types["leaf"]["wall_self_ns"] >= ROUNDS * 600_000


def rank(values, fraction):
    """The smallest value that at least this part of all values does not exceed."""
    return sorted(values)[max(0, math.ceil(fraction * len(values)) - 1)]


def test_distribution(truth):
    """min, average, median, p95, p99 and max of a ladder of 100 lengths, against the exact ones."""
    strata, result, lines = truth
    row = strata.types(result)["ladder"]
    durations = [one.total_ns for one in strata.slices(result) if one.name == "ladder"]
    assert row["count"] == 100
    assert row["wall_min_ns"] == min(durations)
    assert row["wall_max_ns"] == max(durations)
    assert abs(row["wall_avg_ns"] - sum(durations) / 100) <= 1
    for key, fraction in (("wall_median_ns", 0.5), ("wall_p95_ns", 0.95), ("wall_p99_ns", 0.99)):
        # Either neighbour's rank is right; an approximate sketch must stay within 2 % of it.
        low, high = rank(durations, fraction), rank(durations, min(1.0, fraction + 0.01))
        assert 0.98 * low <= row[key] <= 1.02 * high, key
    own = [line["outside_ns"] for line in named(lines, "ladder")]
    assert rank(durations, 0.5) <= 1.02 * rank(own, 0.5)


def test_totals_of_everything(truth):
    """Top-level time is counted once: the total is the sum of the tasks that have no parent."""
    strata, result, _ = truth
    slices = strata.slices(result)
    report = strata.report(result, "tasks", "-group-by", "task-domain")
    assert [row["task_domain"] for row in report["rows"]] == ["truth"]
    top = sum(one.total_ns for one in slices if one.parent is None)
    assert report["rows"][0]["wall_total_ns"] == top
    assert report["rows"][0]["wall_self_ns"] == sum(one.self_ns for one in slices) == top


def test_top_down(truth):
    strata, result, _ = truth
    report = strata.report(result, "top-down")
    tree = {row["task_stack"]: row for row in report["rows"]}
    middle = {row["task_stack"]: row for row in tree["outer"]["children"]}
    leaf = {row["task_stack"]: row for row in middle["middle"]["children"]}
    assert (tree["outer"]["count"], middle["middle"]["count"], leaf["leaf"]["count"]) == (ROUNDS,) * 3
    assert tree["outer"]["wall_total_ns"] > middle["middle"]["wall_total_ns"] > leaf["leaf"]["wall_total_ns"]
    assert not leaf["leaf"]["children"]
