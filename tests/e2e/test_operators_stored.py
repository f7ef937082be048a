# SPDX-License-Identifier: Apache-2.0
"""Operators as they are kept: one that ITT tells of too counts once, and a ring buffer keeps their inputs."""

import json

import pytest
from harness import TARGETS, walk
from perfetto_trace import Trace

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "operators_stored.py"


def ask(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return json.loads(done.stdout)["rows"]


@pytest.fixture(scope="module")
def twins(shared_strata, python):
    """(strata, result) of a program whose operators are ITT tasks as well."""
    result = shared_strata.folder / "twins"
    done = shared_strata("-collect", "operators", "-quiet", "-r", result, "--", python, PROGRAM, "twins")
    assert done.status == 0, done.err
    return shared_strata, result


def test_both_are_kept(twins):
    rows = ask(
        *twins,
        "SELECT task_domain AS domain, sum(twin) AS twins, count(*) AS n FROM slices WHERE task_type = 'aten::linear'"
        " GROUP BY 1 ORDER BY 1",
    )
    assert [(row["domain"], row["twins"], row["n"]) for row in rows] == [("PyTorch", 5, 5), ("torch.operator", 0, 5)]
    assert ask(*twins, "SELECT sum(task_domain = 'PyTorch') = sum(twin) AS all_twins FROM slices")[0]["all_twins"] == 1
    # What was called outside of emit_itt has none.
    assert ask(*twins, "SELECT count(*) AS n FROM slices WHERE task_type = 'aten::mm' AND NOT twin")[0]["n"] >= 1


def test_an_operator_counts_once(twins):
    strata, result = twins
    report = strata.report(result, "tasks", "-group-by", "task-domain,task-type")
    rows = list(walk(report["rows"]))
    assert {row["task_domain"] for row in rows if "task_domain" in row} == {"PyTorch"}
    assert [row["count"] for row in rows if row.get("task_type") == "aten::linear"] == [5]
    assert report["quality"]["twins"] == ask(*twins, "SELECT sum(twin) AS n FROM slices")[0]["n"] > 5


@pytest.mark.parametrize("form", ["kineto", "chrome", "perfetto"])
def test_an_operator_is_drawn_once(twins, form):
    """In the traces too; rows of tables (csv, json) have a column that tells the two apart."""
    strata, result = twins
    path = strata.folder / f"twins.{form}"
    done = strata("export", form, "-r", result, "-o", path)
    assert done.status == 0, done.err
    if form == "perfetto":
        names = [one.name for one in Trace(path.read_bytes()).slices]
    else:
        names = [one["name"] for one in json.loads(path.read_text())["traceEvents"] if one["ph"] == "X"]
    (drawn,) = ask(*twins, "SELECT count(*) AS n FROM slices WHERE NOT twin")
    assert names.count("aten::linear") == 5
    assert form == "kineto" or len(names) == drawn["n"]


def test_times_of_operators_are_their_own(twins):
    """Self times add up to the outermost operators' wall times; the twins take nothing."""
    (sums,) = ask(
        *twins,
        "SELECT sum(self_ns) AS self, sum(CASE WHEN parent IS NULL THEN wall_ns ELSE 0 END) AS wall FROM slices"
        " WHERE NOT copy",
    )
    assert sums["self"] == sums["wall"] > 0
    (twin,) = ask(*twins, "SELECT sum(self_ns) AS self, sum(mismatched) AS crossed FROM slices WHERE twin")
    assert (twin["self"], twin["crossed"]) == (0, 0)
    # Every twin lies in the operator of its name.
    (odd,) = ask(
        *twins,
        "SELECT count(*) AS n FROM slices t JOIN slices o ON o.row = t.parent"
        " WHERE t.twin AND o.task_type != t.task_type",
    )
    assert odd["n"] == 0


def test_memory_is_the_operators(twins):
    """The result of a linear layer: 16 × 16 floats, taken by the operator and not by its twin."""
    rows = ask(
        *twins,
        "SELECT s.task_domain AS domain, sum(o.allocated) AS bytes FROM operators o JOIN slices s USING (row)"
        " WHERE o.name = 'aten::mm' AND s.parent IS NOT NULL GROUP BY 1",
    )
    assert [(row["domain"], row["bytes"]) for row in rows] == [("torch.operator", 5 * 16 * 16 * 4)]


def test_ring_buffer_keeps_inputs(shared_strata, python):
    result = shared_strata.folder / "ring"
    done = shared_strata(
        "-collect", "operators", "-quiet", "-ring-buffer", "0.5", "-r", result, "--", python, PROGRAM, "ring", "3"
    )
    assert done.status == 0, done.err
    shapes = ask(shared_strata, result, "SELECT DISTINCT shapes FROM operators WHERE name = 'aten::mm'")
    assert [row["shapes"] for row in shapes] == ["[[16, 16], [16, 16]]"]
    first = ask(shared_strata, result, "SELECT min(start_ns) AS ns FROM slices")[0]["ns"]
    assert first > 1e9, "the first second is gone"
    # Begun in a file that is gone: known by what the later ones say of it.
    (loop,) = ask(
        shared_strata, result,
        "SELECT scope, clipped FROM operators JOIN slices USING (row) WHERE name = 'whole loop'",
    )  # fmt: skip
    assert (loop["scope"], loop["clipped"]) == ("user", 1)
