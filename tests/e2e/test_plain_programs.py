# SPDX-License-Identifier: Apache-2.0
"""Steps and advice in programs that mark nothing: what is guessed is right or not there, and is called a guess."""

import json
import re
import shlex
import statistics

import pytest
from harness import TARGETS

PROGRAM = TARGETS / "plain_programs.py"
EXACT = ("-knob", "collect-operators=true", "-knob", "sampling-interval=1")
COUNT = 10  # of the program's
PARTS = ("forward", "backward", "optimizer")


def record(strata, python, kind, *options, collect="hotspots", program=PROGRAM):
    result = strata.folder / kind
    words = ("-collect", collect, *options, "-quiet", "-no-summary", "-r", result, "--", python, program, kind)
    done = strata(*words)
    assert done.status == 0, done.err
    return result, done.out.strip()


def findings(strata, result):
    """By rule; whatever they are, they fit into a step, and each leads to a report that has rows."""
    report = strata.report(result, "findings")
    rows = {row["rule"]: row for row in report["rows"]}
    (step,) = [row for row in strata.report(result, "summary")["rows"] if row["section"] == "step"]
    step_ns = step["wall_total_ns"] / step["count"]
    assert sum(row["saving_ns"] for row in rows.values()) <= step_ns + 1, rows
    # What others have found already is taken away from those behind them, which say so.
    cut = [row["rule"] for row in report["rows"] if "what is left after the changes above" in row["what"]]
    assert report["rows"][:1] == [] or report["rows"][0]["rule"] not in cut, rows
    for row in rows.values():
        words = [*shlex.split(row["command"])[1:], "-format", "json"]
        assert json.loads(strata(*words).out)["rows"], words
    return rows


def cpu_facts(strata, result):
    rows = strata.report(result, "summary")["rows"]
    return {row["name"]: row.get("value") for row in rows if row["section"] == "cpu"}


@pytest.mark.torch
def test_adam_reads_its_own_steps(strata, python):
    """The optimizer reads a number for each parameter: some microseconds, and no advice to the program."""
    result, _ = record(strata, python, "adam", collect="operators")
    assert "scalar-reads" not in findings(strata, result)
    assert re.match("60 steps[,;] ", strata.report(result, "steps")["subject"])


@pytest.mark.torch
def test_reads_of_the_program(strata, python):
    """With their line, and about what the program's own clocks say."""
    result, took = record(strata, python, "reads", *EXACT)
    row = findings(strata, result)["scalar-reads"]
    lines = PROGRAM.read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "# one by one" in text)
    assert row["where"] == f"{PROGRAM.name}:{line}" and f"by your code, at {row['where']}" in row["what"], row
    shown = strata(*shlex.split(row["command"])[1:]).out
    assert any(text.split()[:1] == [str(line)] and "# one by one" in text for text in shown.splitlines()), shown
    by_clock, of_cpu = (1e9 * float(seconds) for seconds in took.split())
    assert 0.7 * of_cpu < row["evidence_ns"] < 1.1 * by_clock  # where the CPU is taken away, a part of it is not seen


@pytest.mark.torch
def test_reads_seen_in_bursts(strata, python):
    """Operators may be recorded some of the time only: what was seen stands for all of it."""
    result, took = record(strata, python, "reads")
    by_clock, of_cpu = (1e9 * float(seconds) for seconds in took.split())
    assert 0.4 * of_cpu < findings(strata, result)["scalar-reads"]["evidence_ns"] < 1.3 * by_clock


@pytest.mark.torch
def test_operators_that_were_not_recorded(strata, python):
    """A range is full of them: that is not time outside of operators."""
    result, _ = record(strata, python, "ranges")
    assert "work-in-range" not in findings(strata, result)
    assert re.match("300 steps[,;] ", strata.report(result, "steps")["subject"])


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["turns", "lock", "ranks"])
def test_threads_that_do_not_want_more(strata, python, kind):
    """However busy the machine is: they never want more CPUs at a time than there are."""
    result, _ = record(strata, python, kind)
    assert "oversubscription" not in findings(strata, result)
    assert cpu_facts(strata, result).get("oversubscribed_ratio", 0) < 0.05


def test_jax_wants_no_more(strata, jax):
    result = strata.folder / "jax"
    done = strata("-collect", "hotspots", "-quiet", "-no-summary", "-r", result, "--", jax,
                  TARGETS / "train_jax.py", "60")  # fmt: skip
    assert done.status == 0, done.err
    assert "oversubscription" not in findings(strata, result)


@pytest.mark.torch
def test_more_threads_than_cpus(strata, python):
    """The same share of the run in each place; what is offered is a part of the step."""
    result, _ = record(strata, python, "crowd")
    row = findings(strata, result)["oversubscription"]
    assert row["saving_low_ns"] == 0 < row["saving_ns"]
    share = cpu_facts(strata, result)["oversubscribed_ratio"]
    # One problem, one finding, with figures of the steps alone; those of the run stand in the line that says so.
    assert "of the run" not in row["what"] and "spin" not in findings(strata, result), row
    assert f"oversubscribed {100 * share:.1f} %" in " ".join(strata("report", "summary", "-r", result).out.split())
    subject = strata.report(result, "utilization")["subject"]
    assert f"ready to run for {100 * share:.1f} % of the time" in subject


@pytest.mark.torch
@pytest.mark.parametrize("collect", ["operators", "hotspots"])
def test_an_optimizer_that_calls_the_model(strata, python, collect):
    """PyTorch Lightning hands its training step to optimizer.step: forward and backward are what they are."""
    options = ("-knob", "collect-operators=true") if collect == "hotspots" else ()
    result, _ = record(strata, python, "closure", *options, collect=collect)
    report = strata.report(result, "steps")
    assert re.match(f"{COUNT} steps[,;] ", report["subject"]) and "Optimizer.step#Adam.step" in report["subject"]
    rows = report["rows"][1:]
    by_part = {part: statistics.median(row[f"{part}_ns"] for row in rows) for part in PARTS}
    assert by_part["backward"] >= 12e6, by_part
    # 600 operators, and what an optimizer does with two parameters.
    assert by_part["forward"] > by_part["optimizer"] > 0, by_part


@pytest.mark.torch
@pytest.mark.parametrize(
    ("kind", "what"), [("vit", "Vision"), ("resnet", "Sequential"), ("tokens", "Language"), ("eager", "aten::randn")]
)
def test_inference(strata, python, kind, what):
    """One for each image or token, and called a guess with how likely it is and what to do about it."""
    result, _ = record(strata, python, kind, "-knob", "collect-operators=true")
    report = strata.report(result, "steps")
    assert len(report["rows"]) == COUNT, report["subject"]
    level = "uncertain" if kind == "eager" else "likely"
    assert f"guessed ({level})" in report["subject"] and f": {what};" in report["subject"]
    assert 'to be certain, put record_function("step")' in report["subject"]
    text = " ".join(strata("report", "summary", "-r", result).out.split())
    assert f"guessed ({level})" in text


@pytest.mark.torch
def test_layers_are_no_steps(strata, python):
    """Four images through six blocks each, and nothing but operators known."""
    result, _ = record(strata, python, "vit_few", "-knob", "collect-operators=true", "-knob", "operator-modules=false")
    report = strata.report(result, "steps")
    assert len(report["rows"]) == 4 and "guessed (uncertain)" in report["subject"], report["subject"]


@pytest.mark.torch
@pytest.mark.parametrize("collect", ["operators", "hotspots"])
def test_parameters_are_no_steps(strata, python, collect):
    result, _ = record(strata, python, "parameters", collect=collect)
    assert not strata.report(result, "steps")["rows"]
    assert 'Mark steps with record_function("step")' in strata("report", "steps", "-r", result).out


@pytest.mark.parametrize("kind", ["fit", "fit_two", "custom"])
def test_batches_of_tensorflow(strata, tensorflow, kind):
    """Each is a step; those that validate after an epoch are none of them."""
    result, out = record(strata, tensorflow, kind, program=TARGETS / "tf_loops.py")
    limits_ns, count = (json.loads(line) for line in out.splitlines()[-2:])
    report = strata.report(result, "steps")
    assert len(report["rows"]) == count, report["subject"]
    assert "guessed (likely): a step is a call of tf.function" in report["subject"]
    assert "record_function" not in report["subject"]
    # In the order of time; a thousandth more for two clocks.
    taken_ns = [row["wall_total_ns"] for row in report["rows"]]
    assert all(taken <= 1.001 * limit for taken, limit in zip(taken_ns, limits_ns, strict=True)), (taken_ns, limits_ns)


def test_tensorflow_without_functions(strata, tensorflow):
    """There are none, and what to do about it is not PyTorch's."""
    result, _ = record(strata, tensorflow, "eager", program=TARGETS / "tf_loops.py")
    text = strata("report", "steps", "-r", result).out
    assert "No steps were found" in text and "strata.itt.task" in text and "record_function" not in text
