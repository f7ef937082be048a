# SPDX-License-Identifier: Apache-2.0
"""Programs that change to another user (su, setpriv, setuid) are sampled as completely as before."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from test_harm import installed_for_others

DROP = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
# The daemon's way: no exec, the process itself gives its rights away.
SETUID = "import os; os.setgid(65534); os.setuid(65534); "
BURN = """
import time
def burn():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        sum(range(1000))
burn()
"""


@pytest.fixture
def place(root):
    """A folder that every user can reach, for the program, the collector and the unwind tables."""
    folder = Path("/var/tmp") / f"strata-e2e-users-{os.getpid()}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


def whole_and_all(strata, binary, result):
    """CPU time in stacks that begin at the program's start, and in all."""
    done = strata.run([binary, "export", "folded", "-r", result, "-o", "-"])
    lines = [line.rsplit(" ", 1) for line in done.out.splitlines()]
    return (
        sum(int(ns) for stack, ns in lines if "_start;" in stack),
        sum(int(ns) for _, ns in lines),
    )


@pytest.mark.root
@pytest.mark.parametrize("how", ["setpriv", "su", "setuid"])
def test_stacks_are_whole(strata, programs, place, how):
    binary = installed_for_others(strata, place)
    program = place / "hot_parts"
    shutil.copy(programs / "hot_parts", program)
    script = place / "burn.py"
    script.write_text(SETUID + BURN)
    command = {
        "setpriv": [*DROP, program, "0.5"],
        "su": ["su", "nobody", "-s", "/bin/sh", "-c", f"exec '{program}' 0.5"],
        "setuid": [sys.executable, script],
    }[how]
    result = strata.folder / "r"
    options = ["-collect", "hotspots", "-quiet", "-knob", "sampling-interval=5", "-r", result]
    done = strata.run([binary, *options, "--", *command], env={"STRATA_CACHE_DIR": str(place / "cache")})
    assert done.status == 0, done.err
    whole, total = whole_and_all(strata, binary, result)
    assert total > 300_000_000, done.err
    # The tables of a first run are built while it begins.
    assert whole > 0.8 * total, f"{whole} of {total} ns in whole stacks"
