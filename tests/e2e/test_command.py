# SPDX-License-Identifier: Apache-2.0
"""strata -command: pause, resume, mark, status, stop and detach of a running collection."""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest
from harness import TARGETS, strict_json, until

MS = 1_000_000


class Run:
    """An obedient program under strata."""

    def __init__(self, strata, program, options=(), result="r", env=None):
        self.strata = strata
        self.result = strata.folder / result
        command = [strata.binary, "-collect", "tasks", "-r", self.result, "-no-summary", *options, "--", *program]
        self.error = strata.folder / "strata.err"
        with self.error.open("wb") as err:
            self.process = strata.popen(command, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
        until((self.result / "control").exists, what="the socket for commands, which comes after the result")

    def tell(self, *lines):
        """Has the program do something, and waits until it is done."""
        for line in lines:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == b"ok\n", self.error.read_text()

    def command(self, *words, status=0):
        done = self.strata("-command", *words, "-r", self.result)
        assert done.status == status, done.err
        return done

    def state(self):
        return strict_json(self.command("status", "-format=json").stdout)

    def end(self, status=7):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        assert (self.process.wait(60), rest) == (status, b""), self.error.read_text()


@pytest.fixture(params=["C", "Python"])
def program(request):
    """The same program twice: in C through a hand-made static part, in Python through ittapi."""
    if request.param == "C":
        return [request.getfixturevalue("programs") / "obedient"]
    return [request.getfixturevalue("ittapi"), TARGETS / "obedient.py"]


@pytest.fixture
def obedient(strata, programs):
    return Run(strata, [programs / "obedient"])


def pauses(strata, result):
    done = strata("query", "-r", result, "-format", "json", "SELECT start_ns, end_ns FROM pauses ORDER BY 1")
    assert done.status == 0, done.err
    return [(row["start_ns"], row["end_ns"]) for row in strict_json(done.stdout)["rows"]]


def test_pause_and_resume(strata, program):
    """Nothing is recorded while paused, also of children; what straddles is clipped and flagged."""
    run = Run(strata, program)
    run.tell("begin outer", "record before 10", "begin ends_in_pause")
    assert "paused" in run.command("pause").err
    assert run.state()["state"] == "paused"
    run.tell("record hidden 10", "fork hidden_child 10", "end", "begin begins_in_pause")
    run.command("resume")
    assert run.state()["state"] == "running"
    run.tell("record after 10", "fork child 10", "end", "end", "record top 10")
    run.end()
    counts = strata.counts(run.result)
    expected = {"outer": 1, "before": 10, "ends_in_pause": 1, "begins_in_pause": 1}
    assert counts == expected | {"after": 10, "child": 10, "top": 10}
    slices = strata.slices(run.result)
    flagged = {one.name for one in slices if "clipped" in one.row["flags"]}
    assert flagged == {"outer", "ends_in_pause", "begins_in_pause"}
    assert {one.parent.name for one in slices if one.name == "after"} == {"begins_in_pause"}
    (begin, end) = pauses(strata, run.result)[0]
    for one in slices:
        if one.name not in ("outer",):
            assert one.end_ns <= begin or one.begin_ns >= end, one
    # Begun in the pause: from the resume on, not from the next call of its thread, which comes after a command.
    (late,) = [one for one in slices if one.name == "begins_in_pause"]
    after = min(one.begin_ns for one in slices if one.name == "after")
    assert late.begin_ns - end < after - late.begin_ns
    strata.opens(run.result)


def test_exec_while_paused(obedient):
    """A new program image that starts in the pause records nothing either, from its first task on."""
    obedient.command("pause")
    for _ in range(20):
        obedient.tell("exec hidden 100", "fork hidden 100")
    obedient.command("resume")
    obedient.tell("exec seen 100", "fork seen 100")
    obedient.end()
    assert obedient.strata.counts(obedient.result) == {"seen": 200}


def test_own_pause_is_its_own(obedient):
    """A process that pauses itself pauses nobody else, and resume of the family does not resume it."""
    obedient.tell("child-pause hidden 10", "record seen 10", "pause", "record hidden 10")
    obedient.command("pause")
    obedient.command("resume")
    obedient.tell("record hidden 10", "fork hidden 10", "resume", "record seen 10")
    obedient.end()
    assert obedient.strata.counts(obedient.result) == {"seen": 20}


def test_resume_ends_start_paused(strata, programs):
    """Also for processes that start later, and for a child that was forked before and speaks after."""
    run = Run(strata, [programs / "obedient"], options=["-start-paused"])
    run.tell("record hidden 10", "begin open")
    assert run.state()["state"] == "paused"
    run.command("resume")
    run.tell("record seen 10", "end", "fork seen 10", "exec seen 10")
    run.end()
    assert strata.counts(run.result) == {"seen": 30, "open": 1}


def test_pause_again_and_resume_again(obedient):
    """Asking twice is no error, and says that there was nothing to do."""
    assert "not paused" in obedient.command("resume").err
    obedient.command("pause")
    assert "already" in obedient.command("pause").err
    obedient.end()


@pytest.mark.parametrize("verb", ["stop", "detach"])
def test_stop_and_detach(obedient, verb):
    """Collecting ends, the result is complete when the answer comes, and the program goes on untouched."""
    strata, result = obedient.strata, obedient.result
    obedient.tell("record seen 10", "begin open")
    done = obedient.command(verb)
    assert "the program keeps running" in done.err
    info = strata.result_json(result)
    assert (info["state"], info["stop_reason"]) == ("finished", verb)
    assert strata.counts(result) == {"seen": 10, "open": 1}
    assert not (result / "control").exists()
    obedient.tell("end", "record hidden 10", "fork hidden 10")
    for again in ("status", "pause", "stop"):
        assert "this collection has already ended" in obedient.command(again, status=1).err
    obedient.end()
    assert strata.counts(result) == {"seen": 10, "open": 1}
    assert strata.result_json(result)["exit"] == {"code": 7}
    # It ran when collecting ended, and has ended since: nobody is told that it still runs.
    assert "still run" not in obedient.error.read_text()
    assert "LEFT RUNNING" not in strata("report", "summary", result).out


def test_status(obedient):
    """Text for people, JSON for programs; the figures grow."""
    strata = obedient.strata
    obedient.tell("record seen 1000")
    state = until(lambda: (now := obedient.state())["tasks"] == 1000 and now, what="1,000 tasks in the status")
    assert state["schema"] == "strata.status/1"
    assert (state["state"], state["processes"], state["threads"], state["lost"]) == ("running", 1, 1, 0)
    assert state["strata_pid"] == obedient.process.pid
    assert state["records"] >= 2000 and state["size_bytes"] > 0 and state["elapsed_ns"] > 0
    assert obedient.state()["elapsed_ns"] > state["elapsed_ns"]
    text = strata("command", "status", obedient.result).out
    assert "state       running" in text and "tasks       1,000" in text
    assert strata("command", "status").out.startswith("state"), "the newest result of the folder"
    obedient.end()


def test_status_after_a_limit(strata, programs):
    """Stopped by -duration: the strata that waits for the program still answers."""
    run = Run(strata, [programs / "obedient"], options=["-duration", "0.05"])
    until(lambda: run.state()["state"] == "stopped", what="the state stopped")
    assert run.state()["stop_reason"] == "duration"
    assert "has already stopped (duration)" in run.command("pause", status=1).err
    run.end()


def test_mark(obedient):
    strata = obedient.strata
    obedient.command("mark", "epoch 3 é")
    obedient.command("mark")
    assert strata("command", "mark", "two", "words", obedient.result).status == 0
    assert strata("command", "mark", "x" * 4097, "-r", obedient.result).status == 2
    assert strata("command", "mark", "x" * 4096, "-r", obedient.result).status == 0
    obedient.end()
    done = strata("query", "-r", obedient.result, "-format", "json", "SELECT marker, start_ns FROM markers ORDER BY 2")
    rows = strict_json(done.stdout)["rows"]
    assert [row["marker"] for row in rows] == ["epoch 3 é", "mark", "two words", "x" * 4096]
    assert all(0 < a["start_ns"] < b["start_ns"] for a, b in itertools.pairwise(rows))
    strata.opens(obedient.result)


def test_killed_strata_is_torn(obedient):
    """The socket of a strata that was killed answers nobody."""
    obedient.tell("record seen 10")
    obedient.process.send_signal(signal.SIGKILL)
    obedient.process.wait()
    assert (obedient.result / "control").exists()
    done = obedient.command("status", status=1)
    assert "is incomplete" in done.err and len(done.err.splitlines()) == 1


def test_copied_result(obedient, monkeypatch):
    """A copy made while recording, with or without its socket, is not the collection."""
    strata = obedient.strata
    for name, ignored in (("with", ()), ("without", ("control",))):
        copy = strata.folder / name
        shutil.copytree(obedient.result, copy, ignore=lambda _, names, out=ignored: [*out, ".reserve", "control"])
        if name == "with":
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
                monkeypatch.chdir(copy)
                dead.bind("control")
        done = strata("command", "stop", copy)
        assert done.status == 1 and "no running collection writes to this folder" in done.err
    linked = strata.folder / "linked"
    linked.symlink_to(obedient.result)
    assert strata("command", "status", linked).status == 0
    moved = strata.folder / "moved"
    obedient.result.rename(moved)
    assert strata("command", "pause", moved).status == 0
    moved.rename(obedient.result)
    assert obedient.state()["state"] == "paused"
    obedient.end()


def test_long_path(strata, programs):
    """A socket address holds 107 bytes; a folder may be deeper."""
    deep = strata.folder / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    run = Run(strata, [programs / "obedient"], result=str(deep / "r"))
    run.command("pause")
    run.end()


def ask_raw(path, packet):
    """What the socket answers to bytes of anybody's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(20)
        client.connect(str(path))
        client.send(packet)
        return client.recv(1 << 16)


def answers(path, packet):
    """Whether it is obeyed; a socket that has too many clients may hang up at once."""
    try:
        return ask_raw(path, packet).startswith(b"ok")
    except (ConnectionResetError, BrokenPipeError):
        return False


def test_hostile_bytes(obedient, monkeypatch):
    """Whatever comes in through the socket is answered with an error, and recording goes on."""
    monkeypatch.chdir(obedient.result)
    place = os.stat(".")
    good = f"strata.command/1 {place.st_dev} {place.st_ino} ".encode()
    packets = [b"x", b"\0" * 4000, b"strata.command/1 ", b"strata.command/1 1 2 stop", good, good + b"x" * 3000]
    packets += [good + b"stop\0", good + b" stop", good.replace(b"/1", b"/2") + b"stop", good + b"\xff\xfe"]
    packets += [good + b"mark " + b"y" * 4097, b"strata.command/1 " + b"9" * 40 + b" 1 stop", b"z" * 60000]
    for packet in packets:
        assert ask_raw("control", packet).startswith(b"error "), packet[:80]
    idle = []
    for _ in range(40):  # more than are listened to at a time
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.connect("control")
        idle.append(client)
    obedient.tell("record seen 10")
    for client in idle:
        client.close()
    until(lambda: answers("control", good + b"status text"), what="an answer")
    obedient.end()
    assert obedient.strata.counts(obedient.result) == {"seen": 10}


def test_other_user(strata, programs, root):
    """Another user is refused by the socket itself."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        run = Run(strata, [programs / "obedient"], result=f"{folder}/r")
        shutil.copy(strata.binary, folder)
        os.chmod(f"{folder}/strata", 0o755)
        done = strata.run([f"{folder}/strata", "command", "stop", "r"], cwd=folder, user=65534, group=65534)
        assert done.status == 1 and "belongs to another user" in done.err, done.err
        assert run.state()["state"] == "running"
        run.end()


def test_usage(strata):
    """2 for what cannot be meant, 1 for what cannot be done; one line each."""
    cases = [
        (["command"], 2, "requires a verb"),
        (["command", "resum"], 2, "'resume'"),
        (["-command", "pause", "-format", "json"], 2, "-format is only valid with status"),
        (["command", "status", "-format", "csv"], 2, "text or json"),
        (["command", "stop", "a", "b"], 2, "unexpected argument"),
        (["command", "stop", "a", "-r", "b"], 2, "two results"),
        (["command", "stop", "nowhere"], 1, "no such result folder"),
        (["command", "stop", "."], 1, "is not a result folder"),
        (["command", "stop"], 1, "no result"),
        (["-command=stop", "-duration", "3"], 2, "option of 'collect'"),
    ]
    for words, status, needle in cases:
        done = strata(*words)
        assert (done.status, len(done.err.splitlines())) == (status, 1), (words, done.err)
        assert needle in done.err, (words, done.err)


def test_finished_result(strata, target):
    done = strata.collect(target, "--pairs", "10", "--quiet")
    assert not (done.result / "control").exists()
    answer = strata("command", "status", done.result)
    assert answer.status == 1 and "this collection has already ended" in answer.err
