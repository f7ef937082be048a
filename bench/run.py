#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Strata against its limits and its peers, in one run, and prints one table.

Every row is a ratio of two things measured here and now, several times, alternating where both sides
can alternate; the spread is the range of the rounds. The table goes to standard output and, with all
raw figures and the machine's description, to a JSON file (--json).

Peers that are not installed leave their row out and are named at the end. Intel's reference collector
is not packaged anywhere: build it yourself and name the library in ITT_REFERENCE_COLLECTOR.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from against import Against, write_section
from births import Births
from exports import Exports
from hotspots import Hotspots
from operators import Operators
from page_paint import PagePaint
from serve_load import Served
from tables import Tables
from waits import Waits

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


class Row:
    """One line of the table: ours beside a limit or a peer."""

    def __init__(self, what, unit, ours, other, other_name, limit=None, better="lower"):
        self.what = what
        self.unit = unit
        self.ours = ours  # one figure per round
        self.other = other  # one figure per round, or a single number
        self.other_name = other_name
        self.limit = limit  # the largest (or, better="higher", smallest) ratio or figure allowed
        self.better = better

    @property
    def ratios(self):
        others = self.other if isinstance(self.other, list) else [self.other] * len(self.ours)
        return [a / b for a, b in zip(self.ours, others) if b]

    @property
    def ratio(self):
        return statistics.median(self.ratios) if self.ratios else float("nan")

    @property
    def holds(self):
        if self.limit is None:
            return None
        return self.ratio <= self.limit if self.better == "lower" else self.ratio >= self.limit

    def as_json(self):
        return {
            "what": self.what,
            "unit": self.unit,
            "ours": self.ours,
            "other": self.other,
            "other_name": self.other_name,
            "ratio": self.ratio,
            "ratio_min": min(self.ratios, default=None),
            "ratio_max": max(self.ratios, default=None),
            "limit_ratio": self.limit,
            "better": self.better,
            "holds": self.holds,
        }


def number(value):
    if value == 0:
        return "0"
    if abs(value) >= 1e5:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


HEADER = ("what", "ours", "beside it", "ratio", "spread", "limit", "")


def table(rows):
    lines = [HEADER]
    for row in rows:
        ours = f"{number(statistics.median(row.ours))} {row.unit}".strip()
        other = row.other if isinstance(row.other, list) else [row.other]
        beside = f"{number(statistics.median(other))} {row.unit} ({row.other_name})"
        spread = f"{number(min(row.ratios))}..{number(max(row.ratios))}" if row.ratios else "-"
        sign = "<=" if row.better == "lower" else ">="
        limit = f"{sign} {number(row.limit)}" if row.limit is not None else ""
        verdict = {True: "holds", False: "MISSED", None: ""}[row.holds]
        lines.append((row.what, ours, beside, number(row.ratio), spread, limit, verdict))
    return lines


def show(rows, missing):
    lines = table(rows)
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    for index, line in enumerate(lines):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if index == 0:
            print("  ".join("-" * width for width in widths))
    for text in missing:
        print(f"left out: {text}")


MARKDOWN_HEAD = """# Measurements

What `make bench` printed last, written by it (`make bench BENCH_ARGS="--markdown docs/measurements.md"`). Each row is
ours beside a limit or a peer, both measured in the same run; *ratio* is the median of the rounds, *spread* the smallest
and largest of them. The machines this is run on are shared virtual machines: trust ratios, not absolute figures.

"""


def write_markdown(path, rows, missing, machine, date):
    text = MARKDOWN_HEAD
    text += f"{date}, {machine['cpu']}, {machine['cores']} cores, {machine['machine']}, Linux {machine['kernel']}\n\n"
    lines = table(rows)
    for index, line in enumerate(lines):
        text += "| " + " | ".join(line) + " |\n"
        if index == 0:
            text += "|" + "---|" * len(line) + "\n"
    for item in missing:
        text += f"\nLeft out: {item}.\n"
    path = pathlib.Path(path)
    # Sections of others stay: those of `make soak`, of a run with --against and of operators_in_situ.py.
    kept = path.read_text() if path.exists() else ""
    begin = kept.find("\n## ")
    path.write_text(text + (kept[begin:] if begin >= 0 else ""))


class Bench(Hotspots, Tables, Exports, Operators, Against, Births, Served, PagePaint, Waits):
    def __init__(self, build, python, rounds):
        self.build = pathlib.Path(build).resolve()
        self.strata = self.build / "bin/strata"
        self.programs = self.build / "tests/programs"
        self.python = python
        self.rounds = rounds
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="strata-bench-"))
        self.rows = []
        self.missing = []
        self.raw = {}
        self.best_probe_ns = 10**9  # of pace.py

    def run(self, command, **kwargs):
        kwargs.setdefault("check", True)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        kwargs.setdefault("timeout", 600)
        return subprocess.run([str(part) for part in command], **kwargs)

    def run_measured(self, command, **kwargs):
        """Wall seconds, CPU seconds and peak resident bytes of one command."""
        start = time.perf_counter()
        done = self.run(["/usr/bin/env", "python3", HERE / "peak.py", *command], **kwargs)
        wall = time.perf_counter() - start
        figures = json.loads(done.stderr.decode().strip().splitlines()[-1])
        return {"outer_wall_s": wall, **figures}

    def collect(self, name, *command, options=()):
        result = self.scratch / name
        self.run([self.strata, "-collect", "tasks", "-quiet", "-no-summary", "-r", result, *options, "--", *command])
        return result

    def add(self, *fields):
        self.rows.append(Row(*fields))

    def report(self, result, name, *args):
        done = self.run([self.strata, "report", name, "-r", result, "-format=json", *args])
        return json.loads(done.stdout)

    def micro(self, program, *args):
        done = self.run([self.build / "bench" / program, *args])
        return json.loads(done.stdout)

    # --- the rows -------------------------------------------------------------------------------

    def pair_cost(self):
        rounds = [self.micro("micro_pair") for _ in range(self.rounds)]
        self.raw["micro_pair"] = rounds
        one = [r["one_thread"]["pair_ns"] for r in rounds]
        dropped = sum(r["dropped"] for r in rounds)
        if dropped:
            self.missing.append(f"nothing, but micro_pair dropped {dropped} records: its figures flatter")
        self.rows.append(
            Row(
                "begin+end pair, recorded, 1 thread",
                "ns",
                one,
                [r["one_thread"]["two_reads_ns"] for r in rounds],
                "two clock reads",
                2.0,
            )
        )
        self.rows.append(
            Row(
                "the same, 2 threads, per thread",
                "ns",
                [r["two_threads"]["pair_ns"] for r in rounds],
                one,
                "1 thread",
                1.15,
            )
        )
        self.rows.append(
            Row(
                "the same, L2-cold",
                "ticks",
                [r["l2_cold"]["pair_ticks"] for r in rounds],
                [r["l2_cold"]["two_reads_ticks"] for r in rounds],
                "two clock reads, as cold",
            )
        )

    def lookup_cost(self):
        rounds = [self.micro("micro_lookup") for _ in range(self.rounds)]
        self.raw["micro_lookup"] = rounds
        one = [r["one_thread"]["ns"] for r in rounds]
        self.rows.append(Row("string handle look-up, 1,000 names", "ns", one, 15.0, "budget", 1.0))
        self.rows.append(
            Row(
                "the same, 2 threads, per thread", "ns", [r["two_threads"]["ns"] for r in rounds], one, "1 thread", 1.15
            )
        )

    def event_costs(self):
        rounds = [self.micro("micro_events") for _ in range(self.rounds)]
        self.raw["micro_events"] = rounds
        reads = [r["two_reads"]["ns"] for r in rounds]
        for what, key in (
            ("begin with an id and a parent, and its end", "pair_with_id"),
            ("overlapped task, begin and end", "overlapped_pair"),
            ("frame, begin and end", "frame"),
            ("counter set", "counter_set"),
            ("metadata, one u64", "metadata"),
            ("formatted metadata, a text and a number", "formatted"),
            ("marker", "marker"),
            ("lock: prepare, acquired, releasing", "sync_round"),
        ):
            self.rows.append(Row(what, "ns", [r[key]["ns"] for r in rounds], reads, "two clock reads"))
        self.rows.append(
            Row(
                "begin+end in a domain that is switched off",
                "ns",
                [r["off_pair"]["ns"] for r in rounds],
                [r["no_pair"]["ns"] for r in rounds],
                "no collector",
                1.5,
            )
        )

    def reference_collector(self):
        library = os.environ.get("ITT_REFERENCE_COLLECTOR")
        if not library:
            self.missing.append("Intel's reference collector (set ITT_REFERENCE_COLLECTOR to its library)")
            return
        environment = dict(os.environ, INTEL_LIBITTNOTIFY64=library, INTEL_LIBITTNOTIFY_LOG_DIR=str(self.scratch))
        theirs = []
        for _ in range(self.rounds):
            done = self.run([self.build / "bench/peer_pair", "200000"], env=environment)
            theirs.append(json.loads(done.stdout)["pair_ns"])
        ours = [r["one_thread"]["pair_ns"] for r in self.raw["micro_pair"]]
        self.rows.append(Row("begin+end pair, recorded", "ns", ours, theirs, "Intel's reference collector", 1.0))

    def torch_bytes(self):
        script = HERE / "torch_ops.py"
        ours, kineto, slowdown = [], [], []
        for index in range(self.rounds):
            trace = self.scratch / f"kineto{index}.json"
            profiled = json.loads(self.run([self.python, script, "--profiler", trace]).stdout.splitlines()[-1])
            kineto.append(trace.stat().st_size / profiled["events"])
            trace.unlink()
            plain = json.loads(self.run([self.python, script]).stdout.splitlines()[-1])
            silent = json.loads(self.run([self.python, script, "--itt"]).stdout.splitlines()[-1])
            result = self.scratch / f"torch{index}"
            done = self.run(
                [
                    self.strata,
                    "-collect",
                    "tasks",
                    "-quiet",
                    "-no-summary",
                    "-r",
                    result,
                    "--",
                    self.python,
                    script,
                    "--itt",
                ]
            )
            with_us = json.loads(done.stdout.splitlines()[-1])
            pairs = self.report(result, "tasks")["totals"]["count"]
            files = [f for f in result.iterdir() if f.name.endswith(".strata") and f.name != "index.strata"]
            ours.append(sum(f.stat().st_size for f in files) / pairs)
            slowdown.append([run["step_ms"] for run in (with_us, plain, profiled, silent)])
        self.raw["torch"] = {"bytes_per_pair": ours, "kineto_bytes_per_event": kineto, "step_ms": slowdown}
        self.rows.append(Row("bytes on disk per pair, PyTorch run", "B", ours, 8.0, "budget", 1.0))
        self.rows.append(Row("bytes per operator, PyTorch run", "B", ours, kineto, "torch.profiler's JSON", 1.0))
        self.rows.append(
            Row(
                "PyTorch step, recorded under emit_itt",
                "ms",
                [s[0] for s in slowdown],
                [s[3] for s in slowdown],
                "emit_itt, nobody recording",
            )
        )
        self.rows.append(
            Row(
                "PyTorch step, recorded under emit_itt",
                "ms",
                [s[0] for s in slowdown],
                [s[2] for s in slowdown],
                "torch.profiler recording",
            )
        )
        self.rows.append(
            Row(
                "PyTorch step, recorded under emit_itt",
                "ms",
                [s[0] for s in slowdown],
                [s[1] for s in slowdown],
                "plain",
            )
        )

    def flood(self):
        seconds = 10
        lost_one, lost_two, lost_crowd = [], [], []
        for index in range(min(self.rounds, 3)):
            one = self.collect(
                f"flood1_{index}",
                self.programs / "itt_target",
                "--threads",
                "1",
                "--rate",
                "1000000",
                "--seconds",
                seconds,
            )
            lost_one.append(self.loss(one))
            two = self.collect(
                f"flood2_{index}",
                self.programs / "itt_target",
                "--threads",
                "2",
                "--rate",
                "1000000",
                "--seconds",
                seconds,
                "--spin",
            )
            lost_two.append(self.loss(two))
            crowd = self.collect(
                f"flood3_{index}",
                self.programs / "itt_target",
                "--threads",
                "2",
                "--rate",
                "1000000",
                "--seconds",
                seconds,
                "--busy-threads",
                os.cpu_count(),
            )
            lost_crowd.append(self.loss(crowd))
        self.raw["flood"] = {"one": lost_one, "two": lost_two, "crowd": lost_crowd}
        self.rows.append(
            Row(f"dropped, 1 M pairs/s for {seconds} s", "of 1", [r for r, _, _ in lost_one], 1.0, "all of them", 0.0)
        )
        self.rows.append(
            Row(
                "dropped, 2 x 1 M pairs/s, spinning between",
                "of 1",
                [r for r, _, _ in lost_two],
                1.0,
                "all of them",
                0.001,
            )
        )
        self.rows.append(
            Row(
                "dropped, 2 x 1 M pairs/s beside 2 busy threads",
                "of 1",
                [r for r, _, _ in lost_crowd],
                1.0,
                "all of them",
                0.001,
            )
        )

    def loss(self, result):
        answer = self.report(result, "tasks")
        count = answer["totals"]["count"]
        dropped = answer["quality"]["slices_dropped"]
        shutil.rmtree(result)
        return dropped / max(1, dropped + count), dropped, count

    def indexing(self):
        pairs = 10_000_000
        result = self.scratch / "big"
        self.run([self.programs / "make_result", result, pairs, 4, 300])
        rates, seconds, memory = [], [], []
        for _ in range(min(self.rounds, 3)):
            (result / "index.strata").unlink(missing_ok=True)
            first = self.run_measured([self.strata, "report", "summary", "-r", result])
            again = self.run_measured([self.strata, "report", "summary", "-r", result])
            seconds.append(again["wall_s"])
            rates.append(pairs / max(1e-9, first["wall_s"] - again["wall_s"]))
            memory.append(again["rss_bytes"])
        self.raw["indexing"] = {"pairs": pairs, "pairs_per_s": rates, "summary_s": seconds, "rss_bytes": memory}
        self.rows.append(Row("indexing", "pairs/s", rates, 5e6, "budget", 1.0, better="higher"))
        self.rows.append(Row("summary of 10 M pairs, after indexing", "s", seconds, 2.0, "budget", 1.0))
        columns = pairs * 40
        self.rows.append(Row("its peak memory", "MB", [m / 1e6 for m in memory], columns / 1e6, "raw columns", 2.0))
        self.timeline(result)
        shutil.rmtree(result)

    def timeline(self, result):
        """CPU time of a timeline of 10 M slices: laid out once, then drawn as a whole and at other zooms."""
        runs = [self.micro("timeline_tiles", result) for _ in range(min(self.rounds, 3))]
        self.raw["timeline"] = runs
        build = [r["open_ms"] + r["build_ms"] for r in runs]
        self.rows.append(Row("timeline of 10 M slices: lay out", "ms CPU", build, 1000.0, "budget", 1.0))
        first = [r["first_view_ms"] for r in runs]
        self.rows.append(Row("first tiles of a view of all", "ms CPU", first, 200.0, "budget", 1.0))
        views = [r["view_p99_ms"] for r in runs]
        self.rows.append(Row("tiles of a view at any zoom, 99 of 100", "ms CPU", views, 200.0, "budget", 1.0))
        held = [r["memory_mb"] for r in runs]
        self.rows.append(Row("its memory beside the mapped columns", "MB", held, 256.0, "limit", 1.0))

    def launch_cost(self):
        with_us, without = [], []
        for index in range(20):
            start = time.perf_counter()
            self.run(["true"])
            without.append((time.perf_counter() - start) * 1e3)
            start = time.perf_counter()
            self.run(
                [
                    self.strata,
                    "-collect",
                    "tasks",
                    "-quiet",
                    "-no-summary",
                    "-r",
                    self.scratch / f"t{index}",
                    "--",
                    "true",
                ]
            )
            with_us.append((time.perf_counter() - start) * 1e3)
        added = [a - b for a, b in zip(with_us, without)]
        self.raw["launch_ms"] = {"with": with_us, "without": without}
        self.rows.append(Row("strata -collect tasks -- true adds", "ms", added, 50.0, "budget", 1.0))

    def machine(self):
        model = ""
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
        return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(), "machine": platform.machine()}


def commit_of(build):
    """The commit of the tree that a build folder is in."""
    command = ["git", "-C", build, "log", "-1", "--format=%h (%cs)"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "an earlier commit"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/dev", help="build folder")
    parser.add_argument("--python", default=ROOT / ".venv/bin/python", help="a Python that can import torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", default=ROOT / "build/bench.json", help="where the raw figures go")
    parser.add_argument("--markdown", help="write the table here too, as Markdown")
    parser.add_argument(
        "--quick", action="store_true", help="few pairs and short runs of the hotspots rows: to try them"
    )
    parser.add_argument("--against", type=pathlib.Path, help="only the rows beside this earlier build (a folder)")
    parser.add_argument("--only", action="append", help="run only these rows (names of the methods)")
    args = parser.parse_args()
    bench = Bench(args.build, args.python, args.rounds)
    bench.quick = args.quick
    bench.earlier = args.against and args.against.resolve()
    steps = [
        "pair_cost",
        "lookup_cost",
        "wait_costs",
        "wait_turns",
        "wait_flood",
        "wait_training",
        "wait_gil",
        "event_costs",
        "reference_collector",
        "torch_bytes",
        "torch_table",
        "flood",
        "indexing",
        "page_paint",
        "launch_cost",
        "births",
        "sampler_cost",
        "sampler_size",
        "unwind_tables",
        "million_samples",
        "peers_agree",
        "operator_cost",
        "stack_cost",
        "python_call_cost",
        "traced_call_cost",
        "module_cost",
        "printed_table",
        "operator_exports",
        "profile_cycle",
        "serve_load",
    ]
    if args.against:
        steps = ["against"]
    try:
        for step in steps:
            if args.only and step not in args.only:
                continue
            print(f"… {step}", file=sys.stderr)
            getattr(bench, step)()
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    show(bench.rows, bench.missing)
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    if args.markdown and args.against:
        commits = [commit_of(build) for build in (bench.build, bench.earlier)]
        write_section(args.markdown, table(bench.rows), bench.machine(), date[:10], *commits)
    elif args.markdown:
        write_markdown(args.markdown, bench.rows, bench.missing, bench.machine(), date[:10])
    document = {
        "schema": "strata.bench/1",
        "date": date,
        "machine": bench.machine(),
        "rows": [row.as_json() for row in bench.rows],
        "raw": bench.raw,
        "left_out": bench.missing,
    }
    pathlib.Path(args.json).write_text(json.dumps(document, indent=1) + "\n")
    print(f"\nraw figures: {args.json}")
    return 1 if any(row.holds is False for row in bench.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
