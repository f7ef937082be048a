# SPDX-License-Identifier: Apache-2.0
"""New analysis in Chromium (tests/web/collect.js): attach, commands to a collection, and a host that ssh reaches.

The host is this machine: behind an sshd of the test's own where one is installed, else behind a program that stands in
for ssh and runs the command here.
"""

import contextlib
import getpass
import json
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from harness import TARGETS, until
from served import Server, is_built  # noqa: F401

SCRIPT = Path(__file__).parents[1] / "web" / "collect.js"
CASES = re.findall(r"^\t(?:async )?([a-z]+_[a-z_0-9]+)\(", SCRIPT.read_text(), re.MULTILINE)
STAND_IN = '#!/bin/sh\nfor last; do :; done\nexec /bin/sh -c "$last"\n'


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        return connection.recv(4) == b"SSH-"
    return False


def own_sshd(strata, daemon, folder):
    """Starts it with throw-away keys on a port of its own; what ssh must be told to reach it."""
    for name in ("host", "mine"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "mine.pub", folder / "authorized")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = {"ListenAddress": "127.0.0.1", "HostKey": folder / "host", "AuthorizedKeysFile": folder / "authorized"}
    words |= {"PidFile": "none", "StrictModes": "no", "UsePAM": "no", "PasswordAuthentication": "no"}
    words["SetEnv"] = f"PATH={folder}:/usr/bin:/bin"  # where its commands find strata
    options = [word for name, value in words.items() for word in ("-o", f"{name}={value}")]
    strata.popen([daemon, "-D", "-e", "-f", "/dev/null", "-p", str(port), *options], stderr=subprocess.DEVNULL)
    until(lambda: answers(port), what="sshd")
    known = f"-o UserKnownHostsFile={folder}/known -o StrictHostKeyChecking=accept-new"
    return f'#!/bin/sh\nexec {shutil.which("ssh")} -F none -p {port} -i {folder}/mine {known} "$@"\n'


@pytest.fixture(scope="module")
def ssh(shared_strata, tmp_path_factory):
    """A folder for PATH with an ssh that leads here, and strata for it to find."""
    folder = tmp_path_factory.mktemp("ssh")
    daemon = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    text = own_sshd(shared_strata, daemon, folder) if daemon else STAND_IN
    (folder / "ssh").write_text(text)
    (folder / "ssh").chmod(0o755)
    os.symlink(shared_strata.binary, folder / "strata")
    return folder


@pytest.fixture(scope="module")
def seen(shared_strata, python, ssh, tmp_path_factory):
    data = shared_strata.folder / "data"
    data.mkdir()
    target = shared_strata.popen([python, TARGETS / "running.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert target.stdout.readline() == b"running\n"
    context = {
        "pid": target.pid,
        "program": "/bin/sleep",
        "arguments": "600",
        "host": f"{getpass.getuser()}@127.0.0.1",
    }
    path = tmp_path_factory.mktemp("collect") / "context.json"
    path.write_text(json.dumps(context))
    with Server(shared_strata, data, env={"PATH": f"{ssh}:{os.environ['PATH']}"}) as server:
        command = ["node", SCRIPT, server.url, path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    out, _ = target.communicate(timeout=60)
    assert (out, target.returncode) == (b"done\n", 0), "the process that was looked at noticed"
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_collect(seen, case):
    assert seen[case] == "ok", seen[case]
