# SPDX-License-Identifier: Apache-2.0
"""What a newcomer types that is not quite a command: the error, or the note, names what to type instead."""

import shlex
import sys

import pytest
from harness import emit_words, strict_json


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sh", "-c", "true"], "strata -collect hotspots -- sh -c true"),
        (["train.py", "--epochs", "2"], "strata -collect hotspots -- python3 train.py --epochs 2"),
        ([sys.executable, "my file.py"], "'my file.py'"),
        (["-import", "perf.data"], "strata import FILE"),
        (["-compare", "a", "b"], "strata compare"),
        (["-doctor"], "strata doctor"),
        (["repot"], "did you mean 'report'"),
        (["-collect", "hotspots", "-knob", "sampling-and-waits=hw", "--", "true"], "requires 'threading'"),
        (["-collect", "hotspots", "-knob", "analyze-openmp=true", "--", "true"], "hpc-performance"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_errors_name_the_command(strata, words, says):
    done = strata(*words)
    assert done.status == 2 and says in done.err and not done.out, done
    assert done.err.count("\n") == 1, done.err


def test_suggestion_works_when_pasted(strata):
    """The line in the error is a command."""
    said = strata("sh", "-c", "exit 7").err
    line = said[said.index("strata -collect") :].strip()
    done = strata.run(["sh", "-c", line.replace("strata", shlex.quote(strata.binary), 1)])
    assert done.status == 7, done


def test_a_result_that_is_not_there(strata):
    """The error offers the newest one beside it, or in it, or says how to record one."""
    words = strata("report", "summary", "-r", "nope").err
    assert words.endswith("nope: no such result folder; to record one: strata -collect hotspots -r nope -- program\n")
    line = words[words.index("strata -collect") :].strip().replace("-- program", "-- true")
    assert strata.run(["sh", "-c", line.replace("strata", shlex.quote(strata.binary), 1)]).status == 0
    path = strata.folder / "nope"
    assert strata("report", "summary", "-r", strata.folder / "other").err.endswith(f"the newest one there is {path}\n")
    assert strata("report", "summary", "-r", strata.folder).err.endswith(f"the newest one in it is {path}\n")
    assert strata("report", "summary", "-r", "other").err.endswith("the newest one there is nope\n")
    assert strata("compare", "nope", "other").err.endswith("the newest one there is nope\n")


@pytest.fixture
def empty(strata):
    result = strata.folder / "none"
    done = strata("-collect", "tasks", "-quiet", "-no-summary", "-r", result, "--", "true")
    assert done.status == 0, done.err
    return result


@pytest.mark.parametrize("form", ["torch-stacks", "perfetto", "folded", "flamegraph", "speedscope", "pprof"])
def test_exports_of_nothing_fail(strata, empty, form):
    """No file without a byte in it, and no success."""
    path = strata.folder / "out"
    done = strata("export", form, "-r", empty, "-o", path)
    assert done.status == 2 and "no " in done.err and not path.exists(), done
    assert not strata("export", form, "-r", empty, "-o", "-").stdout


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("csv", "no tasks"),
        ("json", "no tasks"),
        ("chrome", "no tasks, no samples"),
        ("kineto", "strata -collect operators"),
        ("memory-timeline", "strata -collect operators"),
    ],
)
def test_exports_with_nothing_in_them_say_so(strata, empty, form, says):
    path = strata.folder / "out"
    done = strata("export", form, "-r", empty, "-o", path)
    assert done.status == 0 and "strata: note: nothing in it: " in done.err and says in done.err, done
    if form != "csv":
        strict_json(path.read_bytes())


def test_exports_with_something_say_nothing(strata, target):
    done = strata.collect(*emit_words(target, 3))
    for form in ("csv", "json", "chrome", "perfetto"):
        said = strata("export", form, "-r", done.result, "-o", strata.folder / f"out.{form}")
        assert said.status == 0 and "nothing" not in said.err, said
