# SPDX-License-Identifier: Apache-2.0
"""Python functions in the trace of operators, and the stacks of operators, beside torch's own of the same run."""

import json
import re
from collections import Counter, defaultdict
from types import SimpleNamespace

import pytest
from harness import TARGETS
from test_kineto import OPERATORS, complete, export, parents_by_time

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "kineto_stacks.py"


@pytest.fixture(scope="module")
def case(shared_strata, python):
    result, said = shared_strata.folder / "stacks", shared_strata.folder / "torch.json"
    done = shared_strata(
        "-collect", "operators", "-knob", "operator-stacks=true", "-quiet", "-r", result, "--", python, PROGRAM, said
    )
    assert done.status == 0, done.err
    path = shared_strata.folder / "ours.json"
    return SimpleNamespace(
        strata=shared_strata,
        result=result,
        ours=export(shared_strata, result, path),
        torch=json.loads(said.read_text()),
    )


def chains(trace):
    """Of every operator by itself: its name and the functions of the program around it, by times alone."""
    threads, found = defaultdict(list), []
    for event in complete(trace, *OPERATORS, "python_function"):
        order = round(event["ts"] * 1000), -round(event["dur"] * 1000), event["args"]["Ev Idx"]
        threads[event["tid"]].append((*order, event))
    for events in threads.values():
        stack = []
        for begin, negative, _, event in sorted(events, key=lambda one: one[:3]):
            while stack and stack[-1][0] <= begin:
                stack.pop()
            if event["cat"] == "cpu_op" and not any(one["cat"] == "cpu_op" for _, one in stack):
                names = [one["name"] for _, one in stack if one["cat"] == "python_function"]
                functions = [re.sub(r".*/", "", name) for name in names if PROGRAM.name in name]
                found.append((event["name"], [name for name in functions if "<module>" not in name]))
            stack.append((begin - negative, event))
    return found


def test_functions_around_operators_are_torchs(case):
    """In the same order the same operators, in the same functions of the program, named by the same lines."""
    theirs, ours = chains(case.torch), chains(case.ours)
    assert len(theirs) > 150
    ours = ours[-len(theirs) :]
    assert ours == theirs
    lines = PROGRAM.read_text().splitlines()
    functions = {name for _, chain in ours for name in chain}
    assert {re.sub(r".*: ", "", name) for name in functions} == {"step", "forward", "helper"}
    for name in functions:
        line, function = re.fullmatch(r"kineto_stacks\.py\((\d+)\): (\w+)", name).groups()
        assert f"def {function}(" in lines[int(line) - 1]


def test_nothing_overlaps(case):
    assert case.ours["with_stack"] == 1
    parents = parents_by_time(case.ours, *OPERATORS, "python_function")
    assert len(parents) > 50


def test_same_keys_as_torchs(case):
    theirs, ours = (
        {frozenset(event["args"]) for event in complete(trace, "python_function")} for trace in (case.torch, case.ours)
    )
    assert ours == theirs


def test_python_ids_are_the_nesting(case):
    """The parent that an event names is the innermost function or module around it."""
    calls = {one["args"]["Python id"]: one for one in complete(case.ours, "python_function")}
    assert len(calls) == len(complete(case.ours, "python_function")) > 100
    named = Counter()
    for one in calls.values():
        parent = one["args"]["Python parent id"]
        named[one["name"], calls[parent]["name"] if parent else None] += 1
    assert parents_by_time(case.ours, "python_function") == named
    assert ("torch/nn/modules/linear.py", "nn.Module: Sequential.0.first") in {
        (name.split("(")[0], _module_around(calls, one))
        for one in calls.values()
        for name in [one["name"]]
    }


def _module_around(calls, one):
    while one and not one["name"].startswith("nn.Module: "):
        one = calls.get(one["args"]["Python parent id"])
    return one["name"] if one else None


def test_without_stacks(case):
    trace = export(case.strata, case.result, case.strata.folder / "modules.json", "-parts", "modules")
    names = {one["name"] for one in complete(trace, "python_function")}
    assert names and all(name.startswith("nn.Module: ") for name in names)
    assert "with_stack" not in trace


def test_export_stacks(case):
    path = case.strata.folder / "stacks.txt"
    done = case.strata("export", "torch-stacks", "-r", case.result, "-o", path)
    assert done.status == 0, done.err
    lines = path.read_text().splitlines()
    assert len(lines) > 20
    stacks = set()
    for line in lines:
        frames, value = re.fullmatch(r"(\S+) (\d+)", line).groups()
        assert int(value) > 0
        assert all(re.fullmatch(r"[^;]+\(\d+\):_\S+", frame) for frame in frames.split(";")), line
        ours = [re.sub(r".*:_", "", frame) for frame in frames.split(";") if PROGRAM.name in frame]
        stacks.add(tuple(name for name in ours if name != "<module>"))
    assert ("step",) in stacks
    assert stacks <= {
        (), ("__init__",), ("step",), ("step", "forward"), ("step", "forward", "helper"), ("step", "helper"),
    }  # fmt: skip
