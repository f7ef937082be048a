# SPDX-License-Identifier: Apache-2.0
"""Who gets to the page, in Chromium: log-in by token or passphrase, and attempts from outside (tests/web/access.js)."""

import contextlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from served import Server, folder, is_built  # noqa: F401

SCRIPT = Path(__file__).parents[1] / "web" / "access.js"
CASES = re.findall(r"^\t(?:async )?([a-z]+_[a-z_0-9]+)(?:\(|: )", SCRIPT.read_text(), re.MULTILINE)
SECRET = "nobody but its owner reads this"


@pytest.fixture(scope="module")
def seen(shared_strata, folder, tmp_path_factory):  # noqa: F811
    """The outcome of every case. Each log-in needs a server of its own, for a token is good once."""
    beside = folder.parent / "secret.txt"
    beside.write_text(SECRET)
    options = {
        "token": [],
        "form": [],
        "guessed": [],
        "inside": [],
        "strangers": [],
        "expired": ["--token-lifetime", "0"],
        "remote": ["--allow-remote-access"],
        "unset": ["--allow-remote-access"],
    }
    context = {"secret": {"text": SECRET, "file": str(beside), "folder": str(folder.parent)}}
    with contextlib.ExitStack() as held:
        for name, words in options.items():
            config = {"XDG_CONFIG_HOME": str(tmp_path_factory.mktemp(name))}
            context[name] = held.enter_context(Server(shared_strata, folder, *words, env=config)).url
        path = tmp_path_factory.mktemp("access") / "context.json"
        path.write_text(json.dumps(context))
        command = ["node", SCRIPT, "-", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert not (folder / "harm").exists() and not (folder.parent / "harm").exists()
    assert {path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != "."} == {"r000hs", "project"}
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_access(seen, case):
    assert seen[case] == "ok", seen[case]
