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


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
@pytest.mark.parametrize("through", ["", "link"])
def test_nobody_else_can_replace_what_roots_programs_load(odd, python, tmp_path, through):
    """The owner of a folder above that of the link could rename it and make another."""
    theirs = tmp_path / "theirs"
    (theirs / "cache").mkdir(parents=True)
    os.chown(theirs, 65534, 65534)
    place = theirs / "cache"
    if through:
        place = tmp_path / through
        place.symlink_to(theirs / "cache")
    env = {"STRATA_CACHE_DIR": str(place / "strata")}
    script = "import os\nprint(os.environ['LD_PRELOAD'])\n"
    done = odd("-collect", "hotspots", "-r", tmp_path / "result", "--", python, "-c", script, env=env)
    assert done.status == 0, done.err
    assert done.out.startswith("/tmp/strata-0/")


def test_leftover_of_a_killed_run(odd, tmp_path):
    """With the number of this one."""
    cache = tmp_path / "cache"
    env = dict(os.environ, STRATA_CACHE_DIR=str(cache))
    run = [str(odd.binary), "-collect", "hotspots", "-r", tmp_path / "first", "--", "/bin/true"]
    subprocess.run(run, env=env, check=True, capture_output=True)
    (link,) = cache.glob("lib-*")
    link.unlink()
    script = 'ln -s nowhere "$0.$$"; exec "$@"'
    run[4] = tmp_path / "second"
    subprocess.run(["/bin/sh", "-c", script, link, *run], env=env, check=True, capture_output=True)
    assert [found.name for found in cache.glob("lib-*")] == [link.name]
