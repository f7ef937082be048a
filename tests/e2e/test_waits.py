# SPDX-License-Identifier: Apache-2.0
"""Waits, against the clocks of the programs that wait; and that nobody notices the library that records them."""

import os
import signal
import sys

import pytest
from harness import process_state, until
from waiting import TOLERANCE, calls_of, pairs, threading, tid_of, waits_of, wrong_wakers

# Truth -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told(shared_strata, programs):
    """One run of the program that measures its own waits: (result, its calls)."""
    done = threading(shared_strata, programs / "wait_truth")
    assert done.status == 0, done.err
    return done.result, calls_of(done.out)


KINDS = (
    "Mutex",
    "Condition Variable",
    "Reader/Writer Lock",
    "Barrier",
    "Semaphore",
    "Futex",
    "Thread Join",
    "Read",
    "Poll",
    "Child Process",
    "Sleep",
)


@pytest.mark.parametrize("kind", KINDS)
def test_wait_time_is_that_of_the_programs_clock(shared_strata, told, kind):
    clean = [pair for pair in pairs(shared_strata, told, kind) if not pair[0].late]
    own_ns = sum(call.ns for call, _ in clean)
    assert own_ns, "the program did not wait"
    assert sum(row["wall_ns"] for _, row in clean) == pytest.approx(own_ns, rel=TOLERANCE)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_add_up_all_waits(shared_strata, told, kind):
    """No wait is missing: all of them together are not less than the program's, but for what it was late."""
    result, calls = told
    rows = {row["sync_type"]: row for row in shared_strata.report(result, "waits")["rows"]}
    own = [call for call in calls if call.kind == kind]
    seen_ns = rows[kind]["wait_ns"]
    extra_ns = 31_000_000 if kind == "Sleep" else 0  # the child sleeps, too, and tells nobody
    assert seen_ns <= sum(call.ns for call in own) * (1 + TOLERANCE) + 2 * extra_ns
    assert seen_ns - extra_ns >= sum(call.ns for call in own if not call.late) * (1 - TOLERANCE)
    if kind != "Sleep":
        assert rows[kind]["wait_count"] <= len(own)


@pytest.mark.parametrize("kind", ["Mutex", "Condition Variable", "Barrier", "Semaphore", "Futex"])
def test_wakers(shared_strata, told, kind):
    """For each long wait the thread that ended it."""
    assert wrong_wakers(shared_strata, told, kind) == []


def test_a_join_is_ended_by_the_thread_that_ends(shared_strata, told):
    result, _ = told
    rows = [row for row in waits_of(shared_strata, result) if row["sync_type"] == "Thread Join"]
    assert rows
    for row in rows:
        assert row["sync_object"] == f"thread {tid_of(row['waker'])}"


def test_stacks_of_long_waits_begin_where_the_program_calls(shared_strata, told):
    rows = {row["function"]: row for row in shared_strata.report(told[0], "threading", "-group-by", "function")["rows"]}
    for function, kind in (("contend", "Mutex"), ("post_and_wait", "Semaphore"), ("poll_until_late", "Poll")):
        seen_ns = sum(row["wall_ns"] for _, row in pairs(shared_strata, told, kind))
        assert rows[function]["wait_ns"] == pytest.approx(seen_ns, rel=TOLERANCE), function


def test_classes(shared_strata, told):
    result, _ = told
    rows = shared_strata.report(result, "waits", "-group-by", "wait-class")["rows"]
    assert {row["wait_class"] for row in rows} >= {"Synchronization", "I/O", "Sleep"}


def test_waits_by_task(strata, programs):
    """A wait inside a task is the task's."""
    script = (
        "import itt, time\n"
        "domain = itt.domain_create('loop')\n"
        "itt.task_begin(domain, 'rests')\ntime.sleep(0.05)\nitt.task_end(domain)\ntime.sleep(0.05)\n"
    )
    done = threading(strata, sys.executable, "-c", script)
    assert done.status == 0, done.err
    rows = strata.report(done.result, "waits", "-group-by", "task-type", "-filter", "sync-type=Sleep")["rows"]
    assert {row["task_type"] for row in rows} == {"rests", "[Outside any task]"}
    assert all(row["wait_ns"] >= 50_000_000 for row in rows)


# What is still open ------------------------------------------------------------------------------------


def test_a_killed_program_shows_what_it_waited_for(strata):
    marker = strata.folder / "waits"
    script = (
        "import os, sys, threading\n"
        "lock = threading.Lock()\n"
        "lock.acquire()\n"
        "threading.Thread(target=lambda: (open(sys.argv[1], 'w').close(), lock.acquire())).start()\n"
        "os.read(os.pipe()[0], 1)\n"
    )
    result = strata.folder / "r"
    command = [strata.binary, "-collect", "threading", "-r", result, "--", sys.executable, "-c", script, marker]
    process = strata.popen(command)
    until(marker.exists)
    child = int(open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()[0])
    until(lambda: all(process_state(f"{child}/task/{tid}") == "S" for tid in os.listdir(f"/proc/{child}/task")))
    os.kill(child, signal.SIGKILL)
    process.wait()
    still = [row for row in waits_of(strata, result) if row.get("outcome") == "still waiting"]
    assert {row["sync_type"] for row in still} == {"Semaphore", "Read"}


# No harm -----------------------------------------------------------------------------------------------


def test_other_analyses_do_not_load_it(strata):
    script = "print('libstrata_waits' in open('/proc/self/maps').read())"
    for kind in ("tasks", "hotspots"):
        done = strata("-collect", kind, "-r", strata.folder / kind, "--", sys.executable, "-c", script)
        assert done.stdout == b"False\n", done.err
    assert threading(strata, sys.executable, "-c", script).stdout == b"True\n"


def test_calls_do_what_they_do_without_us(strata, programs):
    """Cancellation, kinds of mutexes, interrupted and restarted calls, time-outs, forks with locks held."""
    plain = strata.run([programs / "wait_harm"])
    profiled = threading(strata, programs / "wait_harm", options=["-quiet"])
    assert plain.status == 0, plain.out
    assert profiled.out == plain.out
    assert profiled.status == 0


@pytest.mark.parametrize(
    "wait",
    [
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
        "os.read(os.pipe()[0], 1)",
        "time.sleep(60)",
        "pair = socket.socketpair(); pair[0].recv(1)",
        "subprocess.run(['sleep', '60'])",
        "select.select([os.pipe()[0]], [], [], 60)",
        "queue.Queue().get(timeout=60)",
    ],
)
@pytest.mark.parametrize("sender", ["timer", "other process"])
def test_ctrl_c_in_python(strata, sender, wait):
    """The signal comes while the program waits, and ends the wait at once."""
    # Again and again: one that comes just before the wait begins is lost on any program.
    if sender == "timer":
        begin = (
            "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)\n"
        )
        end = "signal.setitimer(signal.ITIMER_REAL, 0)"
    else:
        begin = (
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "press = f'while sleep 0.2; do kill -INT {os.getpid()}; done'\n"
            "presser = subprocess.Popen(['sh', '-c', press], start_new_session=True)\n"
        )
        end = "signal.signal(signal.SIGINT, signal.SIG_IGN); os.killpg(presser.pid, signal.SIGKILL)"
    script = (
        "import os, queue, select, signal, socket, subprocess, threading, time\n"
        f"{begin}"
        "began = time.monotonic()\n"
        f"try:\n    {wait}\nexcept KeyboardInterrupt:\n    {end}\n"
        "    print('stopped', time.monotonic() - began < 20)\n"
    )
    done = threading(strata, sys.executable, "-c", script, options=["-quiet"])
    assert done.stdout == b"stopped True\n", done.err
    assert done.status == 0
