# SPDX-License-Identifier: Apache-2.0
"""Report "operators" against torch's own profiler in the same run."""

import csv
import io
import json

import pytest
from harness import TARGETS, walk

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def profiled(shared_strata, python):
    """(strata, result, what torch.profiler counted)."""
    result, truth = shared_strata.folder / "profiled", shared_strata.folder / "profiled.json"
    program = TARGETS / "operators_profiled.py"
    done = shared_strata("-collect", "operators", "-quiet", "-r", result, "--", python, program, truth)
    assert done.status == 0, done.err
    return shared_strata, result, json.loads(truth.read_text())


def folded(profiled, *options):
    strata, result, _ = profiled
    return strata.report(result, "operators", "-report-knob", "torch-folding=true", *options)


def test_counts_are_torchs(profiled):
    report = folded(profiled)
    assert {row["operator"]: row["count"] for row in report["rows"]} == {
        name: count for name, count, _ in profiled[2]["names"]
    }
    assert report["subject"].startswith("PyTorch 2."), report["subject"]


def test_counts_by_shapes_are_torchs(profiled):
    found = {}
    for row in folded(profiled, "-group-by", "operator,input-shapes")["rows"]:
        for inner in row["children"]:
            found[row["operator"], inner["input_shapes"]] = inner["count"]
    # Ranges of the program take no tensors: an argument that is text is none.
    expected = {(name, shapes): count for name, shapes, count in profiled[2]["shapes"] if shapes != "[]"}
    assert {key: found.get(key) for key in expected} == expected
    assert len(expected) > 40


def test_flops_are_torchs(profiled):
    """Where torch counts them."""
    ours = {row["operator"]: row.get("flops") for row in folded(profiled)["rows"]}
    theirs = {name: flops for name, _, flops in profiled[2]["names"] if flops}
    assert {name: ours[name] for name in ("aten::mm", "aten::addmm", "aten::bmm", "aten::mul", "aten::add")} == {
        name: theirs[name] for name in ("aten::mm", "aten::addmm", "aten::bmm", "aten::mul", "aten::add")
    }
    assert ours["aten::addmm"] == 3 * 2 * 2 * (4 * 6 * 6) * 5
    assert ours["aten::conv2d"] == theirs["aten::conv2d"] == 3 * 2 * (2 * 4 * 6 * 6) * 27


@pytest.mark.parametrize("report", ["operators", "memory"])
def test_total_keeps_to_the_width(profiled, report):
    """Its figures are the longest: they count when columns are chosen."""
    strata, result, _ = profiled
    for width in (80, 100, 120):
        text = strata("report", report, "-r", result, "-report-width", str(width)).out
        table = text.partition("\n\n")[0].splitlines()
        assert [line for line in table if line.startswith("Total")]
        assert max(map(len, table)) <= width, text


def test_self_times_add_up(profiled):
    strata, result, _ = profiled
    report = strata.report(result, "operators")
    total = report["totals"]["wall_total_ns"]
    assert sum(row["wall_self_ns"] for row in report["rows"]) == report["totals"]["wall_self_ns"] == total > 0
    single = strata.report(result, "operators", "-group-by", "instance")
    assert sum(row["wall_total_ns"] for row in single["rows"] if row.get("parent") is None) == total
    assert len(single["rows"]) == report["totals"]["count"]


def test_memory(profiled):
    strata, result, _ = profiled
    rows = {row["operator"]: row for row in strata.report(result, "operators")["rows"]}
    assert rows["aten::bmm"]["allocated_bytes"] == 2 * 3 * 5 * 4
    assert rows["aten::cat"]["allocated_bytes"] == 2 * 2 * 3 * 8 * 8 * 4
    assert rows["iteration"]["allocated_bytes"] > rows["iteration"]["self_allocated_bytes"]


def test_steps_and_scopes(profiled):
    strata, result, _ = profiled
    steps = {row["step"]: row["count"] for row in strata.report(result, "operators", "-group-by", "step")["rows"]}
    assert {"iteration 0", "iteration 1", "iteration 2"} < set(steps)
    assert steps["iteration 1"] == steps["iteration 2"]
    scopes = strata.report(result, "operators", "-group-by", "operator-scope,operator")
    inside = {row["operator_scope"]: {inner["operator"] for inner in row["children"]} for row in scopes["rows"]}
    assert "AddmmBackward0" in inside["backward"] and "iteration" in inside["user"]


def test_formats_and_summary(profiled):
    strata, result, _ = profiled
    table = strata("report", "operators", result, "-format", "csv", "-group-by", "operator,input-shapes")
    rows = list(csv.DictReader(io.StringIO(table.out)))
    assert any(row["operator"] == "aten::addmm" and row["input_shapes"].startswith("[[5]") for row in rows)
    text = strata("report", "operators", result, "-report-width", "0").out
    assert text.startswith("PyTorch 2.") and "GFLOP/s" in text
    summary = strata("report", "summary", result).out
    assert "OPERATORS" in summary and "strata report operators" in summary
    sections = [row["section"] for row in walk(strata.report(result, "summary")["rows"])]
    assert sections.count("operators") == 1 and sections.count("operator") == 5


def test_modules(profiled):
    """Forward and backward of the linear layer: one addmm, and two products for the gradients of weight and input."""
    strata, result, _ = profiled
    report = strata.report(result, "operators", "-group-by", "nn-module,operator")
    (head,) = (row for row in report["rows"] if row["nn_module"].endswith(".head"))
    counts = {row["operator"]: row["count"] for row in head["children"]}
    assert (counts["aten::linear"], counts["aten::addmm"], counts["AddmmBackward0"], counts["aten::mm"]) == (3, 3, 3, 6)
    assert not any(name.startswith("aten::conv") for name in counts)
    assert {"aten::sum", "iteration"} <= {
        inner["operator"] for row in report["rows"] if row["nn_module"] == "[no module]" for inner in row["children"]
    }


def test_summary_shows_each_thing_once(profiled):
    """Operators in their own section, beside it only what is none; and the peak of memory, with who held it."""
    strata, result, truth = profiled
    rows = strata.report(result, "summary")["rows"]
    tasks = {row["name"]: row["count"] for row in rows if row["section"] == "task"}
    ranges = {name for name, _, _ in truth["names"] if "::" not in name and not name.endswith("Backward0")}
    assert tasks and not any(name.startswith("aten::") or "Backward0" in name for name in tasks), tasks
    assert ranges & tasks.keys()
    facts = {row["name"]: row["value"] for row in rows if row["section"] == "cost"}
    every = strata.report(result, "tasks")["totals"]["count"]
    assert facts["tasks"] == every and 0 < facts["operators"] < every
    (memory,) = [row["value"] for row in rows if row["section"] == "memory"]
    assert memory == strata.report(result, "memory")["subject"] and memory.startswith("peak ")
    held = [row for row in rows if row["section"] == "memory_holder"]
    most = strata.report(result, "memory", "-group-by", "operator")["rows"][: len(held)]
    assert [(row["name"], row["value"]) for row in held] == [(row["operator"], row["held_bytes"]) for row in most]
    text = strata("report", "summary", "-r", result).out
    assert text.count("aten::addmm ") <= 2 and "\nMEMORY  peak " in text and "TASKS   other than operators" in text
    assert len(text.splitlines()) <= 40
