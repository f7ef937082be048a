# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the target and of strata, at moments spread over a run's life.

Each moment is chosen by something observed (a file, a count, a process's state), never by the clock, and
goes into a ledger. After each kill: every report opens; every task closed more than one second before
is there; and a killed strata leaves the target running to its normal end, output and status.
"""

import datetime
import json
import os
import random
import signal
import subprocess

import pytest
from harness import (
    TARGETS,
    become_subreaper,
    children_of,
    mono_raw_ns,
    pairs_done,
    process_state,
    progress_records,
    until,
)

pytestmark = pytest.mark.slow
SECOND = 1_000_000_000
RATE = 4000
SECONDS = 2.5  # of a program that ends by itself; the others end when they are told to
LIMIT = 90  # of those, should the test fail before it tells them
THREADS = 2
MOMENTS = ("start", "steady", "fork", "chunk", "exit")


@pytest.fixture(scope="module")
def ledger(ledger_dir):
    """What was killed when, and what was found afterwards; one dated file per run of this module."""
    rows = []
    yield rows
    if rows:
        stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
        (ledger_dir / f"{stamp}-kills.json").write_text(json.dumps(rows, indent=1) + "\n")


@pytest.fixture(scope="module", autouse=True)
def subreaper():
    become_subreaper()


class Run:
    """One run under strata, with its progress in sight."""

    def __init__(self, strata, number, command):
        self.strata = strata
        self.result = strata.folder / f"r{number}"
        self.progress = strata.folder / f"progress{number}"
        self.output = strata.folder / f"output{number}"
        self.end = strata.folder / f"end{number}"
        paths = {"PROGRESS": str(self.progress), "END": str(self.end)}
        words = [paths.get(word, word) for word in map(str, command)]
        with self.output.open("wb") as out:
            self.process = strata.popen(
                [strata.binary, "-collect", "tasks", "-quiet", "-r", self.result, "--", *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
            )
        self.target = until(lambda: children_of(self.process.pid) or self.process.poll() is not None, what="the target")
        assert isinstance(self.target, list), self.process.stderr.read()
        self.target = self.target[0]

    def size(self, name):
        try:
            return (self.result / name).stat().st_size
        except OSError:
            return 0

    def wait_for_writing(self):
        """Until strata has written once more: what is promised holds for one that was let run."""
        before = self.size("trace.000.strata")
        until(lambda: self.size("trace.000.strata") > before or self.process.poll() is not None, 60, "more of it")

    def json_state(self):
        try:
            return json.loads((self.result / "result.json").read_bytes())["state"]
        except (OSError, ValueError):
            return None

    def go_on_and_end(self, more=1000):
        """The program lives until here, so that a kill finds it however slow the machine is."""
        wanted = self.done() + more
        until(lambda: self.done() >= wanted or process_state(self.target) in ("Z", None), 60, f"{more} more tasks")
        self.end.touch()

    def done(self):
        return pairs_done(self.progress)

    def grandchildren(self):
        return len(children_of(self.target))


def start_moments():
    yield "the process exists", lambda run: True
    yield "the result folder exists", lambda run: run.result.is_dir()
    yield "result.json exists", lambda run: (run.result / "result.json").exists()
    yield "definitions.strata has bytes", lambda run: run.size("definitions.strata") > 0
    yield "trace.000.strata has bytes", lambda run: run.size("trace.000.strata") > 0
    yield "the program has opened its progress file", lambda run: run.progress.exists()
    yield "the first task is closed", lambda run: run.done() >= 1


def moment(kind, victim, dice):
    """(what is waited for, condition, command options) of one kill."""
    if kind == "start":
        text, condition = dice.choice(list(start_moments()))
        if victim == "target":
            return f"{text}, and the program runs", lambda run: has_started(run) and condition(run), []
        return text, condition, []
    if kind == "steady":
        wanted = dice.randrange(int(1.1 * RATE), int(2.2 * RATE))
        return f"{wanted} tasks are closed", lambda run: run.done() >= wanted, []
    if kind == "fork":
        wanted = dice.randrange(int(1.1 * RATE), int(2.2 * RATE))
        text = f"a forked child is alive after {wanted} tasks"
        return text, lambda run: run.done() >= wanted and run.grandchildren() >= 1, ["forking"]
    if kind == "chunk":
        wanted = dice.randrange(6, 10)
        sizes = set()

        def written(run):
            sizes.add(run.size("trace.000.strata"))
            return len(sizes) >= wanted

        return f"the trace was seen at {wanted} sizes", written, []
    if victim == "strata":
        choices = [
            ("the program is a zombie", lambda run: process_state(run.target) in ("Z", None)),
            ("the program has printed its last line", lambda run: run.output.stat().st_size > 0),
            ("result.json says finished", lambda run: run.json_state() == "finished"),
        ]
    else:
        left = dice.randrange(4, 200)
        choices = [(f"all but {left} tasks are closed", lambda run: run.done() >= SECONDS * RATE - left)]
    text, condition = dice.choice(choices)
    return text, condition, ["by itself"]


def target_command(target, options):
    if options == ["forking"]:
        return [target.with_name("thread_life"), "steady", str(LIMIT), "PROGRESS", "END"]
    life = ["--seconds", str(SECONDS)] if options == ["by itself"] else ["--seconds", str(LIMIT), "--until", "END"]
    pace = ["--threads", str(THREADS), "--rate", str(RATE)]
    return [target, *life, *pace, "--labels", str(LIMIT * RATE), "--progress", "PROGRESS"]


def required(run, kill_ns, threads):
    """Per thread, how many tasks had been closed more than a second before the kill."""
    found = []
    for thread in range(threads):
        old = [count for count, ns in progress_records(run.progress, thread) if ns <= kill_ns - SECOND]
        found.append(max(old, default=0))
    return found


def found_labels(strata, run):
    """{label: count} of the direct child; other processes of the family are left out."""
    report = strata.report(run.result, "tasks", "-group-by", "process,task-type")
    for row in report["rows"]:
        if str(run.target) in row["process"]:
            return {child["task_type"]: child["count"] for child in row["children"]}
    return {}


def check_tasks(strata, run, needed, prefix):
    counts = found_labels(strata, run) if any(needed) else {}
    for number in range(max(needed)):
        wanted = sum(1 for count in needed if count > number)
        assert counts.get(f"{prefix}{number}", 0) >= wanted, f"{prefix}{number} of {needed} is missing"


def wait_orphan(pid):
    """Exit status of a program that became ours when its strata died; None if strata had reaped it."""
    result = {}

    def ended():
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if done:
            result["status"] = os.waitstatus_to_exitcode(status)
        return bool(done)

    until(ended, timeout=60, what="the orphan's end")
    return result.get("status")


def has_started(run):
    """Whether the direct child has become the program, or is still strata's fork before the exec."""
    try:
        return os.readlink(f"/proc/{run.target}/exe") != os.path.realpath(run.strata.binary)
    except OSError:
        return True


def check_orphan(run, plan, row):
    """The program of a killed strata ends as usual; one that had not started yet does not start."""
    if plan["kind"] != "exit":
        run.go_on_and_end()
    row["status_of_target"] = wait_orphan(run.target)
    if not row["program_started"] and row["status_of_target"] != 0:
        assert run.output.read_bytes() == b"" and not run.progress.exists()
        return
    assert row["status_of_target"] in (0, None)
    assert plan["normal_end"](run), "the program did not end as usual"


def kill_once(strata, ledger, plan):
    """One run, one kill, all checks; `plan` has victim, kind, number, command and prefix."""
    dice = random.Random(f"{plan['victim']} {plan['kind']} {plan['number']}")
    text, condition, options = plan.get("moment", moment)(plan["kind"], plan["victim"], dice)
    run = Run(strata, plan["number"], plan["command"](options))
    row = {"victim": plan["victim"], "moment": plan["kind"], "condition": text, "program": plan["program"]}
    ledger.append(row)
    until(lambda: condition(run) or run.process.poll() is not None, timeout=60, what=text)
    if plan["victim"] == "strata" and plan["kind"] in ("steady", "fork"):
        run.wait_for_writing()
    row["tasks_closed"] = run.done()
    kill_ns = mono_raw_ns()
    pid = run.target if plan["victim"] == "target" else run.process.pid
    row["program_started"] = has_started(run)
    row["state_of_victim"] = process_state(pid)
    if row["state_of_victim"] is not None:
        os.kill(pid, signal.SIGKILL)
    # Read at once: the counts a second before the kill are what must be found.
    needed = required(run, kill_ns, plan["threads"])
    run.process.wait(60)
    row["status_of_strata"] = run.process.returncode
    landed = run.process.returncode == -signal.SIGKILL
    row["landed"] = landed
    if plan["kind"] != "exit":
        assert landed, f"the kill came too late: {row}"
    if plan["victim"] == "strata" and landed:
        check_orphan(run, plan, row)
    elif not landed:
        assert run.process.returncode == 0
    row["needed"] = needed
    check_after(strata, run, plan, row)


def check_after(strata, run, plan, row):
    needed, landed = row["needed"], row["landed"]
    if not run.result.is_dir() or not any(run.result.iterdir()):
        # Killed before the folder was made: there is nothing to open, and nothing half-made either.
        assert plan["victim"] == "strata" and plan["kind"] == "start"
        assert not any(needed)
        row["found"] = None
        return
    row["found"] = strata.total(run.result)
    for name in ("summary", "tasks", "info"):
        done = strata("report", name, "-r", run.result)
        assert done.status == 0 and done.stdout, f"{name}: {done.err}"
    check_tasks(strata, run, needed, plan["prefix"])
    state = strata.result_json(run.result)["state"] if (run.result / "result.json").exists() else None
    row["result_state"] = state
    if plan["victim"] == "target":
        assert state == "finished"
    elif landed and state != "finished":
        assert "killed" in strata("report", "summary", "-r", run.result).out


def printed_json(run):
    return json.loads(run.output.read_bytes())["pairs"] > 0


def kills():
    return 100 if os.environ.get("STRATA_TEST_SCALE") == "full" else 10


@pytest.mark.parametrize("kind", MOMENTS)
@pytest.mark.parametrize("victim", ["target", "strata"])
def test_c_target(strata, target, ledger, victim, kind):
    for number in range(kills() // len(MOMENTS)):
        kill_once(
            strata,
            ledger,
            {
                "victim": victim,
                "kind": kind,
                "number": number,
                "program": "itt_target",
                "command": lambda options: target_command(target, options),
                "prefix": "label_",
                "threads": THREADS,
                "normal_end": printed_json,
            },
        )


def torch_moment(kind, victim, dice):
    """Steps come at a thousand a second at most; the start is torch's own long import."""
    if kind == "start" and victim == "target":
        return "the program runs", has_started, []
    if kind == "start":
        return "the result folder exists", lambda run: run.result.is_dir(), []
    wanted = dice.randrange(800, 2000)
    return f"{wanted} steps are closed", lambda run: run.done() >= wanted, []


@pytest.mark.torch
@pytest.mark.parametrize("victim", ["target", "strata"])
def test_pytorch(strata, python, scale, ledger, victim):
    for number in range(5 if scale == "full" else 1):
        kill_once(
            strata,
            ledger,
            {
                "victim": victim,
                "kind": "start" if number == 4 else "steady",
                "moment": torch_moment,
                "number": number,
                "program": "steps.py",
                "command": lambda options: [python, TARGETS / "steps.py", "PROGRESS", LIMIT, "END"],
                "prefix": "step_",
                "threads": 1,
                "normal_end": lambda run: run.output.read_bytes().startswith(b"steps "),
            },
        )


def test_kill_both(strata, target, ledger):
    """Target and strata at once: what was on disk opens."""
    run = Run(strata, 0, target_command(target, []))
    until(lambda: run.done() >= 1.5 * RATE, what="a second and a half of tasks")
    run.wait_for_writing()
    kill_ns = mono_raw_ns()
    os.kill(run.process.pid, signal.SIGKILL)
    os.kill(run.target, signal.SIGKILL)
    needed = required(run, kill_ns, THREADS)
    run.process.wait(30)
    assert wait_orphan(run.target) == -signal.SIGKILL
    check_tasks(strata, run, needed, "label_")
    strata.opens(run.result)
    ledger.append({"victim": "both", "moment": "steady", "needed": needed, "landed": True})


def test_every_format_after_a_kill(strata, target):
    """One killed strata, every report in every format."""
    run = Run(strata, 0, [*target_command(target, []), "--fork", "3"])
    until(lambda: run.done() >= RATE, what="a second of tasks")
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait(30)
    run.go_on_and_end()
    wait_orphan(run.target)
    strata.opens(run.result)
    strata.chrome(run.result, strata.folder / "out.json")
