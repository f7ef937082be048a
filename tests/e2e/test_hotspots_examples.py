# SPDX-License-Identifier: Apache-2.0
"""The command lines of VTune's users, word for word with strata in its place, on the programs in examples/."""

import os
import shlex

import pytest
from harness import ROOT, above_commands, walk

EXAMPLES = ROOT / "examples"


def run_words(strata, words, interpreter, script, **more):
    """The words as a shell would split them; python and python3 are the given interpreter's."""
    for name in ("python", "python3"):
        if not (strata.folder / "bin" / name).exists():
            (strata.folder / "bin").mkdir(exist_ok=True)
            # A link to the environment's own link: Python looks for its packages beside the name it was called by.
            (strata.folder / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.quote(str(interpreter))} "$@"\n')
            (strata.folder / "bin" / name).chmod(0o755)
    if not (strata.folder / script).exists():
        (strata.folder / script).symlink_to(EXAMPLES / script)
    words = shlex.split(words)
    assert words[0] == "strata"
    path = f"{strata.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = strata(*words[1:], env={"PATH": path}, timeout=240, **more)
    assert done.status == 0, done.err
    assert "loss after" in done.out, done.out
    return done


def rows_by(report, key):
    return {row[key]: row for row in report["rows"]}


TENSORFLOW = (
    "strata -collect hotspots -data-limit=5000 -knob sampling-mode=hw -knob sampling-interval=0.1  "
    "-result-dir r001hs -quiet  python TensorFlow_HelloWorld"
)


@pytest.mark.alone
def test_tensorflow(strata, tensorflow):
    run_words(strata, TENSORFLOW, tensorflow, "TensorFlow_HelloWorld")
    result = strata.folder / "r001hs"
    told = strata.result_json(result)["sampling"]
    assert told["mode"] == "hw"
    assert told["asked_ns"] == 100_000
    if told["trigger"] == "cpu-clock":  # no PMU
        assert told["period_ns"] == 1_000_000
        assert told["note"], "the interval was raised, and nothing says so"
        summary = strata("report", "summary", "-r", result)
        assert "1 ms" in summary.out or "1000 Hz" in summary.out, summary.out
    tasks = rows_by(strata.report(result, "hotspots", "-group-by", "task-type"), "task_type")
    assert tasks["CreateTrainer"]["cpu_total_ns"] > 0
    assert tasks["TrainingStep"]["cpu_total_ns"] > tasks["CreateTrainer"]["cpu_total_ns"]


PYTORCH = (
    "strata -collect hotspots -knob sampling-mode=sw -knob enable-stack-collection=true "
    "-source-search-dir=path_to_src -search-dir /usr/bin/python3 -result-dir vtune_hotspots_results {}"
    "-- python3 Intel_Extension_For_PyTorch_Hello_World.py"
)


@pytest.mark.torch
@pytest.mark.alone
@pytest.mark.parametrize("paused", ["", "-start-paused "], ids=["", "start-paused"])
def test_pytorch(strata, python, paused):
    run_words(strata, PYTORCH.format(paused), python, "Intel_Extension_For_PyTorch_Hello_World.py")
    result = strata.folder / "vtune_hotspots_results"
    report = strata.report(result, "hotspots", "-group-by", "task-domain,task-type")
    types = {row["task_type"] for row in walk(report["rows"]) if "task_type" in row}
    assert "training" in types
    assert any(name.startswith("aten::") for name in types), types
    total = report["totals"]["cpu_self_ns"]
    assert rows_by(report, "task_domain")["PyTorch"]["cpu_self_ns"] > 0
    if paused:
        # Recording goes from itt.resume() to itt.pause(): import and set-up are not in it.
        outside = rows_by(report, "task_domain").get("[Outside any task]", {"cpu_self_ns": 0})["cpu_self_ns"]
        assert outside < 0.1 * total, (outside, total)


@pytest.fixture(scope="module")
def masking(shared_strata, ittapi):
    result = shared_strata.folder / "masking"
    done = shared_strata(
        "-collect", "hotspots", "-knob", "sampling-interval=1", "-quiet", "-r", result, "--",
        ittapi, EXAMPLES / "numpy_masking.py", "10",
    )  # fmt: skip
    assert done.status == 0, done.err
    return shared_strata, result


def test_masking_native(masking):
    """The native function that looks for values leads the table, under its label."""
    strata, result = masking
    report = strata.report(result, "hotspots", "-group-by", "task-type,function")
    label = report["rows"][0]
    assert label["task_type"] == "LABEL2: masking"
    leader = label["children"][0]
    assert "nonzero" in leader["function"].lower(), leader
    rest = sum(row["cpu_self_ns"] for row in label["children"])
    assert rest == label["cpu_self_ns"]


def test_masking_python(masking):
    """And so does the Python line that asked for it."""
    strata, result = masking
    source = (EXAMPLES / "numpy_masking.py").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "= np.argwhere" in text)
    where = ("-filter", "task-type=LABEL2: masking")
    rows = strata.report(result, "hotspots", *where, "-group-by", "python-line")["rows"]
    ours = [row for row in rows if row["python_line"].endswith(f"numpy_masking.py:{line}")]
    total = sum(row["cpu_self_ns"] for row in rows)
    assert len(ours) == 1, [row["python_line"] for row in rows]
    assert ours[0]["cpu_total_ns"] > 0.9 * total, (ours[0]["cpu_total_ns"], total)


def test_masking_only_under_its_label(masking):
    strata, result = masking
    inside = strata.report(result, "hotspots", "-group-by", "function", "-filter", "task-type=LABEL2: masking")
    outside = strata.report(result, "hotspots", "-group-by", "function", "-filter", "task-type!=LABEL2: masking")
    everything = strata.report(result, "hotspots", "-group-by", "function")
    assert "PyArray_Nonzero" in rows_by(inside, "function")
    assert "PyArray_Nonzero" not in rows_by(outside, "function")
    sums = [one["totals"]["cpu_self_ns"] for one in (inside, outside, everything)]
    assert sums[0] + sums[1] == sums[2]


def test_source_agrees_with_lines(masking):
    """Lines of the source report have the times that the same lines have in a table, and it says whose they are."""
    strata, result = masking
    rows = strata.report(result, "hotspots", "-group-by", "python-line")["rows"]
    lines = {
        int(row["python_line"].rsplit(":", 1)[1]): row
        for row in rows
        if row["python_line"].rsplit(":", 1)[0].endswith("/numpy_masking.py")
    }
    source = strata.report(result, "source", "numpy_masking.py")
    assert source["subject"].endswith("/examples/numpy_masking.py")
    told = {row["line"]: row for row in source["rows"] if row.get("cpu_total_ns")}
    assert sum(row["cpu_self_ns"] for row in told.values()) > 0
    for key in ("cpu_self_ns", "cpu_total_ns"):
        assert {line: row[key] for line, row in told.items()} == {line: row[key] for line, row in lines.items()}
    text = strata("report", "source", "-r", result).out.splitlines()
    assert text[0].endswith(".py"), text[0]


def test_refusals_say_what_to_do(masking):
    strata, result = masking
    python = strata("report", "disassembly", "main", "-r", result)
    assert python.status == 1
    assert "report source -source-object function=main" in python.err
    nowhere = strata("report", "source", "no_such_file.py", "-r", result)
    assert nowhere.status == 1
    assert "no_such_file.py" in nowhere.err and "-group-by" in nowhere.err
    missing = strata("finalize", result, "-search-dir", strata.folder / "no-such-folder")
    assert missing.status == 0
    assert "no-such-folder: no such file or folder" in missing.err
    column = strata("query", result, "SELECT start_ns FROM samples")
    assert column.status == 2
    assert "did you mean" not in column.err and "other tables have it" in column.err


def test_summary_has_the_lines_of_the_program(masking):
    """The line of the script, not of the library that it called, with its text and what the library took."""
    strata, result = masking
    rows = [row for row in strata.report(result, "summary")["rows"] if row["section"] == "own_line"]
    assert rows[0]["name"].rsplit(":", 1)[0].endswith("/numpy_masking.py")
    assert rows[0]["value"] == "places = np.argwhere(array > 0.9)"
    lines = strata.report(result, "hotspots", "-group-by", "python-line")["rows"]
    same = next(row for row in lines if row["python_line"] == rows[0]["name"])
    assert rows[0]["cpu_total_ns"] == same["cpu_total_ns"]
    text = strata("report", "summary", "-r", result).out
    shown = next(line for line in text.splitlines() if line.startswith("LINES"))
    assert "numpy_masking.py:" in shown and "np.argwhere" in shown
    lines = text.splitlines()
    assert len(lines) <= 40 and max(map(len, above_commands(lines))) <= 100
