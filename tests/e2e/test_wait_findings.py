# SPDX-License-Identifier: Apache-2.0
"""What findings and the summary say of waits: each program has one thing wrong with it, or nothing.

Shares and times are compared with the program's own clock.
"""

import json
import sys
import textwrap

import pytest

COMMON = """
import ctypes, hashlib, json, queue, threading, time
from concurrent.futures import ThreadPoolExecutor
took = {}

def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    began = time.perf_counter_ns()
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    took["run"] = time.perf_counter_ns() - began
"""

LOCK = """
lock = threading.Lock()  # made

def worker():
    waited = 0
    for _ in range(8):
        began = time.perf_counter_ns()
        with lock:  # waits
            waited += time.perf_counter_ns() - began
            HOLD  # holds
    took["most"] = max(took.get("most", 0), waited)

run(worker, worker, worker)
"""

PROGRAMS = {
    "lock-across-io": LOCK.replace("HOLD", "time.sleep(0.01)"),
    # Without the interpreter lock, so that it is this one that is waited for.
    "lock-contention": LOCK.replace("HOLD", "hashlib.sha256(DATA).digest()").replace(
        "lock = ", "DATA = bytes(20_000_000)\nlock = "
    ),
    "gil": """
def worker():
    x = 0
    for i in range(2_000_000):
        x += i % 7  # waits

run(worker, worker, worker)
""",
    "barrier": """
libc = ctypes.CDLL(None)
barrier = ctypes.create_string_buffer(64)
libc.pthread_barrier_init(barrier, None, 3)

def worker(nap):
    waited = 0
    for _ in range(10):
        time.sleep(nap)
        began = time.perf_counter_ns()
        libc.pthread_barrier_wait(barrier)  # waits
        waited += time.perf_counter_ns() - began
    took["most"] = max(took.get("most", 0), waited)

run(lambda: worker(0.03), lambda: worker(0.0001), lambda: worker(0.0001))
""",
}

# Threads that wait, as they should.
FINE = {
    "a pool without work": """
with ThreadPoolExecutor(4) as pool:
    list(pool.map(time.sleep, [0.01] * 4))
    time.sleep(0.3)
""",
    "a server and its queue": """
asked, answered = queue.Queue(), queue.Queue()

def serve():
    for _ in range(20):
        asked.get()
        time.sleep(0.01)
        answered.put(1)

def ask():
    for _ in range(20):
        asked.put(1)
        answered.get()

run(serve, ask)
""",
    "threads that take turns": """
batons = [threading.Lock() for _ in range(4)]
for baton in batons[1:]: baton.acquire()

def worker(me):
    for _ in range(10):
        batons[me].acquire()
        time.sleep(0.01)
        batons[(me + 1) % 4].release()

run(*[lambda me=me: worker(me) for me in range(4)])
""",
    "an event and a join": """
go = threading.Event()
run(lambda: go.wait(), lambda: (time.sleep(0.3), go.set()))
""",
}


def record(strata, text):
    script = strata.folder / "program.py"
    script.write_text(COMMON + textwrap.dedent(text) + "print(json.dumps(took))\n")
    result = strata.folder / "r"
    done = strata("-collect", "threading", "-quiet", "-r", result, "--", sys.executable, script)
    assert done.status == 0, done.err
    lines = {
        text.rsplit("# ", 1)[1]: f"program.py:{number}"
        for number, text in enumerate(script.read_text().splitlines(), 1)
        if text.endswith(("# made", "# waits", "# holds"))
    }
    return result, json.loads(done.stdout), lines


@pytest.mark.parametrize("rule", PROGRAMS)
def test_one_thing_is_wrong(strata, rule):
    result, took, lines = record(strata, PROGRAMS[rule])
    rows = strata.report(result, "findings")["rows"]
    found = {row["rule"]: row for row in rows}
    assert rule in found, rows
    row = found[rule]
    assert row["where"] == lines["waits"]
    assert 0 < row["saving_ns"] <= row["evidence_ns"]
    assert row["saving_low_ns"] == 0  # what a try would really save nobody knows
    if rule != "gil":
        # No more than the thread that waited most did by its own clock.
        assert row["saving_ns"] <= took["most"] * 1.02 + 1_000_000
    if rule == "lock-across-io":
        assert f"({lines['holds']})" in row["what"]
    assert not {"lock-across-io", "lock-contention", "barrier"} & set(found) - {rule}
    summary = strata("report", "summary", "-r", result)
    assert "FIX FIRST" in summary.out


@pytest.mark.parametrize("program", FINE)
def test_nothing_is_wrong(strata, program):
    """Waits that nobody would be faster without are no findings, however long they are.

    On a busy machine a thread may lose its CPU while it holds the interpreter lock: that one is not asked for.
    """
    result, _, _ = record(strata, FINE[program])
    assert {row["rule"] for row in strata.report(result, "findings")["rows"]} <= {"gil"}


def test_summary_says_what_is_waited_for(strata):
    result, took, lines = record(strata, PROGRAMS["lock-across-io"])
    rows = strata.report(result, "summary")["rows"]
    (lock,) = [row for row in rows if row["section"] == "waits_for" and "Lock 0x" in row["name"]]
    assert lock["name"].endswith(f"({lines['made']})")
    waits = strata.report(result, "sync-objects")["rows"]
    (same,) = [row for row in waits if row["sync_object"] == lock["name"]]
    assert (lock["wall_total_ns"], lock["count"]) == (same["wait_ns"], same["wait_count"])
    assert not [row for row in rows if row["section"] == "waits"]


def test_starved_training_names_the_workers(strata):
    """The step waits for data; its worker is busy, and in which function."""
    pytest.importorskip("torch")
    result, _, lines = record(
        strata,
        """
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Data(Dataset):
            def __len__(self):
                return 96

            def __getitem__(self, index):
                return augment(index)

        def augment(index):
            end = time.process_time() + 0.003
            while time.process_time() < end:
                index += sum(range(2000))  # waits
            return torch.full((8,), float(index))

        torch.set_num_threads(1)
        model = torch.nn.Linear(8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
        for batch in DataLoader(Data(), batch_size=4, num_workers=1):
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
        """,
    )
    rows = {row["rule"]: row for row in strata.report(result, "findings")["rows"]}
    what = rows["data-wait"]["what"]
    assert "waits for DataLoader workers: 1 worker, " in what
    assert f"most in augment, {lines['waits']}" in what
    # A worker that nobody waits for would have to wait itself.
    busy = int(what.split("1 worker, ")[1].split(" %")[0])
    assert busy > 50
    waits = [row for row in strata.report(result, "summary")["rows"] if row["section"] == "waits_for"]
    assert waits and all(0 < row["share_ratio"] <= 1 for row in waits)


# Python's own logging, and a reader that does not keep up.
LOGGING = """
import logging, os, threading, time
ours, theirs = os.pipe()

def read():
    while os.read(ours, 4096):
        time.sleep(0.002)

reader = threading.Thread(target=read)
reader.start()
log = logging.getLogger("work")
log.setLevel(logging.INFO)
stream = os.fdopen(theirs, "w")
log.addHandler(logging.StreamHandler(stream))
most = 0

def work():
    global most
    own = 0
    for i in range(60):
        began = time.perf_counter_ns()
        log.info("step %d %s", i, "x" * 3000)  # logs
        own += time.perf_counter_ns() - began
    most = max(most, own)

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
stream.close()
reader.join()
print(most)
"""


def test_logging_to_a_slow_reader(strata):
    """The handler's lock is held while the pipe is full: nothing of that was made for this test but the load."""
    script = strata.folder / "logs.py"
    script.write_text(LOGGING)
    result = strata.folder / "logs"
    done = strata("-collect", "threading", "-quiet", "-r", result, "--", sys.executable, script)
    assert done.status == 0, done.err
    (found,) = [row for row in strata.report(result, "findings")["rows"] if row["rule"] == "lock-across-io"]
    line = next(number for number, text in enumerate(LOGGING.splitlines(), 1) if "# logs" in text)
    assert f"logs.py:{line}" in found["where"]
    assert 0 < found["saving_ns"] <= int(done.stdout) * 1.02
