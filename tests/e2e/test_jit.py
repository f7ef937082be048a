# SPDX-License-Identifier: Apache-2.0
"""The JIT interface: code that a program makes while it runs, with names, addresses, sizes and lines."""

import json
import os
import struct
import subprocess
from pathlib import Path

import pytest
from harness import TARGETS, strict_csv
from trace_reader import Result


def method(event):
    """The data of a record: method, class, source file, module, lines."""
    data, texts, at = event.data, [], 0
    for _ in range(4):
        (length,) = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4 : at + 4 + length].decode())
        at += 4 + length
    (count,) = struct.unpack_from("<I", data, at)
    lines = list(struct.iter_unpack("<II", data[at + 4 :]))
    assert len(lines) == count
    return (*texts, lines)


@pytest.fixture
def hand_made(strata, programs):
    """The result of the program that sends every event, and the base of its addresses."""
    done = strata.collect(programs / "jit_target")
    return done.result, int(done.stdout)


def test_every_event(hand_made):
    result, base = hand_made
    reader = Result(result)
    (process,) = reader.processes.values()
    assert [event.kind for event in process.code] == ["JIT"] * 9
    loads, changes = process.code[:4], process.code[4:]
    assert [(event.detail, event.value - base, event.extra, event.id) for event in loads] == [
        (13, 0, 64, (1, 0, 0)),
        (21, 0x1000, 0x100, (2, 0, 0)),
        (22, 0x2000, 0x200, (3, 0, 2)),
        (16, 16, 8, (4, 1, 0)),
    ]
    assert [method(event) for event in loads] == [
        ("plain", "Plain", "plain.cpp", "", [(16, 101), (40, 103), (64, 102)]),
        ("second \xfc", "", "second.cpp", "module2", []),
        ("third", "", "", "module3", []),
        ("inlined", "", "plain.h", "", [(16, 101)]),
    ]
    update, update_v2, unload, replaced, shutdown = changes
    assert (update.detail, update.value - base, update.extra, update.id) == (15, 0x3000, 32, (1, 0, 0))
    assert (update_v2.detail, update_v2.value - base, update_v2.extra, update_v2.id) == (17, 0x4000, 48, (0, 0, 1))
    assert method(update_v2)[:2] == ("", "raw")
    assert (unload.detail, unload.id, unload.data) == (14, (3, 0, 0), None)
    assert (replaced.detail, replaced.value - base, method(replaced)[0]) == (13, 0x1080, "replaces")
    assert (shutdown.detail, shutdown.value) == (2, None)
    (task,) = reader.slices
    assert all(task.begin <= event.ticks <= task.end for event in loads)
    assert all(task.end <= event.ticks for event in changes)


def test_code_in_queries(hand_made, strata):
    """What lay where, and from when to when."""
    result, base = hand_made
    done = strata("query", "-r", result, "SELECT * FROM code ORDER BY row", "-format", "csv")
    rows = strict_csv(done.stdout)
    assert {row["kind"] for row in rows} == {"jit"}
    assert [(row["name"], int(row["address"], 16) - base, int(row["size_bytes"])) for row in rows] == [
        ("plain", 0, 64),
        ("second \xfc", 0x1000, 0x100),
        ("third", 0x2000, 0x200),
        ("inlined", 16, 8),
        ("plain", 0x3000, 32),
        ("replaces", 0x1080, 0x40),
    ]
    plain, second, third, inlined, moved, replaces = rows
    assert (plain["class_name"], plain["source"], plain["module"]) == ("Plain", "plain.cpp", "")
    assert (second["source"], second["module"]) == ("second.cpp", "module2")
    assert json.loads(plain["lines"]) == [[16, 101], [40, 103], [64, 102]]
    assert json.loads(inlined["lines"]) == [[16, 101]] and inlined["parent_method"] == "1"
    # Moved by an update, replaced by an overlapping load, unloaded.
    assert plain["end_ns"] == moved["start_ns"] and second["end_ns"] == replaces["start_ns"]
    starts = [int(row["start_ns"]) for row in rows]
    assert starts == sorted(starts) and int(moved["start_ns"]) < int(third["end_ns"]) < int(replaces["start_ns"])
    last = max(int(row["end_ns"]) for row in rows)
    assert all(int(row["end_ns"]) == last for row in (inlined, moved, replaces))


def test_nothing_else_changes(strata, programs):
    """Without strata the same program finds nobody, and a variable of its own is left alone."""
    done = strata.run([programs / "jit_target"])
    assert done.status == 1 and done.stdout == b"nobody listens\n"


def test_exports(build_dir):
    """Two names and no more: in a process these would replace functions of the program."""
    library = next(build_dir.rglob("libstrata_jit.so"))
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, check=True)
    names = {line.split()[-1] for line in done.stdout.decode().splitlines()}
    assert names == {"Initialize", "NotifyEvent"}
    assert library.parent == next(build_dir.rglob("libstrata_collector.so")).parent


def test_preloaded_collector_is_the_same_one(strata, programs):
    """The library links the collector that is loaded already, also when another path comes first."""
    other = strata.folder / "other"
    other.mkdir()
    program = ["sh", "-c", f"LD_LIBRARY_PATH='{other}' exec '{programs / 'jit_target'}'"]
    (other / "libstrata_collector.so").write_bytes(b"not a library")
    done = strata.collect(*program)
    reader = Result(done.result)
    assert sum(len(process.code) for process in reader.processes.values()) == 9
    assert len(reader.slices) == 1


def perf_map(pid):
    """(address, size, name without its number) that oneDNN itself has written."""
    path = Path(f"/tmp/perf-{pid}.map")
    rows = [line.split(" ", 2) for line in path.read_text().splitlines()]
    path.unlink()
    return sorted((int(address, 16), int(size, 16), name.rsplit(".", 1)[0]) for address, size, name in rows)


def kernels(result):
    reader = Result(result)
    found = [event for process in reader.processes.values() for event in process.code]
    assert {(event.kind, event.detail) for event in found} == {("JIT", 13)}
    return sorted((event.value, event.extra, method(event)[0]) for event in found)


def test_onednn_kernels(strata, python):
    """The kernels of torch's oneDNN, by name, with nothing set."""
    done = strata.collect(python, TARGETS / "jit_kernels.py")
    found = kernels(done.result)
    names = {name for _, _, name in found}
    assert any("conv" in name for name in names), names
    assert any("gemm" in name or "matmul" in name for name in names), names
    assert all(address and size for address, size, _ in found)
    assert not Path(f"/tmp/perf-{int(done.stdout)}.map").exists()


def test_onednn_kernels_exactly(strata, python):
    """oneDNN writes the same kernels into a file when asked to; both must agree in every number."""
    done = strata.collect(python, TARGETS / "jit_kernels.py", env={"ONEDNN_JIT_PROFILE": "3"})
    assert kernels(done.result) == perf_map(int(done.stdout))


def test_onednn_may_be_told_not_to(strata, python):
    """ONEDNN_JIT_PROFILE is the user's."""
    done = strata.collect(python, TARGETS / "jit_kernels.py", env={"ONEDNN_JIT_PROFILE": "0"})
    assert not any(process.code for process in Result(done.result).processes.values())


def test_variable_of_the_user_is_replaced(strata):
    done = strata.collect("sh", "-c", "echo $INTEL_JIT_PROFILER64", env={"INTEL_JIT_PROFILER64": "/theirs.so"})
    assert os.path.basename(done.out.strip()) == "libstrata_jit.so"
