# SPDX-License-Identifier: Apache-2.0
"""What answers say beside their numbers: losses, widths, options without a meaning; and result.json's page."""

import fcntl
import json
import os
import pty
import struct
import termios

import pytest
from harness import ROOT, emit_words, strict_csv


@pytest.fixture(scope="module")
def unbalanced(shared_strata, target):
    done = shared_strata(
        "-collect", "tasks", "-r", shared_strata.folder / "r", "--", *emit_words(target, 9), "--unbalanced", "3"
    )
    assert done.status == 0, done.err
    return shared_strata.folder / "r"


def test_csv_says_losses_beside_the_table(shared_strata, unbalanced):
    done = shared_strata("report", "tasks", unbalanced, "-format=csv")
    assert sum(int(row["count"]) for row in strict_csv(done.stdout)) == 9
    assert "note: 3 ends without a begin" in done.err
    done = shared_strata("report", "tasks", unbalanced, "-format=json")
    assert json.loads(done.stdout)["quality"]["unmatched_ends"] == 3 and done.err == ""


def test_summary_folds_the_names_of_a_loop(strata, ittapi):
    """A hundred numbered names are one line; a handful of them stay as they are."""
    script = "import ittapi, sys\nfor i in range(int(sys.argv[1])):\n"
    script += "  with ittapi.task(f'step_{i}'):\n    with ittapi.task('work'): pass"
    for count, folded in ((100, True), (3, False)):
        done = strata.collect(ittapi, "-c", script, str(count))
        rows = json.loads(strata("report", "summary", done.result, "-format=json").out)["rows"]
        tasks = {row["name"]: row["count"] for row in rows if row["section"] == "task"}
        expected = {"step_*": 100} if folded else {f"step_{i}": 1 for i in range(3)}
        assert tasks == expected | {"work": count}


def test_options_without_a_meaning_are_refused(shared_strata, unbalanced):
    for words in (
        ["summary", "-group-by", "process"],
        ["timeline", "-sort-desc", "count"],
        ["info", "-limit", "1"],
        ["tasks", "-report-knob", "bin-count=3"],
        ["tasks", "-group-by", "thread,thread"],
    ):
        done = shared_strata("report", *words, "-r", unbalanced)
        assert done.status == 2 and done.stdout == b"" and len(done.err.splitlines()) == 1, words


def test_flags_that_cannot_be_switched_off(strata):
    done = strata("-collect", "tasks", "-return-app-exitcode=false", "-r", strata.folder / "r", "--", "true")
    assert done.status == 2 and not (strata.folder / "r").exists()


def test_summary_of_a_part(shared_strata, unbalanced):
    done = shared_strata("report", "summary", unbalanced, "-filter", "task-type=t*", "-time-filter", "0:0.000001")
    assert done.status == 0 and b"only    task-type=t*, from 0.000000 s to 0.000001 s" in done.stdout
    done = shared_strata("report", "summary", unbalanced, "-filter", "task-type=nothing")
    assert b"No tasks match." in done.stdout


def terminal(strata_binary, words, columns, **env):
    """What strata shows on a terminal of that many columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    pid = os.posix_spawn(
        strata_binary,
        [strata_binary, *words],
        env,
        file_actions=[(os.POSIX_SPAWN_DUP2, slave, 1), (os.POSIX_SPAWN_CLOSE, master)],
    )
    os.close(slave)
    shown = b""
    try:
        while data := os.read(master, 65536):
            shown += data
    except OSError:  # the other side has closed
        pass
    os.close(master)
    assert os.waitpid(pid, 0)[1] == 0
    return shown


@pytest.mark.parametrize("report", ["summary", "tasks", "top-down", "timeline"])
def test_terminals_are_not_overrun(strata_binary, unbalanced, report):
    shown = terminal(strata_binary, ["report", report, "-r", unbalanced], 80, TERM="dumb")
    lines = [line for line in shown.decode().splitlines() if " -r " not in line]
    assert lines and max(map(len, lines)) <= 80, lines
    assert b"\x1b" not in shown


def test_colour_is_asked_for(strata_binary, unbalanced):
    words = ["report", "tasks", "-r", unbalanced]
    assert b"\x1b" in terminal(strata_binary, words, 200, TERM="xterm")
    assert b"\x1b" not in terminal(strata_binary, words, 200, TERM="xterm", NO_COLOR="1")


def keys_of(value):
    for key, inner in value.items():
        yield key
        if isinstance(inner, dict):
            yield from keys_of(inner)
        for one in inner if isinstance(inner, list) else []:
            yield from keys_of(one) if isinstance(one, dict) else []


def test_result_json_is_documented(unbalanced):
    page = (ROOT / "docs" / "format" / "result_json.md").read_text()
    missing = {key for key in keys_of(json.loads((unbalanced / "result.json").read_text())) if f"`{key}`" not in page}
    assert not missing


def test_an_empty_result_says_why(strata, target):
    done = strata("-collect", "tasks", "-start-paused", "-r", strata.folder / "p", "--", *emit_words(target, 5))
    assert "recording was paused 1 time" in done.err and "-resume-after" in done.err
    done = strata("-collect", "tasks", "-r", strata.folder / "e", "--", *emit_words(target, 5))
    (strata.folder / "e" / "index.strata").unlink(missing_ok=True)
    trace = strata.folder / "e" / "trace.000.strata"
    trace.write_bytes(b"x" * trace.stat().st_size)
    done = strata("report", "summary", strata.folder / "e")
    assert b"No tasks could be read" in done.stdout and b"emit_itt" not in done.stdout
