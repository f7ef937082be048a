# SPDX-License-Identifier: Apache-2.0
"""What recording waits costs and takes, beside tools that record them, too: the rows of the threading issue.

Two threads that take turns on one CPU are the worst case: they do nothing but wait. What a round costs is the program's
own CPU time, so that others who want the machine do not count. The ways to run it alternate.
"""

import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys

from hotspots import NO_TASKS, interval

HERE = pathlib.Path(__file__).resolve().parent
TURNS = 200_000
SLOW_TURNS = 10_000  # under perf trace, 20 times slower than anything else
ALONE = 2_000_000  # of each of two threads: as many writes and reads


class Paused:
    """A training job under -collect threading that does a piece for each line it gets, recorded or paused."""

    def __init__(self, bench, name):
        self.result = bench.scratch / name
        command = [
            bench.strata, "-collect", "threading", "-quiet", "-no-summary", *NO_TASKS, "-r", self.result, "--",
            bench.python, HERE / "toggled.py", "torch", "pause",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(bench.build / "python")},
        )  # fmt: skip
        self.process.stdout.readline()

    def added(self, on):
        """Per cent of CPU time that a piece takes more than one beside it that is paused."""
        times = {}
        for recorded in random.sample((False, True), 2):
            print("on" if recorded and on else "off", file=self.process.stdin, flush=True)
            times[recorded] = json.loads(self.process.stdout.readline())["ns"]
        return (times[True] / times[False] - 1) * 100

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.result, ignore_errors=True)


class Waits:
    """Methods of Bench; self.rows, self.raw, self.run and the rest are its own."""

    def wait_costs(self):
        rounds = [self.micro("micro_waits") for _ in range(self.rounds)]
        self.raw["micro_waits"] = rounds
        for what, key in (
            ("mutex without contention, lock and unlock: added by -collect threading", "pthread_mutex_lock"),
            ("reader/writer lock, the same", "pthread_rwlock_rdlock"),
            ("semaphore, the same", "sem_wait"),
        ):
            self.add(what, "ns", [r[key]["added"] for r in rounds], 3.0, "budget", 10.0 / 3.0)

    def _threading(self, name, *command):
        """What the program printed, and the result."""
        result = self.scratch / name
        done = self.run([self.strata, "-collect", "threading", "-quiet", "-no-summary", "-r", result, "--", *command])
        return json.loads(done.stdout.splitlines()[-1]), result

    def _peer(self, *command):
        """What the program printed under another tool; None where that is missing or not permitted."""
        done = self.run(command, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith(b"{")]
        return json.loads(lines[-1]) if lines and done.returncode == 0 else None

    def wait_turns(self):
        """A round of two threads that take turns: bare, with us, and with perf in the ways that it has."""
        data = self.scratch / "turns.data"
        switches = ["record", "-q", "-o", data, "--switch-events"]
        peers = {
            "perf record -e dummy:u --switch-events": ["perf", *switches, "-e", "dummy:u"],
            "the same and cpu-clock:u at 100 Hz": ["perf", *switches, "-F", "100", "-e", "dummy:u,cpu-clock:u"],
            "perf sched record": ["perf", "sched", "record", "-q", "-o", data],
            "perf trace -s": ["perf", "trace", "-s", "-o", self.scratch / "turns.trace"],
        }
        if not shutil.which("perf"):
            self.missing.append("perf beside waits (not installed)")
            peers = {}
        for how in ("condition", "pipe"):
            program = [self.programs / "wait_turns", how, TURNS]
            raw = {"bare": [], "ours": [], **{name: [] for name in peers}}
            sizes, perf_sizes = [], []
            for index in range(self.rounds):
                raw["bare"].append(json.loads(self.run(program).stdout)["cpu_us"])
                told, result = self._threading(f"turns_{how}{index}", *program)
                raw["ours"].append(told["cpu_us"])
                parts = {kind: 0 for kind in ("trace", "index", "all")}
                for path in result.iterdir():
                    parts["all"] += path.stat().st_size / told["waits"]
                    for kind in ("trace", "index"):
                        if path.name.startswith(kind):
                            parts[kind] += path.stat().st_size / told["waits"]
                sizes.append(parts)
                shutil.rmtree(result)
                for name, peer in list(peers.items()):
                    turns = SLOW_TURNS if name == "perf trace -s" else TURNS
                    told = self._peer(*peer, *program[:2], turns)
                    if told is None:
                        self.missing.append(f"{name} beside waits (not permitted here)")
                        del peers[name], raw[name]
                        continue
                    raw[name].append(told["cpu_us"])
                    if "dummy" in name:
                        perf_sizes.append(data.stat().st_size / told["waits"])
                    data.unlink(missing_ok=True)
            self.raw[f"wait_turns_{how}"] = {"cpu_us": raw, "bytes_per_wait": sizes, "perf_bytes": perf_sizes}
            self._turn_rows(how, raw, sizes, perf_sizes)

    def _turn_rows(self, how, raw, sizes, perf_sizes):
        words = {"condition": "a condition variable", "pipe": "pipes"}[how]
        self.add(f"two threads take turns on one CPU by {words}: CPU a round under -collect threading",
                 "us", raw["ours"], raw["bare"], "bare")  # fmt: skip
        for name, figures in raw.items():
            if name in ("bare", "ours") or not figures:
                continue
            limit = 1.1 if "cpu-clock" in name else None
            self.add(f"the same by {words}", "us", raw["ours"], figures, name, limit)
        self.add(f"bytes a wait on disk, trace and index, by {words}",
                 "bytes", [size["all"] for size in sizes], 24.0, "limit", 1.0)  # fmt: skip
        for part in ("trace", "index"):
            self.add(f"of it the {part}", "bytes", [size[part] for size in sizes], 24.0, "limit of the whole")
        if perf_sizes:
            self.add(f"bytes a wait, by {words}", "bytes",
                     [statistics.median(size["all"] for size in sizes)], [statistics.median(perf_sizes)],
                     "perf record --switch-events")  # fmt: skip

    def wait_flood(self):
        """More than a million waits a second: all of them counted, in memory that does not depend on their number."""
        raw = {"per_second": [], "counted_ratio": [], "lost": [], "peak_mb": [], "peak_mb_tenth": [], "bytes": []}
        for index in range(self.rounds):
            for count, peaks in ((ALONE // 10, "peak_mb_tenth"), (ALONE, "peak_mb")):
                result = self.scratch / f"flood{index}_{count}"
                program = [self.programs / "wait_turns", "alone", count]
                command = [self.strata, "-collect", "threading", "-quiet", "-no-summary", "-r", result, "--", *program]
                done = self.run(["/usr/bin/env", "python3", HERE / "peak.py", *command])
                raw[peaks].append(json.loads(done.stderr.decode().splitlines()[-1])["rss_bytes"] / 1e6)
                if count == ALONE:
                    told = json.loads(done.stdout)
                    report = self.report(result, "waits")
                    counted = sum(r["wait_count"] for r in report["rows"] if r["sync_type"] in ("Read", "Write"))
                    raw["per_second"].append(told["waits"] / (told["cpu_us"] * count / 1e6))
                    raw["counted_ratio"].append(counted / told["waits"])
                    raw["lost"].append(report["quality"]["events_dropped"])
                    raw["bytes"].append(sum(path.stat().st_size for path in result.iterdir()) / told["waits"])
                shutil.rmtree(result)
        self.raw["wait_flood"] = raw
        self.add(
            "waits a second of the program's CPU time, recorded", "1/s", raw["per_second"], 1e6, "target", 1.0, "higher"
        )
        self.add("of them in the result", "", raw["counted_ratio"], 1.0, "the program's own count", 1.0, "higher")
        self.add("records lost meanwhile, and counted", "", raw["lost"], 1.0, "one", None)
        self.add(
            "peak memory of strata meanwhile", "MB", raw["peak_mb"], raw["peak_mb_tenth"], "a tenth of the waits", 1.1
        )
        self.add("bytes a wait on disk", "bytes", raw["bytes"], 24.0, "limit", 1.0)

    def wait_training(self):
        """A training step, recorded and paused in turns within one process."""
        added, null = [], []
        job = Paused(self, "training")
        try:
            for _ in range(12 if self.quick else 300):
                added.append(job.added(True))
                null.append(job.added(False))
        finally:
            job.close()
        self.raw["wait_training"] = {"added_percent": added, "null_percent": null}
        found, nothing = interval(added), interval(null)
        self.add(
            f"torch training step under -collect threading, added CPU; [{found[1]:.2f}..{found[2]:.2f}] %, "
            f"null {nothing[0]:.2f} [{nothing[1]:.2f}..{nothing[2]:.2f}] %",
            "%", [found[0]], 1.0, "limit", 1.0,
        )  # fmt: skip

    def wait_gil(self):
        """Two threads that contend for the GIL: what we add, beside py-spy, which samples its holder from outside."""
        beside = pathlib.Path(sys.executable).parent / "py-spy"
        spy = str(beside) if beside.is_file() else shutil.which("py-spy")
        if not spy:
            self.missing.append("py-spy record --gil (not installed: pip install py-spy)")
            return
        script = HERE / "gil_turns.py"
        raw = {"bare": [], "ours": [], "py-spy": []}
        for index in range(self.rounds):
            raw["bare"].append(json.loads(self.run([sys.executable, script]).stdout)["cpu_s"])
            told, result = self._threading(f"gil{index}", sys.executable, script)
            raw["ours"].append(told["cpu_s"])
            shutil.rmtree(result)
            told = self._peer(spy, "record", "--gil", "-r", "100", "-o", self.scratch / "gil.svg", "--",
                              sys.executable, script)  # fmt: skip
            if told is None:
                self.missing.append("py-spy record --gil (not permitted here)")
                break
            raw["py-spy"].append(told["cpu_s"])
        self.raw["wait_gil"] = raw
        self.add("two Python threads and the GIL: CPU under -collect threading", "s", raw["ours"], raw["bare"], "bare")
        if len(raw["py-spy"]) == len(raw["ours"]):
            self.add("the same", "s", raw["ours"], raw["py-spy"], "py-spy record --gil")
