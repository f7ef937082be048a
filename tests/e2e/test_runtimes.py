# SPDX-License-Identifier: Apache-2.0
"""Programs of other worlds that speak ITT: OpenMP (LLVM's libomp), TBB, Fortran.

They run as they do without strata, and what their runtimes tell is there.
"""

import collections
import os
import shutil
import struct
from pathlib import Path

import pytest
from harness import ROOT
from trace_reader import Result

PROGRAMS = ROOT / "tests" / "programs"


@pytest.fixture(scope="module")
def compiled(shared_strata):
    """Compiles a program of tests/programs once; a missing compiler fails the test."""
    made = {}

    def compile_it(compiler, source, *flags):
        if source not in made:
            assert shutil.which(compiler), f"no {compiler}: run tools/setup.sh test"
            made[source] = shared_strata.folder / Path(source).stem
            done = shared_strata.run([compiler, "-O1", "-g", PROGRAMS / source, *flags, "-o", made[source]])
            assert done.status == 0, done.err
        return made[source]

    return compile_it


def run_both(strata, *program, env=None):
    """Under strata and without: the same output and status. Gives the result as it was written."""
    plain = strata.run(program, env=env)
    # Room for all: these runtimes tell more in a millisecond than a busy machine drains.
    done = strata.collect(*program, ok=False, env=env, options=("-knob", "ring-size=4096"))
    assert (done.status, done.out) == (plain.status, plain.out), done.err
    result = Result(done.result)
    assert not any(result.loss.values()), result.loss
    return done, result


def kinds_of(process):
    return collections.Counter(event.kind for track in process.tracks.values() for event in track.events)


def events_of(process, kind):
    return [event for track in process.tracks.values() for event in track.events if event.kind == kind]


@pytest.fixture(scope="module")
def openmp(compiled):
    return compiled("clang-14", "openmp_regions.c", "-fopenmp")


def frames_of(result, process):
    """(domain, begin, end) of submitted frames, checked to lie in the process's life."""
    first, last = result.start_ticks, max(track.last for track in process.tracks.values())
    frames = []
    for event in events_of(process, "FRAME_SUBMIT"):
        assert first <= event.time <= event.extra <= last, event
        frames.append((event.domain.decode(), event.time, event.extra))
    return frames


def check_openmp(result, process, regions, function):
    """One frame for each parallel region, named after its place in the source."""
    frames = frames_of(result, process)
    parallel = [frame for frame in frames if frame[0].startswith(f"{function}$omp$parallel:2@")]
    assert len(parallel) == regions
    assert all("openmp_regions.c" in frame[0] for frame in parallel)
    kinds = kinds_of(process)
    assert kinds["SYNC_CREATE"] and kinds["SYNC_ACQUIRED"] and kinds["SYNC_RELEASING"]
    types = {event.data.split(b"\0")[0] for event in events_of(process, "SYNC_CREATE")}
    assert b"OMP Join Barrier" in types, types
    metadata = [event for event in events_of(process, "METADATA") if event.domain == b"OMP Metadata"]
    by_key = collections.Counter(event.name for event in metadata)
    assert by_key[b"omp_metadata_loop"], by_key
    for event in metadata:
        count = {b"omp_metadata_imbalance": 4, b"omp_metadata_loop": 5, b"omp_metadata_single": 2}[event.name]
        assert (event.detail, event.extra, len(event.data)) == (1, count, 8 * count)
    return types, metadata


@pytest.mark.alone
def test_openmp(strata, openmp):
    regions = 20
    done, result = run_both(strata, openmp, str(regions))
    (process,) = result.processes.values()
    types, metadata = check_openmp(result, process, regions, "work")
    assert {b"OMP Critical", b"OMP Lock"} <= types, types
    # The loop of 4,096 turns in pieces of 64, as the runtime was told.
    loops = [struct.unpack("<5Q", event.data) for event in metadata if event.name == b"omp_metadata_loop"]
    assert [loop[3:] for loop in loops] == [(4096, 64)] * regions
    assert sum(event.name == b"omp_metadata_single" for event in metadata) == regions
    names = sorted(process.thread_names.values())
    assert names[0] == b"OMP Primary Thread #0" and len(names) == 2, names
    assert names[1].startswith(b"OMP Worker Thread #")
    assert kinds_of(process)["CALLEE_ENTER"] and kinds_of(process)["CALLER_CREATE"]
    # Two threads enter the critical section and take the lock once in each region; that libomp tells each of
    # these twice (sync and fsync) does not double them.
    report = strata.report(done.result, "sync", "-group-by", "sync-type")
    rows = {row["sync_type"]: row for row in report["rows"]}
    for kind in ("OMP Critical", "OMP Lock"):
        assert (rows[kind]["count"], rows[kind]["acquisitions"], rows[kind]["releases"]) == (2 * regions,) * 3, rows[
            kind
        ]
        assert rows[kind]["hold_total_ns"] > 0
    frames = {row["frame_domain"]: row["count"] for row in strata.report(done.result, "frames")["rows"]}
    assert frames == collections.Counter(domain for domain, _, _ in frames_of(result, process))


def test_openmp_fork(strata, openmp):
    """The child of an OpenMP program resets its runtime, and goes on telling under its own pid."""
    regions = 20
    _, result = run_both(strata, openmp, str(regions), "fork")
    parent, child = sorted(result.processes.values(), key=lambda process: process.number)
    assert child.parent == parent.number
    check_openmp(result, parent, 2 * regions, "work")
    assert len(frames_of(result, child)) >= regions


def test_tbb(strata, compiled):
    program = compiled("g++", "tbb_work.cpp", "-ltbb")
    rounds = 10
    _, result = run_both(strata, program, str(rounds))
    (process,) = result.processes.values()
    names = collections.Counter((one.domain, one.name) for one in result.slices)
    # As many as the program starts: algorithms, and the bodies of both nodes for eight numbers.
    assert names[b"tbb.flow", b"body"] == rounds * 16
    for name in (b"tbb_parallel_for", b"tbb_parallel_reduce", b"tbb_custom", b"tbb_flow_graph"):
        assert names[b"tbb", name] >= rounds, names
    kinds = kinds_of(process)
    for kind in ("TASK_GROUP", "RELATION", "METADATA_TEXT", "SYNC_CREATE", "SYNC_ACQUIRED", "SYNC_RELEASING"):
        assert kinds[kind], kinds
    texts = {event.data.rstrip(b"\0") for event in events_of(process, "METADATA_TEXT")}
    assert {b"twice", b"add"} <= texts, texts
    told = {event.data for event in events_of(process, "SYNC_RENAME") + events_of(process, "SYNC_CREATE")}
    assert any(b"the queuing lock" in text for text in told), told


def test_tbb_allocator(strata, compiled):
    """An allocator that replaces malloc and tells ITT from inside it: we must not allocate on that path."""
    program = compiled("g++", "tbb_work.cpp", "-ltbb")
    preload = {"LD_PRELOAD": "libtbbmalloc_proxy.so.2"}
    maps = strata.run([program.parent / "tbb_work", "1"], env=preload | {"LD_DEBUG": "libs"})
    assert "libtbbmalloc.so" in maps.err, "the allocator was not loaded"
    _, result = run_both(strata, program, "20", env=preload)
    (process,) = result.processes.values()
    assert len([one for one in result.slices if one.name == b"body"]) == 20 * 16
    assert kinds_of(process)["SYNC_ACQUIRED"] > 100


def test_fortran(strata, compiled, python):
    """Through the C interface of the static part in libtorch_cpu.so, by nothing but iso_c_binding."""
    where = strata.run([python, "-c", "import torch; print(torch.__path__[0])"]).out.strip()
    folder = os.path.join(where, "lib")
    libraries = [f"-L{folder}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{folder}"]
    program = compiled("gfortran", "fortran_tasks.f90", *libraries)
    done, result = run_both(strata, program)
    names = collections.Counter((one.name, one.parent.name if one.parent else None) for one in result.slices)
    assert names == {(b"solve", None): 10, (b"sweep", b"solve"): 30}
    assert {one.domain for one in result.slices} == {b"fortran"}
    added = [event for event in result.events if event.kind == "COUNTER_ADD"]
    assert [(event.domain, event.name, event.value) for event in added] == [(b"fortran", b"cells", 4096)] * 30
    assert strata.counts(done.result) == {"solve": 10, "sweep": 30}
