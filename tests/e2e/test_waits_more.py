# SPDX-License-Identifier: Apache-2.0
"""Waits inside of run times: the C library itself, OpenMP, C++, Rust, TBB, Python. Against the programs' own clocks."""

import json
import shutil
import statistics

import pytest
from harness import strict_json
from pythons import interpreter
from waiting import PROGRAMS, TOLERANCE, calls_of, compiled, pairs, threading, tid_of, waits_of, wrong_wakers


def told(strata, *program, env=None):
    """A run of a program that measures its own waits: (result, its calls). No stacks: its clock would count them."""
    done = threading(strata, *program, options=["-quiet", "-knob", "wait-stack-threshold=1000000"], env=env)
    assert done.status == 0, done.err
    return done.result, calls_of(done.out)


def check_clock(strata, run, kind):
    """What was recorded of the calls in which the thread did not lose its processor is what they took."""
    clean = [pair for pair in pairs(strata, run, kind) if not pair[0].late]
    own_ns = sum(call.ns for call, _ in clean)
    assert own_ns, "the program did not wait"
    assert sum(row["wall_ns"] for _, row in clean) == pytest.approx(own_ns, rel=TOLERANCE)


def check_most(strata, run, kind):
    """A thread that yields while it waits loses its processor inside of the wait, where both clocks go on."""
    found = pairs(strata, run, kind)
    near = [call for call, row in found if row["wall_ns"] == pytest.approx(call.ns, rel=TOLERANCE)]
    assert len(near) >= 0.9 * len(found) > 0
    own_ns = sum(call.ns for call, _ in found)
    assert sum(row["wall_ns"] for _, row in found) == pytest.approx(own_ns, rel=TOLERANCE)


def check_sums(strata, run, kind):
    """All waits of a kind together are what the program has measured, but for what it was late."""
    result, calls = run
    (row,) = [row for row in strata.report(result, "waits")["rows"] if row["sync_type"] == kind]
    seen_ns = row["wait_ns"]
    own = [call for call in calls if call.kind == kind]
    assert seen_ns <= sum(call.ns for call in own) * (1 + TOLERANCE)
    assert seen_ns >= sum(call.ns for call in own if not call.late) * (1 - TOLERANCE)


# Inside of the C library -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def inside(shared_strata, programs):
    return told(shared_strata, programs / "wait_libc", shared_strata.folder / "lock")


@pytest.mark.parametrize(
    "kind", ["Mutex", "Condition Variable", "Thread Join", "Once", "Read", "Child Process", "File Lock", "Sleep"]
)
def test_functions_that_wait_inside_of_libc(shared_strata, inside, kind):
    check_clock(shared_strata, inside, kind)


def test_spin_locks(shared_strata, inside):
    """Whoever spins is preempted all the time, also in front of the wait."""
    check_sums(shared_strata, inside, "Spin Lock")


@pytest.mark.parametrize("kind", ["Mutex", "Condition Variable"])
def test_wakers_of_c11(shared_strata, inside, kind):
    assert wrong_wakers(shared_strata, inside, kind) == []


@pytest.mark.parametrize(
    ("which", "kinds"), [("turns", ["Condition Variable"]), ("convoy", ["Mutex"]), ("io", ["Mutex", "File Sync"])]
)
def test_patterns_of_locks(strata, programs, which, kinds):
    """Six threads that take turns; a convoy; a mutex that is held until a file is on disk."""
    run = told(strata, programs / "wait_libc", strata.folder / "lock", which)
    for kind in kinds:
        check_sums(strata, run, kind)


# Run times ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["gcc", "clang-14"], ids=["libgomp", "libomp"])
def openmp(shared_strata, request):
    return told(shared_strata, compiled(shared_strata, request.param, "wait_openmp.c", "-fopenmp"))


@pytest.mark.parametrize("kind", ["OpenMP Region End", "OpenMP Barrier", "OpenMP Lock"])
def test_openmp(shared_strata, openmp, kind, request):
    check = check_most if "libomp" in request.node.name else check_clock
    check(shared_strata, openmp, kind)


def test_openmp_barriers_within_a_region_are_not_its_end(shared_strata, openmp):
    """libomp begins those of loops and single sections like that of the end."""
    result, calls = openmp
    (row,) = [row for row in shared_strata.report(result, "waits")["rows"] if row["sync_type"] == "OpenMP Region End"]
    own = [call for call in calls if call.kind == "OpenMP Region End"]
    assert row["wait_ns"] <= sum(call.ns for call in own) * (1 + TOLERANCE)


def test_openmp_tells_each_wait_once(shared_strata, openmp):
    """libomp tells ITT of the same waits, by other names."""
    result, _ = openmp
    types = {row["sync_type"] for row in shared_strata.report(result, "waits")["rows"]}
    assert not [name for name in types if name.startswith("OMP ")]


def test_openmp_workers_are_idle_between_regions(shared_strata, openmp):
    """A worker works, waits for the end of its region, or is idle: these follow each other without a gap."""
    result, _ = openmp
    rows = waits_of(shared_strata, result)
    idle = [row for row in rows if row["sync_type"] == "Idle Worker"]
    begins = {(row["thread"], row["start_ns"]) for row in idle}
    workers = {row["thread"] for row in idle}
    ends = [row for row in rows if row["sync_type"] == "OpenMP Region End"]
    assert {row["wait_class"] for row in idle} == {"Idle Worker"}
    assert len(workers) == 2
    assert len({row["thread"] for row in ends}) == 3
    for row in ends:
        assert row["thread"] not in workers or (row["thread"], row["start_ns"] + row["wall_ns"]) in begins


@pytest.mark.alone  # against the program's own clock
@pytest.mark.parametrize("kind", ["Futex", "Mutex", "Reader/Writer Lock", "Condition Variable", "Thread Join"])
def test_cpp(cpp, shared_strata, kind):
    check_clock(shared_strata, cpp, kind)


@pytest.fixture(scope="module")
def cpp(shared_strata):
    return told(shared_strata, compiled(shared_strata, "g++", "wait_atomics.cpp", "-std=c++20", "-pthread"))


@pytest.mark.alone
def test_waker_of_an_atomic(shared_strata, cpp):
    found = [(call, row) for call, row in pairs(shared_strata, cpp, "Futex") if call.waker]
    assert found
    assert not [(call, row) for call, row in found if tid_of(row.get("waker")) != call.waker]


@pytest.mark.alone  # against the program's own clock
def test_tbb(shared_strata):
    flags = ["-std=c++20", "-pthread", "-DWITH_TBB", "-ltbb"]
    run = told(shared_strata, compiled(shared_strata, "g++", "wait_atomics.cpp", *flags))
    # Not call by call: before it waits, TBB yields, which counts as being late where somebody else wants the CPU.
    check_sums(shared_strata, run, "Futex")


def test_rust(strata):
    if not shutil.which("rustc"):
        pytest.skip("no rustc here")
    made = strata.folder / "wait_rust"
    done = strata.run(["rustc", "-O", PROGRAMS / "wait_rust.rs", "-o", made])
    assert done.status == 0, done.err
    check_clock(strata, told(strata, made), "Futex")


# Python ------------------------------------------------------------------------------------------------

GIL = """
import sys, threading, time
sys.setswitchinterval(float(sys.argv[1]))
stop = False
def compute():
    while not stop: pass
thread = threading.Thread(target=compute)
thread.start()
began = time.perf_counter()
for _ in range(40): time.sleep(0.003)
print(int((time.perf_counter() - began) * 1e9))
stop = True
thread.join()
"""


@pytest.mark.parametrize(
    ("version", "interval_ms"),
    [("3.8", 5), ("3.9", 5), ("3.10", 5), ("3.11", 5), ("3.11", 1), ("3.12", 5), ("3.13", 5)],
)
def test_the_gil(strata, version, interval_ms):
    """One thread computes, one wants to go on after each sleep: what it is late by are its waits, each at least as long
    as the interpreter lets a thread compute."""
    script = strata.folder / "gil.py"
    script.write_text(GIL)
    done = threading(strata, interpreter(version), script, str(interval_ms / 1000), options=["-quiet"])
    assert done.status == 0, done.err
    loop_ns = int(done.stdout)
    rows = waits_of(strata, done.result)
    sleeps = [row for row in rows if row["sync_type"] == "Sleep"]
    main = sleeps[0]["thread"]
    inside = [row for row in rows if row["thread"] == main and row["start_ns"] >= sleeps[0]["start_ns"]]
    waits = [row for row in inside if row["sync_type"] == "Python GIL" and row["start_ns"] < sleeps[-1]["start_ns"]]
    assert statistics.median(row["wall_ns"] for row in waits) > interval_ms * 0.98e6
    assert 0.6 * loop_ns < sum(row["wall_ns"] for row in waits + sleeps) < (1 + TOLERANCE) * loop_ns
    assert all(tid_of(row.get("waker")) for row in waits), "somebody had it"
    check_holds(strata, done.result, loop_ns)


def check_holds(strata, result, loop_ns):
    """One thread has it at a time; the one that computes nearly always, and its line is known."""
    query = "SELECT thread, start_ns, wall_ns, line FROM waits WHERE kind = 'hold' ORDER BY start_ns"
    holds = strict_json(strata("query", query, "-r", result, "-format", "json").stdout)["rows"]
    for before, after in zip(holds, holds[1:], strict=False):
        assert before["start_ns"] + before["wall_ns"] <= after["start_ns"] + 1000
    computing = [row for row in holds if (row["line"] or "").endswith(("gil.py:6", "gil.py:5"))]
    assert len({row["thread"] for row in computing}) == 1
    assert sum(row["wall_ns"] for row in computing) > 0.6 * loop_ns


OBJECTS = """
import queue, threading, time
lock = threading.Lock()
items = queue.Queue()
changed = threading.Condition()
lock.acquire()
spans = {}
def own(name, call):
    began = time.perf_counter_ns()
    call()
    spans[name] = spans.get(name, 0) + time.perf_counter_ns() - began
def wait():
    own("lock", lambda: lock.acquire())
    own("get", lambda: items.get())
    with changed:
        own("condition", lambda: changed.wait())
thread = threading.Thread(target=wait)
thread.start()
for call in (lock.release, lambda: items.put(1), None):
    time.sleep(0.05)
    if call:
        call()
while True:
    with changed:
        if changed._waiters:
            changed.notify()
            break
    time.sleep(0.01)
thread.join()
for name, ns in spans.items():
    print(name, ns)
"""


@pytest.mark.alone  # against the program's own clock
@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
def test_python_locks_by_line(strata, version):
    """A lock is called after the line that made it; a wait in a queue or a condition after the line that waits."""
    script = strata.folder / "objects.py"
    script.write_text(OBJECTS)
    done = threading(strata, interpreter(version), script, options=["-quiet"])
    assert done.status == 0, done.err
    own = {name: int(ns) for name, ns in (line.split() for line in done.out.splitlines())}
    rows = strata.report(done.result, "waits", "-group-by", "sync-object")["rows"]
    waits = waits_of(strata, done.result)
    for name, words, line in (
        ("lock", "objects.py:3", 13),
        ("get", "objects.py:14", 14),
        ("condition", "objects.py:16", 16),
    ):
        seen_ns = sum(row["wait_ns"] for row in rows if f"{words})" in row["sync_object"])
        # Who has been woken wants the interpreter lock, too, and on a busy machine that may take a while.
        gil = [row for row in waits if row["sync_type"] == "Python GIL"]
        gil_ns = sum(row["wall_ns"] for row in gil if (row["python_line"] or "").endswith(f"objects.py:{line}"))
        assert seen_ns + gil_ns == pytest.approx(own[name], rel=0.1, abs=5_000_000), name


# Each time that the main process waits for its worker, by its own clock.
STARVED = """
import multiprocessing.connection as connection, os, resource, threading, time
import torch
from torch.utils.data import DataLoader, Dataset
main, calls, wait = os.getpid(), [], connection.wait
def late():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
def timed(*words, **more):
    before, began = late(), now()
    found = wait(*words, **more)
    calls.append((threading.get_native_id(), began, now() - began, 0, late() - before))
    return found
class Slow(Dataset):
    def __len__(self):
        return 80
    def __getitem__(self, index):
        time.sleep(0.005)
        return torch.zeros(4)
connection.wait = timed
for batch in DataLoader(Slow(), batch_size=4, num_workers=1):
    batch.sum()
for call in calls:
    print("wait", "Poll", *call, sep="\\t")
"""


@pytest.mark.torch
@pytest.mark.alone  # against the program's own clock
def test_starved_data_loader(strata, python):
    script = strata.folder / "starved.py"
    script.write_text(STARVED)
    done = threading(strata, python, script, options=["-quiet"])
    assert done.status == 0, done.err
    calls = calls_of(done.out)
    assert sum(call.ns for call in calls if not call.late) > 200_000_000
    polls = [row for row in waits_of(strata, done.result) if row["sync_type"] == "Poll"]
    seen_ns = sum(row["wall_ns"] for row in polls if tid_of(row["thread"]) == calls[0].tid)
    assert seen_ns <= (1 + TOLERANCE) * sum(call.ns for call in calls)
    assert seen_ns >= (1 - TOLERANCE) * sum(call.ns for call in calls if not call.late)


# Names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [["-no-pie", "-fno-pie"], ["-pie", "-fPIE"], ["-pie", "-fPIE", "-s", "-rdynamic"]])
def test_locks_have_the_names_of_variables(strata, flags):
    """By their symbols, wherever the program is loaded; a stripped program has those that it exports."""
    program = compiled(strata, "gcc", "wait_static.c", "-pthread", *flags)
    done = threading(strata, program, options=["-quiet"])
    assert done.status == 0, done.err
    rows = strata.report(done.result, "sync-objects", "-filter", "sync-type=Mutex")["rows"]
    names = {row["sync_object"] for row in rows if row["wait_ns"] > 10_000_000}
    known = {f"{name} ({program.name})" for name in ("global_lock", "static_lock", "pool+64", "locks+80")}
    if "-s" in flags:
        known = {f"global_lock ({program.name})"}
    assert known <= names
    assert len([name for name in names if name.startswith("Mutex 0x")]) == 5 - len(known)
    query = "SELECT DISTINCT sync_object FROM waits WHERE sync_type = 'Mutex'"
    told = {
        row["sync_object"]
        for row in strict_json(strata("query", query, "-r", done.result, "-format", "json").stdout)["rows"]
    }
    assert known <= told


@pytest.mark.parametrize("flags", [["-g"], ["-g", "-s"]])
def test_locks_have_the_line_that_created_them(strata, flags):
    """Of pthread_mutex_init: the function and its line, or the program alone where that is all it says of itself."""
    program = compiled(strata, "gcc", "wait_objects.c", "-pthread", *flags)
    done = threading(strata, program, "new", "100", options=["-quiet"])
    assert done.status == 0, done.err
    source = (PROGRAMS / "wait_objects.c").read_text().splitlines()
    lines = {
        name: 1 + next(i for i, line in enumerate(source) if f"pthread_mutex_init({what}" in line)
        for name, what in (("first", "&first"), ("last", "&mutexes["))
    }
    query = "SELECT address, created_at FROM sync_objects WHERE type = 'Mutex'"
    rows = strict_json(strata("query", query, "-r", done.result, "-format", "json").stdout)["rows"]
    created = {int(row["address"], 16): row["created_at"] for row in rows}
    addresses = json.loads(done.out)
    for name, line in lines.items():
        place = created[addresses[name]]
        if "-s" in flags:
            assert place.endswith(f", {program.name}")
        else:
            assert place == f"main, wait_objects.c:{line}"
        # One object was waited for at each line: what they waited is the same by object, by line, and with the stacks.
        for report in ("sync-objects", "threading"):
            by_line = strata.report(done.result, report, "-group-by", "created-at,sync-object")["rows"]
            row = next(row for row in by_line if row["created_at"] == place and len(row["children"]) >= 1)
            assert sum(child["wait_ns"] for child in row["children"]) == row["wait_ns"] > 15_000_000
    # What has no name of its own is called after the line.
    if "-s" not in flags:
        names = [row["sync_object"] for row in strata.report(done.result, "sync-objects")["rows"]]
        assert f"Mutex {addresses['last']:#x} (main, wait_objects.c:{lines['last']})" in names


def test_locks_at_the_place_of_one_that_was_destroyed(strata):
    """They are not taken for what that call made; one that is made there by another call is that one's."""
    done = threading(strata, compiled(strata, "gcc", "wait_reused.c", "-pthread"), options=["-quiet"])
    assert done.status == 0, done.err
    source = (PROGRAMS / "wait_reused.c").read_text().splitlines()
    lines = {
        what: 1 + next(i for i, line in enumerate(source) if f"pthread_mutex_init(&{what}, NULL); /*" in line)
        for what in ("known", "again")
    }
    rows = waits_of(strata, done.result)
    query = "SELECT object, address, created_at FROM sync_objects"
    objects = strict_json(strata("query", query, "-r", done.result, "-format", "json").stdout)["rows"]
    created = {row["object"]: (int(row["address"], 16), row.get("created_at")) for row in objects}
    found = [created[row["object"]] for row in rows if row["sync_type"] == "Mutex" and row["wall_ns"] > 10_000_000]
    own = json.loads(done.out)
    assert found == [
        (own["known"], f"main, wait_reused.c:{lines['known']}"),
        (own["known"], None),
        (own["unknown"], None),
        (own["other"], None),
        (own["again"], f"main, wait_reused.c:{lines['again']}"),
    ]


@pytest.fixture(scope="module")
def left(shared_strata):
    """A run of the program whose handlers leave one wait and interrupt another: (result, its own clocks)."""
    program = compiled(shared_strata, "gcc", "wait_left.c", "-pthread")
    done = threading(shared_strata, program, options=["-quiet"])
    assert done.status == 0, done.err
    return done.result, {name: int(ns) for name, ns in (line.split() for line in done.out.splitlines())}


def test_waits_after_one_that_was_left(shared_strata, left):
    """Those deeper in the stack are no part of it: it is over, however far up it was."""
    result, clocks = left
    rows = waits_of(shared_strata, result)
    assert [row["outcome"] for row in rows if row["sync_type"] == "Signal"] == ["abandoned"]
    sleeps = [row for row in rows if row["sync_type"] == "Sleep"][:50]
    assert len(sleeps) == 50
    assert 50 * 2_000_000 <= sum(row["wall_ns"] for row in sleeps) <= clocks["slept"]
    assert not [row for row in rows if row.get("outcome") == "still waiting"]


def test_a_wait_goes_on_under_a_handler(shared_strata, left):
    """One on a stack of its own, wherever that is: what it does is part of the wait that it interrupts."""
    result, clocks = left
    (row,) = [row for row in waits_of(shared_strata, result) if row["sync_type"] == "Condition Variable"]
    assert row.get("outcome", "") not in ("abandoned", "cancelled")
    assert 100_000_000 <= row["wall_ns"] <= clocks["waited"]
