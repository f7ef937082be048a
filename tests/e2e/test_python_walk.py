# SPDX-License-Identifier: Apache-2.0
"""The sampler's reader of Python frames, in every CPython that is installed here.

It runs in a library that ctypes loads, at known places, where the interpreter itself says what stands there,
and in a signal handler at any instant of a program whose stacks are known. The decoder of line tables
is compared with the interpreter's own over its standard library.
"""

import json
import os
import subprocess

import pytest
from harness import TARGETS, clean_env
from pythons import VERSIONS, check_coverage, interpreter

FULL = os.environ.get("STRATA_TEST_SCALE") == "full"


def run(version, build_dir, script, *arguments):
    probe = next(build_dir.rglob("python_frames_probe.so"))
    command = [interpreter(version), TARGETS / script, probe, *map(str, arguments)]
    done = subprocess.run(command, env=clean_env(), capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return json.loads(done.stdout)


def test_versions():
    check_coverage()


@pytest.mark.parametrize("version", VERSIONS)
def test_frames_are_those_of_the_interpreter(version, build_dir):
    """Recursion over chunks, calls through C, generators, coroutines, exceptions, short-lived code, limits."""
    assert run(version, build_dir, "python_frames.py", "exact")["checked"] > 300


@pytest.mark.parametrize("version", VERSIONS)
def test_frames_at_any_instant(version, build_dir):
    """Stopped anywhere, also where the interpreter makes or unmakes a frame: no stack that cannot be."""
    result = run(version, build_dir, "python_frames.py", "any", 60 if FULL else 1.5)
    print(version, result)
    assert result["wrong"] == []
    assert result["samples"] > 500
    assert result["codes_defined_twice"] == 0
    # 3.11 and 3.12 announce a frame before it is there; the walk then begins one group further out, or nowhere.
    assert result["top_unknown"] <= 0.01 * result["samples"]
    assert result["cut"] <= 0.005 * result["samples"]


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_are_those_of_the_interpreter(version, build_dir):
    assert run(version, build_dir, "python_lines_of.py", 1 if FULL else 25) > 50000
