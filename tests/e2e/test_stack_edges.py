# SPDX-License-Identifier: Apache-2.0
"""The Python line of an operator where what is recorded of calls does not tell all."""

import re
from collections import Counter

import pytest
from harness import TARGETS, strict_json

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "stack_edges.py"
ASK = """
SELECT o.name, n.line, c.name AS function FROM operators o
JOIN stack_nodes n ON n.node = o.stack JOIN python_codes c ON c.code = n.code
"""
LINES = {
    found[1]: number
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
    if (found := re.search(r"  # ([\w:]+)$", line))
}


@pytest.fixture(scope="module")
def folder(shared_strata, python, build_dir):
    place = shared_strata.folder / "stack_edges"
    place.mkdir()
    done = shared_strata.run([python, PROGRAM, place], env={"PYTHONPATH": str(build_dir / "python")})
    assert done.status == 0, done.err
    return place


@pytest.fixture
def lines(shared_strata, folder):
    """How often an operator has a line, by the innermost frame."""

    def ask(work):
        rows = strict_json(shared_strata("query", "-r", folder / work, ASK, "-format=json").out)["rows"]
        return Counter((row["name"], row["line"]) for row in rows), Counter(
            (row["name"], row["function"]) for row in rows
        )

    return ask


def test_range_of_c(lines):
    found, _ = lines("range_of_c")
    assert found["aten::add", LINES["aten::add"]] == 1
    assert found["aten::mul", LINES["aten::mul"]] == 1


def test_module_of_c(lines):
    found, _ = lines("module_of_c")
    assert found["aten::sub", LINES["aten::sub"]] == 1
    assert found["aten::relu", LINES["aten::relu"]] == 1
    assert found["aten::clamp_min", LINES["aten::relu"]] == 1


def test_inside_of_a_debugger(lines, shared_strata, folder):
    found, functions = lines("debugged")
    assert found["aten::exp", LINES["aten::exp"]] == 1
    assert found["aten::div", LINES["aten::div"]] == 2
    assert found["PythonDispatchMode", LINES["PythonDispatchMode"]] == 1
    assert functions["aten::mul", "OpOverload.__call__"] == 1, "what the mode calls again"
    outer = ASK.replace("n.node = o.stack", "n.node = (SELECT parent FROM stack_nodes WHERE node = o.stack)")
    rows = strict_json(shared_strata("query", "-r", folder / "debugged", outer, "-format=json").out)["rows"]
    called = sorted(row["line"] for row in rows if row["name"] == "aten::div")
    assert len(called) == 2 and called[1] == called[0] + 1, "helper is called at two lines"


def test_paused_by_another_thread(lines):
    found, _ = lines("paused")
    for name in ("aten::remainder", "aten::select", "aten::sin", "aten::masked_fill_"):
        here = {line for at, line in found if at == name}
        assert here <= {LINES[name]}, (name, here)
    assert found["aten::select", LINES["aten::select"]] > 0
