# SPDX-License-Identifier: Apache-2.0
"""The packages that the page is built with: installed when the lock file has changed, and never pulled away."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "cmake" / "WebPackages.cmake"

# Writes down what stands in the place of the packages while it runs, and installs one package.
NPM = """#!/usr/bin/env python3
import pathlib, sys
web = pathlib.Path(sys.argv[0]).parent / "web"
with open(web.parent / "calls", "a") as calls:
    calls.write(" ".join(sorted(path.name for path in web.glob("node_modules/p*"))) + ".")
if (web / "package.json").read_text() == "broken":
    sys.exit(1)
name = pathlib.Path("package-lock.json").read_text()
(pathlib.Path("node_modules") / name).mkdir(parents=True)
"""


@pytest.fixture
def web(tmp_path):
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    (tmp_path / "npm").write_text(NPM)
    (tmp_path / "npm").chmod(0o755)
    return folder


def install(web, lock, *options, status=0):
    """Which packages were there during each call of npm so far, and which are there now."""
    cmake = shutil.which("cmake")
    if not cmake:
        pytest.skip("there is no cmake here")
    (web / "package-lock.json").write_text(lock)
    words = [cmake, f"-DNPM={web.parent / 'npm'}", f"-DWEB={web}", f"-DSTAMP={web.parent / 'stamp'}", *options]
    done = subprocess.run([*words, "-P", SCRIPT], check=False, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    calls = (web.parent / "calls").read_text().split(".")[:-1]
    return calls, sorted(path.name for path in web.glob("node_modules/p*"))


def test_packages_are_installed_once_for_a_lock_file(web):
    assert install(web, "p1") == ([""], ["p1"])
    # Written anew, and newer than everything: but the same.
    os.utime(web / "node_modules", (0, 0))
    assert install(web, "p1") == ([""], ["p1"])
    assert (web.parent / "stamp").exists()


def test_packages_stay_until_the_new_ones_are_there(web):
    install(web, "p1")
    assert install(web, "p2") == (["", "p1"], ["p2"])
    (web / "package.json").write_text("broken")
    assert install(web, "p3") == (["", "p1", "p2"], ["p2"])
    assert install(web, "p3", "-DMUST=ON", status=1) == (["", "p1", "p2", "p2"], ["p2"])
    assert sorted(path.name for path in (web / ".packages").iterdir()) == ["lock"]
