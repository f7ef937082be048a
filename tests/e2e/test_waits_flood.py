# SPDX-License-Identifier: Apache-2.0
"""Many short waits: number and time are right, and each takes next to no room. And many locks that nobody waits for."""

import json
import re
import sys

import pytest
from harness import cost
from waiting import threading, waits_of

# Beside others there are fewer waits a second, and more of them have a record of their own.
pytestmark = pytest.mark.alone

ROUNDS = 50_000
BYTES_PER_WAIT = 24
BYTES_OF_SINGLE, BYTES_OF_SUMMED = 140, 8  # a span, absences, the trace; the trace
SYNC_TYPES = {"condition": "Condition Variable", "pipe": "Read", "timeout": "Condition Variable"}
SINGLE_PER_SECOND = 3_200  # of a thread, at most, that have a record of their own: 32 in 10 ms


@pytest.fixture(scope="module", params=list(SYNC_TYPES))
def turns(request, shared_strata, programs):
    """(result, what the program counted, the waits of its two threads by sync object type)"""
    done = threading(shared_strata, programs / "wait_turns", request.param, str(ROUNDS), "timed")
    assert done.status == 0, done.err
    rows = {row["sync_type"]: row for row in shared_strata.report(done.result, "waits")["rows"]}
    return done.result, json.loads(done.out), rows[SYNC_TYPES[request.param]]


def test_none_is_missing(turns):
    _, own, row = turns
    assert row["wait_count"] == own["waits"]


def test_time_outs_are_kept_apart(turns):
    _, own, row = turns
    assert row["cancelled"] == own["timed_out"]


def test_time_is_that_of_the_programs_clock(turns):
    """Its clock is read outside of ours, and around waits of some microseconds that counts."""
    _, own, row = turns
    assert row["wait_ns"] == pytest.approx(own["wait_ns"], rel=0.15)
    assert row["wait_avg_ns"] == pytest.approx(own["wait_ns"] / own["waits"], rel=0.15)
    # The longest of the program's may be one beside which a thread lost its processor.
    near = [ns for ns in own["longest_ns"] if row["wall_max_ns"] == pytest.approx(ns, rel=0.02, abs=100_000)]
    assert near and row["wall_max_ns"] <= max(own["longest_ns"]) * 1.02, own


def test_little_room_is_taken(shared_strata, turns):
    result, own, row = turns
    seconds = own["wall_us"] * ROUNDS / 1e6
    single = row["wait_count"] - row["short_waits"]
    assert 0 < single <= 2 * (SINGLE_PER_SECOND * seconds + 32) + own["wait_ns"] / 100_000
    taken = sum(path.stat().st_size for path in result.glob("*.strata"))
    assert taken <= BYTES_OF_SINGLE * single + BYTES_OF_SUMMED * own["waits"]
    if own["wall_us"] < 1.2 * own["cpu_us"]:  # nobody else had the CPU: as many waits a second as there can be
        assert taken / own["waits"] <= BYTES_PER_WAIT


def test_time_off_the_cpu_is_explained(shared_strata, turns):
    """What was added up explains the time of its thread as single records do."""
    rows = shared_strata.report(turns[0], "thread-time", "-group-by", "wait-class")["rows"]
    by_class = {row["wait_class"]: row["wall_total_ns"] for row in rows}
    assert by_class["Running"] > 0
    assert by_class.get("Unexplained", 0) < 0.03 * sum(by_class.values())


@pytest.mark.parametrize("turns", ["condition", "pipe"], indirect=True)
def test_the_stated_cost_counts_switches(shared_strata, programs, turns):
    """A program that only switches is the one that recording slows down: the summary must not call that nothing."""
    result, own, _ = turns
    how = "pipe" if "pipe" in shared_strata.result_json(result)["command"] else "condition"
    bare = json.loads(shared_strata.run([programs / "wait_turns", how, str(ROUNDS), "timed"]).out)
    facts = shared_strata.report(result, "summary")["rows"]
    stated = next(row["value"] for row in facts if (row["section"], row["name"]) == ("cost", "estimate_ratio"))
    true = own["cpu_us"] / bare["cpu_us"] - 1
    assert 0.3 * true < stated < 2 * true


# Locks that nobody waits for ---------------------------------------------------------------------------

LOCKS = 1_000_000
HELD_NS = 20_000_000


@pytest.fixture(scope="module", params=["same", "new"])
def locks(request, shared_strata, programs):
    """(how, the run, what the program said)"""
    done = threading(shared_strata, programs / "wait_objects", request.param, str(LOCKS))
    assert done.status == 0, done.err
    return request.param, done, json.loads(done.out)


def test_locks_take_little_room(shared_strata, locks):
    how, done, _ = locks
    taken = sum(path.stat().st_size for path in done.result.glob("**/*") if path.is_file())
    assert taken < (256 << 10 if how == "same" else 8 << 20)


def test_locks_take_little_memory(strata, programs):
    """Of strata, until the result has been written and shown."""
    command = ["-collect", "threading", "-r", strata.folder / "locks", "--", programs / "wait_objects"]
    _, memory = cost(strata, [*command, "same", str(LOCKS)], strata.folder / "out.txt")
    assert memory < 64 << 20


def test_waits_among_many_locks(shared_strata, locks):
    _, done, own = locks
    rows = shared_strata("query", "SELECT * FROM sync_objects", "-r", done.result, "-format", "json")
    addresses = {row["object"]: int(row["address"], 16) for row in json.loads(rows.stdout)["rows"]}
    waits = [row for row in waits_of(shared_strata, done.result) if row["sync_type"] == "Mutex"]
    by_address = {addresses[row["object"]]: row["wall_ns"] for row in waits if row["wall_ns"] > HELD_NS / 2}
    assert sorted(by_address) == sorted([own["last"], own["first"]])


def test_forgotten_locks_are_stated(locks):
    how, done, _ = locks
    words = " ".join(done.err.split())
    found = re.search(r"keeps in mind: for (\d+) of them it is not known where", words)
    assert bool(found) == (how == "new")
    if found:
        assert LOCKS / 2 < int(found[1]) < LOCKS


LINES = """
import threading, time
first = threading.Lock()
def make(count):
    return [threading.Lock() for _ in range(count)]
many = make(20000)
last = threading.Lock()
def hold(lock, held):
    with lock:
        held.set()
        time.sleep(0.02)
for lock in first, many[0], many[-1], last:
    held = threading.Event()
    thread = threading.Thread(target=hold, args=(lock, held))
    thread.start()
    held.wait()
    with lock:
        pass
    thread.join()
"""


def test_lines_that_made_them_are_known_among_many(strata):
    """More than have a place each: none of them is forgotten for that."""
    script = strata.folder / "many.py"
    script.write_text(LINES)
    done = threading(strata, sys.executable, script)
    assert done.status == 0, done.err
    assert "keeps in mind" not in " ".join(done.err.split())
    rows = strata.report(done.result, "waits", "-group-by", "sync-object")["rows"]
    names = [row["sync_object"] for row in rows if row["wait_ns"] > 15_000_000]
    for line, count in ((3, 1), (5, 2), (7, 1)):
        assert sum(f"many.py:{line})" in name and name.startswith("Lock 0x") for name in names) == count
