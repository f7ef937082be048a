# SPDX-License-Identifier: Apache-2.0
"""Who began a task is an address; the result says which file lay there, so that it can be named."""

import os
import re
import shutil
import subprocess

import pytest
from trace_reader import Result


def build_id_of(path):
    """As binutils reads it."""
    if not shutil.which("readelf"):
        pytest.skip("no readelf")
    text = subprocess.run(["readelf", "-n", path], capture_output=True, check=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", text).group(1)


def map_of(process, address):
    found = [one for one in process.code_maps if one[0] <= address < one[1]]
    assert len(found) == 1, f"{len(found)} files at {address:#x}"
    return found[0]


def test_callers_lie_in_the_program(strata, programs):
    program = programs / "paced"
    done = strata.collect(program, "1000", "0.2", options=["-quiet"])
    result = Result(done.result)
    process = next(iter(result.processes.values()))
    callers = {one.name: one.caller for one in result.slices}
    assert len(callers) == 2
    assert callers[b"whole run"] != callers[b"inner"]
    for name, address in callers.items():
        _, _, _, _, path, build_id = map_of(process, address)
        assert os.path.samefile(os.fsdecode(path), program), name
        assert build_id.hex() == build_id_of(program)
    assert strata.result_json(done.result)["loss"]["callers_unknown"] == 0


def test_callers_lie_in_a_library_that_was_loaded_later(strata, ittapi):
    """The module that records is mapped long after the hello: its map is read when its first caller is seen."""
    code = """
import torch
torch._C._itt.rangePush("first")
torch._C._itt.rangePop()
import ittapi
with ittapi.task("second"):
    pass
"""
    done = strata.collect(ittapi, "-c", code, options=["-quiet"])
    result = Result(done.result)
    places = {one.name: os.path.basename(map_of(one.track.process, one.caller)[4]) for one in result.slices}
    assert places[b"first"].startswith(b"libtorch"), places
    assert places[b"second"].startswith(b"native."), places
