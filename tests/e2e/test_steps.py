# SPDX-License-Identifier: Apache-2.0
"""Steps and their parts, against a program that sleeps in each part and measures it with its own clock."""

import json
import re
import statistics

import pytest
from harness import TARGETS

pytestmark = pytest.mark.torch

COUNT = 8
SLEPT = {"data": 6e6, "forward": 9e6, "backward": 12e6, "optimizer": 4e6}  # ns in each step; see the program
COLUMN = {"data": "data_wait_ns", "forward": "forward_ns", "backward": "backward_ns", "optimizer": "optimizer_ns"}
CERTAIN = '; to be certain, put record_function("step") around each step'
SOURCES = {
    "train": "a step ends with the optimizer: Optimizer.step#SlowSGD.step",
    "workers": "a step ends with the optimizer: Optimizer.step#SlowSGD.step",
    "profiler": "steps of torch.profiler: ProfilerStep#*",
    "named": "tasks named as steps: train step",
    "infer": "guessed (likely): a step begins with the model call: Net" + CERTAIN,
    "plain": "guessed (uncertain) from repeating operators; a step begins with: aten::mm" + CERTAIN,
}
NAMES = {"profiler": "ProfilerStep#{}", "named": "train step {}"}
QUICK = ("train", "profiler", "plain")
CLOCKS_DIFFER = 0.2e6  # ns


@pytest.fixture(scope="module", params=SOURCES)
def stepped(request, shared_strata, python, scale):
    """(kind, strata, result, the program's clock in ns)."""
    kind = request.param
    if scale != "full" and kind not in QUICK:
        pytest.skip("only at STRATA_TEST_SCALE=full")
    result, clock = shared_strata.folder / f"steps_{kind}", shared_strata.folder / f"steps_{kind}.json"
    program = (python, TARGETS / "step_parts.py", kind, str(COUNT), clock)
    done = shared_strata("-collect", "operators", "-quiet", "-r", result, "--", *program)
    assert done.status == 0, done.err
    seconds = json.loads(clock.read_text())
    return kind, shared_strata, result, {part: [1e9 * each for each in all] for part, all in seconds.items()}


def test_parts_add_up(stepped):
    _, strata, result, _ = stepped
    report = strata.report(result, "steps")
    parts = (*COLUMN.values(), "other_ns")
    assert len(report["rows"]) == COUNT
    for row in report["rows"]:
        assert sum(row[key] for key in parts) == row["wall_total_ns"] > 0
    kept = [row for row in report["rows"] if not row["warm_up"]]
    for key in (*parts, "wall_total_ns"):
        assert report["totals"][key] == sum(row[key] for row in kept)


def test_source_and_names(stepped):
    kind, strata, result, _ = stepped
    report = strata.report(result, "steps")
    assert re.match(f"{COUNT} steps[,;] ", report["subject"]) and report["subject"].endswith(SOURCES[kind])
    name = NAMES.get(kind, "step {}")
    assert [row["step"] for row in report["rows"]] == [name.format(number) for number in range(COUNT)]
    text = strata("report", "steps", result).out
    assert text.splitlines()[0] == report["subject"]


def test_parts_are_the_clocks(stepped):
    """What we call a part lies inside of what the program measured around it, and holds the sleep in it."""
    kind, strata, result, clock = stepped
    rows = strata.report(result, "steps")["rows"]
    for part, key in COLUMN.items():
        measured = clock[part]
        if not measured:
            assert not any(row[key] for row in rows), part
            continue
        least = 0 if kind == "plain" or (kind, part) == ("workers", "data") else SLEPT[part]
        pairs = [(row[key], clock_ns) for row, clock_ns in zip(rows, measured, strict=True)]
        assert all(least <= ours for ours, _ in pairs), (part, pairs)
        # Seen once, by 4 ms. Likely, not shown: the program lost the processor between our time and its own.
        assert sum(ours > clock_ns + CLOCKS_DIFFER for ours, clock_ns in pairs) <= 1, (part, pairs)
    if kind == "plain":
        share = sum(row["forward_ns"] for row in rows) / sum(clock["forward"])
        assert share > 0.8


def test_steps_are_the_clocks(stepped):
    """The last one ends with its last operator where nothing tells its end."""
    kind, strata, result, clock = stepped
    rows = strata.report(result, "steps")["rows"][1:-1]
    expected = clock["step"][1:-1]
    ours = statistics.median(row["wall_total_ns"] for row in rows)
    assert ours == pytest.approx(statistics.median(expected), rel=0.05, abs=1e6)
    other = statistics.median(row["other_ns"] for row in rows)
    assert other >= 8e6
    assert other <= statistics.median(clock["other"]) + 0.2 * ours  # 0.1 was not enough once, beside another suite


def test_the_summary_says_so(stepped):
    kind, strata, result, _ = stepped
    rows = strata.report(result, "summary")["rows"]
    (head,) = (row for row in rows if row["section"] == "step")
    (left_out,) = (row for row in rows if row["section"] == "step_warm_up")
    parts = [row for row in rows if row["section"] == "step_part"]
    assert head["count"] + left_out["count"] == COUNT
    every = strata.report(result, "steps")["rows"]
    assert left_out["wall_total_ns"] == sum(row["wall_total_ns"] for row in every if row["warm_up"])
    assert [row["name"] for row in parts] == ["data wait", "forward", "backward", "optimizer", "Python, other"]
    assert sum(row["wall_total_ns"] for row in parts) == head["wall_total_ns"]
    assert head["value"] == SOURCES[kind]
    text = strata("report", "summary", result).out
    assert f"STEP    {head['count']} steps" in text and "mean of a step" in text
    assert ("\n  data wait" in text) == (kind not in ("named", "infer", "plain"))


def test_the_table_is_the_report(stepped):
    _, strata, result, _ = stepped
    done = strata("query", "-r", result, "-format", "json", "SELECT * FROM steps")
    assert done.status == 0, done.err
    table, rows = json.loads(done.out)["rows"], strata.report(result, "steps")["rows"]
    for found, row in zip(table, rows, strict=True):
        assert found["step"] == row["step"] and found["start_ns"] == row["start_ns"]
        assert found["wall_ns"] == row["wall_total_ns"] and found["end_ns"] >= found["start_ns"] + found["wall_ns"]
        for key in (*COLUMN.values(), "other_ns"):
            assert found[key] == row[key]


def test_operators_by_step(stepped):
    """Every step but the first, which initialises, has the same operators."""
    kind, strata, result, _ = stepped
    rows = strata.report(result, "operators", "-group-by", "step,operator")["rows"]
    found = {
        row["step"]: {inner["operator"].split("#")[0]: inner["count"] for inner in row["children"]} for row in rows
    }
    name = NAMES.get(kind, "step {}")
    if kind == "workers":  # a batch that comes before its turn is unpacked in an earlier step
        unpacking = ("aten::empty", "aten::set_")
        found = {step: {one: n for one, n in counts.items() if one not in unpacking} for step, counts in found.items()}
    middle = [found[name.format(number)] for number in range(2, COUNT - 1)]
    assert all(counts == middle[0] for counts in middle), middle
    if kind == "plain":
        assert (middle[0]["aten::mm"], middle[0]["aten::relu"], middle[0]["aten::sum"]) == (2, 1, 1 + 1)
    else:
        assert middle[0]["aten::addmm"] == 1


COUNTED = """
import time, torch
from torch.profiler import record_function
data = torch.ones(8, requires_grad=True)
if {hooked}:
    def work(number):
        out = data * 2
        def hook(gradient):
            with record_function(f"part{{number % 3}}"):
                for _ in range(200):
                    gradient = gradient * 2
            return gradient
        out.register_hook(hook)
        out.sum().backward()
    for number in range(12):
        work(number)
else:
    ranges = [record_function(f"request{{number}}") for number in range(6)]
    for even, odd in zip(ranges[::2], ranges[1::2]):
        even.__enter__()
        time.sleep(0.01)  # more than what comes before the first of them
        data + 1
        odd.__enter__()
        data + 1
        even.__exit__(None, None, None)
        data + 1
        odd.__exit__(None, None, None)
"""


@pytest.mark.parametrize("hooked", [False, True], ids=["overlapping", "in operators"])
def test_counted_ranges(strata, python, hooked):
    """They are steps by a guess, which is said, and so are those that overlap; those that hooks begin are none."""
    script, result = strata.folder / "counted.py", strata.folder / "counted"
    script.write_text(COUNTED.format(hooked=hooked))
    done = strata("-collect", "operators", "-quiet", "-no-summary", "-r", result, "--", python, script)
    assert done.status == 0, done.err
    report = strata.report(result, "steps")
    if hooked:
        assert "part" not in report.get("subject", ""), report["subject"]
    else:
        assert "guessed (likely) from numbered tasks: request*; 3 more that overlap" in report["subject"]
        assert [row["step"] for row in report["rows"]] == ["request0", "request2", "request4"]


HOOKED = """
import time, torch
from torch.profiler import record_function

class Slow(torch.nn.Module):
    def forward(self, data):
        time.sleep(0.02)
        return data + 1

model, data, loading = Slow(), torch.ones(8), []
model.register_forward_pre_hook(lambda *_: loading.pop().__exit__(None, None, None))
for _ in range(4):
    with record_function("train step"):
        loading.append(record_function("loading"))
        loading[0].__enter__()
        model(data)
"""
CHAIN = """
import time, torch
from torch.profiler import record_function
data = torch.ones(8)
ranges = [record_function(f"step{number}") for number in range(5)]
ranges[0].__enter__()
for last, following in zip(ranges, ranges[1:]):
    following.__enter__()
    time.sleep(0.01)
    data + 1
    last.__exit__(None, None, None)
    data * 2
ranges[-1].__exit__(None, None, None)
"""


def recorded(strata, python, text):
    script, result = strata.folder / "script.py", strata.folder / "result"
    script.write_text(text)
    done = strata("-collect", "operators", "-quiet", "-no-summary", "-r", result, "--", python, script)
    assert done.status == 0, done.err
    return result


def test_a_module_goes_on_behind_the_end_of_a_range(strata, python):
    """Of one that began before it and that a hook ends: its time is the forward pass's."""
    rows = strata.report(recorded(strata, python, HOOKED), "steps")["rows"]
    assert len(rows) == 4 and all(row["forward_ns"] >= 20e6 for row in rows), rows


def test_overlapping_steps_have_their_own_operators(strata, python):
    """Each of them ends inside of the next one: every second one is a step, and what is behind its end is not in it."""
    result = recorded(strata, python, CHAIN)
    assert [row["step"] for row in strata.report(result, "steps")["rows"]] == ["step0", "step2", "step4"]
    rows = strata.report(result, "operators", "-group-by", "step,operator")["rows"]
    wanted = ("aten::add", "aten::mul")
    found = {
        row["step"]: {inner["operator"]: inner["count"] for inner in row["children"] if inner["operator"] in wanted}
        for row in rows
    }
    assert found == {
        "step0": {"aten::add": 1},
        "step2": {"aten::add": 2, "aten::mul": 1},
        "step4": {"aten::add": 1, "aten::mul": 1},
        "[no step]": {"aten::mul": 2},
    }
