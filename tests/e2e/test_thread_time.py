# SPDX-License-Identifier: Apache-2.0
"""What threads did with their lives: every moment on a CPU, or in one class of waiting."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from harness import strict_json

CLASSES = {
    "Running",
    "Synchronization",
    "Python GIL",
    "I/O",
    "Sleep",
    "Idle Worker",
    "Preempted",
    "Unexplained",
}
TOLERANCE = 0.005  # of a life
# The kernel counts the way into and out of a switch as the thread's CPU time, and its end after it was asked.
SWITCH_NS, EDGE_NS = 15_000, 1_500_000

# Every thread tells: number, when it began and ended, its CPU time and how often it left its CPU.
THREADS = """
import json, queue, resource, threading, time

def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

told = []

def live(work):
    begin = now()
    work()
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    told.append((threading.get_native_id(), begin, now(), time.thread_time_ns(), usage.ru_nvcsw + usage.ru_nivcsw))

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

items, lock, slept = queue.Queue(2), threading.Lock(), 0

def produce():
    global slept
    for item in range(40):
        begin = now()
        time.sleep(0.01)
        slept += now() - begin
        items.put(item)
    items.put(None)

def consume():
    while items.get() is not None:
        with lock:
            spin(0.002)

def contend():
    for _ in range(40):
        with lock:
            time.sleep(0.005)
        spin(0.001)

def late():
    time.sleep(0.2)

threads = [threading.Thread(target=live, args=(work,)) for work in (produce, consume, contend)]
for thread in threads:
    thread.start()
for _ in range(2):
    time.sleep(0.05)
    threads.append(threading.Thread(target=live, args=(late,)))
    threads[-1].start()
for thread in threads:
    thread.join()
print(json.dumps({"threads": told, "slept": slept, "producer": threads[0].native_id}))
"""

# Training with two intra-op threads and workers that load. In the end everything that still lives is looked at, when it
# is at rest: number, CPU time and how often it ran.
TRAINING = """
import json, os, time
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(2)

class Noise(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, at):
        return torch.randn(3, 32, 32), at % 10

loader = DataLoader(Noise(), batch_size=8, num_workers=2, persistent_workers=True)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
                            torch.nn.Linear(32 * 32 * 32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

def look():
    return {tid: open(f"/proc/self/task/{tid}/schedstat").read().split() for tid in os.listdir("/proc/self/task")
            if int(tid) != os.getpid()}

seen = look()
while True:
    time.sleep(0.05)
    again = look()
    if again == seen:
        break
    seen = again
print(json.dumps({tid: (int(run), int(count)) for tid, (run, _, count) in seen.items()}))
"""

ORDERS = """SELECT thread, wait_class FROM waits
WHERE thread LIKE 'DataLoader worker %' AND sync_type = 'Poll' AND outcome = 'done' AND wall_ns > 20000000"""


def steal_ns():
    """What the host took away from this machine."""
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[8]) * 10_000_000


def threading(strata, *program):
    """The result of a run, and what the host took away meanwhile."""
    result, before = strata.folder / "r", steal_ns()
    done = strata("-collect", "threading", "-r", result, "--", *program)
    assert done.status == 0, done.err
    done.result, done.stolen_ns = result, steal_ns() - before
    recorded = json.loads((result / "result.json").read_text())["sampling"]["threads"]
    if not recorded["context_switches"]:
        pytest.skip("perf_event_open is refused here: " + recorded["why"])
    assert recorded["lost"] == recorded["left_out"] == 0
    return done


def times_of(strata, result):
    """{tid: {class: ns}}"""
    done = strata("query", "SELECT thread, wait_class, wall_ns FROM thread_time", "-r", result, "-format", "json")
    assert done.status == 0, done.err
    times = {}
    for row in strict_json(done.stdout)["rows"]:
        assert row["wait_class"] in CLASSES
        times.setdefault(int(row["thread"].rsplit("(", 1)[1].rstrip(")")), {})[row["wait_class"]] = row["wall_ns"]
    return times


def test_running_and_waiting_are_the_life_of_a_thread(strata):
    """Threads that come and go, wait for each other, sleep and compute."""
    done = threading(strata, sys.executable, "-c", THREADS)
    told, times = json.loads(done.stdout), times_of(strata, done.result)
    assert len(told["threads"]) == 5
    for tid, begin, end, cpu_ns, switches in told["threads"]:
        time = times[tid]
        life_ns = sum(time.values())
        # The kernel's life is a little longer than what a thread can measure of itself.
        assert life_ns >= (end - begin) * (1 - TOLERANCE), time
        # The absences of a thread are exact, so what it ran must be what its own clock says.
        slack_ns = TOLERANCE * life_ns + EDGE_NS + SWITCH_NS * switches
        assert cpu_ns - slack_ns <= time["Running"] <= cpu_ns + slack_ns + done.stolen_ns, time
        assert time.get("Unexplained", 0) <= 0.02 * life_ns + EDGE_NS, time
    slept_ns = times[told["producer"]]["Sleep"]
    assert 0.98 * 40 * 10_000_000 <= slept_ns <= 1.001 * told["slept"]


def test_parts_are_neither_less_nor_more_than_a_life(strata, programs):
    """What a thread measures of itself is less than its life, what whoever starts and joins it measures is more."""
    done = threading(strata, programs / "thread_lives")
    times = times_of(strata, done.result)
    told = [tuple(map(int, line.split("\t")[1:])) for line in done.out.splitlines()]
    assert len(told) == 6
    for tid, least_ns, most_ns in told:
        assert (1 - TOLERANCE) * least_ns <= sum(times[tid].values()) <= (1 + TOLERANCE) * most_ns, times[tid]


def test_classes_of_training_with_workers(strata, python):
    """PyTorch's and OpenMP's threads, and processes that load: also of those that tell nothing themselves."""
    done = threading(strata, python, "-c", TRAINING)
    times = times_of(strata, done.result)
    told = {int(tid): seen for tid, seen in json.loads(done.stdout).items()}
    assert told.keys() <= times.keys()
    for tid, (run_ns, count) in told.items():
        life_ns = sum(times[tid].values())
        slack_ns = TOLERANCE * life_ns + EDGE_NS + SWITCH_NS * count
        assert times[tid]["Running"] == pytest.approx(run_ns, abs=slack_ns + done.stolen_ns), times[tid]
    # Between batches the workers wait for orders: that is no contention.
    done = strata("query", ORDERS, "-r", done.result, "-format", "json")
    orders = strict_json(done.stdout)["rows"]
    assert {row["thread"][:19] for row in orders} == {"DataLoader worker 0", "DataLoader worker 1"}
    assert {row["wait_class"] for row in orders} == {"Idle Worker"}


def test_a_part_of_the_time(strata):
    """A range has what threads did in it: in the middle of a sleep nothing else, in two halves of a life all of it."""
    done = threading(strata, sys.executable, "-c", "import time; time.sleep(0.4); sum(range(3000000))")
    query = "SELECT start_ns, wall_ns FROM waits WHERE sync_type = 'Sleep' ORDER BY wall_ns DESC LIMIT 1"
    (sleep,) = strict_json(strata("query", query, "-r", done.result, "-format", "json").stdout)["rows"]

    def classes(*chosen):
        rows = strata.report(done.result, "thread-time", "-group-by", "wait-class", *chosen)["rows"]
        return {row["wait_class"]: row["wall_total_ns"] for row in rows}

    begin, middle = sleep["start_ns"] + sleep["wall_ns"] // 4, sleep["start_ns"] + sleep["wall_ns"] // 2
    assert classes("-time-filter", f"{begin / 1e9:.9f}:{middle / 1e9:.9f}") == {"Sleep": middle - begin}
    whole = classes()
    halves = [classes("-time-filter", part) for part in (f":{middle / 1e9:.9f}", f"{middle / 1e9:.9f}:")]
    assert sum(sum(half.values()) for half in halves) == sum(whole.values())
    assert sum(half["Sleep"] for half in halves) == pytest.approx(whole["Sleep"], rel=0.01)
    assert halves[1]["Running"] > 0


def test_the_summary_prints_all_shares(strata):
    done = threading(strata, sys.executable, "-c", "import time; time.sleep(0.2)")
    facts = [row for row in strata.report(done.result, "summary")["rows"] if row["section"] == "thread_time"]
    shares = {row["name"]: row["share_ratio"] for row in facts[1:]}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-6)
    assert shares["Sleep"] > 0 and "Unexplained" in shares
    text = strata("report", "summary", "-r", done.result).out
    assert "Unexplained " in text


SEEN = "SELECT * FROM waits WHERE outcome = 'seen from outside'"
ALL_SOURCES = "waits by calls, context switches and looks from outside"


def waits_inside(strata, words, result, *options):
    """Runs the program that waits inside the C library: what it measured, and the waits that were seen."""
    done = strata.run([*words, strata.binary, "-collect", "threading", *options, "-r", result, "--", strata.program])
    assert done.status == 0, done.err
    told = {kind: (int(tid), int(ns)) for kind, tid, ns in (line.split("\t") for line in done.out.splitlines())}
    assert told.keys() == {"Futex", "Read"}
    rows = strict_json(strata("query", SEEN, "-r", result, "-format", "json").stdout)["rows"]
    main = [row for row in rows if row["thread"].endswith(f"({told['Futex'][0]})")]
    return told, {row["sync_type"]: row for row in main}


@pytest.fixture
def reachable(strata, strata_binary, programs):
    """A copy of strata, its libraries and the program that every user may run, in a folder where all may write."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "bin").mkdir()
        shutil.copy(strata_binary, folder / "bin" / "strata")
        shutil.copytree(strata_binary.parent.parent / "lib" / "strata", folder / "lib" / "strata")
        strata.binary = str(folder / "bin" / "strata")
        strata.program = str(shutil.copy(programs / "wait_inside", folder))
        strata.open_folder = folder
        yield strata


def test_waits_inside_the_c_library_are_seen_from_outside(strata, programs):
    """No wrapper stands before them; the system call, the object and the stack are read while the thread waits."""
    strata.program = programs / "wait_inside"
    result = strata.folder / "r"
    told, seen = waits_inside(strata, [], result)
    functions = {row["function"]: row for row in strata.report(result, "threading", "-group-by", "function")["rows"]}
    for kind, wait_class, function in (("Futex", "Synchronization", "want_mutex"), ("Read", "I/O", "want_line")):
        row, own_ns = seen[kind], told[kind][1]
        assert row["wait_class"] == wait_class
        # From when it left its CPU to when it was on one again: the call takes a little longer, but the clocks differ.
        assert 0.95 * own_ns < row["wall_ns"] <= 1.001 * own_ns
        assert functions[function]["wait_total_ns"] == pytest.approx(row["wall_ns"], rel=0.001)
    time = times_of(strata, result)[told["Futex"][0]]
    assert time.get("Unexplained", 0) < 0.05 * sum(time.values())
    assert ALL_SOURCES in strata.result_json(result)["source"]


def test_another_user_sees_the_same(reachable, root):
    """No rights are needed over one's own processes, as long as perf_event_paranoid is at most 2."""
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
        pytest.skip("perf_event_paranoid is above 2")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    told, seen = waits_inside(reachable, nobody, reachable.open_folder / "r", "-knob", "sampling-and-waits=hw")
    for kind, (_, own_ns) in told.items():
        assert 0.95 * own_ns < seen[kind]["wall_ns"] <= 1.001 * own_ns
    # Who wakes whom the kernel tells to root only.
    assert ALL_SOURCES + " (no wake-ups: " in reachable.result_json(reachable.open_folder / "r")["source"]


def test_root_sees_who_wakes_from_other_processes(strata, programs, root):
    """sampling-and-waits=hw, with tracefs mounted for this run alone."""
    mounted = "test -d /sys/kernel/tracing/events || mount -t tracefs none /sys/kernel/tracing"
    tracing = ["unshare", "-m", "sh", "-c", f'{mounted} || exit; exec "$@"', "sh"]
    if strata.run([*tracing, "true"]).status != 0:
        pytest.skip("tracefs cannot be mounted here")
    strata.program, result = programs / "wait_inside", strata.folder / "r"
    told, seen = waits_inside(strata, tracing, result, "-knob", "sampling-and-waits=hw")
    source = strata.result_json(result)["source"]
    if "no wake-ups" in source:
        pytest.skip("the kernel refuses its tracepoints here")
    assert "waits by calls, wake-ups, context switches and looks from outside" in source
    main = told["Futex"][0]
    sleepers = strata("query", "SELECT thread FROM waits WHERE sync_type = 'Sleep'", "-r", result, "-format", "json")
    holder, writer = sorted({row["thread"] for row in strict_json(sleepers.stdout)["rows"]})
    # The mutex is released by the other thread; the line comes from another process, which is its main thread.
    wakers = {seen["Futex"]["waker"], seen["Read"]["waker"]}
    assert wakers == {holder, writer} and f"({main})" not in "".join(wakers)
    assert seen["Read"]["waker"].startswith("main ") and not seen["Futex"]["waker"].startswith("main ")


def test_without_perf_events(strata, programs):
    """The kernel's counts, read a few times a second: waits as well as that allows, and the source says so."""
    strata.program, result = programs / "wait_inside", strata.folder / "r"
    told, seen = waits_inside(strata, [programs / "filtered", "eperm", "perf_event_open", "--"], result)
    for kind, (_, own_ns) in told.items():
        assert 0.5 * own_ns < seen[kind]["wall_ns"] < 1.05 * own_ns
    source = strata.result_json(result)["source"]
    assert "waits by calls and looks from outside 20 times a second" in source
    assert "(no context switches: perf_event_open is not permitted; preemption by its totals)" in source
    assert strata.report(result, "thread-time")["source"] == source


def test_without_proc(strata, programs, root):
    """Where there is nothing to look at the source says so, and what a thread waited for is not known."""
    alone = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if strata.run([*alone, "true"]).status != 0:
        pytest.skip("nothing can be mounted here")
    strata.program, result = programs / "wait_inside", strata.folder / "r"
    collector = Path(strata.binary).parent.parent / "lib" / "strata" / "libstrata_collector.so"
    # Without /proc strata does not find itself.
    told, seen = waits_inside(strata, [*alone, "env", f"STRATA_COLLECTOR={collector}"], result)
    assert not seen
    time = times_of(strata, result)[told["Futex"][0]]
    assert time["Unexplained"] > 0.9 * sum(own_ns for _, own_ns in told.values())
    source = strata.result_json(result)["source"]
    assert "waits by calls and context switches (no looks from outside: No such file or directory)" in source
    assert source in " ".join(strata("report", "summary", "-r", result).out.split())


def test_without_reading_memory(strata, programs):
    """What nobody has seen stays unexplained, and is told to be."""
    strata.program, result = programs / "wait_inside", strata.folder / "r"
    told, seen = waits_inside(strata, [programs / "filtered", "eperm", "process_vm_readv", "--"], result)
    assert not seen
    time = times_of(strata, result)[told["Futex"][0]]
    assert time["Unexplained"] > 0.9 * sum(own_ns for _, own_ns in told.values())
    source = strata.result_json(result)["source"]
    assert "waits by calls and context switches (no looks from outside: Operation not permitted)" in source
