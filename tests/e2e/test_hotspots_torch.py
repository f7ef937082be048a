# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training loop under the sampler: stacks whole and named, operators with their CPU time."""

import json

import pytest
from harness import TARGETS, walk
from profile_readers import folded_stacks

# Two threads that wait for each other by spinning.
pytestmark = [pytest.mark.torch, pytest.mark.alone]


@pytest.fixture(scope="module")
def trained(shared_strata, ittapi, scale):
    """Two threads at 1 kHz, recorded from resume to pause; (strata, result, what the program said)."""
    result = shared_strata.folder / "train"
    # Freed memory stays with the allocator. Giving it back to the kernel between operators, while the worker spins,
    # took 2 to 5 % of this loop, a different share in each run: true, but nobody's operator.
    kept = str(1 << 32)
    done = shared_strata(
        "-collect", "hotspots", "-start-paused", "-knob", "sampling-interval=1", "-quiet", "-r", result, "--",
        ittapi, TARGETS / "train.py", "20" if scale == "full" else "4", "2",
        timeout=240, env={"MALLOC_TRIM_THRESHOLD_": kept, "MALLOC_MMAP_THRESHOLD_": kept},
    )  # fmt: skip
    assert done.status == 0, done.err
    return shared_strata, result, json.loads(done.stdout)


def ask(trained, sql):
    strata, result, _ = trained
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return json.loads(done.stdout)["rows"]


@pytest.fixture(scope="module")
def stacks(trained):
    strata, result, _ = trained
    done = strata("export", "folded", "-r", result, "-o", "-")
    assert done.status == 0, done.err
    return folded_stacks(done.stdout)


def test_the_clock_agrees(trained):
    """The samples weigh what the loop's process clock says; nothing before or after it was recorded."""
    row = ask(trained, "SELECT sum(weight_ns) AS cpu, count(*) AS n FROM samples WHERE state = 'running'")[0]
    assert row["cpu"] / 1e9 == pytest.approx(trained[2]["cpu_s"], rel=0.05)


def test_stacks_are_complete(trained):
    row = ask(
        trained,
        "SELECT count(*) AS n, sum(truncated OR depth_cut) AS cut, sum(recovered) AS recovered,"
        " sum(mismatched) AS mismatched FROM samples WHERE state = 'running'",
    )[0]
    print(
        f"{row['n']} samples, {row['cut']} cut, {row['mismatched']} mismatched,"
        f" {row['recovered']} recovered ({100 * row['recovered'] / row['n']:.2f} %)"
    )
    assert row["n"] > 1000
    assert row["cut"] <= 0.01 * row["n"], row
    assert row["mismatched"] <= 0.01 * row["n"], row


def test_jit_kernels_are_unwound_by_rules(trained):
    """Start and size of a kernel are known from the JIT interface: no scan of the stack, but for the newest ones."""
    row = ask(
        trained,
        "SELECT count(*) AS n, sum(s.recovered) AS scanned FROM samples s JOIN stack_nodes n USING (node)"
        " JOIN functions f USING (function) WHERE s.state = 'running' AND f.kind = 'jit'",
    )[0]
    print(f"{row['n']} samples in kernels, {row['scanned']} of them scanned")
    assert row["n"] >= 20
    assert row["scanned"] <= 0.05 * row["n"], row


def test_jit_kernels_are_named(trained):
    """oneDNN tells the kernels it makes through the JIT interface: no hot code without a name."""
    rows = ask(
        trained,
        "SELECT f.kind AS kind, f.name AS name, sum(s.weight_ns) AS ns FROM samples s JOIN stack_nodes n USING (node)"
        " JOIN functions f USING (function) WHERE s.state = 'running' GROUP BY f.function ORDER BY ns DESC",
    )
    total = sum(row["ns"] for row in rows)
    jit = [row for row in rows if row["kind"] == "jit"]
    assert jit, "no kernel made at run time has a name"
    assert "jit" in jit[0]["name"] or "kernel" in jit[0]["name"], jit[0]
    unknown = sum(row["ns"] for row in rows if row["kind"] == "unknown")
    assert unknown <= 0.01 * total, f"{unknown} of {total} ns in code that nobody names"


def line_of(text):
    source = (TARGETS / "train_plain.py").read_text().splitlines()
    return next(number for number, line in enumerate(source, 1) if text in line)


def test_python_lines_are_ancestors(stacks):
    """Where the backward pass computes, the line that asked for it is in the stack."""
    backward = f"step (train_plain.py:{line_of('loss.backward()')})"
    forward = f"step (train_plain.py:{line_of('cross_entropy(model')})"
    total = sum(stacks.values())
    below = {line: sum(ns for stack, ns in stacks.items() if line in stack) for line in (backward, forward)}
    assert below[backward] > 0.05 * total, below
    assert below[forward] > 0.05 * total, below
    kernels = [stack for stack in stacks if backward in stack and "convolution_backward" in ";".join(stack)]
    assert kernels, "no stack from the line down to the operator's own code"


def test_operators(trained):
    """CPU time of each operator split over functions; workers of parallel regions count with it."""
    strata, result, _ = trained
    report = strata.report(result, "hotspots", "-group-by", "task-domain,task-type,function")
    total = report["totals"]["cpu_self_ns"]
    assert sum(row["cpu_self_ns"] for row in report["rows"]) == total
    for row in walk(report["rows"]):
        if row.get("children"):
            assert sum(child["cpu_self_ns"] for child in row["children"]) == row["cpu_self_ns"]
    operators = {row["task_type"]: row for row in walk(report["rows"]) if row.get("task_type", "").startswith("aten::")}
    assert len(operators) > 10
    assert any(row.get("cpu_inherited_ns") for row in operators.values()), "no worker's time counts with its operator"
    # oneDNN marks its primitives inside the operators: their time is the operators' in total.
    assert operators["aten::mkldnn_convolution"]["cpu_total_ns"] > operators["aten::mkldnn_convolution"]["cpu_self_ns"]


def test_operators_hold_the_loop(trained):
    """Nearly all CPU time lies in some operator, workers included; by the nesting of tasks, not by our reports."""
    slices = {row["row"]: row for row in ask(trained, "SELECT row, parent, task_type FROM slices")}
    spent = ask(
        trained,
        "SELECT coalesce(slice, inherited) AS slice, sum(weight_ns) AS ns FROM samples WHERE state = 'running'"
        " GROUP BY coalesce(slice, inherited)",
    )
    inside, rest = 0, {}
    for row in spent:
        at = slices.get(row["slice"])
        names = []
        while at:
            names.append(at["task_type"])
            at = slices.get(at["parent"])
        if any(name.startswith("aten::") for name in names):
            inside += row["ns"]
        else:
            rest[names[0] if names else None] = rest.get(names[0] if names else None, 0) + row["ns"]
    total = inside + sum(rest.values())
    print(f"under aten:: rows {100 * inside / total:.1f} %")
    assert inside >= 0.95 * total, sorted(rest.items(), key=lambda pair: -pair[1])[:8]


def test_reports_agree_with_exports(trained, stacks):
    """The same stacks, the same nanoseconds by innermost function."""
    strata, result, _ = trained
    report = strata.report(result, "hotspots", "-group-by", "function", "-call-stack-mode", "all")
    reported, exported = {}, {}
    for row in report["rows"]:
        name = row["function"].replace(";", ":")  # functions of several modules may have one name
        reported[name] = reported.get(name, 0) + row["cpu_self_ns"]
    for stack, ns in stacks.items():
        name = stack[-1].split(" (")[0] if ".py" in stack[-1] else stack[-1]
        name = name.split(" [")[0] if name.startswith("func@") else name
        exported[name] = exported.get(name, 0) + ns
    assert sum(reported.values()) == sum(exported.values())
    leaders = sorted(reported, key=reported.get, reverse=True)[:20]
    assert {name: exported.get(name) for name in leaders} == {name: reported[name] for name in leaders}


def around_of(trained):
    """By slice: the names of the task and of all that are around it."""
    slices = {row["row"]: row for row in ask(trained, "SELECT row, parent, task_type FROM slices")}
    around = {}
    for number in sorted(slices):  # what is around comes first
        row = slices[number]
        around[number] = around.get(row["parent"], frozenset()) | {row["task_type"]}
    return around


def test_filters_of_samples_agree(trained):
    """What a filter by task leaves is the task's total: in the report, in SQL and in folded stacks."""
    strata, result, _ = trained
    around = around_of(trained)
    spent = ask(
        trained,
        "SELECT coalesce(slice, inherited) AS slice, sum(weight_ns) AS ns FROM samples WHERE state = 'running'"
        " GROUP BY coalesce(slice, inherited)",
    )
    report = strata.report(result, "hotspots", "-group-by", "task-type")
    rows = [row for row in report["rows"] if not row["task_type"].startswith("[")]
    for row in sorted(rows, key=lambda row: -row["cpu_total_ns"])[:4]:
        only = ("-filter", f"task-type={row['task_type']}")
        left = strata.report(result, "hotspots", "-group-by", "thread", *only)["totals"]["cpu_self_ns"]
        folded = strata("export", "folded", "-r", result, "-o", "-", *only)
        assert folded.status == 0, folded.err
        in_sql = sum(one["ns"] for one in spent if row["task_type"] in around.get(one["slice"], ()))
        assert left == in_sql == sum(folded_stacks(folded.stdout).values()) == row["cpu_total_ns"] > 0, row
        others = strata.report(result, "hotspots", "-group-by", "thread", "-filter", f"task-type!={row['task_type']}")
        assert others["totals"]["cpu_self_ns"] == report["totals"]["cpu_self_ns"] - left


@pytest.mark.parametrize("kind, grouping", [("tasks", "task-type"), ("tasks", "task-domain"), ("tasks", "step"),
                                            ("operators", "operator"), ("operators", "step")])  # fmt: skip
def test_filters_of_rows_agree(trained, kind, grouping):
    """A filter by a group leaves its row of the report, and what SQL finds of that name."""
    strata, result, _ = trained
    report = strata.report(result, kind, "-group-by", grouping)
    key = grouping.replace("-", "_")
    for row in report["rows"][:3]:
        figures = {name: row[name] for name in ("count", "wall_total_ns", "wall_self_ns")}
        filters = [grouping] + (["task", "task-type"] if grouping == "operator" else [])
        for name in filters:
            left = strata.report(result, kind, "-group-by", "process", "-filter", f"{name}={row[key]}")["totals"]
            assert {name: left[name] for name in figures} == figures, name
        if grouping in ("task-type", "operator"):
            text = row[key].replace("'", "''")
            sql = f"SELECT count(*) AS n FROM slices WHERE task_type = '{text}' AND NOT copy"
            assert ask(trained, sql)[0]["n"] == figures["count"]


def test_tasks_operators_and_samples_name_the_same(trained):
    """The operators of an operator's name are the same as tasks; a step holds the same of all three."""
    strata, result, _ = trained
    name = strata.report(result, "operators", "-group-by", "operator")["rows"][0]["operator"]
    one = ("-group-by", "process", "-filter", f"task-type={name}")
    tasks, operators = (strata.report(result, kind, *one)["totals"] for kind in ("tasks", "operators"))
    assert (tasks["count"], tasks["wall_total_ns"]) == (operators["count"], operators["wall_total_ns"])
    samples = strata.report(result, "hotspots", "-group-by", "step")["rows"]
    for row in samples[:3]:
        left = strata.report(result, "hotspots", "-group-by", "process", "-filter", f"step={row['step']}")["totals"]
        assert left["cpu_self_ns"] == row["cpu_self_ns"]
