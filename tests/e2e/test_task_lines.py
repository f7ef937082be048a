# SPDX-License-Identifier: Apache-2.0
"""-knob task-lines: the Python line that begins a task, read from the interpreter's memory.

The reader is asked from every kind of place in every CPython that is installed here, and compared with what
that CPython itself says about the frame that stands there at that moment.
"""

import subprocess
import sys

import pytest
from harness import TARGETS, clean_env, strict_csv
from pythons import VERSIONS, interpreter
from trace_reader import Result


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_are_what_python_says(version, build_dir):
    probe = next(build_dir.rglob("python_line_probe.so"))
    command = [interpreter(version), TARGETS / "python_lines.py", probe]
    done = subprocess.run(command, env=clean_env(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    # Five threads: recursion, calls over several lines, generators, decorators …, 6 files of 60 lines, 100 in a row.
    assert int(done.stdout) > 5 * (41 + 6 * 60 + 100)


def test_unknown_python_has_no_lines(build_dir, tmp_path):
    """A thread that Python does not know of gets no line, and Python is not said to be unknown."""
    probe = next(build_dir.rglob("python_line_probe.so"))
    script = tmp_path / "foreign.py"
    script.write_text(
        "import ctypes, sys\n"
        "lib = ctypes.CDLL(sys.argv[1])\n"
        "text = ctypes.create_string_buffer(64)\n"
        "libc = ctypes.CDLL(None)\n"
        "thread = ctypes.c_ulong()\n"
        "argument = ctypes.cast(text, ctypes.c_void_p)\n"
        "libc.pthread_create(ctypes.byref(thread), None, lib.probe_on_thread, argument)\n"
        "libc.pthread_join(thread, None)\n"
        "print(text.value.decode(), lib.probe_unknown())\n"
    )
    done = subprocess.run([sys.executable, script, probe], env=clean_env(), capture_output=True, timeout=60)
    assert done.stdout == b"-1 0\n", done.stderr.decode()


def lines_of(strata, python, which):
    """Name → line as the script says it, and as it was recorded."""
    done = strata.collect(python, TARGETS / "task_lines.py", which, options=["-knob", "task-lines=true"])
    said = dict(row.split("\t") for row in done.out.splitlines())
    events = [event for event in Result(done.result).events if event.kind == "TASK_LINE"]
    found = {event.slice.name.decode(): event.name.decode() for event in events}
    assert len(found) == len(events) or which == "torch"
    query = "SELECT task_type, python_line FROM slices WHERE python_line IS NOT NULL"
    rows = strict_csv(strata("query", "-r", done.result, query, "-format", "csv").stdout)
    assert {row["task_type"]: row["python_line"] for row in rows} == found and len(rows) == len(events)
    return said, found


@pytest.mark.parametrize("version", VERSIONS)
def test_tasks_have_their_line(strata, version):
    said, found = lines_of(strata, interpreter(version), "itt")
    assert len(said) > 5 * 60 and found == said


def test_line_of_the_caller_of_ittapi(strata, ittapi):
    """What ittapi does in its own files is not where the task was begun."""
    said, found = lines_of(strata, ittapi, "ittapi")
    assert len(said) == 121 and found == said


def test_line_of_the_caller_of_torch(strata, python):
    said, found = lines_of(strata, python, "torch")
    assert len(said) == 122 and said.items() <= found.items()


def test_no_lines_unless_wanted(strata):
    done = strata.collect(interpreter("3.11"), TARGETS / "task_lines.py", "itt")
    assert not [event for event in Result(done.result).events if event.kind == "TASK_LINE"]


def test_programs_without_python(strata, target):
    """The knob does nothing to them."""
    words = ["--threads", "0", "--pairs", "100", "--labels", "1", "--quiet"]
    done = strata.collect(target, *words, options=["-knob", "task-lines=true"])
    result = Result(done.result)
    assert len(result.slices) == 100 and not [event for event in result.events if event.kind == "TASK_LINE"]


def test_unknown_version_is_said(strata):
    """A CPython that we have no layout of: no line, no harm, one sentence."""
    done = strata.collect(interpreter("3.7"), TARGETS / "nersc.py", options=["-knob", "task-lines=true"])
    assert strata.counts(done.result) == {"CreateTrainer": 1, "step": 3, "last": 1}
    assert not [event for event in Result(done.result).events if event.kind == "TASK_LINE"]
    told = "tasks have no Python lines: cannot read the frames of this CPython"
    assert told in " ".join(done.err.split())
    assert told in strata("query", "-r", done.result, "SELECT * FROM notes").out
