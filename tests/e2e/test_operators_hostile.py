# SPDX-License-Identifier: Apache-2.0
"""Programs that make it hard to record their operators: nothing is made up, nothing hangs, and they end as ever."""

import json
import os
import subprocess

import pytest
from harness import TARGETS, clean_env

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "operators_hostile.py"
COLUMNS = (
    "SELECT o.row, o.name, o.scope, o.shapes, s.parent, s.start_ns, s.end_ns, s.unfinished, s.mismatched, s.clipped,"
    " s.tid, s.pid FROM operators o JOIN slices s ON s.row = o.row WHERE o.scope IS NOT NULL ORDER BY o.row"
)


# One process each, and loading torch takes seconds: the others run at full scale.
QUICK = ("elsewhere", "fork", "short")


class Run:
    def __init__(self, strata, python, mode, *words, status=0):
        if mode not in QUICK and os.environ.get("STRATA_TEST_SCALE") != "full":
            pytest.skip("only at full scale")
        self.strata, self.result = strata, strata.folder / mode
        program = (python, PROGRAM, mode, *words)
        done = strata("-collect", "operators", "-quiet", "-r", self.result, "--", *program)
        assert done.status == status, done.err
        self.rows = self.ask(COLUMNS)
        self.by_row = {row["row"]: row for row in self.rows}

    def ask(self, sql):
        done = self.strata("query", "-r", self.result, "-format", "json", sql)
        assert done.status == 0, done.err
        return json.loads(done.stdout)["rows"]

    def around(self, row):
        """Names of what a row lies in, innermost first."""
        found = []
        while row["parent"] is not None:
            row = self.by_row[row["parent"]]
            found.append(row["name"])
        return found

    def mark(self, size):
        """What the one mark of a size lies in."""
        (row,) = (r for r in self.rows if r["name"] == "aten::fill_" and json.loads(r["shapes"])[0] == [size])
        return self.around(row)[1:]

    def only(self, name):
        (row,) = (row for row in self.rows if row["name"] == name)
        return row


def test_ranges_that_end_elsewhere(strata, python):
    run = Run(strata, python, "elsewhere")
    assert run.mark(3) == ["ends elsewhere"]
    assert run.mark(5) == ["inner", "outer"]
    assert run.mark(4) == run.mark(6) == run.mark(8) == []
    assert run.mark(7) == ["of a thread that is gone"]
    alone = run.only("ends elsewhere")
    assert not alone["unfinished"] and not alone["mismatched"]
    assert not run.only("the last of all")["unfinished"]  # though its thread did nothing more
    # Closed at the time of its end, not when its thread came by next.
    behind = next(row for row in run.rows if row["start_ns"] > alone["end_ns"] and row["name"] == "aten::ones")
    assert behind["start_ns"] - alone["end_ns"] > 0
    assert run.only("outer")["end_ns"] >= run.only("inner")["end_ns"]


def test_threads_that_leave_ranges_open(strata, python):
    run = Run(strata, python, "leave")
    assert run.mark(3) == ["left open too", "left open"]
    assert run.mark(4) == run.mark(5) == []
    assert run.only("left open")["unfinished"] == run.only("left open too")["unfinished"] == 1


def test_exit_in_an_operator(strata, python):
    run = Run(strata, python, "exit", status=7)
    assert run.mark(3) == ["hostile::leaves", "around the exit"]
    assert run.only("hostile::leaves")["unfinished"] == 1


def test_fork_in_an_operator(strata, python):
    """The child leaves an operator and a range that it never entered."""
    run = Run(strata, python, "fork")
    parent = run.rows[0]["pid"]
    child = [row for row in run.rows if row["pid"] != parent]
    assert run.mark(3) == run.mark(4) == run.mark(5) == []
    assert [row["name"] for row in child if row["parent"] is None] == ["aten::ones", "aten::add", "aten::ones"]
    assert not any(row["unfinished"] or row["mismatched"] for row in run.rows)
    assert [row["name"] for row in run.rows].count("around the fork") == 1


def test_operators_that_are_taken_back(strata, python):
    run = Run(strata, python, "renamed")
    found = [row["name"] for row in run.rows if row["name"].startswith("hostile::")]
    assert found == [f"hostile::one_{number:02}" for number in range(40)]


def test_many_long_names(strata, python):
    """More than fit into what is kept for definitions at a time: then a range is one of its name, without more. Ten
    megabytes at once may be more than the ring holds: what is not there is counted."""
    run = Run(strata, python, "names")
    found = [row["name"] for row in run.ask("SELECT task_type AS name FROM slices WHERE task_domain = 'torch.range'")]
    dropped = strata.report(run.result, "tasks")["quality"].get("slices_dropped", 0)
    numbers = [int(name[:5]) for name in found]
    assert len(found) + dropped == 10000 and len(found) > 5000
    assert numbers == sorted(set(numbers))
    assert all(name[5:] == (" " + "long " * 200)[: len(name) - 5] for name in found)
    # Inputs find room again when strata has read the names: the mark may have come too soon for them.
    around = "SELECT p.task_type AS name, p.parent FROM slices s JOIN slices p ON p.row = s.parent"
    (row,) = run.ask(f"{around} WHERE s.task_type = 'aten::fill_'")
    assert (row["name"], row["parent"]) == ("aten::ones", None)


def test_names_that_are_much_alike(strata, python):
    run = Run(strata, python, "short")
    names = [row["name"] for row in run.rows if row["scope"] == "user"]
    assert names == [name for number in range(1000) for name in (f"{number}", f"step_{number:03}")]


def test_operators_that_pause_and_resume(strata, python):
    run = Run(strata, python, "pause")
    sizes = [json.loads(row["shapes"])[0] for row in run.rows if row["name"] == "aten::fill_"]
    assert [size for size in sizes if size != [2]] == [[3], [6], [8]]
    assert run.mark(3) == ["hostile::pauses"] and run.mark(8) == []
    # Nobody is told of what begins while paused, also where it outlives the pause.
    names = [run.by_row[row["row"]]["name"] for row in run.rows]
    assert names.count("hostile::pauses") == 1
    assert "hostile::resumes" not in strata.counts(run.result)


@pytest.fixture
def late_library(tmp_path):
    path = tmp_path / "liblate.so"
    source = TARGETS / "late_operators.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, source, "-ldl"], check=True, env=clean_env())
    return path


def test_operators_when_the_process_ends(strata, python, late_library):
    run = Run(strata, python, "late", late_library)
    assert run.mark(4) == []
    assert run.mark(5) == []
    assert any(row["name"] == "aten::clone" for row in run.rows), "nothing of what comes behind Python"


def test_more_inputs_than_are_kept(strata, python):
    """All operators are there; how many have no inputs is said."""
    run = Run(strata, python, "churn")
    negations = [row for row in run.rows if row["name"] == "aten::neg"]
    report = strata.report(run.result, "operators")
    counts = {row["operator"]: row["count"] for row in report["rows"]}
    assert counts["aten::neg"] == 36000
    unknown = 36000 - len(negations)
    assert 0 < unknown < 6000
    assert any(note.startswith(f"{unknown} operators are known by name only") for note in report["quality"]["notes"])


def test_deeper_than_is_kept(strata, python):
    run = Run(strata, python, "deep")
    assert run.mark(4) == []
    modules = [row for row in run.rows if row["scope"] == "module"]
    assert 250 <= len(modules) - 11 <= 256
    assert not any(row["unfinished"] or row["mismatched"] for row in run.rows)
    quality = strata.report(run.result, "tasks")["quality"]
    assert quality["slices_dropped"] > 0, "what has no place is counted"
    assert "(buffer full or nesting too deep" in strata("report", "tasks", "-r", run.result).out
