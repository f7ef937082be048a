# SPDX-License-Identifier: Apache-2.0
"""What recording operators costs: the rows of the operators issue.

What is added to an operator is measured inside of one process, which switches our callbacks, empty ones, torch.profiler
and nothing in random order, in pieces of half a millisecond; those count that ran at one speed (pace.py), and a row has
the difference of their medians. Whole runs are compared for what a user waits for: from the start to a printed table.
"""

import json
import os
import pathlib
import statistics
import time

HERE = pathlib.Path(__file__).resolve().parent
PLAIN = ("-knob", "operator-memory=false", "-knob", "operator-modules=false")


class Operators:
    """Methods of Bench; self.rows, self.raw, self.run and the rest are its own."""

    def operator_process(self, name, options, *words):
        """Figures of bench/operator_cost.py under strata, and how many slices were lost by it."""
        result = self.scratch / f"operators_{name}"
        done = self.run(
            [
                self.strata, "-collect", "operators", "-quiet", "-no-summary", *options, "-r", result, "--",
                self.python, HERE / "operator_cost.py", *words, self.pace_word(),
            ]
        )  # fmt: skip
        figures = json.loads(done.stdout.splitlines()[-1])
        dropped = self.report(result, "tasks")["quality"]["slices_dropped"]
        if dropped:
            self.missing.append(f"nothing, but {dropped} slices were dropped by {name}: its figures flatter")
        self.raw[f"operator_{name}"] = figures
        self.know_pace(name, figures)
        return figures

    def pace_word(self):
        return f"best={self.best_probe_ns}"

    def know_pace(self, name, figures):
        self.best_probe_ns = min(self.best_probe_ns, figures["best"])
        if figures["speed"] == "mixed":
            self.missing.append(f"nothing, but the machine kept changing its speed during {name}: take its rows again")

    def added(self, figures, way):
        """What a way took more than nothing did."""
        return statistics.median(figures[way]) - statistics.median(figures["none"])

    def operator_cost(self):
        """Added to an operator, with its name and with its inputs."""
        rounds = "rounds=30" if self.quick else "rounds=400"
        library = self.build / "bench" / "libempty_callback.so"
        for kind, options, words in (
            ("names", ("-knob", "operator-shapes=false"), ()),
            ("shapes", (), ("shapes",)),
        ):
            turns = [
                self.operator_process(f"{kind}{turn}", (*PLAIN, *options), "operators", library, *words, rounds)
                for turn in range(1 if self.quick else 3)
            ]
            ours = [self.added(figures, "ours") for figures in turns]
            what = "recording an operator, " + ("name only" if kind == "names" else "with sizes and types")
            self.add(what, "ns", ours, [self.added(f, "empty") for f in turns], "an empty callback", 1.5)
            theirs = [self.added(f, "profiler") for f in turns]
            self.add("the same", "ns", ours, theirs, f"torch.profiler{', record_shapes' if words else ''}", 0.5)

    def stack_cost(self):
        """Added to an operator with its name and Python stack."""
        library = self.build / "bench" / "libempty_callback.so"
        options = (*PLAIN, "-knob", "operator-shapes=false", "-knob", "operator-stacks=true")
        rounds = "rounds=20" if self.quick else "rounds=100"
        turns = [
            self.operator_process(f"stacks{turn}", options, "operators", library, "stack", rounds)
            for turn in range(1 if self.quick else 3)
        ]
        ours = [self.added(figures, "ours") for figures in turns]
        theirs = [self.added(figures, "profiler") for figures in turns]
        self.add("recording an operator, with its Python stack", "ns", ours, theirs, "torch.profiler, with_stack", 0.5)

    def python_call_cost(self):
        """Added to a call of a Python or built-in function when all are counted; the three in turn."""
        script = HERE / "python_call_loop.py"
        ours, theirs = [], []
        for turn in range(2 if self.quick else 7):
            result = self.scratch / f"calls{turn}"
            counted = [
                self.strata, "-collect", "tasks", "-quiet", "-no-summary", "-knob", "python-calls=true",
                "-r", result, "--", self.python, script,
            ]  # fmt: skip
            commands = ([self.python, script], counted, [self.python, "-m", "cProfile", script])
            plain, one, other = (float(self.run(command).stdout.splitlines()[0]) for command in commands)
            ours.append(one - plain)
            theirs.append(other - plain)
        self.raw["python_calls"] = {"strata": ours, "cprofile": theirs}
        self.add("counting a call of a Python function", "ns", ours, theirs, "cProfile", 1.0)

    def traced_call_cost(self):
        """Added by profile(with_stack=True) to a call of Python, and to an operator with the calls around it."""
        words = [self.python, HERE / "traced_calls.py", "rounds=8" if self.quick else "rounds=40"]
        environment = {**os.environ, "PYTHONPATH": str(self.build / "python"), "STRATA_BIN": str(self.strata)}
        turns = []
        for _ in range(1 if self.quick else 3):
            lines = self.run([*words, self.pace_word()], env=environment).stdout.splitlines()
            turns.append(json.loads(next(line for line in lines if line.startswith(b"{"))))
            for name, figures in turns[-1].items():
                self.know_pace(f"traced calls ({name})", figures)
        self.raw["traced_calls"] = turns
        for name, what, limit in (
            ("call", "recording a call of a Python function", 1.0),
            ("operator", "an operator with the calls around it", 0.5),
        ):
            ours, theirs = ([self.added(turn[name], way) for turn in turns] for way in ("strata", "torch"))
            self.add(what, "ns", ours, theirs, "torch.profiler, with_stack", limit)

    def module_cost(self):
        """The addresses of a process move this by some nanoseconds: many processes. The budget is one of full speed: at
        another the two reads of the clock alone may take as long."""
        options = ("-knob", "operator-memory=false")
        turns = [
            self.operator_process(f"modules{turn}", options, "modules", "rounds=100" if self.quick else "rounds=1000")
            for turn in range(1 if self.quick else 15)
        ]
        full = [
            figures for figures in turns if figures["speed"] == "full" and figures["best"] <= 1.1 * self.best_probe_ns
        ]
        if len(full) < len(turns) / 3:
            self.missing.append(
                "nothing, but the machine hardly ran at full speed while modules were called: no verdict"
            )
        counted, limit = (full, 1.0) if len(full) >= len(turns) / 3 else (turns, None)
        ours = [self.added(figures, "ours") for figures in counted]
        self.add("recording a call of nn.Module", "ns", ours, 30.0, "budget", limit)
        new = [self.added(figures["new"], "ours") for figures in counted]
        self.add("the same while the thread's ring is new", "ns", new, ours, "later")

    def printed_table(self):
        """200,000 operators, from the start of the program to the table on the screen."""
        count = 20000 if self.quick else 200000
        script = HERE / "operator_cost.py"

        def seconds(command):
            began = time.perf_counter()
            done = self.run(command)
            return time.perf_counter() - began, done

        ours, theirs = [], []
        for turn in range(1 if self.quick else 2):
            plain, _ = seconds([self.python, script, "loop", count])
            profiled, _ = seconds([self.python, script, "loop", count, "table"])
            result = self.scratch / f"table{turn}"
            collect = [self.strata, "-collect", "operators", "-quiet", "-no-summary", "-r", result, "--"]
            recorded, _ = seconds([*collect, self.python, script, "loop", count])
            shown, _ = seconds([self.strata, "report", "operators", "-r", result])
            ours.append(recorded + shown - plain)
            theirs.append(profiled - plain)
        self.raw["printed_table"] = {"ours_s": ours, "profiler_s": theirs}
        self.add(f"{count:,} operators to a printed table, added", "s", ours, theirs, "torch.profiler", 0.05)

    def profile_cycle(self):
        """start() and stop() of strata.profile, round a few operators."""
        environment = dict(os.environ, PYTHONPATH=str(self.build / "python"))
        # Modules are compiled once, as those of an installed package are.
        environment["PYTHONPYCACHEPREFIX"] = str(self.scratch / "compiled")
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [self.python, HERE / "profile_cycle.py", 10 if self.quick else 40]
        turns = [self.run(command, env=environment).stdout for _ in range(2 if self.quick else 4)]
        figures = [json.loads(text.splitlines()[-1]) for text in turns[1:]]
        self.raw["profile_cycle"] = figures
        ours, theirs = ([statistics.median(one["cycles"][name]) for one in figures] for name in ("strata", "torch"))
        self.add("strata.profile, start and stop", "ms", ours, 20.0, "budget", 1.0)
        self.add("the same", "ms", ours, theirs, "torch.profiler")
        self.add("the same, first in a process", "ms", [one["first"]["strata"] for one in figures], 20.0, "budget", 1.0)
