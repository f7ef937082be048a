# SPDX-License-Identifier: Apache-2.0
"""What a person sees first: the order of the summary, names that can be read, commands that can be pasted."""

import csv
import os
import re
import shlex
import subprocess
from collections import Counter

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
    # A command is never cut.
    assert len(lines) <= 40 and max(map(len, lines[:-3])) <= 100
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
        # As pasted into a shell, from another folder, whether or not strata is on the PATH.
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
    on_path = os.environ | {"PATH": os.path.dirname(shared_strata.binary) + ":" + os.environ["PATH"]}
    text = shared_strata("report", "summary", "-r", trained, env=on_path).out
    assert f"\nnext    strata report hotspots -r {shlex.quote(str(trained))}\n" in text


def test_quality_in_one_line(shared_strata, trained):
    """Where nothing is wrong a report has one line about it, and report quality the details."""
    text = shared_strata("report", "hotspots", "-r", trained, "-limit", "3").out
    quality = shared_strata.report(trained, "quality")["rows"]
    flaws = [row for row in quality if row["verdict"] == "flaw"]
    if flaws:
        assert "\nnote  " in text and "data quality: good" not in text
    else:
        # On a machine that others use too it says how much they took.
        last = re.sub(r"; other programs took \d+ % of the CPUs", "", text.splitlines()[-1])
        assert last == "data quality: good (strata report quality)" and "note" not in text
    assert {"records lost", "samples", "stacks complete"} <= {row["fact"] for row in quality}


def tree_rows(text):
    """(figures, name) of each row of a text tree."""
    lines = text.splitlines()
    head = next(number for number, line in enumerate(lines) if line.strip().startswith(("Total", "CPU Time")))
    width = lines[head].index("Function")
    rows = []
    for line in lines[head + 1 :]:
        if line.startswith("note"):
            break
        if line.strip():
            name = line[width:].strip().removeprefix("+ ")
            name = name.split("  [")[0].removesuffix(" (busy waiting)")
            rows.append((line[:width].replace(",", "").split(), name))
    return rows


def all_rows(strata, result, report):
    """Every row of a report with its depth; what programs read is not folded."""
    return list(
        csv.DictReader(strata("report", report, "-r", result, "-show-as", "samples", "-format", "csv").out.splitlines())
    )


ALL_ROWS = ("-report-knob", "min-percent=0", "-report-knob", "max-depth=0")
GLUE = re.compile(r"^(_PyEval_|pymain_|c10::Dispatcher::|torch::autograd::Engine::|_call_with_frames_removed)")


def test_folded_frames_take_no_time_along(shared_strata, trained):
    """Each function has the same time of its own in the tree without glue, in the whole tree, and in JSON."""
    text = shared_strata("report", "top-down", "-r", trained, "-show-as", "samples", *ALL_ROWS).out
    shown, whole = Counter(), Counter()
    for figures, name in tree_rows(text):
        shown[name] += int(figures[1])
    for row in all_rows(shared_strata, trained, "top-down"):
        whole[row["function_stack"]] += int(row["cpu_self_samples"])
    assert +shown == +whole and sum(shown.values()) > 50
    # Callers too: the functions that were interrupted are first, each behind an empty line.
    rows = all_rows(shared_strata, trained, "hotspots")
    text = shared_strata("report", "callstacks", "-r", trained, "-show-as", "samples", *ALL_ROWS).out
    head, *blocks = text.split("\n\n")
    head = head.splitlines()[0]
    seen = [tree_rows(head + "\n" + block)[0] for block in blocks if block[0] == " "]
    assert len(seen) > 20
    assert Counter((name, int(figures[0])) for figures, name in seen) <= Counter(
        (row["function"], int(row["cpu_self_samples"])) for row in rows
    )


def test_glue_is_left_out_unless_asked_for(shared_strata, trained, tmp_path):
    for report in ("top-down", "callstacks"):
        text = shared_strata("report", report, "-r", trained, *ALL_ROWS).out
        whole = shared_strata("report", report, "-r", trained, "-call-stack-mode", "all", *ALL_ROWS).out
        # What was interrupted itself stays: it is a leaf, and has time of its own.
        inner = [name for figures, name in tree_rows(text) if GLUE.match(name) and len(figures) == 1]
        assert "-call-stack-mode all" in text and "-call-stack-mode all" not in whole
        assert report == "callstacks" or not inner
        assert any(GLUE.match(name) for _, name in tree_rows(whole))
        assert len(tree_rows(text)) < len(tree_rows(whole)) / 2
    totals = []
    for words in ((), ("-call-stack-mode", "all")):
        flames = tmp_path / f"flames{len(words)}.svg"
        assert shared_strata("export", "flamegraph", "-r", trained, "-o", flames, *words).status == 0
        picture = flames.read_text()
        assert ("_call_with_frames_removed" in picture) == bool(words)
        totals.append(re.search(r"([0-9.]+ m?s of CPU time in [0-9,]+ samples)", picture).group(1))
    assert totals[0] == totals[1]
    # A file for another tool leaves nothing out.
    folded = shared_strata("export", "folded", "-r", trained, "-o", "-").out
    assert "_call_with_frames_removed" in folded


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("report", ["top-down", "callstacks"])
def test_trees_can_be_read(shared_strata, trained, report, width):
    text = shared_strata("report", report, "-r", trained, "-report-width", str(width)).out
    lines = text.splitlines()
    assert max(map(len, lines)) <= width and len(lines) < 400
    rows = tree_rows(text)
    # Names are not cut to nothing, and every row but a folded one has its share.
    assert all(len(name) > 12 for _, name in rows if name.endswith("…"))
    assert all(figures for figures, _ in rows)
    shares = [float(figures[0].rstrip("%")) for figures, name in rows if " more under 1 %" not in name]
    small = [share for share in shares if share < 1.0]
    assert len(small) <= 5  # the first functions are shown however little they take
    assert any(re.match(r"[0-9,]+ more under 1 %", name) for _, name in rows)
    assert "min-percent=0" in text
    # Nobody asked for these.
    assert "Spin" not in text and "Function (Full)" not in text


def test_trees_are_sorted_by_the_words_of_their_titles(shared_strata, trained):
    for report in ("top-down", "hotspots", "callstacks", "operators"):
        for word in ("total", "self"):
            done = shared_strata("report", report, "-r", trained, "-sort-desc", word, "-limit", "3")
            assert done.status == 0, done.err
    share = []
    for order in ("-sort-asc", "-sort-desc"):
        text = shared_strata("report", "top-down", "-r", trained, order, "total", *ALL_ROWS).out
        figures = next(figures for figures, _ in tree_rows(text) if figures)
        share.append(float(figures[0].lstrip("<").rstrip("%")))
    assert share[0] <= share[1] and share[1] > 20
    # Of tasks the same word is about their time.
    tasks = shared_strata("report", "top-down", "-group-by", "task-stack", "-sort-desc", "total", "-r", trained)
    assert tasks.status == 0 and "in tasks" in tasks.out


def test_source_is_that_of_the_program(shared_strata, trained):
    """Most CPU time is in lines of libraries, which are not the user's."""
    assert shared_strata.report(trained, "source")["subject"] == str(PROGRAM)
    text = shared_strata("report", "source", "-r", trained, "-report-width", str(len(str(PROGRAM)) - 1)).out
    assert text.splitlines()[0].endswith("/look.py") and text.startswith("…/")


def test_paths_are_cut_on_the_left(shared_strata, trained):
    words = ("report", "hotspots", "-group-by", "python-line", "-r", trained, "-report-width", "60")
    names = [line.split("  ")[0] for line in shared_strata(*words).out.splitlines()]
    cut = [name for name in names if "…" in name]
    assert cut and all(name.startswith("…") and re.search(r":\d+$", name) for name in cut), cut


def test_figures_have_no_exponents(shared_strata, trained):
    reports = ("summary", "findings", "operators", "tasks", "steps", "hotspots", "top-down", "utilization", "memory")
    for report in reports:
        text = shared_strata("report", report, "-r", trained).out
        assert not re.search(r"[0-9]e[+-][0-9]", text), text
