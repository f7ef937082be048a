# SPDX-License-Identifier: Apache-2.0
"""The first look answers what a program should change: it is about the loop, not about what comes before and behind."""

import json
import re
import shlex

import pytest
from harness import TARGETS


def section(rows, name):
    return [row for row in rows if row["section"] == name]


@pytest.fixture(scope="module")
def trained(shared_strata, python, tmp_path_factory):
    """Batches are made from Python lists; importing torch takes more CPU time than all steps."""
    result = tmp_path_factory.mktemp("first") / "lists"
    done = shared_strata(
        *("-collect", "hotspots", "-knob", "sampling-interval=2", "-quiet", "-no-summary", "-r", result, "--"),
        *(python, TARGETS / "list_batches.py", "range"),
    )
    assert done.status == 0, done.err
    return result, json.loads(done.out)


def number_of_line(text):
    lines = (TARGETS / "list_batches.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.torch
def test_lines_are_of_the_steps(shared_strata, trained):
    result, clock = trained
    rows = shared_strata.report(result, "summary")["rows"]
    lines = {row["name"].rsplit("/", 1)[1]: row for row in section(rows, "own_line")}
    make = f"list_batches.py:{number_of_line('return [math.sin')}"
    # Which line of the two has the time that makes a list a tensor, only they know; both are in the batches' time.
    batches = [
        lines[name]["share_ratio"]
        for name in lines
        if name in (make, f"list_batches.py:{number_of_line('torch.tensor(')}")
    ]
    assert next(iter(lines)) == make, lines
    assert sum(batches) == pytest.approx(clock["batches"] / clock["steps"], abs=0.12), (lines, clock)
    assert f"list_batches.py:{number_of_line('import torch')}" not in lines
    # The start-up has a line of its own. An optimizer imports as much again.
    first = [number_of_line("import torch"), number_of_line("optimizer = torch.optim")]
    start = {row["name"]: row for row in section(rows, "start_up")}
    assert start["line"]["value"].split()[0] in [f"list_batches.py:{number}" for number in first], start
    assert start["cpu_ns"]["value"] == pytest.approx(clock["before"] * 1e9, rel=0.15), clock
    text = " ".join(shared_strata("report", "summary", "-r", result).out.split())
    assert re.search(r"before the first step: .* of that is list_batches.py:\d+ (import torch|optimizer =)", text), text


@pytest.mark.torch
def test_functions_and_advice_are_of_the_steps(shared_strata, trained):
    result, clock = trained
    rows = shared_strata.report(result, "summary")["rows"]
    steady = {row["name"]: row for row in section(rows, "steady")}
    assert steady["cpu_ns"]["value"] == pytest.approx(clock["steps"] * 1e9, rel=0.15), clock
    hot = section(rows, "hotspot")
    assert hot[0]["share_ratio"] * steady["cpu_ns"]["value"] == pytest.approx(hot[0]["cpu_self_ns"], rel=1e-6)
    assert not [row["name"] for row in hot if "gc_collect" in row["name"] or "r_object" in row["name"]], hot
    # Asked for one part of the run, everything is of that.
    begin, end = steady["begin_ns"]["value"] / 1e9, steady["end_ns"]["value"] / 1e9
    part = shared_strata.report(result, "summary", "-time-filter", f"{begin:.9f}:{end:.9f}")["rows"]
    assert not section(part, "steady")
    assert [row["name"] for row in section(part, "own_line")][:1] == [section(rows, "own_line")[0]["name"]]


@pytest.mark.torch
@pytest.mark.parametrize("report", ["callstacks", "top-down"])
def test_trees_tell_the_way_to_the_steps(shared_strata, trained, report):
    result, _ = trained
    text = shared_strata("report", report, "-r", result).out
    head = " ".join(text.split("Function")[0].split())
    found = re.search(r"(\d+) % of it is before the steps, in warm-up or after .* -time-filter ([\d.]+:[\d.]+)", head)
    assert found, head
    part = shared_strata.report(result, report, "-time-filter", found[2])
    steady = {row["name"]: row for row in section(shared_strata.report(result, "summary")["rows"], "steady")}
    assert part["totals"]["cpu_self_ns"] == pytest.approx(steady["cpu_ns"]["value"], rel=0.05)
    assert int(found[1]) == pytest.approx(100 * (1 - steady["cpu_ns"]["share_ratio"]), abs=2)
    assert not part.get("subject")


@pytest.mark.torch
def test_ranges_are_no_operators(shared_strata, trained):
    result, _ = trained
    rows = shared_strata.report(result, "summary")["rows"]
    names = {row["name"] for row in section(rows, "operator")}
    assert names and not {name for name in names if name == "augment" or name.startswith("Optimizer.")}, names
    assert "augment" in {row["name"] for row in section(rows, "task")}
    # Shares are of what is an operator.
    scopes = shared_strata.report(result, "operators", "-group-by", "operator-scope")["rows"]
    real = sum(row["wall_self_ns"] for row in scopes if row["operator_scope"] != "user")
    first = section(rows, "operator")[0]
    assert first["share_ratio"] == pytest.approx(first["wall_self_ns"] / real, rel=1e-3), (first, real)


@pytest.mark.torch
@pytest.mark.parametrize("how", ["plain", "arrays"])
def test_python_beside_pytorch(strata, python, how):
    """The line that makes the batches is what to change first; made of whole arrays, they are no finding."""
    result = strata.folder / how
    options = ("-knob", "sampling-interval=2", "-quiet", "-no-summary", "-r", result)
    done = strata("-collect", "hotspots", *options, "--", python, TARGETS / "list_batches.py", how)
    assert done.status == 0, done.err
    report = strata.report(result, "findings")["rows"]
    found = {row["rule"]: row for row in report}
    if how == "arrays":
        assert "python" not in found, found
        return
    row, clock = found["python"], json.loads(done.out)
    assert row["where"] == f"list_batches.py:{number_of_line('return [math.sin')}", row
    # A list becomes a tensor in PyTorch itself: that is not Python. Where others have the CPUs all of it takes longer.
    steps = [step for step in strata.report(result, "steps")["rows"] if not step["warm_up"]]
    step_ns = sum(step["wall_total_ns"] for step in steps) / len(steps)
    assert 0.5 * clock["batches"] / 24 * 1e9 < row["evidence_ns"] <= step_ns, (row, clock)
    assert row["saving_low_ns"] == 0 < row["saving_ns"] <= row["evidence_ns"], row
    text = " ".join(strata("report", "summary", "-r", result).out.split())
    assert re.search(r"FIX FIRST.*whole arrays.*list_batches.py:\d+ \d+ %", text), text


@pytest.mark.torch
@pytest.mark.parametrize("batch", [1, 16])
def test_batches_of_one(strata, python, batch):
    result = strata.folder / "answers"
    options = ("-quiet", "-no-summary", "-r", result)
    program = [python, TARGETS / "batched_requests.py", str(64 * batch), str(batch)]
    done = strata("-collect", "operators", *options, "--", *program)
    assert done.status == 0, done.err
    found = {row["name"]: row["value"] for row in section(strata.report(result, "summary")["rows"], "finding")}
    assert ("batch" in found) == (batch == 1), found
    text = " ".join(strata("report", "summary", "-r", result).out.split())
    assert bool(re.search(r"each step is a batch of one \(\[1, \d+\]\)", text)) == (batch == 1), text


@pytest.mark.torch
@pytest.mark.parametrize("width", [80, 120])
def test_sentences_keep_to_the_width(shared_strata, trained, width):
    """What stands over a report, and what stands in the place of one."""
    for report in ("findings", "memory", "summary", "operators", "steps"):
        text = shared_strata("report", report, "-r", trained[0], "-report-width", str(width)).out
        # A command is one word after the other that can be pasted, wherever strata is installed.
        lines = [line for line in text.splitlines() if not re.search("strata'? (report|export)", line)]
        wide = [line for line in lines if len(line) > width]
        assert text and not wide, (report, wide)


def check_input(strata, result, clock, rows):
    """The finding has the line that calls map(), in the table of lines too, and offers a part of a step."""
    lines = (TARGETS / "tf_input.py").read_text().splitlines()
    where = next(f"tf_input.py:{number}" for number, line in enumerate(lines, 1) if ".map(prepare)" in line)
    found = strata.report(result, "findings")["rows"]
    row = found[0]
    assert row["rule"] == "input" and row["where"] == where and f"in map() at {where}" in row["what"], found
    steps = [step["wall_total_ns"] for step in strata.report(result, "steps")["rows"] if not step["warm_up"]]
    assert row["saving_low_ns"] == 0 < row["saving_ns"] <= sum(steps) / len(steps), (row, steps)
    # Four epochs of 16 batches each were timed; one more epoch was trained before.
    assert row["evidence_ns"] == pytest.approx(clock["input"] / 64 * 1e9, rel=0.4), (row, clock)
    own = next(line for line in section(rows, "own_line") if line["name"].endswith(where))
    assert "[tf.data map]" in own["value"] and own["share_ratio"] > 0.4, own
    # The report that it points to shows that line.
    shown = strata(*shlex.split(row["command"])[1:]).out
    assert re.search(rf"^ *{where.split(':')[1]} .*map\(pre.* [1-9]", shown, re.M), shown


@pytest.mark.alone
def test_input_of_tensorflow(strata, tensorflow):
    """What tf.data does in threads of pools is the input of the steps, with its share by the program's clock."""
    shares = {}
    for how in ("map", "cache"):
        result = strata.folder / how
        options = ("-knob", "sampling-interval=2", "-quiet", "-no-summary", "-r", result)
        done = strata("-collect", "hotspots", *options, "--", tensorflow, TARGETS / "tf_input.py", how)
        assert done.status == 0, done.err
        clock = json.loads(done.out)
        rows = strata.report(result, "summary")["rows"]
        steady = {row["name"]: row["value"] for row in section(rows, "steady")}
        facts = {row["name"]: row["value"] for row in section(rows, "cpu")}
        shares[how] = facts.get("input_ns", 0) / steady["cpu_ns"]
        found = section(rows, "finding")
        if how == "cache":
            assert "input" not in {row["name"] for row in found}, found
            continue
        assert shares[how] == pytest.approx(clock["input"] / clock["training"], abs=0.25), (shares, clock)
        assert found[0]["name"] == "input" and "tf.data, mostly" in found[0]["value"], found
        assert "AdjustSaturation" in found[0]["value"] or "ScaleAndTranslate" in found[0]["value"], found
        # Collecting garbage is done at start and end: no step pays for it.
        text = strata("report", "summary", "-r", result).out
        assert "FIX FIRST" in text and "garbage collection" not in text.split("FIX FIRST")[1].split("LINES")[0], text
        check_input(strata, result, clock, rows)
    assert shares["cache"] < shares["map"] / 2, shares


@pytest.mark.torch
def test_figures_say_what_they_are_of(shared_strata, trained):
    """Nothing is told twice, and no word stands for two figures."""
    result, _ = trained
    text = " ".join(shared_strata("report", "summary", "-r", result).out.split())
    assert "lost 0 " in text and "samples lost 0" not in text
    assert "the program's effective work by time: Idle" in text
    assert "its threads" not in text
    assert re.search(r"garbage collection [\d.]+ % of the run's CPU time, [\d.]+ % of the steps'", text), text


@pytest.mark.torch
def test_times_behind_the_end(shared_strata, trained):
    """Whoever takes seconds for milliseconds learns how long the run is."""
    result, _ = trained
    for report in ("hotspots", "tasks"):
        done = shared_strata("report", report, "-r", result, "-time-filter", "100000:200000")
        assert "begins after the end of the run, which took" in done.out, done.out
    done = shared_strata("report", "hotspots", "-r", result, "-filter", "function=nobody")
    assert "end of the run" not in done.out


@pytest.mark.torch
def test_functions_with_a_slip(shared_strata, trained):
    result, _ = trained
    done = shared_strata("report", "source", "-r", result, "-source-object", "function=nxt_bacth")
    assert done.status != 0
    assert "no function 'nxt_bacth' in the samples; did you mean 'next_batch'" in done.err, done.err
