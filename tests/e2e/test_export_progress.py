# SPDX-License-Identifier: Apache-2.0
"""An export that takes more than two seconds says on a terminal how far it is, and on nothing else."""

import os
import pty
import re
import time

import pytest


@pytest.fixture(scope="module")
def result(shared_strata, target):
    return shared_strata.collect(target, "--pairs", "60000", result=shared_strata.folder / "long").result


def export_slowly(strata, result, form, stderr):
    """Exports into a pipe that nobody reads for the first two seconds and a bit."""
    pipe = strata.folder / f"pipe-{form}"
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    process = strata.popen([strata.binary, "export", form, "-r", result, "-o", pipe], stderr=stderr)
    size = 0
    with open(pipe, "rb") as file:
        until = time.monotonic() + 2.2
        while time.monotonic() < until:
            time.sleep(0.05)
        while part := file.read(1 << 20):
            size += len(part)
    assert process.wait(60) == 0
    return size


@pytest.mark.parametrize("form", ["chrome", "perfetto", "csv"])
def test_progress_is_shown(shared_strata, result, form):
    terminal, end = pty.openpty()
    size = export_slowly(shared_strata, result, form, end)
    os.close(end)
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError:  # nobody has the other end any more
        pass
    os.close(terminal)
    assert size > 1 << 20
    percents = [int(one) for one in re.findall(rb"strata: writing +(\d+) %", shown)]
    assert percents and percents == sorted(percents) and percents[-1] <= 100, shown
    assert shown.endswith(b"\r\x1b[K"), "the line is taken away at the end"


def test_silent_without_a_terminal(shared_strata, result):
    read, write = os.pipe()
    export_slowly(shared_strata, result, "perfetto", write)
    os.close(write)
    assert os.read(read, 4096) == b""
    os.close(read)
