# SPDX-License-Identifier: Apache-2.0
"""Operators of an unmodified PyTorch program, held against torch.profiler's own records of the same run."""

import json
import subprocess

import pytest
from harness import TARGETS, clean_env

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "operators.py"
COLUMNS = (
    "SELECT o.row, o.name, o.scope, o.shapes, o.dtypes, o.sequence, o.allocated, o.freed, s.depth, s.track, t.pid"
    " FROM operators o JOIN slices s ON s.row = o.row JOIN threads t ON t.track = s.track"
    " WHERE o.scope IS NOT NULL AND o.scope != 'module' ORDER BY o.row"
)


def collect(strata, python, mode, *options, config="", **more):
    result = strata.folder / f"{mode}{len(strata.history)}"
    said = strata.folder / f"{mode}.json"
    program = [python, PROGRAM, mode, said]
    if config:
        program = ["sh", "-c", f'STRATA_CONFIG="$STRATA_CONFIG;{config}" exec "$@"', "sh", *program]
    done = strata("-collect", "operators", "-quiet", *options, "-r", result, "--", *program, **more)
    assert done.status == 0, done.err
    return result, json.loads(said.read_text()), done


def ask(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return json.loads(done.stdout)["rows"]


def source(strata, result):
    (row,) = ask(strata, result, "SELECT * FROM operator_sources")
    return row


def is_mark(row):
    return row["name"] == "aten::ones" and row["depth"] == 0


def between_marks(rows):
    """What the main thread did between the last two operators that stand for marks."""
    main = [row for row in rows if row["track"] == rows[0]["track"]]
    first, last = [at for at, row in enumerate(main) if is_mark(row)][-2:]
    after = next(at for at in range(first + 1, len(main)) if main[at]["depth"] == 0)
    return main[after:last]


def sizes(shapes):
    """As Kineto's events have them: nothing for lists of tensors."""
    return [[] if any(isinstance(size, list) for size in one) else one for one in shapes]


@pytest.fixture(scope="module")
def trained(shared_strata, python):
    result, said, _ = collect(shared_strata, python, "train")
    return shared_strata, result, said, ask(shared_strata, result, COLUMNS)


def test_every_operator_of_the_profiler(trained):
    """One for one: names in order, sizes, sequence numbers."""
    _, _, said, rows = trained
    ours = between_marks(rows)
    assert len(said["events"]) > 500
    assert [row["name"] for row in ours] == [name for name, _, _, _ in said["events"]]
    for row, (name, shapes, _, sequence) in zip(ours, said["events"]):
        assert sizes(json.loads(row["shapes"])) == shapes, name
        # Kineto copies the number of the node onto what runs it.
        if not name.startswith("autograd::engine::evaluate_function"):
            assert (-1 if row["sequence"] is None else row["sequence"]) == sequence, name


def test_cost_is_not_that_of_a_mere_task(trained):
    """PyTorch takes some 76 ns to call a callback that does nothing, two reads of the clock take 19."""
    strata, result, _, rows = trained
    told = {}
    for name in ("info", "summary"):
        done = strata("report", name, "-r", result, "-format", "json")
        for row in json.loads(done.stdout)["rows"]:
            told[row.get("name")] = row.get("value")
    assert told["estimate_ns"] >= len(rows) * 4 * told["pair_cost_ps"] / 1000


def test_types_of_tensors(trained):
    _, _, said, rows = trained
    kinds = set()
    for row, (name, shapes, dtypes, _) in zip(between_marks(rows), said["events"]):
        ours = json.loads(row["dtypes"])
        for one, shape, dtype in zip(ours, shapes, dtypes):
            if shape:
                kinds.add(dtype)
                assert one == dtype, name
    assert {"float", "long int"} <= kinds


def test_lists_of_tensors(trained):
    """Known as soon as the program has had two of them."""
    rows = [row for row in trained[3] if row["name"] == "aten::cat"]
    assert json.loads(rows[-1]["shapes"]) == [[[3, 4], [5, 4]], []]


def test_the_first_operator(trained):
    """Nothing is missed between the import and the first operator, and its inputs are known."""
    strata, result, _, rows = trained
    assert [row["name"] for row in rows[:3]] == ["aten::ones", "aten::empty", "aten::fill_"]
    assert json.loads(rows[2]["shapes"])[0] == [2, 3]
    assert rows[1]["allocated"] == 2 * 3 * 4
    row = source(strata, result)
    assert (row["level"], row["why"]) == ("in place", None)
    assert row["framework"].startswith("PyTorch ")


def test_a_second_thread(trained):
    _, _, _, rows = trained
    other = [row for row in rows if row["track"] != rows[0]["track"]]
    names = [row["name"] for row in other if row["depth"] == 0]
    assert names == ["aten::ones", "aten::to", "aten::ones", "aten::mm"]
    product = next(row for row in other if row["name"] == "aten::mm")
    assert json.loads(product["shapes"]) == [[7, 5], [5, 3]]
    assert json.loads(product["dtypes"]) == ["double", "double"]
    assert product["allocated"] == 7 * 3 * 8


def test_ranges_and_backward(trained):
    _, _, said, rows = trained
    scopes = {row["name"]: row["scope"] for row in rows}
    assert scopes["step 0"] == scopes["Optimizer.step#Adam.step"] == "user"
    assert scopes["ConvolutionBackward0"] == "backward"
    assert scopes["aten::conv2d"] == "function"
    forward = {row["sequence"] for row in rows if row["name"] == "aten::conv2d"}
    backward = {row["sequence"] for row in rows if row["name"] == "ConvolutionBackward0"}
    assert len(forward) == 4 and forward == backward


def test_the_program_is_not_changed(strata, python, trained):
    """Losses are the same to the last bit with and without us, and so is what its own profiler says of memory."""
    said = strata.folder / "alone.json"
    subprocess.run([python, PROGRAM, "memory", said], env=clean_env(), check=True, capture_output=True)
    _, under, done = collect(strata, python, "memory")
    alone = json.loads(said.read_text())
    assert alone["losses"] == under["losses"] == trained[2]["losses"]
    assert any(bytes_ > 0 for _, _, bytes_ in alone["memory"])
    assert alone["memory"] == under["memory"]
    assert "unknown size" not in done.err


def test_what_is_left_out(strata, python):
    """A release whose layout nobody knows: nothing is followed, and the framework is asked."""
    result, said, _ = collect(strata, python, "train", config="operator_layout=0")
    assert source(strata, result)["level"] == "asked"
    assert first_line(strata, result).endswith("as reported by the framework; the self-check found another layout")
    assert "(inputs read through its API)" in summary_source(strata, result)
    ours = between_marks(ask(strata, result, COLUMNS))
    assert [[row["name"], json.loads(row["shapes"])] for row in ours] == [event[:2] for event in said["events"]]
    assert {row["sequence"] for row in ours} == {None}


def test_wrong_later(strata, python):
    """A layout that held at first, and then is read wrongly: the framework is asked from there on, and that is said."""
    result, said, _ = collect(strata, python, "train", config="operator_layout=2")
    row = source(strata, result)
    assert (row["level"], row["why"][:30]) == ("asked", "a check while recording failed")
    for line in (first_line(strata, result), strata("report", "summary", "-r", result).out):
        assert "a check while recording failed" in line.replace("\n        ", " ")
    ours = between_marks(ask(strata, result, COLUMNS))
    assert [[row["name"], json.loads(row["shapes"])] for row in ours] == [event[:2] for event in said["events"]]


def summary_source(strata, result):
    """The summary's line about what was recorded, with what of it stands on the next ones."""
    lines = strata("report", "summary", "-r", result).out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("source  "))
    last = next(number for number in range(first + 1, len(lines)) if not lines[number].startswith(" "))
    return " ".join(line.strip() for line in lines[first:last])


def first_line(strata, result):
    return strata("report", "operators", "-r", result).out.splitlines()[0]


def test_no_way_to_register(strata, python):
    """Then nothing but ITT is left, and that is said."""
    result, _, _ = collect(strata, python, "raise", config="operator_level=4")
    row = source(strata, result)
    assert (row["level"], row["why"]) == ("itt", "forced")
    said = first_line(strata, result)
    assert said.startswith(f"{row['framework']}: operators from the program's ITT tasks")
    assert said.endswith("forced")
    assert f"operators of {row['framework']} (from its ITT tasks: names only)" in summary_source(strata, result)


def test_no_framework(strata):
    result = strata.folder / "none"
    assert strata("-collect", "operators", "-quiet", "-r", result, "--", "true").status == 0
    assert first_line(strata, result) == "This result has no operators: no process loaded PyTorch."
    assert "no operators (no process loaded PyTorch)" in summary_source(strata, result)


def test_framework_without_operators(strata, python):
    """Loaded, but the program ended before it did anything."""
    result = strata.folder / "loaded"
    program = (python, "-c", "import torch")
    assert strata("-collect", "operators", "-quiet", "-r", result, "--", *program).status == 0
    assert "PyTorch was loaded but ran none." in strata("report", "operators", "-r", result).out
    summary = strata("report", "summary", "-r", result).out
    assert "PyTorch was loaded but ran none." in summary and "no process loaded" not in summary


def test_names_only(strata, python):
    less = ("-knob", "operator-shapes=false", "-knob", "operator-memory=false")
    result, said, _ = collect(strata, python, "train", *less)
    assert source(strata, result)["level"] == "names"
    assert first_line(strata, result).endswith("without inputs; inputs were not requested")
    ours = between_marks(ask(strata, result, COLUMNS))
    assert [row["name"] for row in ours] == [event[0] for event in said["events"]]
    assert {row["shapes"] for row in ours} == {None}
    assert not any(row["allocated"] or row["freed"] for row in ours)


def test_a_forked_child(strata, python):
    result, _, _ = collect(strata, python, "fork")
    rows = ask(strata, result, COLUMNS)
    child = [row for row in rows if row["pid"] != rows[0]["pid"]]
    assert [row["name"] for row in child if row["depth"] == 0] == ["aten::ones", "aten::ones", "aten::mm"]
    assert [json.loads(row["shapes"]) for row in child if row["name"] == "aten::mm"] == [[[11, 13], [13, 2]]]
    assert [row["name"] for row in rows].count("around the fork") == 1


def test_exceptions(strata, python):
    """What an exception leaves has ended: the next operator lies in none of it."""
    result, _, _ = collect(strata, python, "raise")
    rows = ask(strata, result, COLUMNS)
    assert [row["name"] for row in rows].count("left") == 3
    assert is_mark(next(row for row in reversed(rows) if row["name"] == "aten::ones"))


def test_pauses(strata, python):
    """Nothing of a pause, nor behind a detach; what outlives a pause is there from the resume on."""
    result, _, _ = collect(strata, python, "pause")
    filled = [row for row in ask(strata, result, COLUMNS) if row["name"] == "aten::fill_"]
    assert [json.loads(row["shapes"])[0] for row in filled] == [[2, 3], [5], [6]]
    counts = strata.counts(result)
    assert counts["outlives the pause"] == 1
    assert counts["aten::ones"] == 3
    quality = strata.report(result, "tasks")["quality"]
    assert (quality["clipped"], quality["mismatched"], quality["unmatched_ends"]) == (1, 0, 0)
