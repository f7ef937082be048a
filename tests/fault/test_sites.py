# SPDX-License-Identifier: Apache-2.0
"""Every place in strata that allocates or calls the system fails once, at its first and at its last hit.

First a command runs whole and its places are written down (fail_nth.c); then it runs once for each of them. It
must end with a status that is defined and, unless it went on as if nothing had been, with a message; never by a
crash or a hang, and never to the harm of the program.
"""

import itertools
import struct
import subprocess

import pytest
from harness import clean_env, emit_words, strict_json, until
from test_fault import PAIRS, admits, fail_nth, is_one_line, wrong_run  # noqa: F401 (fixture)

PLACE = struct.Struct("<QQ16s")
SQL = "SELECT task_type, count(*) AS n FROM slices GROUP BY 1 ORDER BY 1"
LIMIT_S = 30


def environment(library, **plan):
    return {"LD_PRELOAD": str(library), "FAIL_PROGRAM": "strata", **plan}


def places(folder, library, run):
    """What `run(env)` passes: (function, site, hits), in no order that matters but the same each time."""
    record = folder / "places"
    record.unlink(missing_ok=True)
    run(environment(library, FAIL_RECORD=str(record)))
    rows = PLACE.iter_unpack(record.read_bytes())
    found = [(name.rstrip(b"\0").decode(), f"{site:x}", hits) for site, hits, name in rows if site]
    assert len(found) > 5, "next to nothing was recorded: has strata no frame pointers?"
    return sorted(found)


def plans(found, scale, share):
    """First and last hit of each place; in a quick run every `share`-th one."""
    wanted = [(name, site, hit) for name, site, hits in found for hit in sorted({1, hits})]
    return wanted if scale == "full" else wanted[::share]


def run_all(found, scale, share, library, attempt):
    """`attempt(env, label)` says what is wrong, or None."""
    wrong = []
    wanted = plans(found, scale, share)
    for name, site, hit in wanted:
        label = f"{name} {site} hit {hit}"
        try:
            problem = attempt(environment(library, FAIL_SITE=site, FAIL_HIT=str(hit)), label.replace(" ", "-"))
        except subprocess.TimeoutExpired:
            problem = f"hangs: no end within {LIMIT_S} s"
        if problem:
            wrong.append(f"{label}: {problem}")
    assert not wrong, f"{len(wrong)} of {len(wanted)}:\n" + "\n".join(wrong)


@pytest.fixture(scope="module")
def result(shared_strata, target):
    command = [target, "--threads", "3", "--pairs", "2000", "--labels", "200", "--depth", "2", "--fork", "2"]
    return shared_strata.collect(*command).result


def defined(done, whole=None):
    """0 with everything, or 1 with one line; what is wrong, or None."""
    if done.status not in (0, 1):
        return f"status {done.status}: {done.err.strip()}"
    if done.status:
        return None if is_one_line(done) else f"not one line: {done.err!r}"
    return None if whole is None or done.stdout == whole else "another answer, and nobody says why"


READERS = {
    "report": (["report", "tasks", "-format", "json"], True),
    "timeline": (["report", "timeline", "-format", "csv"], False),
    "summary": (["report", "summary"], False),
    "info": (["report", "info", "-format", "json"], True),
    "query": (["query", SQL, "-format", "json"], True),
}


@pytest.mark.parametrize("name", READERS)
def test_readers(strata, result, fail_nth, scale, name):  # noqa: F811
    """A report or a query is whole, admits what is missing, or fails with one line and no output."""
    words, is_json = READERS[name]
    command = [*words, "-r", result]

    def run(env):
        (result / "index.strata").unlink(missing_ok=True)
        return strata(*command, env=env, timeout=LIMIT_S)

    def attempt(env, _):
        done = run(env)
        problem = defined(done, whole)
        if problem and done.status == 0 and is_json:
            return None if admits(strict_json(done.stdout)["quality"]) else problem
        if problem and done.status == 0 and b"note" in (done.stdout + done.stderr).lower():
            return None
        return problem or ("output and a failure" if is_json and done.status and done.stdout else None)

    whole = None if name in ("info", "summary") else run({}).stdout  # these tell sizes of files
    run_all(places(strata.folder, fail_nth, run), scale, 4, fail_nth, attempt)


@pytest.fixture(scope="module")
def eventful(shared_strata, programs):
    """A result with spans, counters, instants, relations and metadata."""
    return shared_strata.collect(programs / "export_things").result


QUESTIONS = {
    "frames": ["report", "frames", "-format", "json"],
    "counters": ["report", "counters", "-format", "json"],
    "markers": ["report", "markers", "-format", "json"],
    "metadata": ["report", "metadata", "-format", "json"],
    "sync": ["report", "sync", "-format", "json"],
    "events": ["query", "SELECT kind, count(*) AS n FROM events GROUP BY 1 ORDER BY 1", "-format", "json"],
    "spans": ["query", "SELECT kind, name, start_ns FROM spans ORDER BY 3, 1", "-format", "json"],
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_readers_of_events(strata, eventful, fail_nth, scale, name):  # noqa: F811
    """The same of what is no nested task."""

    def run(env):
        (eventful / "index.strata").unlink(missing_ok=True)
        return strata(*QUESTIONS[name], "-r", eventful, env=env, timeout=LIMIT_S)

    def attempt(env, _):
        done = run(env)
        problem = defined(done, whole.stdout)
        if problem and done.status == 0 and admits(strict_json(done.stdout)["quality"]):
            return None
        return problem or ("output and a failure" if done.status and done.stdout else None)

    whole = run({})
    assert whole.status == 0, whole.err
    run_all(places(strata.folder, fail_nth, run), scale, 6, fail_nth, attempt)


@pytest.mark.parametrize("form", ["chrome", "perfetto", "csv", "json"])
def test_export(strata, result, fail_nth, scale, form):  # noqa: F811
    """The file is whole, or not there."""
    file = strata.folder / "out.gz"

    def run(env):
        file.unlink(missing_ok=True)
        (result / "index.strata").unlink(missing_ok=True)
        return strata("export", form, "-r", result, "-o", file, env=env, timeout=LIMIT_S)

    def attempt(env, _):
        done = run(env)
        problem = defined(done)
        if problem:
            return problem
        left = [path.name for path in strata.folder.iterdir() if path.name.startswith("out")]
        if done.status:
            return f"left behind: {left}" if left and "unlink" not in env else None
        same = len(file.read_bytes()) >= size - 64
        return None if same or done.err.strip() else "another file, and nobody says why"

    assert run({}).status == 0
    size = file.stat().st_size
    run_all(places(strata.folder, fail_nth, run), scale, 4, fail_nth, attempt)


def test_doctor(strata, fail_nth, scale):  # noqa: F811
    """Whatever cannot be found out is said to be so; the answer is always whole JSON."""

    def run(env):
        return strata("doctor", "-format", "json", env=env, timeout=LIMIT_S)

    def attempt(env, _):
        done = run(env)
        if done.status not in (0, 1):
            return f"status {done.status}: {done.err.strip()}"
        if not done.stdout:
            return None if done.status and is_one_line(done) else f"nothing said: {done.err!r}"
        found = strict_json(done.stdout)
        return None if len(found["checks"]) == count else "checks are missing"

    count = len(strict_json(run({}).stdout)["checks"])
    run_all(places(strata.folder, fail_nth, run), scale, 8, fail_nth, attempt)


def test_collect(strata, target, fail_nth, scale):  # noqa: F811
    """The program's output and status are its own, or it was not started and strata says why."""
    script = '"$@" && /bin/true && echo the end; exit 3'
    program = ["bash", "-c", script, "bash", *emit_words(target, PAIRS)]

    def run(env, path):
        options = ["-app-working-dir", strata.folder]
        return strata.collect(*program, options=options, result=path, ok=False, env=env, timeout=LIMIT_S)

    def attempt(env, label):
        path = strata.folder / label
        done = run(env, path)
        if done.status == 2 and not done.stdout and is_one_line(done) and not path.exists():
            return None
        problem = wrong_run(strata, path, done)
        # The removal itself may be what failed.
        return None if problem == "a folder is left behind" and label.startswith(("unlink", "rmdir")) else problem

    found = places(strata.folder, fail_nth, lambda env: run(env, strata.folder / "whole"))
    run_all(found, scale, 4, fail_nth, attempt)


def test_ring_buffer(strata, programs, fail_nth, scale):  # noqa: F811
    """The places that only a ring buffer passes."""
    number = itertools.count()
    program = [programs / "paced", "5000", "0.8", str(1 << 40)]  # every label another

    def run(env, *options):
        path = strata.folder / f"ring{next(number)}"
        return strata.collect(
            *program, options=["-no-summary", *options], result=path, ok=False, env=env, timeout=LIMIT_S
        )

    def attempt(env, _):
        done = run(env, "-ring-buffer", "0.25")
        if (done.status, done.stdout) != (0, b'{"pairs": 4000}\n'):
            return f"status {done.status}, output {done.stdout!r}: {done.err.strip()}"
        steps = [name for name in strata.counts(done.result) if name.startswith("step number ")]
        numbers = sorted(int(name.split()[-1]) for name in steps)
        if numbers and numbers == list(range(numbers[0], 4000)):
            return None
        quality = strata.report(done.result, "tasks")["quality"]
        return None if done.err.strip() or quality["lost"] else "tasks are missing and nobody says so"

    plain = {(name, site) for name, site, _ in places(strata.folder, fail_nth, run)}
    ring = places(strata.folder, fail_nth, lambda env: run(env, "-ring-buffer", "0.25"))
    found = [one for one in ring if one[:2] not in plain]
    assert any(name == "unlinkat" for name, _, _ in found), found
    run_all(found, scale, 1, fail_nth, attempt)


class Commanded:
    """A collection that is paused, marked, resumed, asked and stopped while the program runs."""

    def __init__(self, strata, programs, env, result):
        self.strata = strata
        self.result = result
        command = [strata.binary, "collect", "tasks", "-no-summary", "-r", result, "--", programs / "obedient"]
        self.process = subprocess.Popen(
            command, env=clean_env(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.wrong = None

    def tell(self, *lines):
        for line in lines:
            try:
                self.process.stdin.write(line.encode() + b"\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                self.wrong = self.wrong or f"the program did not take '{line}'"
                return
            if self.process.stdout.readline() != b"ok\n":
                self.wrong = self.wrong or f"the program did not do '{line}'"

    def command(self, *words, env=None):
        done = self.strata("command", *words, "-r", self.result, env=env, timeout=LIMIT_S)
        self.wrong = self.wrong or defined(done)
        return done

    def end(self, status=7):
        try:
            _, err = self.process.communicate(timeout=LIMIT_S)
        finally:
            self.process.kill()
            self.process.wait()
        if self.process.returncode != status:
            self.wrong = self.wrong or f"status {self.process.returncode}: {err.decode()}"
        return self.wrong


def began(run):
    """True when the program runs; false when strata could not start it, which must have a message."""
    until(lambda: (run.result / "result.json").exists() or run.process.poll() is not None, what="the start")
    return run.process.poll() is None


def test_commanded_collection(strata, programs, fail_nth, scale):  # noqa: F811
    """The same of a collection that is commanded meanwhile: the side that listens."""
    number = itertools.count()

    def attempt(env, _):
        run = Commanded(strata, programs, env, strata.folder / f"r{next(number)}")
        if not began(run):
            run.end(run.process.returncode)
            return None if run.process.returncode in (125, 126) else f"status {run.process.returncode}"
        run.tell("record seen 10")
        for words in (["pause"], ["status"], ["mark", "a text"], ["resume"]):
            run.command(*words)
            run.tell("record seen 10", "fork seen 10")
        run.command("stop")
        run.tell("record seen 10")
        return run.end()

    found = places(strata.folder, fail_nth, lambda env: attempt(env, None))
    run_all(found, scale, 12, fail_nth, attempt)


def test_command(strata, programs, fail_nth, scale):  # noqa: F811
    """The side that asks."""
    run = Commanded(strata, programs, {}, strata.folder / "r")
    assert began(run)

    def attempt(env, _):
        run.wrong = None
        run.command("status", "-format=json", env=env)
        run.command("mark", "a", "text", env=env)
        return run.wrong

    found = places(strata.folder, fail_nth, lambda env: attempt(env, None))
    run_all(found, scale, 1, fail_nth, attempt)
    run.tell("record seen 10")
    assert run.end() is None
    assert strata.counts(run.result) == {"seen": 10}
