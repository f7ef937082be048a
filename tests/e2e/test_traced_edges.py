# SPDX-License-Identifier: Apache-2.0
"""Programs that are hard on a profile with_stack=True: it must neither harm them nor say what was not."""

import json

import pytest
from harness import TARGETS
from pythons import interpreter

PROGRAM = TARGETS / "traced_edges.py"


@pytest.fixture
def run(shared_strata, build_dir):
    def start(version, what):
        environment = {"PYTHONPATH": str(build_dir / "python")}
        done = shared_strata.run([interpreter(version), PROGRAM, what], env=environment)
        assert done.status == 0, (done.status, done.err)
        return json.loads(done.stdout)

    return start


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_interpreters(run, version):
    """Those with a lock of their own run on while a profile of another one begins."""
    said = run(version, "interpreters")
    assert said["profiles"] == 60 and said["found"] == 3


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
def test_many_threads(run, version):
    """All of them are recorded, and none of them keeps anything of ours."""
    said = run(version, "many")
    assert said["found"] == said["expected"]
    assert said["left"] == 0
    assert said["hooked"] == (version != "3.13")


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.12", "3.13"])
def test_module_that_goes(run, version):
    """Where nn.Module.__call__ is taken away, other functions stay what they are; its code is let go in the end."""
    said = run(version, "module")
    assert said == {"left": 0, "modules": [["nn.Module: Module_0", 1]], "others": 1000}


@pytest.mark.parametrize("version", ["3.8", "3.12", "3.13"])
def test_threads_that_come(run, version):
    """Threads that start within a profile are not recorded, and cost no memory."""
    said = run(version, "coming")
    assert said["found"] == 0
    # The C library keeps stacks of some threads, 8 MiB each; what 400 threads would have kept is over 100 MiB.
    assert said["inside"] < 48 << 10 and said["after"] < 48 << 10, said
