# SPDX-License-Identifier: Apache-2.0
"""Do no harm: the same bytes, the same status, the same signals with and without strata."""

import os
import pty
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from harness import children_of, clean_env, is_pending, pairs_done, process_state, until

CLOSE_STDIN = {"stdin": None, "preexec_fn": lambda: os.close(0)}


def both(strata, command, **more):
    """Runs a command plain and under strata; (plain, profiled)."""
    plain = strata.run(command, **more)
    profiled = strata.collect(*command, options=["-quiet"], ok=False, **more)
    return plain, profiled


def assert_same(plain, profiled):
    assert profiled.stdout == plain.stdout
    assert profiled.status == plain.status, profiled.err
    # What strata itself says is one thing; the program's own lines must all be there, in order.
    position = 0
    for line in plain.stderr.splitlines():
        position = profiled.stderr.index(line, position) + len(line)


# Output and status -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        ["exit", "0"],
        ["exit", "3"],
        ["exit", "125"],
        ["exit", "255"],
        ["segv"],
        ["abort"],
        ["signal", str(int(signal.SIGTERM))],
        ["signal", str(int(signal.SIGKILL))],
        ["signal", str(int(signal.SIGPIPE))],
        ["signal", str(int(signal.SIGUSR1))],
        ["signal", str(int(signal.SIGINT))],
        ["signal", str(int(signal.SIGQUIT))],
        ["signal", "40"],
    ],
    ids="-".join,
)
def test_ends(strata, programs, how):
    plain, profiled = both(strata, [programs / "die_by", *how])
    assert plain.status == (int(how[1]) if how[0] == "exit" else plain.status)
    assert plain.status < 0 or how[0] == "exit", "the program itself did not die as asked"
    assert_same(plain, profiled)
    assert (profiled.result / "result.json").is_file()


def test_status_seen_by_a_shell(strata, programs):
    """A shell in front sees the signal, not an exit status that looks like one."""
    script = '"$@"; echo "status $?"'
    command = [programs / "die_by", "segv"]
    result = strata.folder / "r"
    profiled = [strata.binary, "-collect", "tasks", "-quiet", "-r", result, "--", *command]
    one = strata.run(["bash", "-c", script, "bash", *command])
    two = strata.run(["bash", "-c", script, "bash", *profiled])
    assert one.stdout == two.stdout == b"about to segv\nstatus 139\n"


def test_output_is_untouched(strata):
    """Binary output of some size, both streams, through pipes."""
    script = "import sys; d = bytes(range(256)) * 4096; sys.stdout.buffer.write(d); sys.stderr.buffer.write(d[::-1])"
    plain, profiled = both(strata, [sys.executable, "-c", script])
    assert profiled.stdout == plain.stdout and len(plain.stdout) == 1 << 20
    assert plain.stderr in profiled.stderr


def test_strata_is_silent_on_stdout(strata, target):
    """Without -quiet too: stdout is the program's alone."""
    done = strata.collect("bash", "-c", f"'{target}' --pairs 3 --quiet; echo done")
    assert done.stdout == b"done\n"
    assert done.stderr, "the summary goes to stderr"


def test_quiet_is_quiet(strata, programs):
    done = strata.collect(programs / "die_by", "exit", "0", options=["-quiet", "-no-summary"])
    assert done.stderr == b""


# Input -----------------------------------------------------------------------------------------------


def test_reads_stdin_from_a_pipe(strata):
    data = os.urandom(300_000)
    plain, profiled = both(strata, ["cat"], data=data)
    assert plain.stdout == data
    assert_same(plain, profiled)


def test_reads_stdin_from_a_file(strata):
    path = strata.folder / "input"
    path.write_bytes(os.urandom(100_000))
    for command in (["cat"], ["wc", "-c"]):
        outputs = []
        for prefix in (
            [],
            [strata.binary, "-collect", "tasks", "-quiet", "-r", strata.folder / f"r{command[0]}", "--"],
        ):
            with path.open("rb") as source:
                outputs.append(strata.run([*prefix, *command], stdin=source).stdout)
        assert outputs[0] == outputs[1]


def test_stdin_is_not_eaten(strata):
    """`while read …; do strata … ; done`: strata itself reads nothing."""
    script = 'while read -r line; do "$@" </dev/stdin; echo "got $line"; done'
    result = strata.folder / "r@@@"
    inner = [strata.binary, "-collect", "tasks", "-quiet", "-r", result, "--", "head", "-c", "0"]
    done = strata.run(["bash", "-c", script, "bash", *inner], data=b"one\ntwo\nthree\n")
    assert done.stdout == b"got one\ngot two\ngot three\n", done.err


def test_stdin_closed(strata):
    script = [
        "bash",
        "-c",
        'if [ -e /proc/self/fd/0 ]; then readlink /proc/$$/fd/0; else echo closed; fi; cat; echo "status $?"',
    ]
    plain, profiled = both(strata, script, **CLOSE_STDIN)
    assert plain.stdout.splitlines()[-1] == b"status 1"
    assert_same(plain, profiled)


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2), (0, 1, 2)], ids=str)
def test_started_with_closed_streams(strata, closed):
    """A descriptor of ours must never take the number of a closed stream and receive its output."""
    witness = strata.folder / "witness"
    script = (
        f'for n in 0 1 2; do readlink /proc/$$/fd/$n || echo none; done >"{witness}"; echo out; echo err >&2; exit 4'
    )

    def close():
        for number in closed:
            os.close(number)

    runs = []
    for prefix in ([], [strata.binary, "-collect", "tasks", "-quiet", "-r", strata.folder / "r", "--"]):
        process = strata.popen([*prefix, "bash", "-c", script], stdin=None, stdout=None, stderr=None, preexec_fn=close)
        runs.append((process.wait(30), witness.read_text()))
    assert runs[0] == runs[1]
    # Nothing of the program's output ended up in our files.
    for path in (strata.folder / "r").iterdir():
        assert b"out\n" not in path.read_bytes()[:4]
    assert strata.result_json(strata.folder / "r")["state"] == "finished"


# What a program inherits -----------------------------------------------------------------------------


def with_state(prepare):
    return {"preexec_fn": prepare}


def ignore_hup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def block_usr1():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGRTMIN + 3})


def ignore_child():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def ignore_interrupt():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def open_descriptors():
    for number in (7, 9, 100):
        os.dup2(0, number)


def odd_umask():
    os.umask(0o037)


def low_limits():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128))
    os.nice(3)


@pytest.mark.parametrize(
    "prepare",
    [None, ignore_hup, block_usr1, ignore_child, ignore_interrupt, open_descriptors, odd_umask, low_limits],
    ids=lambda prepare: prepare.__name__ if prepare else "plain",
)
def test_inherits_the_same(strata, programs, prepare):
    """Signals, mask, descriptors, limits, umask, folder, group and session, argv[0] …: all the same."""
    command = [programs / "print_state", "an argument", ""]
    plain, profiled = both(strata, command, **with_state(prepare))
    assert plain.stdout.decode().splitlines() == profiled.stdout.decode().splitlines()
    assert profiled.status == 0


def test_result_modes_follow_the_umask(strata):
    done = strata.collect("true", preexec_fn=lambda: os.umask(0o077))
    assert stat.S_IMODE(done.result.stat().st_mode) == 0o700
    for path in done.result.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_path_search_and_argv0(strata, programs):
    """A name without a slash is looked up in PATH, and argv[0] stays what was typed."""
    env = {"PATH": f"{programs}:{os.environ['PATH']}"}
    plain, profiled = both(strata, ["print_state"], env=env)
    assert plain.stdout.startswith(b"argument 0 print_state\n")
    assert plain.stdout == profiled.stdout


def test_script_without_interpreter_line(strata):
    """execvp runs it by /bin/sh; so must we."""
    path = strata.folder / "script"
    path.write_text('echo "script $0 $1"\n')
    path.chmod(0o755)
    done = strata.collect(path, "x", options=["-quiet"])
    assert done.stdout == f"script {path} x\n".encode()


def test_environment_is_kept(strata):
    """Only our own names are added; the user's preload is kept behind ours."""
    ours = {
        "LD_PRELOAD", "INTEL_LIBITTNOTIFY64", "INTEL_JIT_PROFILER64", "CUDA_INJECTION64_PATH", "OPENCL_LAYERS",
        "ZE_ENABLE_TRACING_LAYER",
    }  # fmt: skip
    env = {"ONEDNN_JIT_PROFILE": "6", "ODD": "a\nb", "EMPTY": ""}
    plain, profiled = both(strata, ["env", "-0"], env=env)
    before = dict(item.split(b"=", 1) for item in plain.stdout.split(b"\0") if item)
    after = dict(item.split(b"=", 1) for item in profiled.stdout.split(b"\0") if item)
    added = {name.decode() for name in set(after) - set(before)}
    assert {name for name in added - ours if not name.startswith("STRATA_")} == set()
    assert added <= ours | {"STRATA_CONFIG", "STRATA_SOCK", "STRATA_ABS", "STRATA_TOKEN", "STRATA_COLLECTOR"}
    before.pop(b"_", None)
    assert {name: after.get(name) for name in before} == before


def test_user_preload_is_chained(strata):
    library = next(Path("/lib/x86_64-linux-gnu").glob("libSegFault.so"), None)
    library = library or next(Path("/usr/lib/x86_64-linux-gnu").glob("libz.so.1"), None)
    if library is None:
        pytest.skip("no library to preload")
    done = strata.collect("bash", "-c", "cat /proc/self/maps", env={"LD_PRELOAD": str(library)}, options=["-quiet"])
    assert library.resolve().name.encode() in done.stdout
    assert b"libstrata_collector" in done.stdout


# Signals ---------------------------------------------------------------------------------------------


def start(strata, *command, **more):
    """Popen of strata in front of a command, in a process group of its own."""
    return strata.popen(
        [strata.binary, "-collect", "tasks", "-quiet", "-r", strata.folder / "r", "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def test_sigterm_sent_to_strata(strata, programs):
    """Whoever ends strata by SIGTERM means the program: it gets it, and its status comes back."""
    ready = strata.folder / "ready"
    running = start(strata, programs / "ignore_sigint", "ignore", ready)
    until(ready.exists, what="the program")
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=30)
    assert out.endswith(b"done after 0 interrupts\n"), err
    assert running.returncode == 5
    assert strata.result_json(strata.folder / "r")["state"] == "finished"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM])
def test_fatal_signal_sent_to_strata(strata, number):
    running = start(strata, "bash", "-c", "echo here; exec sleep 1000")
    assert running.stdout.readline() == b"here\n"
    running.send_signal(number)
    running.communicate(timeout=30)
    assert running.returncode == -number
    assert strata.result_json(strata.folder / "r")["state"] == "finished"


class Terminal:
    """A command as the foreground job of a shell with a terminal of its own; all it shows is kept.

    The shell survives Ctrl-C, prints the command's status, and holds the terminal open until a line is
    typed, as an interactive shell would.
    """

    SHELL = 'trap : INT; "$@"; echo "status $?"; until read -r line; do :; done'

    def __init__(self, strata, command):
        self.log = strata.folder / "terminal.log"
        self.seen = b""
        words = ["bash", "-c", self.SHELL, "bash", *map(os.fspath, command)]
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(strata.folder)
            os.execvpe(words[0], words, clean_env())

    def command(self):
        """Pid of the command, the shell's only child."""
        return until(lambda: children_of(self.pid), what="the command")[0]

    def read_until(self, wanted):
        while wanted not in self.seen:
            data = os.read(self.master, 4096)
            self.seen += data.replace(b"\r\n", b"\n")

    def type(self, data):
        os.write(self.master, data)

    def status(self):
        """Exit status of the command as the shell tells it."""
        self.read_until(b"status ")
        while not (found := re.search(rb"status (\d+)\n", self.seen)):
            self.seen += os.read(self.master, 4096).replace(b"\r\n", b"\n")
        return int(found[1])

    def close(self):
        self.type(b"\n")
        self.log.write_bytes(self.seen)
        os.waitpid(self.pid, 0)
        os.close(self.master)


def maybe_wrapped(strata, wrapped, *command):
    if not wrapped:
        return list(command)
    return [strata.binary, "-collect", "tasks", "-quiet", "-r", strata.folder / "r", "--", *command]


def is_finished(strata):
    return strata.result_json(strata.folder / "r")["state"] == "finished"


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "strata"])
@pytest.mark.parametrize("mode", ["ignore", "count"])
def test_ctrl_c_from_a_terminal(strata, programs, wrapped, mode):
    """The program gets every Ctrl-C once, and outlives two of them; strata finishes at the second."""
    ready = strata.folder / "ready"
    terminal = Terminal(strata, maybe_wrapped(strata, wrapped, programs / "ignore_sigint", mode, ready))
    until(ready.exists, what="the program")
    program = children_of(terminal.command())[0] if wrapped else terminal.command()
    for count in (1, 2):
        terminal.type(b"\x03")
        # The terminal echoes a Ctrl-C when it has sent the signal.
        terminal.read_until(b"interrupts %d\n" % count if mode == "count" else b"^C" * count)
        until(lambda: not is_pending(terminal.command(), signal.SIGINT), what="strata's taking of the signal")
    if wrapped:
        until(lambda: is_finished(strata), what="the finished result")
    assert process_state(program) not in (None, "Z"), "the program was ended"
    os.kill(program, signal.SIGTERM)
    terminal.read_until(b"done after %d interrupts\n" % (2 if mode == "count" else 0))
    status = terminal.status()
    assert status == 5 or wrapped
    terminal.close()


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "strata"])
def test_one_ctrl_c_is_the_programs(strata, programs, wrapped):
    """A program that catches one Ctrl-C and ends by itself: its own output and status."""
    ready = strata.folder / "ready"
    terminal = Terminal(strata, maybe_wrapped(strata, wrapped, programs / "ignore_sigint", "count", ready, "1"))
    until(ready.exists, what="the program")
    terminal.type(b"\x03")
    terminal.read_until(b"done after 1 interrupts\n")
    assert terminal.status() == 5
    terminal.close()
    assert not wrapped or is_finished(strata)


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "strata"])
def test_ctrl_c_ends_a_normal_program(strata, wrapped):
    terminal = Terminal(strata, maybe_wrapped(strata, wrapped, "bash", "-c", "echo here; exec sleep 1000"))
    terminal.read_until(b"here")
    terminal.type(b"\x03")
    assert terminal.status() == 128 + signal.SIGINT
    terminal.close()
    assert not wrapped or is_finished(strata)


def test_second_ctrl_c_finishes_the_result(strata, programs):
    """At the second one strata stops collecting; the program, which counts on, is left alone."""
    ready = strata.folder / "ready"
    running = start(strata, programs / "ignore_sigint", "count", ready, "4", start_new_session=True)
    until(ready.exists, what="the program")
    for count in (1, 2):
        os.killpg(running.pid, signal.SIGINT)
        assert f"interrupts {count}".encode() in running.stdout.readline()
        until(lambda: not is_pending(running.pid, signal.SIGINT), what="strata's taking of the signal")
    info = until(
        lambda: (i := strata.result_json(strata.folder / "r"))["state"] == "finished" and i,
        what="the finished result",
    )
    assert "interrupt" in str(info)
    for count in (3, 4):
        os.killpg(running.pid, signal.SIGINT)
        line = running.stdout.readline()
        assert f"interrupts {count}".encode() in line


def test_stop_and_continue(strata, programs):
    """A program that stops itself and is continued later ends as usual."""
    running = start(strata, programs / "die_by", "stop", "6")
    program = until(lambda: children_of(running.pid), what="the program")[0]
    until(lambda: process_state(program) == "T", what="the stop")
    os.kill(program, signal.SIGCONT)
    out, _ = running.communicate(timeout=30)
    assert out == b"about to stop\ngoes on\n"
    assert running.returncode == 6


# Descriptors -----------------------------------------------------------------------------------------


def test_closes_all_descriptors(strata, programs):
    """A program that closes everything and opens its own files finds only its own bytes in them."""
    files = [strata.folder / "plain", strata.folder / "profiled"]
    for path in files:
        path.mkdir()
    plain = strata.run([programs / "close_all_fds", files[0]])
    done = strata.collect(programs / "close_all_fds", files[1], options=["-quiet"], ok=False)
    assert (plain.status, plain.stdout) == (done.status, done.stdout) == (0, b"")
    for name in sorted(os.listdir(files[0])):
        assert (files[1] / name).read_bytes() == (files[0] / name).read_bytes(), name
    assert strata.counts(done.result) == {"before": 100, "after": 100, "in the child": 100}


def test_no_descriptor_in_the_target(strata, target):
    """A recording program has exactly the descriptors it has without us."""
    progress = strata.folder / "progress"
    lists = []
    for prefix in ([], [strata.binary, "-collect", "tasks", "-quiet", "-r", strata.folder / "r", "--"]):
        running = strata.popen(
            [*prefix, target, "--seconds", "60", "--rate", "1000", "--progress", progress], stdout=subprocess.DEVNULL
        )
        until(lambda: pairs_done(progress) > 100, what="the recording")
        program = children_of(running.pid)[0] if prefix else running.pid
        links = {name: os.readlink(f"/proc/{program}/fd/{name}") for name in os.listdir(f"/proc/{program}/fd")}
        lists.append(links)
        os.kill(program, signal.SIGTERM)
        running.wait(30)
        progress.unlink()
    assert lists[0] == lists[1]


# Programs we cannot enter ----------------------------------------------------------------------------


def summary(strata, result):
    return strata("report", "summary", "-r", result).out


def test_static_grandchild(strata, programs):
    script = f'env -i "{programs}/static_child"; echo "status $?"; "{programs}/static_child"; echo "status $?"'
    plain, profiled = both(strata, ["bash", "-c", script])
    assert plain.stdout.count(b"static child, interpreter at 0") == 2
    assert_same(plain, profiled)
    text = summary(strata, profiled.result)
    assert "static_child" in text and "static" in text


def test_static_program_itself(strata, programs):
    plain, profiled = both(strata, [programs / "static_child"])
    assert plain.status == 7
    assert_same(plain, profiled)
    assert "static_child" in summary(strata, profiled.result)


def test_emptied_environment(strata, target):
    """`env -i` takes our variables away: the child runs untouched and is named."""
    script = f'env -i "{target}" --pairs 5 --quiet; echo "status $?"'
    plain, profiled = both(strata, ["bash", "-c", script])
    assert_same(plain, profiled)
    assert "itt_target" in summary(strata, profiled.result)


@pytest.mark.root
@pytest.mark.parametrize("owner", [0, 4242], ids=["setuid-root", "setuid-other"])
def test_setuid_grandchild(strata, programs, root, owner, tmp_path_factory):
    """Run by another user, the kernel says AT_SECURE: the loader drops the preload, nothing is harmed."""
    place = Path("/var/tmp") if not mount_has(Path("/var/tmp"), "nosuid") else None
    if place is None:
        pytest.skip("/var/tmp is mounted nosuid")
    folder = place / f"strata-e2e-{os.getpid()}-{owner}"
    folder.mkdir(mode=0o755)
    try:
        program = folder / "setuid_child"
        shutil.copy(programs / "setuid_child", program)
        os.chown(program, owner, 0)
        program.chmod(0o4755)
        home = folder / "home"
        home.mkdir()
        os.chown(home, 65534, 65534)
        binary = installed_for_others(strata, folder)
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for shell in ([f"'{program}'; echo status $?"], [f"env -i '{program}'; echo status $?"]):
            plain = strata.run([*drop, "bash", "-c", *shell], cwd=home)
            result = home / f"r{len(strata.history)}"
            done = strata.run(
                [*drop, binary, "-collect", "tasks", "-quiet", "-r", result, "--", "bash", "-c", *shell],
                cwd=home,
                env={"TMPDIR": str(home)},
            )
            assert b"AT_SECURE 1" in plain.stdout and f"euid {owner} ".encode() in plain.stdout
            assert done.stdout == plain.stdout, done.err
            assert done.stdout.endswith(b"entered 0\nstatus 8\n")
            assert done.status == 0
            assert b"cannot be preloaded" not in done.stderr
            assert "setuid_child" in summary(strata, result)
    finally:
        shutil.rmtree(folder)


def mount_has(path, option):
    found = subprocess.run(["findmnt", "-no", "OPTIONS", "-T", path], capture_output=True, check=False)
    return option in found.stdout.decode().strip().split(",")


def installed_for_others(strata, folder):
    """A copy of the built tree that another user can reach, laid out as an installation."""
    prefix = folder / "prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib" / "strata").mkdir(parents=True)
    shutil.copy(strata.binary, prefix / "bin" / "strata")
    build = Path(strata.binary).resolve()
    found = None
    for parent in list(build.parents)[:4]:
        found = next(parent.rglob("libstrata_collector.so"), None)
        if found:
            break
    assert found, "no libstrata_collector.so beside the binary"
    shutil.copy(found, prefix / "lib" / "strata" / found.name)
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir() and path.name != "home":
            path.chmod(0o755)
    return prefix / "bin" / "strata"


def other_class_elf(path):
    """A 32-bit program of one instruction sequence: exit(11). No toolchain needed."""
    code = bytes.fromhex("b801000000bb0b000000cd80")  # mov eax,1; mov ebx,11; int 0x80
    base, header, program = 0x08048000, 52, 32
    size = header + program + len(code)
    ident = b"\x7fELF\x01\x01\x01" + bytes(9)
    elf = ident + struct.pack(
        "<HHIIIIIHHHHHH", 2, 3, 1, base + header + program, header, 0, 0, header, program, 1, 0, 0, 0
    )
    elf += struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x1000) + code
    path.write_bytes(elf)
    path.chmod(0o755)


def test_other_class(strata):
    """A 32-bit child cannot load a 64-bit library: it must not even be complained about."""
    program = strata.folder / "class32"
    other_class_elf(program)
    script = f"'{program}'; echo status $?"
    plain = strata.run(["bash", "-c", script])
    if plain.stdout != b"status 11\n":
        pytest.skip(f"this kernel does not run 32-bit programs: {plain.out!r} {plain.err!r}")
    done = strata.collect("bash", "-c", script, options=["-quiet"])
    assert done.stdout == plain.stdout
    assert b"ld.so" not in done.stderr
    assert "class32" in summary(strata, done.result)


def test_another_libc(strata):
    """A loader of another libc: in its place a fake one, which would see our preload in its environment."""
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl toolchain")
    source = strata.folder / "musl.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("musl"); return 4; }\n')
    subprocess.run(["musl-gcc", "-o", strata.folder / "musl_child", source], check=True)
    plain, profiled = both(strata, ["bash", "-c", f"'{strata.folder}/musl_child'; echo status $?"])
    assert_same(plain, profiled)
    assert "musl_child" in summary(strata, profiled.result)


# Cost ------------------------------------------------------------------------------------------------


@pytest.mark.alone
def test_added_time_of_a_trivial_program(strata):
    """`strata -collect tasks -- true` adds a bounded time; the bench holds the strict figure."""
    added = []
    for number in range(5):
        began = time.monotonic()
        strata.run(["true"])
        plain = time.monotonic() - began
        done = strata.collect("true", options=["-quiet"], result=strata.folder / f"t{number}")
        added.append(done.seconds - plain)
    assert sorted(added)[0] < 0.2, f"seconds added by strata: {added}"


def test_left_running_is_left_alone(strata):
    """A daemon that outlives the direct child goes on; strata ends at most 5 s later."""
    flag = strata.folder / "flag"
    wait = f'until [ -e "{flag}" ]; do sleep 0.05; done; echo late >"{flag}2"'
    script = f"setsid bash -c '{wait}' >/dev/null 2>&1 </dev/null & true"
    done = strata.collect("bash", "-c", script, timeout=30)
    assert done.seconds < 8
    flag.touch()
    assert until((strata.folder / "flag2").exists, what="the daemon's own end")


def test_survives_a_stopped_strata(strata, target):
    """Nothing in the target ever waits for strata: with strata stopped it runs to its end."""
    out = strata.folder / "out"
    with out.open("wb") as sink:
        running = strata.popen(
            [
                strata.binary,
                "-collect",
                "tasks",
                "-quiet",
                "-r",
                strata.folder / "r",
                "--",
                "bash",
                "-c",
                'echo here; read -r; "$0" --threads 0 --pairs 200000 --quiet; echo "status $?" >"$1"',
                target,
                strata.folder / "status",
            ],
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.PIPE,
        )
        until(lambda: b"here" in out.read_bytes(), what="the shell")
        running.send_signal(signal.SIGSTOP)
        until(lambda: process_state(running.pid) == "T", what="the stop")
        running.stdin.write(b"\n")
        running.stdin.flush()
        until((strata.folder / "status").exists, what="the program's end while strata is stopped")
        running.send_signal(signal.SIGCONT)
        running.communicate(timeout=30)
    assert running.returncode == 0
    report = strata.report(strata.folder / "r", "tasks")
    lost = report["quality"]
    assert report["totals"]["count"] + sum(v for k, v in lost.items() if k == "slices_dropped") == 200000, lost


@pytest.fixture
def short_folder():
    """The path of a socket has little room."""
    with tempfile.TemporaryDirectory(prefix="run", dir="/tmp") as folder:
        yield Path(folder)


def test_only_our_own_old_folders_are_removed(strata, short_folder):
    """Folders for the socket that a killed strata left behind go; others whose names begin like theirs do not."""
    old = time.time() - 3600
    base = short_folder
    ours, others = (
        "strata-4711-aB3xY9",
        ["strata-mine", "strata-bench-q1w2e3", "strata-12-toolong7", "strata-4711-aB3-Y9"],
    )
    for name in [ours, *others]:
        (base / name).mkdir(parents=True)
        (base / name / "s").touch()
        os.utime(base / name, (old, old))
    done = strata(
        "-collect", "tasks", "-quiet", "-r", strata.folder / "r", "--", "true", env={"XDG_RUNTIME_DIR": str(base)}
    )
    assert done.status == 0, done.err
    assert sorted(path.name for path in base.iterdir()) == sorted(others)
    assert all((base / name / "s").exists() for name in others)
