# SPDX-License-Identifier: Apache-2.0
"""The Python stacks of operators: of a program whose lines are known."""

import json

import pytest
from harness import TARGETS

PROGRAM = TARGETS / "operator_stacks.py"
STACKS = """
WITH RECURSIVE up(row, name, node, depth) AS (
  SELECT row, name, stack, 0 FROM operators WHERE stack IS NOT NULL
  UNION ALL
  SELECT row, up.name, parent, depth + 1 FROM up JOIN stack_nodes USING (node) WHERE parent)
SELECT up.row AS row, up.name AS operator, python_codes.name AS function, file, line
FROM up JOIN stack_nodes USING (node) JOIN python_codes USING (code) ORDER BY up.row, depth
"""


def line_of(marker):
    lines = PROGRAM.read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"  # {marker}")]
    return number


def query(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return json.loads(done.stdout)["rows"]


def stacks(strata, result):
    """Operator -> its stacks, innermost frame first, as (function, line)."""
    found = {}
    for row in query(strata, result, STACKS):
        frames = found.setdefault(row["operator"], {}).setdefault(row["row"], [])
        frames.append((row["function"], row["line"]))
    return {name: list(rows.values()) for name, rows in found.items()}


@pytest.mark.torch
def test_stacks_are_the_program_s(strata, python):
    result = strata.folder / "result"
    done = strata("-collect", "operators", "-r", result, "-knob", "operator-stacks=true", "--", python, PROGRAM)
    assert done.status == 0, done.err
    found = stacks(strata, result)
    top = [("<module>", line_of("top"))]
    main = [("main", line_of("main")), *top]
    sine = [("inner", line_of("sin")), ("outer", line_of("outer sin")), *main]
    assert found["aten::sin"] == 3 * [sine]
    assert found["aten::cos"] == 3 * [[("outer", line_of("cos")), *main]]
    (tangent,) = found["aten::tan"]
    assert tangent[0] == ("generated", line_of("tan")) and tangent[-1] == top[0]
    (deep,) = found["aten::asin"]
    assert len(deep) == 256 and {name for name, _ in deep} == {"deep"}, "the innermost 256 frames"
    (thread,) = found["aten::sinh"]
    assert thread[0] == ("in_thread", line_of("sinh")) and thread[-1][0].endswith("_bootstrap")
    (child,) = found["aten::tanh"]
    assert child == [("main", line_of("child")), *top]
    (text,) = found["aten::atan"]
    assert text[0][0] == "<module>" and text[0][1] == 1 and text[-1] == top[0]
    (linear,) = found["aten::linear"]
    assert linear[0][0] == "Linear.forward" and ("main", line_of("module")) in linear
    (custom,) = found["aten::exp"]
    assert custom[0] == ("Square.backward", line_of("exp"))
    none = query(strata, result, "SELECT count(*) AS n FROM operators WHERE scope = 'module' AND stack IS NOT NULL")
    assert none[0]["n"] == 0

    def lines(*more):
        done = strata("report", "operators", "-r", result, "-format", "json", "-group-by", "python-line", *more)
        assert done.status == 0, done.err
        return {row["python_line"]: row["count"] for row in json.loads(done.stdout)["rows"]}

    by_line = lines()
    assert by_line[f"{PROGRAM}:{line_of('sin')}"] == 3
    assert f"{PROGRAM}:{line_of('mul')} [backward]" in by_line, "of the forward operator, and says so"
    text = strata("report", "operators", "-r", result, "-group-by", "callstack", "-format", "csv").out
    assert f"inner ({PROGRAM}:{line_of('sin')}) < outer ({PROGRAM}:{line_of('outer sin')}) < main" in text


@pytest.mark.torch
def test_an_interpreter_that_ends_under_operators(strata, python):
    """Daemon threads go on computing while it takes their states away. Without us it may abort, too."""
    result = strata.folder / "result"
    done = strata(
        "-collect", "operators", "-r", result, "-knob", "operator-stacks=true", "--", python, PROGRAM, "daemon"
    )  # fmt: skip
    assert done.status in (0, -6), done.err


def test_only_where_operators_are(strata, python):
    off = ("-knob", "collect-operators=false")
    done = strata("-collect", "tasks", *off, "-knob", "operator-stacks=true", "--", python, "-c", "pass")
    assert done.status == 2 and "collect-operators" in done.err
