# SPDX-License-Identifier: Apache-2.0
"""Threads and processes shorter than the sampling interval: their CPU time is in the samples, in the right places."""

import os
import re
import signal
import subprocess
from pathlib import Path
from statistics import median

import pytest
from harness import until

# Where waits are recorded threads inherit their events: other ways to lose a sample.
analyses = pytest.mark.parametrize("analysis", ["hotspots", "threading"])


def sampled(strata, programs, mode, count, analysis="hotspots"):
    """The run, its CPU time by the kernel's count, that of all samples, and that of its two functions."""
    result = strata.folder / "short"
    done = strata("-collect", analysis, "-r", result, "--", programs / "short_lives", mode, str(count))
    assert done.status == 0, done.err
    done.result = result
    rows = strata.report(result, "hotspots", "-group-by", "function")["rows"]
    by_name = {row["function"]: row["cpu_total_ns"] / 1e9 for row in rows}
    total = sum(row["cpu_self_ns"] for row in rows) / 1e9
    return done, float(done.out), total, by_name


def adds_up(strata, done, used_s, within=0.06):
    """The summary's CPU time is the kernel's, and its parts, with idleness, are all CPUs for all the time."""
    rows = strata.report(done.result, "summary")["rows"]
    facts = {row["name"]: row.get("value") for row in rows if row["section"] in ("cpu", "run")}
    assert facts["cpu_used_ns"] == pytest.approx(used_s * 1e9, rel=0.03)
    assert facts["cpu_ns"] == pytest.approx(used_s * 1e9, rel=within)
    parts = facts["effective_ns"] + facts["spin_ns"] + facts["overhead_ns"]
    assert parts == pytest.approx(facts["cpu_ns"], abs=100)
    capacity = facts["elapsed_ns"] * facts["cpus"]
    assert facts["cpu_utilization_ratio"] * capacity == pytest.approx(used_s * 1e9, rel=within + 0.02)
    levels = strata.report(done.result, "utilization")["rows"]
    assert sum(row["effective_ns"] for row in levels) == pytest.approx(facts["effective_ns"], rel=0.001)
    return facts


@pytest.mark.alone
@analyses
def test_creator_of_tiny_threads(strata, programs, analysis):
    """The kernel takes the creator's event to the thread it creates: its interval must not go with it."""
    done, used_s, total_s, by_name = sampled(strata, programs, "rounds", 500, analysis)
    assert used_s > 1
    assert total_s == pytest.approx(used_s, rel=0.06)
    assert by_name["heavy_part"] > 0.85 * total_s
    assert adds_up(strata, done, used_s)["cpu_sampled_ratio"] > 0.94


@analyses
def test_thread_per_request(strata, programs, analysis):
    """4 ms each: none of them reaches an interval, together they have as many samples as one thread would have."""
    done, used_s, total_s, by_name = sampled(strata, programs, "requests", 300, analysis)
    assert used_s > 1.2
    assert total_s == pytest.approx(used_s, rel=0.1)
    assert strata.result_json(done.result)["sampling"]["samples"] > 40
    # Both functions are seen. In which share depends on how the scheduler's ticks fall, on a busy machine.
    assert by_name["heavy_part"] > 0.1 * total_s
    assert by_name["light_part"] > 0.05 * total_s
    assert adds_up(strata, done, used_s)["cpu_sampled_ratio"] > 0.9


@analyses
def test_long_life_after_many_short_ones(strata, programs, analysis):
    """Short ones are passed over: one that lives on is seen all the same."""
    _done, used_s, total_s, by_name = sampled(strata, programs, "veteran", 500, analysis)
    assert used_s > 0.4
    assert total_s == pytest.approx(used_s, rel=0.1)
    # Not by the thread's function: the first stack may be cut short, and stands for all until then.
    assert by_name["heavy_part"] > 0.75 * 0.4


def test_bare_threads_are_counted(strata, programs):
    """Threads that libc knows nothing of, while the first one has used too little to be armed: no samples, and why."""
    result = strata.folder / "bare"
    done = strata("-collect", "hotspots", "-r", result, "--", programs / "short_lives", "bare", "2")
    assert done.status == 0, done.err
    sampling = strata.result_json(result)["sampling"]
    assert (sampling["samples"], sampling["unarmed_threads"]) == (0, 2)
    assert 0.3e9 < sampling["unarmed_cpu_ns"] < 0.9e9
    quality = strata("report", "quality", "-r", result).out
    assert "2 threads created by a direct system call, ends of" in quality
    # One that libc made has samples in spite of its short life, and nothing is said.
    _done, _used_s, _total_s, by_name = sampled(strata, programs, "requests", 30)
    assert by_name["heavy_part"] > 0
    assert strata.result_json(strata.folder / "short")["sampling"]["unarmed_threads"] == 0


def test_processes_shorter_than_the_interval(strata, programs):
    """A process has nothing to carry to the next: its first sample stands for an interval, in one of three of them."""
    done, used_s, total_s, by_name = sampled(strata, programs, "processes", 150)
    assert used_s > 0.6
    assert 0.4 * used_s < total_s < 1.6 * used_s
    assert by_name["heavy_part"] + by_name["light_part"] > 0.5 * total_s
    # What some fifty samples miss by chance, up to five intervals, is not corrected.
    if total_s < used_s:
        adds_up(strata, done, used_s, within=max(0.06, 5 * 0.01 / used_s))


def test_programs_started_after_the_resume(strata, programs):
    """Their environment still says that everybody starts paused: they are sampled as if it did not."""
    result = strata.folder / "resumed"
    script = 'echo ready; read go; i=0; while [ $i -lt 100 ]; do "$0" rounds 2; i=$((i+1)); done'
    program = ["sh", "-c", script, programs / "short_lives"]
    command = [strata.binary, "-collect", "hotspots", "-start-paused", "-no-summary", "-r", result, "--", *program]
    run = strata.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"ready\n"
    until((result / "control").exists, what="the socket for commands")
    assert strata("-command", "resume", "-r", result).status == 0
    used, _ = run.communicate(b"go\n", timeout=120)
    assert run.returncode == 0
    rows = strata.report(result, "hotspots", "-group-by", "function")["rows"]
    parts_s = sum(row["cpu_self_ns"] for row in rows if row["function"] in ("heavy_part", "light_part")) / 1e9
    # Some 40 % of the CPU time, in 20 samples, as without the pause.
    assert parts_s > 0.1 * sum(float(line) for line in used.split())


@pytest.mark.alone
@pytest.mark.parametrize("mode, count", [("commands", 150), ("threads", 3000)])
def test_cost_of_creation(strata, programs, mode, count):
    """What processes and threads cost more under strata is in the stated cost."""
    # On one CPU: where the next thread is woken, here or on the other one, makes twice the difference that is measured.
    pin = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    command = [programs / "short_lives", mode, str(count)]
    kind = "thread" if mode == "threads" else "process"
    true_s, said_s = [], []
    for turn in range(7):
        result = strata.folder / f"turn{turn}"
        plain_s = float(strata.run([*pin, *command]).out)
        collect = [strata.binary, "-collect", "hotspots", "-r", result, "--", *command]
        with_s = float(strata.run([*pin, *collect]).out)
        true_s.append((with_s - plain_s) / count)
        created = strata.result_json(result)["creation"]
        assert created["threads" if mode == "threads" else "processes"] >= count
        said_s.append(created[f"{kind}_cost_ns"] / 1e9)
        rows = strata.report(result, "summary")["rows"]
        (ratio,) = [row["value"] for row in rows if (row["section"], row["name"]) == ("cost", "estimate_ratio")]
        # Of the time without strata, which is the program's less its parts; samples and the rest add some.
        assert ratio > 0.9 * said_s[-1] * count / with_s, (ratio, created)
    # The middle one of each: a neighbour on the same core makes a run of some ten milliseconds half as long again.
    said, was = median(said_s), median(true_s)
    assert 0.5 < said / was < 2, f"{said_s=} {true_s=}"


def test_interrupt_after_the_end(strata, programs):
    """Ctrl-C while strata measures, after the program's end: the status is the program's all the same."""
    result = strata.folder / "late"
    program = ["sh", "-c", 'echo $$; exec "$0" threads 1000', programs / "short_lives"]
    command = [strata.binary, "-collect", "hotspots", "-no-summary", "-r", result, "--", *program]
    run = strata.popen(command, stdout=subprocess.PIPE)
    pid = int(run.stdout.readline())
    until(lambda: not Path(f"/proc/{pid}").exists(), what="the program's end")
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 0
    run.stdout.close()
    strata.opens(result)


def test_nothing_of_the_users_runs_after_the_end(strata, programs):
    """A library that the user preloads is loaded for the program alone, never for the measuring of creation."""
    told = strata.folder / "loader"
    env = {"LD_PRELOAD": "libm.so.6", "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(told)}
    command = ["-collect", "hotspots", "-no-summary", "-r", strata.folder / "preload", "--"]
    done = strata(*command, programs / "short_lives", "commands", "30", env=env)
    assert done.status == 0, done.err
    # The loader tells of each process in which the library's constructors run: strata, the program, 30 commands.
    text = "".join(path.read_text() for path in told.parent.glob("loader.*"))
    assert len(re.findall(r"calling init: \S*/libm\.so\.6", text)) == 32
