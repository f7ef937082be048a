# SPDX-License-Identifier: Apache-2.0
"""What the page says where there is little to show (tests/web/states.js), in Chromium."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from served import Server, is_built  # noqa: F401

SCRIPT = Path(__file__).parents[1] / "web" / "states.js"
CASES = re.findall(r"^\t(?:async )?([a-z]+_[a-z_0-9]+)\(", SCRIPT.read_text(), re.MULTILINE)
NO_PROCESS = 2**31 - 1  # more than the kernel numbers
WAITS = """
import subprocess, time
for _ in range(3):
    time.sleep(0.05)
    subprocess.run(["/bin/sleep", "0.05"])
"""


@pytest.fixture(scope="module")
def seen(shared_strata, python, programs, tmp_path_factory):
    data = shared_strata.folder / "data"
    data.mkdir()
    for name, kind, program in (
        ("hot", "hotspots", [programs / "hot_parts"]),
        ("short", "hotspots", ["/bin/true"]),
        ("tasks", "tasks", [programs / "known_times", "20"]),
        ("waits", "threading", [python, "-c", WAITS]),
    ):
        done = shared_strata("-collect", kind, "-r", data / name, "--", *program)
        assert done.status == 0, done.err
    shutil.copytree(data / "tasks", data / "killed")
    info = json.loads((data / "killed" / "result.json").read_text())
    info.update(state="running", strata_pid=NO_PROCESS)
    (data / "killed" / "result.json").write_text(json.dumps(info))
    context = tmp_path_factory.mktemp("states") / "context.json"
    context.write_text(json.dumps({"names": {one.name: one.name for one in data.iterdir()}}))
    with Server(shared_strata, data) as server:
        command = ["node", SCRIPT, server.url, context]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_state(seen, case):
    assert seen[case] == "ok", seen[case]
