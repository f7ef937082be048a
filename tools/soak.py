#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs steady programs under -ring-buffer for a long time and shows that nothing grows.

Three runs side by side: one with a single label at 100,000 pairs a second, one whose labels are all different, so
that names must go as well as records, and a Python program that creates threads and churns frames, sampled at
4 kHz of CPU time, all of them at a steady pace. The resident memory of the program and of strata and the size of the
result are sampled; the medians of an early and a late part of the run are compared. Standard library only.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EARLY = (0.25, 0.50)  # parts of the run; before the first the window is not yet full
LATE = (0.75, 1.00)
# Flat: the late median is above the early one by no more than this.
MEMORY_SHARE, MEMORY_BYTES = 0.02, 256 << 10
FOLDER_SHARE, FOLDER_BYTES = 0.10, 64 << 10
PROGRAM_SLACK = 1 << 20  # of a program whose threads race
ROUNDS = 30  # of the sampled program a second, with four threads each
# A table by thread number is full when the numbers come again, after some minutes of new threads, and buffers are as
# large as the longest backlog so far, which a busy machine brings sooner or later. A shorter run finds what is kept
# for ever (the window turns twenty times in two minutes), not a few hundred KiB.
SETTLED_SECONDS = 600
EARLY_SLACK = 1 << 20
EARLY_SAMPLE_SHARE = 0.5  # the window of a short run holds few samples where neighbours take the CPUs
ALL_DIFFERENT = 1 << 40
HEADING = "## Soak"
HEAD = f"""{HEADING}

Written by `make soak`: programs that record tasks at a steady rate, and one that creates {4 * ROUNDS} threads a second
and churns Python frames, at 4,000 samples a second of CPU time, under `-ring-buffer 10`. Median (smallest …
largest) of the second and of the last quarter of the run. Flat: the median of memory grows by at most
{MEMORY_SHARE:.0%} or {MEMORY_BYTES >> 10} KiB, that of the result folder by at most {FOLDER_SHARE:.0%}. The size of
the result moves by one file as the window goes on. The heap of the sampled program moves with the races of its
threads: it may grow by {PROGRAM_SLACK >> 20} MiB, and of its folder the bytes for a sample of the window
are compared.

| date, machine | run | memory of the program | of strata | result folder | recorded | lost |
|---|---|---|---|---|---|---|
"""


def rss_bytes(pid):
    """Resident memory, or None when the process is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return None


def child_of(pid):
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def folder_bytes(folder):
    total = 0
    for entry in os.scandir(folder):
        try:
            total += entry.stat().st_size
        except FileNotFoundError:  # deleted meanwhile, as it should be
            pass
    return total


class Run:
    """One program under strata, sampled."""

    collect = ["tasks"]

    def __init__(self, name, args, folder, rate, program):
        self.name = name
        self.result = folder / name
        self.rate = rate
        self.window = args.window
        self.output = folder / f"{name}.out"
        self.samples = []
        command = [args.strata, "-collect", *self.collect, "-quiet", "-ring-buffer", f"{args.window:g}"]
        command += ["-r", self.result, "--", *program]
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        self.began = time.monotonic()
        self.program = None

    def sample(self):
        """One row of figures; False when the run is over."""
        if self.process.poll() is not None:
            return False
        self.program = self.program or child_of(self.process.pid)
        row = {
            "at": time.monotonic() - self.began,
            "program": rss_bytes(self.program) if self.program else None,
            "strata": rss_bytes(self.process.pid),
            "folder": folder_bytes(self.result) if self.result.is_dir() else None,
        }
        row |= self.more_of(row)
        if None not in row.values():
            self.samples.append(row)
        return True

    def more_of(self, row):
        """Figures of its own kind."""
        return {}

    def part(self, key, seconds, bounds):
        return [row[key] for row in self.samples if bounds[0] * seconds <= row["at"] < bounds[1] * seconds]

    what = "pairs/s"
    keys = ("program", "strata", "folder")
    flat = ("program", "strata", "folder")
    slack = 0  # bytes of the program

    def counts(self, said, about):
        """What was done and what was recorded of it; one more, the task round all of them."""
        return said["pairs"] + 1, about["events"]

    def figures(self, seconds):
        text = self.output.read_text(errors="replace")
        if self.process.returncode:
            raise SystemExit(f"soak: {self.name} ended with {self.process.returncode}: {text[-2000:]}")
        about = json.loads((self.result / "result.json").read_text())
        said = next(json.loads(line) for line in text.splitlines() if line.startswith('{"'))
        done, recorded = self.counts(said, about)
        out = {"name": self.name, "rate": self.rate, "what": self.what, "flat": self.flat, "slack": self.slack}
        out["settled"] = seconds >= SETTLED_SECONDS
        out |= {"done": done, "recorded": recorded}
        out["loss"] = {key: value for key, value in about["loss"].items() if value}
        out["loss"] |= {"refused_first": about["refused_first"]} if "refused_first" in about else {}
        out["loss"] |= {"chunks_not_written": about["chunks_not_written"]} if about["chunks_not_written"] else {}
        out["ring_buffer"] = about["ring_buffer"]
        out["definitions_bytes"] = (self.result / "definitions.strata").stat().st_size
        for key in self.keys:
            parts = [self.part(key, seconds, bounds) for bounds in (EARLY, LATE)]
            if not all(len(part) >= 5 for part in parts):
                raise SystemExit(f"soak: {self.name}: too few samples ({[len(part) for part in parts]})")
            for when, part in zip(("early", "late"), parts):
                out[f"{key}_{when}"] = {"median": statistics.median(part), "min": min(part), "max": max(part)}
        return out


class SampledRun(Run):
    """Samples instead of tasks: as many as the CPU time asks for, and a program that computes what it should."""

    collect = ["hotspots", "-knob", "sampling-interval=0.25"]
    what = "samples/s"
    keys = ("program", "strata", "folder", "per_sample")
    flat = ("program", "strata", "per_sample")  # the same work is more or less CPU time: so many samples has the window
    slack = PROGRAM_SLACK

    def more_of(self, row):
        """What a sample of the window takes in the folder, in thousandths of a byte."""
        try:
            taken = json.loads((self.result / "result.json").read_text())["sampling"]["samples"]
        except (OSError, KeyError):
            return {"samples": None, "per_sample": None}
        before = [old["samples"] for old in self.samples if old["at"] < row["at"] - self.window]
        kept = taken - (before[-1] if before else 0)
        return {"samples": taken, "per_sample": row["folder"] * 1000 // kept if kept else None}

    def counts(self, said, about):
        if said["good"] != said["rounds"]:
            raise SystemExit(f"soak: {self.name}: {said['rounds'] - said['good']} rounds went wrong")
        return about["sampling"]["samples"], about["sampling"]["samples"]


def slack_of(run, key):
    if key == "program":
        return run["slack"]
    return EARLY_SLACK if key == "strata" and not run["settled"] else 0


def complaints(run):
    """What is not as promised, a sentence each."""
    found = []
    for key, share, extra in (
        ("program", MEMORY_SHARE, MEMORY_BYTES),
        ("strata", MEMORY_SHARE, MEMORY_BYTES),
        ("folder", FOLDER_SHARE, FOLDER_BYTES),
        ("per_sample", FOLDER_SHARE if run["settled"] else EARLY_SAMPLE_SHARE, 0),
    ):
        if key not in run["flat"]:
            continue
        early, late = run[f"{key}_early"]["median"], run[f"{key}_late"]["median"]
        if late > early + max(early * share, extra, slack_of(run, key)):
            unit = "thousandths of a byte" if key == "per_sample" else "bytes"
            found.append(f"{run['name']}: {key} grew from {early:,.0f} to {late:,.0f} {unit}")
    if run["loss"]:
        found.append(f"{run['name']}: lost {run['loss']}")
    if run["recorded"] != run["done"]:
        found.append(f"{run['name']}: {run['done']} done, {run['recorded']} recorded")
    if not run["ring_buffer"]["files_dropped"]:
        found.append(f"{run['name']}: nothing was dropped: the ring buffer did not turn")
    return found


def mib(part):
    return f"{part['median'] / 2**20:.2f} ({part['min'] / 2**20:.2f} … {part['max'] / 2**20:.2f})"


def machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"


def append(path, runs, seconds):
    """A row a run, below the heading, which is made when it is missing."""
    text = path.read_text() if path.exists() else ""
    if HEADING not in text:
        text = text.rstrip("\n") + "\n\n" + HEAD
    date = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"
    for run in runs:
        cells = [f"{date}, {machine()}", f"{run['name']}, {run['rate']:,} {run['what']}, {seconds / 60:g} min"]
        for key in ("program", "strata", "folder"):
            cells.append(f"{mib(run[key + '_early'])} → {mib(run[key + '_late'])} MiB")
        cells += [f"{run['recorded']:,}", json.dumps(run["loss"]) if run["loss"] else "0"]
        text += "| " + " | ".join(cells) + " |\n"
    path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strata", default=ROOT / "build/dev/bin/strata")
    parser.add_argument("--programs", default=ROOT / "build/dev/tests/programs")
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--rate", type=int, default=100000)
    parser.add_argument("--window", type=float, default=10)
    parser.add_argument("--python", default=sys.executable, help="for the sampled run")
    parser.add_argument("--only", choices=("tasks", "sampler"))
    parser.add_argument("--append", type=Path, help="add the figures to this Markdown file")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    folder = Path(tempfile.mkdtemp(prefix="strata-soak-"))
    interval = min(max(args.seconds / 400, 0.2), 5)
    runs = []
    try:
        paced = [Path(args.programs) / "paced"]
        time_text = f"{args.seconds:g}"
        if args.only != "sampler":
            steady = [*paced, str(args.rate), time_text, "0"]
            other = [*paced, str(args.rate // 10), time_text, str(ALL_DIFFERENT)]
            runs.append(Run("one label", args, folder, args.rate, steady))
            runs.append(Run("labels all different", args, folder, args.rate // 10, other))
        if args.only != "tasks":
            churn = [args.python, ROOT / "tests/e2e/targets/churn.py", time_text, str(ROUNDS)]
            runs.append(SampledRun("threads and frames", args, folder, 4000, churn))
        active = list(runs)
        while active:
            time.sleep(interval)  # between samples: nothing waits for it
            active = [run for run in active if run.sample()]
        figures = [run.figures(args.seconds) for run in runs]
    finally:
        for run in runs:
            if run.process.poll() is None:
                run.process.terminate()
                run.process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    problems = [text for run in figures for text in complaints(run)]
    for run in figures:
        print(f"{run['name']}: {run['recorded']:,} recorded, lost {run['loss'] or 0}, {run['ring_buffer']}")
        for key in ("program", "strata", "folder"):
            print(f"  {key:<8} {mib(run[key + '_early'])} -> {mib(run[key + '_late'])} MiB")
        if "per_sample_early" in run:
            early, late = (run[f"per_sample_{when}"]["median"] / 1000 for when in ("early", "late"))
            print(f"  a sample of the window takes {early:.0f} -> {late:.0f} bytes")
    if args.json:
        args.json.write_text(json.dumps({"seconds": args.seconds, "runs": figures, "problems": problems}, indent=1))
    if args.append:
        append(args.append, figures, args.seconds)
    for text in problems:
        print(f"soak: {text}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
