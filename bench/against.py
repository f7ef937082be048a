# SPDX-License-Identifier: Apache-2.0
"""The rows about an earlier build of our own: the same questions of the same big results, one build after the other."""

import pathlib
import shutil

SQL = "SELECT {0}, count(*) AS n, sum({1}) AS t FROM {2} GROUP BY 1"
# What a changed engine, store or table would make slower: the words after `strata`, the result's folder left out.
OF_TASKS = {
    "summary": ["report", "summary"],
    "tasks by type": ["report", "tasks"],
    "tasks by thread and type": ["report", "tasks", "-group-by", "thread,task-type"],
    "tasks of one type": ["report", "tasks", "-filter", "task-type=*1"],
    "tasks of a tenth of the time": ["report", "tasks", "-time-filter", ":0.1"],
    "top-down": ["report", "top-down", "-limit", "5"],
    "the longest single tasks": ["report", "tasks", "-group-by", "task", "-limit", "10"],
    "SQL: sums by type": ["query", SQL.format("task_type", "wall_ns", "slices"), "-memory-limit", "4000"],
}
OF_SAMPLES = {
    "summary": ["report", "summary"],
    "hotspots": ["report", "hotspots"],
    "hotspots by thread and function": ["report", "hotspots", "-group-by", "thread,function"],
    "hotspots by task and function": ["report", "hotspots", "-group-by", "task-type,function"],
    "callstacks": ["report", "callstacks", "-limit", "10"],
    "top-down": ["report", "top-down", "-limit", "10"],
    "gprof-cc": ["report", "gprof-cc", "-limit", "10"],
    "folded stacks": ["export", "folded", "-o", "-"],
    "SQL: sums by thread": ["query", SQL.format("thread", "weight_ns", "samples"), "-memory-limit", "4000"],
}


class Against:
    """Part of Bench (run.py)."""

    def against(self):
        """CPU seconds and peak memory of each question, alternating; results are made by the earlier build."""
        scale = 10 if self.quick else 1
        kinds = (
            (f"{10 // scale} M tasks", OF_TASKS, ["make_result", 10_000_000 // scale, 4, 300]),
            (f"{1000 // scale} k samples", OF_SAMPLES, ["make_samples", 1_000_000 // scale, 50_000 // scale, 20]),
        )
        for what, questions, (maker, *numbers) in kinds:
            made = self.scratch / "made"
            if maker == "make_samples":
                made.mkdir()
            self.run([self.earlier / "tests/programs" / maker, made, *numbers])
            sides = []
            for name, build in (("ours", self.build), ("earlier", self.earlier)):
                own = self.scratch / name
                shutil.copytree(made, own)
                sides.append((build / "bin/strata", own))
            shutil.rmtree(made)
            self.ask_both(what, "index and summary", ["report", "summary"], sides, afresh=True)
            for title, words in questions.items():
                self.ask_both(what, title, words, sides)
            for _, own in sides:
                shutil.rmtree(own)

    def ask_both(self, what, title, words, sides, afresh=False):
        figures = [[], []]
        for index in range(self.rounds):
            # Whoever goes first goes second the next time.
            for side in (0, 1) if index % 2 else (1, 0):
                binary, result = sides[side]
                for name in ("index.strata", "names.strata") if afresh else ():
                    (result / name).unlink(missing_ok=True)
                figures[side].append(self.run_measured([binary, words[0], *words[1:2], "-r", result, *words[2:]]))
        self.raw.setdefault("against", {})[f"{what}: {title}"] = {"ours": figures[0], "earlier": figures[1]}
        ours, earlier = ([one["cpu_s"] for one in side] for side in figures)
        self.add(f"{what}: {title}", "s", ours, earlier, "earlier build", 1.1)
        ours, earlier = ([one["rss_bytes"] / 1e6 for one in side] for side in figures)
        self.add("its peak memory", "MB", ours, earlier, "earlier build", 1.1)


HEADING = "\n## Beside an earlier build\n"
INTRODUCTION = """
What `make bench BENCH_ARGS="--against BUILD --markdown docs/measurements.md"` printed last: CPU seconds and peak memory
of questions to big results, both builds in one run, taking turns. Ours is {ours}, the other {earlier}.

"""


def write_section(path, lines, machine, date, ours, earlier):
    """Puts the section anew into the page, before the soak's."""
    text = pathlib.Path(path).read_text()
    before, _, after = text.partition(HEADING)
    heading, soak = "", ""
    if not after:
        before, heading, soak = before.partition("\n## Soak")
    else:
        _, heading, soak = after.partition("\n## Soak")
    section = HEADING + INTRODUCTION.format(ours=ours, earlier=earlier)
    section += f"{date}, {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}\n\n"
    for index, line in enumerate(lines):
        section += "| " + " | ".join(line) + " |\n"
        section += "|" + "---|" * len(line) + "\n" if index == 0 else ""
    pathlib.Path(path).write_text(before + section + heading + soak)
