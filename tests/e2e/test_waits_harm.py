# SPDX-License-Identifier: Apache-2.0
"""Nobody notices that waits are recorded: outputs and statuses are those of a run without strata."""

import os
from pathlib import Path

import pytest
from harness import TARGETS
from pythons import interpreter
from waiting import PROGRAMS, compiled, threading


def check_same(strata, *program, env=None):
    plain = strata.run(program, env=env)
    profiled = threading(strata, *program, options=["-quiet"], env=env)
    assert plain.out
    assert (profiled.status, profiled.out) == (plain.status, plain.out), profiled.err
    return profiled


def test_functions_that_wait_inside_of_libc(strata, programs):
    """C11, streams, shells, handlers that post and lock, a robust mutex of two processes, asynchronous cancellation."""
    done = check_same(strata, programs / "wait_harm_more")
    assert done.status == 0


@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_openmp(strata, compiler):
    check_same(strata, compiled(strata, compiler, "openmp_forms.c", "-fopenmp"))


def library_of(strata, source, *flags):
    """A shared library of tests/programs."""
    made = strata.folder / f"lib{Path(source).stem}.so"
    done = strata.run(["gcc", "-O1", "-g", "-D_GNU_SOURCE", "-shared", "-fPIC", PROGRAMS / source, *flags, "-o", made])
    assert done.status == 0, done.err
    return made


def test_openmp_in_a_constructor(strata):
    """The loader's lock is held meanwhile: threads that need it would never end."""
    plug = library_of(strata, "openmp_plug.c", "-fopenmp", "-DIN_CONSTRUCTOR")
    script = f"import ctypes; ctypes.CDLL({str(plug)!r})"
    done = check_same(strata, interpreter("3.11"), "-c", script)
    assert done.out == "constructor: 3, thread: 3\n"


def test_openmp_that_is_unloaded(strata):
    """It comes again elsewhere: the functions that were found are not there any more."""
    host = compiled(strata, "gcc", "openmp_host.c")
    plug = library_of(strata, "openmp_plug.c", "-fopenmp")
    done = check_same(strata, host, plug, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert (done.status, done.out) == (0, "round 0: 1\nround 1: 1\nround 2: 1\n")


def test_openmp_on_a_stack_that_just_suffices(strata):
    """Regions within each other, as many as the stack has room for."""
    program, depth = compiled(strata, "gcc", "openmp_deep.c", "-fopenmp"), 5000
    taken = int(strata.run([program, str(depth), str(256 << 20)]).err)
    page, spare = 4096, 32768  # for what every thread needs
    done = check_same(strata, program, str(depth), str((taken + spare) // page * page))
    assert (done.status, done.out) == (0, f"{depth}\n")
    report = strata.report(done.result, "openmp")
    (row,) = [row for row in report["rows"] if "descend" in row["region"]]
    assert 10 < row["count"] == depth - report["quality"]["events_dropped"]


def test_openmp_on_small_stacks(strata):
    program = compiled(strata, "gcc", "openmp_nested.c", "-fopenmp")
    assert check_same(strata, program, env=os.environ | {"OMP_STACKSIZE": "16k"}).out == "4\n"


def test_a_library_that_stands_before_openmp(strata):
    """It sees every region that it would see."""
    before = library_of(strata, "openmp_before.c")
    program = compiled(strata, "gcc", "openmp_forms.c", "-fopenmp")
    done = check_same(strata, program, env=os.environ | {"LD_PRELOAD": str(before)})
    assert done.out.splitlines()[-1].endswith(" regions")


def library_with_its_openmp(strata, source, *flags):
    """A shared library of tests/programs, with a copy of libgomp under a name of its own, as packages have it."""
    found = strata.run(["gcc", "-print-file-name=libgomp.so.1"]).out.strip()
    copy = strata.folder / "libgomq.so.1"
    copy.write_bytes(Path(found).read_bytes().replace(b"libgomp.so.1\0", b"libgomq.so.1\0"))
    part = strata.folder / f"{Path(source).stem}.o"
    done = strata.run(["gcc", "-O1", "-g", "-fPIC", "-fopenmp", "-c", PROGRAMS / source, *flags, "-o", part])
    assert done.status == 0, done.err
    made = part.with_suffix(".so")
    done = strata.run(["gcc", "-shared", "-Wl,-z,lazy", part, copy, f"-Wl,-rpath,{strata.folder}", "-o", made])
    assert done.status == 0, done.err
    return made


@pytest.mark.parametrize("flags", [[], ["-fno-plt"], ["-DFEW"]], ids=["all", "no-plt", "few"])
@pytest.mark.parametrize(("how", "when"), [("now", "early"), ("now", "late"), ("lazy", "late")])
def test_a_second_openmp_that_everybody_sees(strata, how, when, flags):
    """What belongs together comes from one copy, whatever has been loaded since.

    Where functions are bound when they are first called, "early" mixes two copies without strata, too.
    """
    library = library_with_its_openmp(strata, "openmp_copy.c", *flags)
    done = check_same(strata, compiled(strata, "gcc", "openmp_copies.c"), library, how, when)
    assert done.status == 0
    assert f"after: 3 {9 if '-DFEW' in flags else 300300009 + 6}\n" * 2 in done.out


def test_a_second_openmp_in_a_constructor(strata):
    """Which copy it is must be found without the loader's lock."""
    plug = library_with_its_openmp(strata, "openmp_plug.c", "-DIN_CONSTRUCTOR")
    script = f"import ctypes; ctypes.CDLL('libgomp.so.1'); ctypes.CDLL({str(plug)!r})"
    done = check_same(strata, interpreter("3.11"), "-c", script)
    assert done.out == "constructor: 3, thread: 3\n"


def test_threads_that_are_there_first(strata):
    """They wait while the collector is being initialised; once it is, they and all others are recorded."""
    library = library_of(strata, "early_threads.c", "-DLIBRARY", "-pthread")
    program = compiled(strata, "gcc", "early_threads.c", library, f"-Wl,-rpath,{strata.folder}")
    done = check_same(strata, program)
    assert (done.status, done.out) == (0, "3 threads were there first\n")
    assert strata.result_json(done.result)["sampling"]["samples"] > 0
    assert {row["sync_type"] for row in strata.report(done.result, "waits")["rows"]} >= {"Read"}


def test_mutexes_of_a_library(strata):
    """What stands before libc's mutexes sees all that it would see."""
    counts = library_of(strata, "locks_counted.c", "-DLIBRARY")
    program = compiled(strata, "gcc", "locks_counted.c", counts, f"-Wl,-rpath,{strata.folder}")
    assert check_same(strata, program).out == "10 locks, 10 unlocks\n"


def test_functions_with_names_of_libcs(strata):
    """What a library calls by a name of libc's is its own, with parameters and results that libc's does not have."""
    library = library_of(strata, "own_names.c", "-DLIBRARY", "-fno-builtin")
    program = compiled(strata, "gcc", "own_names.c", library, f"-Wl,-rpath,{strata.folder}")
    assert check_same(strata, program).out == "24.5 one-other\n" * 2


def test_thread_sanitizer(strata):
    """It sees each lock and unlock, and finds no error where there is none."""
    program = compiled(strata, "g++", "locks_shared.cpp", "-fsanitize=thread")
    assert check_same(strata, program).status == 0


def test_a_thread_without_the_cycle_counter(strata):
    program = compiled(strata, "g++", "locked_up.cpp", "-std=c++20")
    assert check_same(strata, program, "tsc").status == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="a filter without PR_SET_NO_NEW_PRIVS takes root")
def test_a_filter_that_nobody_announced(strata):
    program = compiled(strata, "g++", "locked_up.cpp", "-std=c++20")
    assert check_same(strata, program, "filter").status == 3


PYTHON = """
import concurrent.futures, os, queue, signal, socket, subprocess, sys, threading, time
sys.setswitchinterval(0.0005)
items, results, lock = queue.Queue(3), [], threading.Lock()
def work():
    while True:
        item = items.get()
        if item is None:
            return
        with lock:
            results.append(sum(range(item)))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for i in range(200): items.put(i)
for _ in threads: items.put(None)
for thread in threads: thread.join()
print(len(results), sum(results))
lock.acquire()
child = os.fork()
if not child:
    os._exit(3 if not lock.acquire(timeout=0.01) else 4)
print("child", os.waitpid(child, 0)[1])
lock.release()
print(subprocess.run(["sh", "-c", "echo out; exit 5"], stdout=subprocess.PIPE))
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    print(list(pool.map(len, ["a", "bb", "ccc"])))
def late(number, frame): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, late)
one, other = socket.socketpair()
for wait in (lambda: one.recv(1), lambda: time.sleep(60), lambda: items.get(), lambda: threading.Event().wait()):
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        try:
            wait()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        print("interrupted")
event, condition = threading.Event(), threading.Condition()
print(event.wait(0.01), lock.acquire(timeout=0.01), lock.acquire(timeout=0.01))
with condition: print(condition.wait(0.01))
"""


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"])
def test_python(strata, version):
    """Threads that hand things over, a fork with a lock held, children, signals that end waits, times that are over."""
    script = strata.folder / "program.py"
    script.write_text(PYTHON)
    done = check_same(strata, interpreter(version), script)
    assert done.status == 0


def test_jemalloc(strata, programs):
    """An allocator that locks mutexes while nothing is set up yet."""
    library = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    if not library.is_file():
        pytest.skip("no libjemalloc.so.2 here (Debian: libjemalloc2)")
    check_same(strata, programs / "wait_harm_more", env=os.environ | {"LD_PRELOAD": str(library)})


@pytest.mark.parametrize("package", ["gevent", "uvloop", "grpc"])
def test_loops_and_servers(strata, python, package):
    """They wait in ways of their own: other stacks, a loop in C, threads and a poller of gRPC's own."""
    if strata.run([python, "-c", f"import {package}"]).status:
        pytest.skip(f"no {package} in .venv: run tools/setup.sh test")
    done = check_same(strata, python, TARGETS / f"waits_{package}.py")
    assert done.status == 0


@pytest.mark.torch
def test_distributed_training(strata, python, scale):
    if scale != "full":
        pytest.skip("only at STRATA_TEST_SCALE=full")
    # Each run with a file of its own: what the first has left would be taken for its partner.
    plain = strata.run([python, TARGETS / "waits_ddp.py", strata.folder / "plain"])
    done = threading(strata, python, TARGETS / "waits_ddp.py", strata.folder / "profiled", options=["-quiet"])
    assert plain.status == 0 and plain.out
    assert (done.status, done.out) == (plain.status, plain.out), done.err


def test_programs_that_cannot_be_entered(strata, programs):
    """They run untouched, and are named."""
    musl = compiled(strata, "musl-gcc", "die_by.c")
    for program, word in ((programs / "static_child", "static_child"), (musl, musl.name)):
        plain = strata.run([program])
        done = threading(strata, program)
        assert (done.status, done.out) == (plain.status, plain.out), done.err
        assert word in done.err
