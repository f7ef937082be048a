# SPDX-License-Identifier: Apache-2.0
"""Runs strata as a user would, and reads its answers as strictly as a stranger's program would.

Nothing here knows the inside of strata: only its command line, its exit status, the report schema
and result.json.
"""

import contextlib
import csv
import ctypes
import io
import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGETS = Path(__file__).resolve().parent / "targets"
# Variables of ours and of pytest's caller that must not reach a program under test.
FOREIGN = (
    "LD_PRELOAD", "INTEL_LIBITTNOTIFY64", "INTEL_LIBITTNOTIFY32", "INTEL_JIT_PROFILER64", "CUDA_INJECTION64_PATH",
    "OPENCL_LAYERS", "ZE_ENABLE_TRACING_LAYER",
)  # fmt: skip

REPORTS = ("summary", "tasks", "top-down", "timeline", "info")
FORMATS = ("text", "csv", "json")


def clean_env(extra=None):
    """The environment of a user who has set nothing that concerns us."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("STRATA_") and k not in FOREIGN}
    for name in ("STRATA_COLLECTOR", "STRATA_LOG"):
        if name in os.environ:
            env[name] = os.environ[name]
    env["LC_ALL"] = "C.UTF-8"
    env.update(extra or {})
    return env


def mono_raw_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def refuse_constant(text):
    raise ValueError(f"{text} is not JSON")


def refuse_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"an object holds a key twice: {keys}")
    return dict(pairs)


def strict_json(data):
    """RFC 8259 and UTF-8, no more: no NaN, no duplicate keys, no stray bytes, no lone surrogates."""
    text = data.decode("utf-8", errors="strict") if isinstance(data, bytes) else data
    value = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_duplicates, strict=True)
    json.dumps(value, ensure_ascii=False).encode("utf-8", errors="strict")
    return value


def strict_csv(data):
    """Header and rows as dictionaries; every row has the header's number of fields."""
    text = data.decode("utf-8", errors="strict")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert rows, "CSV without a header"
    header = rows[0]
    assert len(set(header)) == len(header), f"a column occurs twice: {header}"
    for number, row in enumerate(rows[1:], 2):
        assert len(row) == len(header), f"CSV row {number} has {len(row)} fields, not {len(header)}"
    return [dict(zip(header, row, strict=True)) for row in rows[1:]]


def check_report(report, name):
    """The contract of strata.report/1, whatever the report."""
    assert report["schema"] == "strata.report/1"
    assert report["report"] == name
    for key in ("result", "source", "group_by", "columns", "rows", "totals", "quality"):
        assert key in report, f"report without {key}"
    keys = [column["key"] for column in report["columns"]]
    assert len(set(keys)) == len(keys), f"a column occurs twice: {keys}"
    for column in report["columns"]:
        assert column["title"], column
        if column.get("unit"):
            assert column["key"].endswith("_" + column["unit"]), column
    for row in walk(report["rows"]):
        unknown = set(row) - set(keys) - {"children"}
        assert not unknown, f"row with keys that no column names: {unknown}"


def above_commands(lines):
    """The lines of a summary that have a width: the commands at its end are to be copied, and never cut."""
    return lines[: next(number for number, line in enumerate(lines) if line.startswith("next "))]


def walk(rows):
    for row in rows:
        yield row
        yield from walk(row.get("children", ()))


@dataclass
class Done:
    """A process that ended: what it wrote and how it went."""

    args: list
    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    result: Path = None

    @property
    def err(self):
        return self.stderr.decode("utf-8", errors="backslashreplace")

    @property
    def out(self):
        return self.stdout.decode("utf-8", errors="backslashreplace")


@dataclass
class Slice:
    """One task instance as the report tells it."""

    name: str
    domain: str
    begin_ns: int
    total_ns: int
    self_ns: int
    process: str
    thread: str
    children: list = field(default_factory=list)
    parent: "Slice" = None
    row: dict = None

    @property
    def end_ns(self):
        return self.begin_ns + self.total_ns


class Strata:
    def __init__(self, binary, folder):
        self.binary = str(binary)
        self.folder = Path(folder)
        self.history = []
        self.started = []

    # Running -----------------------------------------------------------------------------------

    def run(self, args, *, timeout=120, cwd=None, env=None, stdin=subprocess.DEVNULL, data=None, **more):
        """Any command, to its end; a process that does not end is a failure with its output shown."""
        args = [os.fspath(arg) for arg in args]
        began = time.monotonic()
        if data is not None:
            more["input"] = data
        else:
            more["stdin"] = stdin
        try:
            done = subprocess.run(
                args,
                cwd=cwd or self.folder,
                env=clean_env(env),
                stdout=more.pop("stdout", subprocess.PIPE),
                stderr=more.pop("stderr", subprocess.PIPE),
                timeout=timeout,
                check=False,
                **more,
            )
        except subprocess.TimeoutExpired as late:
            self.history.append((args, "timeout", late.stdout or b"", late.stderr or b""))
            raise
        out, err = done.stdout or b"", done.stderr or b""
        self.history.append((args, done.returncode, out, err))
        return Done(args, done.returncode, out, err, time.monotonic() - began)

    def __call__(self, *args, **more):
        return self.run([self.binary, *args], **more)

    def popen(self, args, env=None, cwd=None, **more):
        """Starts a command; whatever of it still runs at the end of the test is ended by its pid."""
        process = subprocess.Popen([os.fspath(arg) for arg in args], cwd=cwd or self.folder, env=clean_env(env), **more)
        self.started.append(process)
        self.history.append((process.args, "started", b"", b""))
        return process

    def collect(self, *program, options=(), result=None, ok=True, **more):
        """`strata -collect tasks -r RESULT OPTIONS -- PROGRAM`; result is the folder."""
        if result is None:
            result = self.folder / f"result{len(self.history)}"
        command = ["-collect", "tasks", "-r", result, *options, "--", *program]
        done = self(*command, **more)
        done.result = Path(result)
        if ok:
            assert done.status == 0, f"status {done.status}\n{done.err}"
            assert (done.result / "result.json").is_file(), done.err
        return done

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    pipe.close()

    # Reading -----------------------------------------------------------------------------------

    def report(self, result, name, *args, status=0, **more):
        done = self("report", name, "-r", result, "-format", "json", *args, **more)
        assert done.status == status, f"status {done.status}: {done.err}"
        report = strict_json(done.stdout)
        check_report(report, name)
        return report

    def types(self, result, *args):
        """Task name → row of `report tasks`."""
        report = self.report(result, "tasks", "-group-by", "task-type", *args)
        rows = {row["task_type"]: row for row in report["rows"]}
        assert len(rows) == len(report["rows"]), "a task type has two rows"
        return rows

    def counts(self, result, *args):
        return {name: row["count"] for name, row in self.types(result, *args).items()}

    def total(self, result):
        return self.report(result, "tasks")["totals"].get("count", 0)

    def slices(self, result, *args):
        """Every task instance, with its parent, in order of begin."""
        report = self.report(result, "tasks", "-group-by", "task", *args)
        found = [
            Slice(
                name=row["task"],
                domain=row["task_domain"],
                begin_ns=row["start_ns"],
                total_ns=row["wall_total_ns"],
                self_ns=row["wall_self_ns"],
                process=row["process"],
                thread=row["thread"],
                row=row,
            )
            for row in report["rows"]
        ]
        by_row = {one.row["row"]: one for one in found}
        assert len(by_row) == len(found), "two instances have one row number"
        for one in found:
            if one.row.get("parent") is not None:
                one.parent = by_row[one.row["parent"]]
                one.parent.children.append(one)
        return found

    def chrome(self, result, path):
        """The events of the Chrome export, parsed strictly."""
        done = self("export", "chrome", "-r", result, "-o", path)
        assert done.status == 0, done.err
        return strict_json(Path(path).read_bytes())

    def result_json(self, result):
        return strict_json((Path(result) / "result.json").read_bytes())

    def opens(self, result):
        """Every report in every format can be had, and what claims to be JSON or CSV is."""
        for name in REPORTS:
            for form in FORMATS:
                done = self("report", name, "-r", result, "-format", form)
                assert done.status == 0, f"{name} {form}: status {done.status}: {done.err}"
                assert done.stdout, f"{name} {form}: nothing printed"
                if form == "json":
                    check_report(strict_json(done.stdout), name)
                if form == "csv":
                    strict_csv(done.stdout)


# The C target ------------------------------------------------------------------------------------


def preloadable(library, folder):
    """The library by a name that LD_PRELOAD can hold, wherever the build lies: without spaces."""
    link = folder / library.name
    if not link.is_symlink():
        link.symlink_to(library)
    return link


def emit_words(target, count, prefix="t"):
    """Command that records `count` tasks named prefix + "0" in its main thread and prints nothing."""
    words = ["--threads", "0", "--pairs", str(count), "--labels", "1", "--label-prefix", prefix, "--quiet"]
    return [os.fspath(target), *words]


def emit(target, count, prefix="t"):
    """The same as shell text."""
    return shlex.join(emit_words(target, count, prefix))


PROGRESS_STRIDE = 1 << 20


def progress_records(path, thread=0):
    """(pairs closed, CLOCK_MONOTONIC_RAW ns) of a thread, one per 10 ms; record 0, the latest, last."""
    try:
        with open(path, "rb") as file:
            file.seek(thread * PROGRESS_STRIDE)
            data = file.read(PROGRESS_STRIDE)
    except OSError:
        return []
    records = [pair for pair in struct.iter_unpack("<QQ", data[: len(data) // 16 * 16]) if pair[1]]
    return records[1:] + records[:1]


def pairs_done(path, thread=0):
    try:
        with open(path, "rb") as file:
            file.seek(thread * PROGRESS_STRIDE)
            data = file.read(16)
    except OSError:
        return 0
    return struct.unpack("<QQ", data)[0] if len(data) == 16 else 0


# The machine ---------------------------------------------------------------------------------------


def become_subreaper():
    """Orphans of a killed strata become our children, so that their status can be read."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(36, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def children_of(pid):
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found = []
    for tid in tasks:
        with contextlib.suppress(OSError):
            found += Path(f"/proc/{pid}/task/{tid}/children").read_text().split()
    return [int(child) for child in found]


def process_state(pid):
    """One letter as in ps, or None when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def is_pending(pid, number):
    """Whether a signal waits to be taken by a process: two of a kind that wait become one."""
    mask = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(("ShdPnd:", "SigPnd:")):
                mask |= int(line.split()[1], 16)
    return bool(mask >> (number - 1) & 1)


def until(condition, timeout=30, what="the condition"):
    """Polls a condition closely and gives its first true value; no other way to wait is used."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come within {timeout} s"
        time.sleep(0.0005)


def died_by(status):
    """Name of the signal of a negative subprocess status, else the number itself."""
    return signal.Signals(-status).name if status < 0 else status


def cost(strata, words, output):
    """CPU seconds and peak memory in bytes; asked by a small process, whose own size is what a child begins with."""
    code = (
        "import resource, subprocess, sys\n"
        "with open(sys.argv[1], 'wb') as file:\n"
        "    subprocess.run(sys.argv[2:], stdout=file, check=True)\n"
        "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, output, strata.binary, *words], capture_output=True, text=True, check=True
    )
    cpu, memory = done.stdout.split()
    return float(cpu), int(memory)
