# SPDX-License-Identifier: Apache-2.0
"""What sampling costs, takes and gets right: the rows of the hotspots issue.

Costs come from paired toggling: pieces of identical work inside one process, which switches the sampler on for one of
each pair in random order, and the median of the ratios with a bootstrap interval. The null experiment, the same with
the sampler off for both, is printed beside it: what is smaller than its interval was not seen. Whole runs are not
compared, except with peers that can be measured no other way; those run alternately.
"""

import collections
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# Only samples and the names of run-time code: what recording oneDNN's tasks and operators costs and takes has rows of
# its own.
NO_TASKS = ("-knob", "itt-groups=jit", "-knob", "collect-operators=false")
BOOTSTRAPS = 1000
TURN = 10  # pairs of one process before the next one's


def interval(values):
    """Median and its 95 % bootstrap interval."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(BOOTSTRAPS))
    return statistics.median(values), medians[int(0.025 * BOOTSTRAPS)], medians[int(0.975 * BOOTSTRAPS) - 1]


class Toggled:
    """A process that does one piece of work per request, under strata or beside an empty handler."""

    def __init__(self, bench, kind, period_ns, how):
        self.period_ns = period_ns
        self.result = None
        command = [bench.python, HERE / "toggled.py", kind]
        if how == "empty":
            command += [bench.build / "bench" / "libempty_handler.so", period_ns]
        elif how == "strata":
            self.result = bench.scratch / f"toggle_{kind}_{period_ns}_{random.random()}"
            command = [
                bench.strata, "-collect", "hotspots", "-quiet", "-no-summary",
                "-knob", f"sampling-interval={period_ns / 1e6}", *NO_TASKS, "-r", self.result, "--", *command, "events",
            ]  # fmt: skip
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=bench.environment,
        )  # fmt: skip
        first = self.process.stdout.readline()
        if not first:
            raise RuntimeError(self.process.stderr.read())
        self.ratios, self.null = [], []

    def piece(self, on):
        print("on" if on else "off", file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())["ns"]

    def pairs(self, count, null=False):
        """Adds ratios on/off; of the null experiment off/off."""
        for _ in range(count):
            first_is_on = random.random() < 0.5
            times = {}
            for on in (first_is_on, not first_is_on):
                times[on] = self.piece(on and not null)
            (self.null if null else self.ratios).append(times[True] / times[False])

    def per_sample(self, ratios):
        """Seconds: (median, low, high)."""
        return tuple((value - 1) * self.period_ns / 1e9 for value in interval(ratios))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()
        if self.result:
            shutil.rmtree(self.result, ignore_errors=True)


def costs(bench, kind, period_ns, hows, pairs):
    """Seconds per sample of each way: {how: (median, low, high)}, and of the null experiment, as if it had taken
    samples. The processes live side by side and take turns: the machine is the same for all."""
    all_of = {how: Toggled(bench, kind, period_ns, how) for how in hows}
    try:
        for _ in range(max(1, pairs // TURN)):
            for toggled in all_of.values():
                toggled.pairs(min(pairs, TURN))
            all_of[hows[0]].pairs(min(pairs, TURN), null=True)
    finally:
        for toggled in all_of.values():
            toggled.close()
    raw = {how: toggled.ratios for how, toggled in all_of.items()}
    raw["null"] = all_of[hows[0]].null
    found = {how: all_of[how].per_sample(all_of[how].ratios) for how in hows}
    found["null"] = all_of[hows[0]].per_sample(raw["null"])
    return found, {"period_ns": period_ns, **raw}


def spans(full, empty, null, scale):
    """95 % intervals, in words short enough for a table."""
    parts = [("", full), ("empty ", empty), ("null ", null)]
    return ", ".join(f"{name}[{one[1] * scale:.3g}..{one[2] * scale:.3g}]" for name, one in parts if one)


class Hotspots:
    """Methods of Bench; self.rows, self.raw, self.run and the rest are its own."""

    quick = False
    environment = None

    def pairs_wanted(self):
        return 12 if self.quick else 300

    def sampler_cost(self):
        """Cost per sample at 1 kHz, full and empty handler, on pure Python and on torch; × 100 Hz."""
        raw = self.raw["sampler_cost"] = {}
        # A torch step varies by a tenth from one to the next: more of them for the same certainty.
        for kind, name, limit, more in (("py", "pure Python", 1.35, 1), ("torch", "torch, 1 thread", 1.5, 2)):
            found, raw[kind] = costs(self, kind, 1_000_000, ("strata", "empty"), self.pairs_wanted() * more)
            full, empty, null = found["strata"], found["empty"], found["null"]
            self.add(
                f"cost per sample at 1 kHz, {name}; {spans(full, empty, null, 1e6)} us",
                "us", [full[0] * 1e6], [empty[0] * 1e6], "empty handler", limit,
            )  # fmt: skip
            self.add(f"the same x 100 Hz, {name}", "%", [full[0] * 100 * 100], 1.0, "limit", 1.0)
        found, raw["torch 4 kHz"] = costs(self, "torch", 250_000, ("strata",), self.pairs_wanted())
        fast, null = found["strata"], found["null"]
        self.add(
            f"cost per sample at 4 kHz, torch x 100 Hz; {spans(fast, None, null, 1e4)} %",
            "%", [fast[0] * 100 * 100], 1.0, "limit", 1.0,
        )  # fmt: skip

    def sample(self, name, *command, interval_ms=1, options=(), ok=True, **more):
        result = self.scratch / name
        self.run(
            [self.strata, "-collect", "hotspots", "-quiet", "-no-summary", "-knob", f"sampling-interval={interval_ms}",
             *NO_TASKS, "-r", result, *options, "--", *command], check=ok, env=self.environment, **more)  # fmt: skip
        return result

    def loop(self, kind, pieces):
        return {"input": b"off\n" * pieces}, [self.python, HERE / "toggled.py", kind]

    def sampling_of(self, result):
        return json.loads((result / "result.json").read_text())["sampling"]

    def sampler_size(self):
        """Bytes per sample beside perf's stack dumps, and the handler's own time on torch stacks."""
        ours, handler, peer = [], [], []
        pieces = 30 if self.quick else 200
        for index in range(1 if self.quick else min(self.rounds, 3)):
            more, command = self.loop("torch", pieces)
            result = self.sample(f"size{index}", *command, **more)
            told = self.sampling_of(result)
            files = [f for f in result.iterdir() if re.fullmatch(r"(trace\.\d+|definitions)\.strata", f.name)]
            ours.append(sum(f.stat().st_size for f in files) / told["samples"])
            handler.append(told["handler_usual_ns"] / 1e3)
            shutil.rmtree(result)
            data = self.scratch / "perf.data"
            done = self.run(["perf", "record", "-q", "-F", "999", "--call-graph", "dwarf", "-o", data, *command],
                            check=False, **more) if shutil.which("perf") else None  # fmt: skip
            if done and not done.returncode:
                peer.append(data.stat().st_size / max(1, self.perf_samples(data)))
                data.unlink()
        self.raw["sampler_size"] = {"ours": ours, "perf": peer, "handler_us": handler}
        self.add("bytes on disk per sample, torch", "B", ours, 120.0, "budget", 1.0)
        if peer:
            self.add("bytes on disk per sample, torch", "B", ours, peer, "perf record --call-graph dwarf", 1 / 50)
        else:
            self.missing.append("perf record")
        self.add("handler, usual time on a torch stack", "us", handler, 13.0, "budget", 1.0)

    def perf_samples(self, data):
        done = self.run(["perf", "report", "--stats", "-i", data], check=False)
        found = re.search(rb"SAMPLE events:\s+(\d+)", done.stdout)
        return int(found.group(1)) if found else 0

    def unwind_tables(self):
        """Tables of a torch process: built into an empty cache, then loaded from it."""
        built, cached = [], []
        for index in range(1 if self.quick else min(self.rounds, 3)):
            cache = self.scratch / f"cache{index}"
            for times in (built, cached):
                self.environment = {**os.environ, "STRATA_CACHE_DIR": str(cache)}
                more, command = self.loop("torch", 20)
                result = self.sample(f"tables{index}{len(cached)}", *command, **more)
                times.append(self.sampling_of(result)["tables_build_ns"] / 1e9)
                shutil.rmtree(result)
            shutil.rmtree(cache, ignore_errors=True)
        self.environment = None
        self.raw["unwind_tables"] = {"built_s": built, "cached_s": cached}
        self.add("unwind tables of a torch process, built", "s", built, 0.5, "budget", 1.0)
        self.add("the same, from the cache", "s", cached, 0.05, "budget", 1.0)

    def million_samples(self):
        """A torch result repeated until it has a million samples: names looked up, index built, summary made."""
        more, command = self.loop("torch", 30 if self.quick else 150)
        result = self.sample("million", *command, **more)
        have = self.sampling_of(result)["samples"]
        total = repeat_samples(result, 50_000 if self.quick else 1_000_000)
        seconds = []
        for _ in range(1 if self.quick else min(self.rounds, 3)):
            for name in ("index.strata", "names.strata"):
                (result / name).unlink(missing_ok=True)
            began = time.perf_counter()
            self.run([self.strata, "finalize", "-r", result, "-quiet"])
            self.run([self.strata, "report", "summary", "-r", result])
            seconds.append(time.perf_counter() - began)
        self.raw["million_samples"] = {"recorded": have, "samples": total, "seconds": seconds}
        self.add(f"finalize and summary of {total:,} samples", "s", seconds, 5.0, "budget", 1.0)
        shutil.rmtree(result)

    def peers_agree(self):
        """Self times beside perf in the same run, and Python lines beside py-spy in runs that alternate."""
        if shutil.which("perf"):
            self.agree_with_perf()
        else:
            self.missing.append("perf record")
        spy = self.find_py_spy()
        if spy:
            self.agree_with_py_spy(spy)
            self.slower_than_py_spy(spy)
        else:
            self.missing.append("py-spy (pip install py-spy)")

    def find_py_spy(self):
        beside = pathlib.Path(self.python).parent / "py-spy"
        return str(beside) if beside.is_file() else shutil.which("py-spy")

    def agree_with_perf(self):
        """Both begin when the loop does: perf by its control file, strata by its command. perf walks the kernel's stack
        and one frame more: the place in the program."""
        data, control, result = (self.scratch / name for name in ("agree.data", "agree.ctl", "agree"))
        os.mkfifo(control)
        words = [
            "perf", "record", "-q", "-D", "-1", f"--control=fifo:{control}", "-e", "task-clock", "-F", "999", "-g",
            "-o", data, "--", self.strata, "-collect", "hotspots", "-quiet", "-no-summary", "-start-paused",
            "-knob", "sampling-interval=1", "-r", result, "--", self.python, HERE / "toggled.py", "torch",
        ]  # fmt: skip
        process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment
        )
        process.stdout.readline()
        with control.open("w") as file:
            file.write("enable\n")
        self.run([self.strata, "-command", "resume", "-r", result, "-quiet"])
        process.communicate(b"off\n" * (60 if self.quick else 600))
        shown = ["perf", "script", "--no-inline", "-F", "comm,ip,sym,dso", "-i", data]
        texts = [self.run(words).stdout.decode(errors="replace") for words in (shown, [*shown, "-G"])]
        theirs, unknown = user_leaves(*texts)
        if unknown:
            print(f"  perf does not tell where the program entered the kernel: {unknown} samples", file=sys.stderr)
        ours = collections.Counter()
        view = ("-call-stack-mode", "all", "--python-frames=none")
        for row in self.report(result, "hotspots", "-group-by", "module", "-show-as", "samples", *view)["rows"]:
            ours[module_of(row["module"])] += row["cpu_self_samples"]
        # Ours does not sample itself.
        del theirs["libstrata_collector.so"], ours["libstrata_collector.so"]
        self.compare("module, beside perf (task-clock) in the same run", ours, theirs)
        shutil.rmtree(result)
        data.unlink()

    def agree_with_py_spy(self, spy):
        ours, theirs = collections.Counter(), collections.Counter()
        for index in range(2 if self.quick else 6):
            more, command = self.loop("py", 40 if self.quick else 150)
            result = self.sample(f"lines{index}", *command, interval_ms=5, **more)
            report = self.report(result, "hotspots", "-group-by", "python-line", "-show-as", "samples")
            for row in report["rows"]:
                ours[pathlib.PurePath(row["python_line"]).name] += row["cpu_self_samples"]
            shutil.rmtree(result)
            raw = self.scratch / "spy.txt"
            self.run([spy, "record", "-r", "200", "-f", "raw", "-o", raw, "--", *command], **more)
            for line in raw.read_text().splitlines():
                stack, _, count = line.rpartition(" ")
                found = re.search(r"\(([^()]*:\d+)\)$", stack.split(";")[-1])
                if found:
                    theirs[pathlib.PurePath(found.group(1)).name] += int(count)
        # A call whose first instruction is still to come: py-spy shows it at its def, CPython itself not at all, and
        # we do as CPython does. The caller has it then. And of the work only: main() asks for its CPU time and waits
        # for its input and output. There py-spy has samples at another line than we have; why is not known.
        text = (HERE / "toggled.py").read_text().splitlines()
        work = text[: text.index("def main():")]
        bodies = {f"toggled.py:{at}" for at, line in enumerate(work, 1) if not line.lstrip().startswith("def ")}
        keep = bodies & set(ours | theirs)
        self.compare("Python line, beside py-spy in alternating runs", keep_only(ours, keep), keep_only(theirs, keep))

    def slower_than_py_spy(self, spy):
        """Wall time of the same work, runs that alternate: ours at 100 Hz, py-spy --native at 100 Hz."""
        ours, theirs = [], []
        for index in range(1 if self.quick else 3):
            more, command = self.loop("torch", 40 if self.quick else 200)
            began = time.perf_counter()
            shutil.rmtree(self.sample(f"wall{index}", *command, interval_ms=10, **more))
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            words = ["record", "--native", "-r", "100", "-f", "raw", "-o", self.scratch / "spy.txt", "--"]
            self.run([spy, *words, *command], check=False, **more)
            theirs.append(time.perf_counter() - began)
        self.raw["py_spy_wall_s"] = {"ours": ours, "py_spy": theirs}
        self.add("torch loop from start to result, 100 Hz", "s", ours, theirs, "py-spy --native", 1.0)

    def compare(self, what, ours, theirs):
        """The largest difference of shares among the ten largest, in standard errors of both samples."""
        n, m = sum(ours.values()), sum(theirs.values())
        names = {name for counter in (ours, theirs) for name, _ in counter.most_common(10)}
        table, worst = [], 0.0
        for name in sorted(names, key=lambda one: -(ours[one] + theirs[one]))[:10]:
            p, q = ours[name] / max(1, n), theirs[name] / max(1, m)
            both = (ours[name] + theirs[name]) / max(1, n + m)
            error = math.sqrt(both * (1 - both) * (1 / max(1, n) + 1 / max(1, m))) or 1e-9
            worst = max(worst, abs(p - q) / error)
            table.append({"name": name, "ours": p, "theirs": q, "errors": abs(p - q) / error})
        self.raw[f"agreement: {what}"] = {"samples": [n, m], "rows": table}
        print(f"  {what}: {n:.0f} and {m:.0f} samples", file=sys.stderr)
        for row in table:
            print(
                f"    {row['ours']:7.2%} {row['theirs']:7.2%} {row['errors']:5.1f} se  {row['name']}", file=sys.stderr
            )
        # Ten comparisons: 3.3 standard errors is one in a hundred by chance.
        self.add(f"largest difference by {what}", "se", [worst], 3.3, "chance", 1.0)


def module_of(path):
    """perf's names of what has no file, as ours."""
    name = pathlib.PurePath(path).name
    if "kernel" in name:
        return "[kernel]"
    if re.fullmatch(r"perf-\d+\.map|.*anon.*|\[unknown\]|inlined", name):
        return "[Dynamic code]"
    return name


def user_leaves(chains, leaves):
    """Samples of Python's threads by module, those in the kernel by where the program entered it, as ours are; and how
    many perf cannot tell that of.

    Code without frame pointers leaves any value in the chain, and perf shows no frame at all of a chain in which one
    looks like a mark of perf's own. That befalls some modules more than others, so the sampled place itself, of
    the script without chains, stands in for it."""
    found, unknown = collections.Counter(), 0
    for sample, leaf in zip(chains.removesuffix("\n\n").split("\n\n"), leaves.splitlines(), strict=True):
        comm, *frames = sample.strip("\n").splitlines() or [""]
        if not comm.startswith(("python", "pt_")):
            continue
        places = [re.match(r".*\s[0-9a-f]+ .*\((.*)\)\s*$", frame) for frame in frames or [leaf]]
        modules = [module_of(place.group(1)) for place in places if place]
        outside = next((module for module in modules if module != "[kernel]"), None)
        if outside:
            found[outside] += 1
        else:
            unknown += 1
    return found, unknown


def keep_only(counter, names):
    return collections.Counter({name: count for name, count in counter.items() if name in names})


CHUNK = struct.Struct("<4sBBHIIIIQQIIIIII")
SAMPLES, END = 7, 5


def repeat_samples(result, wanted):
    """Appends copies of the sample chunks, later and later, until there are enough; returns how many there are."""
    import google_crc32c

    path = result / "trace.000.strata"
    data = path.read_bytes()
    chunks, at = [], 0
    while at + 64 <= len(data):
        head = list(CHUNK.unpack_from(data, at))
        chunks.append((head, data[at + 64 : at + 64 + head[11]]))
        at += 64 + head[11]
    end = [one for one in chunks if one[0][3] == END]
    chunks = [one for one in chunks if one[0][3] != END]
    samples = [one for one in chunks if one[0][3] == SAMPLES]
    total = each = sum(head[6] for head, _ in samples)
    first = min(head[8] for head, _ in samples)
    length = max(head[9] for head, _ in samples) - first + 1
    rounds = 0
    out = list(chunks)
    while total < wanted:
        rounds += 1
        for head, body in samples:
            copy = list(head)
            copy[8] += rounds * length
            copy[9] += rounds * length
            out.append((copy, body))
        total += each
    with path.open("wb") as file:
        for sequence, (head, body) in enumerate(out + end):
            head[13], head[15] = sequence, 0
            head[15] = google_crc32c.value(CHUNK.pack(*head) + body)
            file.write(CHUNK.pack(*head) + body)
    return total
