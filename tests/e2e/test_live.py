# SPDX-License-Identifier: Apache-2.0
"""strata dump and strata top: a running program looked at while it runs, and left alone."""

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from harness import TARGETS, children_of, process_state, strict_json, until
from pythons import VERSIONS, interpreter

BLOCKED = TARGETS / "blocked_threads.py"
CALLS = {"in_lock": "futex", "in_queue": "futex", "in_receive": "recvfrom", "in_epoll": "epoll_wait"}


def line_of(word):
    """The line that ends in this comment."""
    lines = BLOCKED.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {word}"))


# Rows of top for the loop, which has two lines.
BURNING = {f"burn ({BLOCKED}:{line_of(word)})" for word in ("burn", "loop")}


@contextlib.contextmanager
def running(strata, *command):
    process = strata.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline().startswith(b"ready")
        yield process
    finally:
        process.kill()
        process.wait()


def dump(strata, process, *args):
    done = strata("dump", "-target-pid", str(process.pid), "-format", "json", *args)
    assert done.status == 0, done.err
    told = strict_json(done.stdout)
    assert told["schema"] == "strata.dump/1"
    assert told["pid"] == process.pid
    return told


def own_frames(thread):
    return [(frame["function"], frame["line"]) for frame in thread["frames"] if frame["file"] == os.fspath(BLOCKED)]


@pytest.mark.parametrize("version", VERSIONS)
def test_dump_shows_where_threads_are(strata, version):
    with running(strata, interpreter(version), BLOCKED) as process:
        told = dump(strata, process)
        text = strata("dump", "-target-pid", str(process.pid)).out
    assert told["python_version"].startswith(version)
    threads = {thread["name"]: thread for thread in told["threads"]}
    main = threads.pop("")
    assert main["tid"] == process.pid
    assert own_frames(main)[0] in (("burn", line_of("burn")), ("burn", line_of("loop")))
    assert own_frames(main)[1:] == [("<module>", line_of("main"))]
    # It runs Python code and nothing else: it has the GIL, whenever one looks.
    assert main["holds_gil"] and told["gil_holder"] == process.pid
    assert set(threads) == {f"thread {name}" for name in ("in_lock", "in_queue", "in_sleep", "in_receive", "in_epoll")}
    for name, thread in threads.items():
        function = name.split()[1]
        assert own_frames(thread) == [(function, line_of(function)), ("outer", line_of("outer"))]
        assert not thread["active"] and not thread["holds_gil"] and not thread["note"]
        assert thread["system_call"] == CALLS.get(function, thread["system_call"])
        # Native frames stand round the Python ones.
        assert thread["frames"][0]["module"] == thread["frames"][-1]["module"] == "libc.so.6"
        assert thread["frames"][-1]["function"].startswith("clone")
    assert f"Thread {process.pid} (active, holds the GIL): main" in text or "(idle, holds the GIL): main" in text
    assert '"thread in_lock"\n    ' in text
    assert f"    in_lock ({BLOCKED}:{line_of('in_lock')})\n    outer ({BLOCKED}:{line_of('outer')})\n" in text


@pytest.mark.parametrize("version", ["3.9", "3.11"])
def test_a_program_in_a_container_has_other_thread_ids(strata, version):
    enter = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*enter, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("pid namespaces are not permitted here")
    with running(strata, *enter, interpreter(version), BLOCKED) as process:
        (pid,) = children_of(process.pid)
        done = strata("dump", "-target-pid", str(pid), "-format", "json")
        assert done.status == 0, done.err
        top = strata("top", "-target-pid", str(pid), "-duration", "1").out
    told = strict_json(done.stdout)
    threads = {thread["name"]: thread for thread in told["threads"]}
    assert threads[""]["tid"] == told["gil_holder"] == pid
    for function in ("in_lock", "in_queue", "in_sleep"):
        expected = [(function, line_of(function)), ("outer", line_of("outer"))]
        assert own_frames(threads[f"thread {function}"]) == expected
    assert ROW.findall(top)[0][4] in BURNING


def test_frames_of_the_interpreter_on_request(strata, python):
    with running(strata, python, BLOCKED, "idle") as process:
        few, many = (dump(strata, process, *args) for args in ((), ("-call-stack-mode", "all")))
    functions = [
        {frame["function"] for thread in told["threads"] for frame in thread["frames"]} for told in (few, many)
    ]
    assert "_PyEval_EvalFrameDefault" not in functions[0] and "_PyEval_EvalFrameDefault" in functions[1]
    assert functions[0] < functions[1]
    assert few["gil_holder"] == 0, "everybody waits"


def test_who_holds_the_gil_is_not_always_who_runs(strata, python):
    """A call that keeps the GIL while it sleeps."""
    program = (
        "import ctypes, threading\n"
        "threading.Thread(target=lambda: ctypes.PyDLL(None).usleep(600_000_000), name='greedy', daemon=True).start()\n"
        "print('unreachable', flush=True)\n"
    )
    process = strata.popen([python, "-c", program], stdout=subprocess.PIPE)
    try:
        until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 2, what="the thread")
        (greedy,) = set(map(int, os.listdir(f"/proc/{process.pid}/task"))) - {process.pid}

        def sleeps():
            call = Path(f"/proc/{process.pid}/task/{greedy}/syscall").read_text().split()
            return call[0] == "230"  # clock_nanosleep

        until(sleeps, what="the sleep")
        told = dump(strata, process)
    finally:
        process.kill()
        process.wait()
    assert told["gil_holder"] == greedy
    (thread,) = (thread for thread in told["threads"] if thread["holds_gil"])
    assert thread["name"] == "greedy" and not thread["active"]


def test_dump_and_top_disturb_no_system_call(strata, python):
    with running(strata, python, TARGETS / "undisturbed.py") as process:
        for _ in range(5):
            told = dump(strata, process)
        assert {thread["name"] for thread in told["threads"]} >= {"epoll_wait", "sem_wait", "sigwaitinfo"}
        held = [thread["held_ns"] for thread in told["threads"] if thread["held"]]
        assert held, "nobody was held"
        assert strata("top", "-target-pid", str(process.pid), "-duration", "0.5").status == 0
        out, _ = process.communicate(timeout=30)
        assert out == b"undisturbed\n"
        assert process.returncode == 0


def test_nobody_stays_held_while_dump_prints(strata, tmp_path):
    """A thread that could not be seen to stop is let go before anything is printed, which may take forever."""
    source, library = tmp_path / "blind.c", tmp_path / "blind.so"
    source.write_text("int waitpid(int pid, int *status, int options)\n{\n\treturn 0;\n}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    process = strata.popen(["sleep", "600"])
    until(lambda: Path(f"/proc/{process.pid}/syscall").read_text().startswith("230 "), what="the sleep")
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write_end, bytes(4096))
    os.set_blocking(write_end, True)
    looker = strata.popen(
        [strata.binary, "dump", "-target-pid", str(process.pid)], env={"LD_PRELOAD": str(library)}, stdout=write_end
    )
    try:
        until(lambda: Path(f"/proc/{looker.pid}/syscall").read_text().startswith("1 0x1 "), what="the full pipe")
        assert "TracerPid:\t0\n" in Path(f"/proc/{process.pid}/status").read_text()
        until(lambda: process_state(process.pid) == "S", what="the sleep to go on")
    finally:
        looker.kill()
        looker.wait()
        os.close(read_end)
        os.close(write_end)


def test_names_do_not_steer_the_terminal(strata, python):
    program = (
        "import threading, time\n"
        "code = compile('import time; print(\"ready\", flush=True); time.sleep(600)', 'file\\033[31m', 'exec')\n"
        "threading.Thread(target=exec, args=(code,), name='thread\\033[2J\\177', daemon=True).start()\n"
        "time.sleep(600)\n"
    )
    with running(strata, python, "-c", program, "argument\033]0;x\007") as process:
        text = strata("dump", "-target-pid", str(process.pid)).out
    assert '"thread?[2J?"' in text and "(file?[31m:1)" in text and "argument?]0;x?" in text
    assert not {char for char in text if (char < " " and char != "\n") or char == "\x7f"}


def test_dump_of_a_native_program(strata):
    process = strata.popen(["sleep", "600"])
    until(lambda: process_state(process.pid) == "S", what="the sleep")
    until(lambda: Path(f"/proc/{process.pid}/syscall").read_text().startswith("230 "), what="the sleep")
    told = dump(strata, process)
    (thread,) = told["threads"]
    assert told["python_version"] == "" and not told["python_frames"]
    assert "nanosleep" in thread["frames"][0]["function"]
    assert thread["frames"][-1]["module"] == "sleep", "the stack does not reach the start of the program"
    assert thread["system_call"] == "clock_nanosleep"
    assert process_state(process.pid) == "S"


def test_dump_beside_a_debugger(strata, python):
    """Somebody traces the program: it is read without being held, and that is said."""
    tracer = (
        "import ctypes, os, sys\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "for thread in os.listdir(f'/proc/{sys.argv[1]}/task'):\n"
        "    assert libc.ptrace(0x4206, int(thread), None, None) == 0\n"  # PTRACE_SEIZE
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with running(strata, python, BLOCKED, "idle") as process:
        with running(strata, sys.executable, "-c", tracer, str(process.pid)):
            told = dump(strata, process)
        assert told["not_held"] == "another tool traces the process"
        assert not any(thread["held"] for thread in told["threads"])
        waiting = next(thread for thread in told["threads"] if thread["name"] == "thread in_lock")
        assert own_frames(waiting)[0] == ("in_lock", line_of("in_lock"))
        assert process.poll() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_what_is_required_is_said(strata):
    process = strata.popen(["sleep", "600"])
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        assert strata("version", **nobody).status == 0
    except (OSError, AssertionError):
        pytest.skip("another user cannot run this strata")
    done = strata("dump", "-target-pid", str(process.pid), env={"HOME": "/nonexistent"}, **nobody)
    assert done.status == 1
    assert "the process must be yours" in done.err and "CAP_SYS_PTRACE" in done.err
    done = strata("top", "-target-pid", str(process.pid), "-count", "1", env={"HOME": "/nonexistent"}, **nobody)
    assert done.status == 1
    assert "it must be yours" in done.err


@pytest.mark.parametrize("command", ["dump", "top"])
def test_wrong_use(strata, command):
    for args, needle in (
        ((), "-target-pid PID"),
        (("4711",), "-target-pid PID"),
        (("-target-pid", "999999999"), "no process"),
        (("-target-pid", str(os.getpid()), "-call-stack-mode", "some"), "user-plus-one"),
    ):
        done = strata(command, *args)
        assert done.status == 2, done.err
        assert needle in done.err


ROW = re.compile(r"^ *([\d.]+)% +([\d.]+)% +([\d.]+)s +([\d.]+)s  (.*)$", re.M)


def test_top_prints_tables(strata, python):
    with running(strata, python, BLOCKED) as process:
        done = strata("top", "-target-pid", str(process.pid), "-count", "2", "-interval", "1")
        cpu_s = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / 100
    assert done.status == 0, done.err
    assert "\033" not in done.out
    first, second = done.out.split("strata top")[1:]
    for table in (first, second):
        rows = ROW.findall(table)
        assert rows[0][4] in BURNING
        assert "GIL held" in table and f"main ({process.pid})" in table
        totals = {row[4].partition(" ")[0]: float(row[3]) for row in rows}
        assert totals["<module>"] >= totals["burn"] > 0
    assert float(ROW.findall(second)[0][2]) > float(ROW.findall(first)[0][2]), "times since the start do not grow"
    assert float(ROW.findall(second)[0][3]) <= cpu_s + 0.1


def test_top_names_threads_and_native_functions(strata, python):
    with running(strata, python, TARGETS / "named_loops.py") as process:
        done = strata("top", "-target-pid", str(process.pid), "-duration", "2", "-limit", "50")
    assert done.status == 0, done.err
    rows = {row[4].partition(" ")[0]: (float(row[2]), float(row[3])) for row in ROW.findall(done.out)}
    assert "counting (" in done.out and "packing (" in done.out
    assert rows["count_up"][1] > 0 and rows["pack"][1] > 0
    # zlib's own functions are below the Python line that calls them.
    native = [line for line in done.out.splitlines() if "libz.so" in line or "zlib" in line]
    assert native, done.out


# A thread after the other, each of which ends after a few samples.
SHORT_THREADS = """
import threading, time
def burn():
    end = time.thread_time() + 0.03
    while time.thread_time() < end:
        pass
print("ready", flush=True)
while True:
    thread = threading.Thread(target=burn)
    thread.start()
    thread.join()
"""


def test_top_counts_threads_that_are_there(strata, python):
    with running(strata, python, "-c", SHORT_THREADS) as process:
        done = strata("top", "-target-pid", str(process.pid), "-count", "2", "-interval", "1")
    assert done.status == 0, done.err
    heads = re.findall(r"(\d+) of (\d+) sampled threads active(?:, \d+ more ended)?  ", done.out)
    assert len(heads) == 2, done.out
    assert all(int(active) <= int(alive) <= 2 for active, alive in heads), done.out


def test_top_on_a_terminal(strata, python):
    with running(strata, python, BLOCKED) as process:
        ours, theirs = pty.openpty()
        before = termios.tcgetattr(theirs)
        top = strata.popen(
            [strata.binary, "top", "-target-pid", str(process.pid), "-interval", "0.2"],
            env={"TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
        )
        seen, end = b"", time.monotonic() + 30

        def read_until(word):
            nonlocal seen
            while word not in seen:
                assert time.monotonic() < end, seen
                if select.select([ours], [], [], 0.1)[0]:
                    seen += os.read(ours, 65536)

        read_until(b"burn (")
        assert seen.startswith(b"\033[?1049h"), "not on a screen of its own"
        os.write(ours, b"h")
        read_until(b"CPU Time  Thread")
        os.write(ours, b"q")
        read_until(b"\033[?1049l")
        assert top.wait(timeout=30) == 0
        assert termios.tcgetattr(theirs) == before, "the terminal is not as it was"
        os.close(ours)
        os.close(theirs)
        assert process.poll() is None
