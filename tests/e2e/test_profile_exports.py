# SPDX-License-Identifier: Apache-2.0
"""The files of strata.profile, in the program that it profiles."""

import gzip
import json
import re
from collections import Counter
from types import SimpleNamespace

import pytest
from harness import TARGETS, strict_json
from test_kineto import OPERATORS, complete, parents_by_time

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def case(shared_strata, python, build_dir):
    folder = shared_strata.folder / "exports"
    folder.mkdir()
    done = shared_strata.run(
        [python, TARGETS / "profile_exports.py", folder], env={"PYTHONPATH": str(build_dir / "python")}
    )
    assert done.status == 0, done.err
    return SimpleNamespace(
        folder=folder,
        trace=strict_json((folder / "trace.json").read_bytes()),
        said=json.loads((folder / "said.json").read_text()),
    )


def test_handler_writes_two_traces(case):
    """schedule(wait=0, warmup=1, active=3) over 8 steps: two cycles, each a file of three steps."""
    files = sorted((case.folder / "board").iterdir())
    assert [bool(re.fullmatch(r"worker\.\d{19}\.pt\.trace\.json", file.name)) for file in files] == [True, True]
    for file, steps in zip(files, ([1, 2, 3], [5, 6, 7]), strict=True):
        trace = strict_json(file.read_bytes())
        assert [one["name"] for one in complete(trace) if one["name"].startswith("Prof")] == [
            f"ProfilerStep#{number}" for number in steps
        ]
        assert Counter(one["name"] for one in complete(trace))["a range"] == 3
        assert trace["record_shapes"] == 1 and "profile_memory" not in trace


def test_trace_is_that_of_the_profile(case):
    """Only its own window, with what was added to it."""
    trace = case.trace
    assert (trace["a text"], trace["a list"]) == ('with "quotes"', [1, 2])
    assert trace["trace_id"] == case.said["trace_id"]
    assert [trace[key] for key in ("record_shapes", "profile_memory", "with_flops")] == [1, 1, 1]
    names = Counter(one["name"] for one in complete(trace))
    assert names["a range"] == 3 and names["aten::addmm"] == case.said["averages"]["aten::addmm"] == 6
    assert strict_json(gzip.decompress((case.folder / "trace.json.gz").read_bytes())) == {
        **trace, "traceName": str(case.folder / "trace.json.gz"),
    }  # fmt: skip
    parents_by_time(trace, *OPERATORS, "python_function")


def test_stacks_are_in_both_files_or_in_none(case):
    """A profile says when it has none."""
    functions = [one["name"] for one in complete(case.trace, "python_function") if "nn.Module" not in one["name"]]
    stacks = (case.folder / "stacks.txt").read_text()
    assert bool(functions) == bool(stacks) == ("with_stack" in case.trace)
    if stacks:
        assert ":_step" in stacks and any(name.endswith(": step") for name in functions)


def test_other_files(case):
    assert "<svg" in (case.folder / "memory.html").read_text()
    events = strict_json(gzip.decompress((case.folder / "memory.raw.json.gz").read_bytes()))
    assert len(events) > 10
