# SPDX-License-Identifier: Apache-2.0
"""Strata installed in a folder whose name LD_PRELOAD cannot hold: what it separates names by is in it."""

import os
import shutil
import subprocess

import pytest
from harness import Strata

BUSY = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end:\n    pass\n"


@pytest.fixture
def odd(strata_binary, tmp_path, request):
    folder = tmp_path / "my straße: 2"
    folder.mkdir()
    for name in ("bin", "lib"):
        shutil.copytree(strata_binary.parents[1] / name, folder / name, symlinks=True)
    runner = Strata(folder / "bin" / "strata", tmp_path)
    request.node.strata = runner
    yield runner
    runner.close()


@pytest.mark.parametrize("cache", ["cache", "my cache"])
def test_programs_are_entered(odd, python, tmp_path, cache):
    """And the link by which they are is there for those that live longer than the run."""
    env = {"STRATA_CACHE_DIR": str(tmp_path / cache)}
    script = "import os\nprint(os.environ['LD_PRELOAD'])\n" + BUSY
    result = tmp_path / "result"
    done = odd("-collect", "hotspots", "-r", result, "--", python, "-c", script, env=env)
    assert done.status == 0, done.err
    totals = odd.report(result, "hotspots")["totals"]
    assert totals["cpu_self_ns"] > 0.3e9
    preloaded = done.out.strip().replace("$PLATFORM", os.uname().machine)
    assert os.path.exists(preloaded) and not set(preloaded) & set(" :")
    assert preloaded.startswith(str(tmp_path)) == (cache == "cache")
    later = subprocess.run(["/bin/true"], env={"LD_PRELOAD": preloaded}, capture_output=True, check=True)
    assert later.stderr == b""
