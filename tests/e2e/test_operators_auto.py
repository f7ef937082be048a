# SPDX-License-Identifier: Apache-2.0
"""Operators in analyses of other kinds: unasked where PyTorch is found, and by ITT where there is no other way."""

import json

import pytest
from harness import TARGETS


def ask(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return json.loads(done.out)["rows"]


@pytest.fixture(scope="module")
def trained(shared_strata, python, scale):
    """A loop of two threads that says nothing of profiling; (strata, result, what it said)."""
    result = shared_strata.folder / "auto"
    kept = str(1 << 32)  # as in test_hotspots_torch.py
    done = shared_strata(
        "-collect", "hotspots", "-knob", "sampling-interval=1", "-quiet", "-r", result, "--",
        python, TARGETS / "train_plain.py", "20" if scale == "full" else "3", "2",
        timeout=240, env={"MALLOC_TRIM_THRESHOLD_": kept, "MALLOC_MMAP_THRESHOLD_": kept},
    )  # fmt: skip
    assert done.status == 0, done.err
    return shared_strata, result, json.loads(done.out)


@pytest.mark.torch
@pytest.mark.alone
def test_the_loop_lies_in_operators(trained):
    """Workers of parallel regions included; by the nesting of slices, and by steps of our own finding."""
    strata, result, said = trained
    steps = ask(strata, result, "SELECT count(*) AS n, min(start_ns) AS begin, max(end_ns) AS until FROM steps")[0]
    assert steps["n"] == said["steps"]
    slices = {row["row"]: row for row in ask(strata, result, "SELECT row, parent, task_type FROM slices")}
    spent = ask(
        strata,
        result,
        "SELECT coalesce(slice, inherited) AS slice, sum(weight_ns) AS ns FROM samples WHERE state = 'running'"
        f" AND time_ns >= {steps['begin']} AND time_ns < {steps['until']} GROUP BY 1",
    )
    inside = total = 0
    for row in spent:
        names, at = [], slices.get(row["slice"])
        while at:
            names.append(at["task_type"])
            at = slices.get(at["parent"])
        total += row["ns"]
        inside += row["ns"] if any(name.startswith("aten::") for name in names) else 0
    print(f"under aten:: rows {100 * inside / total:.1f} % of {total / 1e9:.2f} s")
    assert inside >= 0.95 * total
    assert total / 1e9 == pytest.approx(said["cpu_s"], rel=0.1)


@pytest.mark.torch
@pytest.mark.alone
def test_samples_by_operator(trained):
    strata, result, _ = trained
    report = strata.report(result, "hotspots", "-group-by", "operator,function")
    total = report["totals"]["cpu_self_ns"]
    assert sum(row["cpu_self_ns"] for row in report["rows"]) == total
    rows = {row["operator"]: row for row in report["rows"]}
    for row in rows.values():
        assert sum(inner["cpu_self_ns"] for inner in row["children"]) == row["cpu_self_ns"]
    counts = {row["operator"]: row["count"] for row in strata.report(result, "operators")["rows"]}
    convolution = rows["aten::mkldnn_convolution"]
    assert convolution["count"] == counts["aten::mkldnn_convolution"]
    # Primitives in it are part of it, and so are workers that have no task of their own.
    assert convolution["cpu_self_ns"] > 0 and convolution["cpu_inherited_ns"] > 0
    # Outside of the steps there is the import alone; inside there is little but operators.
    inside = strata.report(result, "hotspots", "-group-by", "operator", "-filter", "step!=[no step]")
    spent = {row["operator"]: row["cpu_self_ns"] for row in inside["rows"]}
    assert spent.get("[no operator]", 0) <= 0.05 * inside["totals"]["cpu_self_ns"]
    assert "convolution" not in spent, "a primitive, in an operator"
    assert rows["aten::conv2d"]["cpu_total_ns"] >= convolution["cpu_total_ns"]


@pytest.mark.torch
def test_samples_by_module(strata, python):
    """Python code between operators, operators and their backward belong to the module; by a clock of the program's."""
    result = strata.folder / "modules"
    options = ["-knob", "sampling-interval=1", "-knob", "operator-modules=true", "-quiet", "-no-summary"]
    done = strata("-collect", "hotspots", *options, "-r", result, "--", python, TARGETS / "sampled_modules.py", "40")
    assert done.status == 0, done.err
    spent = {name: 1e9 * seconds for name, seconds in json.loads(done.out).items()}
    report = strata.report(result, "hotspots", "-group-by", "nn-module,operator", "-filter", "step!=[no step]")
    found = {row["nn_module"]: row for row in report["rows"]}
    print({name: (row["cpu_self_ns"], spent.get(name)) for name, row in found.items()})
    for name in ("Net.python", "Net.operators"):
        assert found[name]["cpu_self_ns"] == pytest.approx(spent[name], rel=0.1), name
    assert found["[no module]"]["cpu_self_ns"] == pytest.approx(spent["outside"], rel=0.2)
    assert sum(row["cpu_self_ns"] for row in report["rows"]) == report["totals"]["cpu_self_ns"]
    inside = {row["operator"] for row in found["Net.operators"]["children"]}
    assert "aten::mm" in inside and "[no operator]" not in inside
    steps = {row["step"]: row for row in strata.report(result, "hotspots", "-group-by", "step")["rows"]}
    assert steps["ProfilerStep#1"]["count"] > 0 and steps["[no step]"].get("cpu_utilization_ratio") is None
    only = strata.report(result, "hotspots", "-group-by", "function", "-filter", "nn-module=Net.python")
    assert any(row["function"] == "burn" for row in only["rows"])
    assert 0.9 * spent["Net.python"] < only["totals"]["cpu_self_ns"] < 1.2 * spent["Net.python"]


@pytest.mark.torch
def test_groupings_that_a_result_has_nothing_for(trained):
    """Sizes are for operators alone. Of modules only those are known that were called in no other."""
    strata, result, _ = trained
    done = strata("report", "hotspots", "-r", result, "-group-by", "input-shapes")
    assert done.status == 2 and "no grouping" in done.err, done.err
    rows = strata.report(result, "hotspots", "-group-by", "nn-module")["rows"]
    assert not any("." in row["nn_module"] for row in rows), rows


@pytest.mark.torch
@pytest.mark.alone
def test_operators_are_tasks_of_pytorch(trained):
    strata, result, _ = trained
    rows = strata.report(result, "hotspots", "-group-by", "task-domain,task-type,function")["rows"]
    domains = {row["task_domain"]: row for row in rows}
    assert "torch.operator" not in domains
    assert "aten::mkldnn_convolution" in {row["task_type"] for row in domains["PyTorch"]["children"]}
    categories = strata.report(result, "tasks", "-group-by", "category")["rows"]
    assert {row["category"] for row in categories} >= {"op", "primitive", "task"}


@pytest.mark.torch
@pytest.mark.alone
def test_samples_by_step(trained):
    """All CPU time of the process from the first step to the last lies in steps, in operators or not."""
    strata, result, said = trained
    rows = strata.report(result, "hotspots", "-group-by", "step")["rows"]
    spent = {row["step"]: row["cpu_self_ns"] for row in rows}
    steps = [f"step {number}" for number in range(said["steps"])]
    assert set(steps) <= set(spent) and set(spent) - set(steps) <= {"[no step]"}
    assert sum(spent[step] for step in steps) / 1e9 == pytest.approx(said["cpu_s"], rel=0.1)


@pytest.mark.torch
def test_operators_may_be_refused(strata, python):
    program = (python, "-c", "import torch; torch.ones(3) + 1")
    done = strata("-collect", "tasks", "-knob", "collect-operators=false", "-quiet", "-r", "off", "--", *program)
    assert done.status == 0, done.err
    assert ask(strata, strata.folder / "off", "SELECT count(*) AS n FROM slices")[0]["n"] == 0


def test_other_programs_are_not_touched(strata, python):
    """Nothing is recorded, nothing is told, where there is no PyTorch."""
    done = strata("-collect", "tasks", "-quiet", "-r", "none", "--", python, "-c", "import json, email, decimal")
    assert done.status == 0, done.err
    result = strata.folder / "none"
    assert ask(strata, result, "SELECT count(*) AS n FROM slices")[0]["n"] == 0
    assert ask(strata, result, "SELECT count(*) AS n FROM operator_sources")[0]["n"] == 0
