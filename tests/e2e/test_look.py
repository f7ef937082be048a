# SPDX-License-Identifier: Apache-2.0
"""What a person sees first: the order of the summary, names that can be read, commands that can be pasted."""

import re
import shlex
import subprocess

import pytest
from harness import TARGETS

PROGRAM = TARGETS / "look.py"


@pytest.fixture(scope="module")
def trained(shared_strata, python, tmp_path_factory):
    result = tmp_path_factory.mktemp("look") / "a result"
    done = shared_strata("-collect", "hotspots", "-quiet", "-no-summary", "-r", result, "--", python, PROGRAM)
    assert done.status == 0, done.err
    return result


def test_the_summary_is_in_the_order_of_a_user(shared_strata, trained):
    text = shared_strata("report", "summary", "-r", trained).out
    lines = text.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    order = ["strata ", "STEP ", "LINES ", "OPERATORS ", "HOT ", "CPU ", "data quality: ", "source ", "cost ", "next "]
    at = [next(number for number, line in enumerate(lines) if line.startswith(word)) for word in order]
    assert at == sorted(at), text
    fix = [number for number, line in enumerate(lines) if line.startswith(("FIX FIRST", "LOOK AT"))]
    assert all(at[1] < number < at[2] for number in fix)
    assert sum(line.startswith("data quality: ") for line in lines) == 1 and "strata report quality" in text


def test_hot_functions_have_names_that_can_be_read(shared_strata, trained):
    rows = shared_strata.report(trained, "summary")["rows"]
    full = [row["name"] for row in rows if row["section"] == "hotspot"]
    lines = shared_strata("report", "summary", "-r", trained, "-report-width", "100").out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("HOT "))
    shown = [re.split(r" +self ", line[8:])[0] for line in lines[first : first + len(full)] if " self " in line]
    assert shown and not any("<" in name or "anonymous" in name for name in shown), shown
    # The reports have them in full.
    assert set(full) <= {row["function"] for row in shared_strata.report(trained, "hotspots")["rows"]}


def test_next_lines_are_commands(shared_strata, trained, tmp_path):
    text = shared_strata("report", "summary", "-r", trained).out
    commands = text[text.index("\nnext ") + 8 :].splitlines()
    assert len(commands) == 3
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "strata" and str(trained) in words, command
        done = subprocess.run([shared_strata.binary, *words[1:]], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)


def test_quality_in_one_line(shared_strata, trained):
    """Where nothing is wrong a report has one line about it, and report quality the details."""
    text = shared_strata("report", "hotspots", "-r", trained, "-limit", "3").out
    quality = shared_strata.report(trained, "quality")["rows"]
    flaws = [row for row in quality if row["verdict"] == "flaw"]
    if flaws:
        assert "\nnote  " in text and "data quality: good" not in text
    else:
        assert text.endswith("\ndata quality: good (strata report quality)\n") and "note" not in text
    assert {"records lost", "samples", "stacks complete"} <= {row["fact"] for row in quality}
