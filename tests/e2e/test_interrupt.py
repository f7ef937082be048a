# SPDX-License-Identifier: Apache-2.0
"""A Ctrl-C, or being told to end, while a result is read: nothing half-written stays, and the end is the signal's."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess

import pytest
from harness import until

SLICES = 4_000_000


@pytest.fixture(scope="module")
def large(shared_strata, programs):
    result = shared_strata.folder / "large"
    shared_strata.run([programs / "make_result", result, str(SLICES), "4", "300"])
    return result


def interrupt(process, folder, pattern, number):
    """Sends the signal as soon as the half-written file is there."""
    until(lambda: list(folder.glob(pattern)) or process.poll() is not None, what=pattern)
    assert process.poll() is None, "it ended before it could be interrupted: raise SLICES"
    process.send_signal(number)
    return process.wait(30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_export(strata, large, number):
    process = strata.popen([strata.binary, "export", "json", large, "-o", "out.json"], stderr=subprocess.PIPE)
    assert interrupt(process, strata.folder, "out.json.part-*", number) == -number
    assert not list(strata.folder.iterdir())


@pytest.mark.parametrize("command", [["report", "tasks"], ["query", "SELECT 1"]], ids=lambda words: words[0])
def test_index(strata, large, command):
    (large / "index.strata").unlink(missing_ok=True)
    words = [strata.binary, *command, "-r", large]
    process = strata.popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expected = 130 if command[0] == "query" else -signal.SIGINT
    assert interrupt(process, large, ".index.strata.*", signal.SIGINT) == expected
    assert not list(large.glob(".index*")) and not (large / "index.strata").exists()
    assert process.stdout.read() == b""


def test_summary(strata, target):
    """The program is gone and the index is being made: the summary is given up, the status is the program's."""
    words = [target, "--threads", "1", "--pairs", "4000000", "--exit", "3", "--quiet"]
    command = [strata.binary, "collect", "tasks", "-r", strata.folder / "r", "--", *words]
    process = strata.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert interrupt(process, strata.folder / "r", ".index.strata.*", signal.SIGINT) == 3
    assert not list((strata.folder / "r").glob(".index*"))
    assert strata("report", "tasks", "-r", strata.folder / "r", timeout=60).status == 0


def test_ignored_stays_ignored(strata, large):
    """nohup: whoever starts strata with a signal ignored wants it ignored."""
    (large / "index.strata").unlink(missing_ok=True)
    process = strata.popen(
        [strata.binary, "report", "info", "-r", large],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    until(lambda: list(large.glob(".index.strata.*")) or process.poll() is not None, what="the index")
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=60)[0] and process.returncode == 0


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_progress_of_a_query(strata, large):
    """After two seconds a terminal is told what goes on, and the line is gone at the end; a file is not."""
    master, slave = pty.openpty()
    process = strata.popen([strata.binary, "query", "-r", large, ENDLESS], stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    shown, seconds = b"", []
    while len(seconds) < 2:  # a terminal that is read late may miss one of them
        assert select.select([master], [], [], 60)[0], shown
        shown += os.read(master, 4096)
        seconds = re.findall(rb"\rstrata: asking, (\d+) s\x1b\[K", shown)
    assert 2 <= int(seconds[0]) < int(seconds[1])
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    rest = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while more := os.read(master, 4096):
            rest += more
    os.close(master)
    assert rest.startswith(b"\r\x1b[K") and b"error" in rest
