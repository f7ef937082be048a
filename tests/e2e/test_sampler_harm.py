# SPDX-License-Identifier: Apache-2.0
"""The sampler does no harm: programs that have signals, stacks and processes of their own are the same with it."""

import shutil
import signal
import subprocess

import pytest
from harness import TARGETS, until
from waiting import PROGRAMS

CASES = {
    "own_trap": 0,
    "own_trap_once": 0,
    "own_prof": 0,
    "trap_default": 0,
    "trap_ignored": 0,
    "trap_kills": -signal.SIGTRAP,
    "int3_kills": -signal.SIGTRAP,
    "blocked": 0,
    "waiting": 0,
    "descriptor": 0,
    "interrupted": 0,
    "suspending": 0,
    "suspending_often": 0,
    "suspending_woken": 0,
    "first_code": 0,
    "forks": 0,
    "execs": 0,
    "chain": 0,
    "inherited": 0,
    "fibres": 0,
    "jumping": 0,
    "alternate_small": 0,
    "alternate_large": 0,
    "churn": 0,
    "recursion": 0,
    "sandbox": 0,
    "traced": 0,
}
# What each rung of the ladder must not disturb either; sigtrap is the first.
LOWER = {
    "3": ["own_prof", "own_trap", "interrupted", "suspending_woken", "churn", "forks", "execs"],
    "4": ["own_prof", "own_trap", "interrupted", "suspending_woken", "churn", "forks", "chain"],
    "5": ["own_prof", "own_trap", "interrupted", "churn", "forks", "chain"],
}
NAMES = {"3": "signal per thread, user mode only", "4": "timer per thread", "5": "timer per process"}
INTERVAL = ["-knob", "sampling-interval=0.2"]


def both(strata, command, rung=None):
    """The command plain and sampled at 5 kHz."""
    plain = strata.run(command)
    result = strata.folder / "sampled"
    env = {"STRATA_SAMPLE_RUNG": rung} if rung else None
    sampled = strata("-collect", "hotspots", "-quiet", *INTERVAL, "-r", result, "--", *command, env=env)
    sampled.result = result
    return plain, sampled


def assert_same(plain, sampled):
    assert sampled.stdout == plain.stdout, sampled.err
    assert sampled.status == plain.status, sampled.err


@pytest.mark.parametrize("case", CASES)
def test_case(strata, programs, case):
    plain, sampled = both(strata, [programs / "signal_cases", case])
    assert plain.status == CASES[case]
    assert_same(plain, sampled)
    # It really was sampled: each case burns 60 ms and more.
    assert strata.result_json(sampled.result)["sampling"]["samples"] > 50


@pytest.fixture(scope="module")
def stack_choice(shared_strata):
    """The program that says on which stack its handlers run, and its library, which sets one before we are there."""
    source, folder = PROGRAMS / "stack_choice.c", shared_strata.folder
    flags = ["-O1", "-g", "-D_GNU_SOURCE", "-pthread", "-Wno-infinite-recursion", source]
    library, program = folder / "libstack_choice.so", folder / "stack_choice"
    for words in (["-DLIBRARY", "-shared", "-fPIC", "-o", library], [library, f"-Wl,-rpath,{folder}", "-o", program]):
        done = shared_strata.run(["gcc", *flags, *words])
        assert done.status == 0, done.err
    return program


@pytest.mark.parametrize("case", ["choices", "overflow", "overflow_again"])
@pytest.mark.parametrize("rung", [None, "4"])
def test_handlers_run_on_the_stack_that_they_would(strata, stack_choice, case, rung):
    """On an alternate one if the thread has one of the program's, never on ours, which is for the sampler alone."""
    plain, sampled = both(strata, [stack_choice, case], rung)
    assert plain.status == (0 if case == "choices" else -signal.SIGSEGV)
    assert_same(plain, sampled)
    if case == "choices":
        assert plain.out.count("own stack") > 20 and plain.out.count("other stack") > 20
        assert strata.result_json(sampled.result)["sampling"]["samples"] > (50 if rung is None else 3)


# What a process does before its first sample is due, which is when it is armed.
EARLY = {**CASES, "prof_early": 0, "prof_kills": -signal.SIGPROF}


@pytest.mark.parametrize("case", EARLY)
def test_case_before_it_is_armed(strata, programs, case):
    command = [programs / "signal_cases", case]
    result = strata.folder / "early"
    plain = strata.run(command)
    sampled = strata("-collect", "hotspots", "-quiet", "-r", result, "--", *command)
    assert plain.status == EARLY[case]
    assert_same(plain, sampled)


@pytest.mark.parametrize("rung, case", [(rung, case) for rung, cases in LOWER.items() for case in cases])
def test_lower_rung(strata, programs, rung, case):
    plain, sampled = both(strata, [programs / "signal_cases", case], rung)
    assert plain.status == 0
    assert_same(plain, sampled)
    # Timers come with the kernel's tick: short lives may see none. Whoever wants the last one's timer gets it.
    if case in ("forks", "chain") or (rung, case) == ("5", "own_prof"):
        return
    sampling = strata.result_json(sampled.result)["sampling"]
    assert NAMES[rung] in [row["rung"] for row in sampling["rungs"]]
    assert sampling["samples"] > 3


def test_threads_of_lower_rungs(strata, programs):
    """Where every thread has an event of its own, none is lost when others come."""
    plain, sampled = both(strata, [programs / "process_cases", "threads"], "3")
    assert_same(plain, sampled)
    hot = strata.report(sampled.result, "hotspots", "-group-by", "thread")
    times = sorted(row["cpu_self_ns"] for row in hot["rows"] if row["cpu_self_ns"])
    # Eight threads burn 60 ms each, one after the other has begun.
    assert len(times) >= 8 and sum(times) > 0.9 * 8 * 60e6


def test_threads_one_after_the_other(strata, programs):
    """Many threads in a short time are not many at a time."""
    _, sampled = both(strata, [programs / "process_cases", "thread_after_thread"])
    assert "CPU time was not sampled" not in " ".join(sampled.err.split())
    rows = strata.report(sampled.result, "summary")["rows"]
    facts = {row["name"]: row.get("value") for row in rows if row["section"] == "cpu"}
    assert facts["threads"] >= 40
    assert facts.get("oversubscribed_ratio", 0) == 0


def test_samples_tell_how_long_a_killed_run_was(strata, programs):
    """strata is killed by the program it samples: the time is that of the samples, not of result.json's beginning."""
    result, flag = strata.folder / "torn", strata.folder / "flag"
    script = f"'{programs / 'signal_cases'}' burn; until [ -e '{flag}' ]; do sleep 0.05; done; kill -9 $PPID"
    words = ["-collect", "hotspots", *INTERVAL, "-r", result, "--", "/bin/sh", "-c", script]
    process = strata.popen([strata.binary, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def summary():
        rows = strata.report(result, "summary")["rows"]
        return {row["name"]: row.get("value") for row in rows if row["section"] in ("run", "cpu")}

    until((result / "definitions.strata").exists, what="the result")
    until(lambda: summary().get("cpu_ns", 0) > 40e6, 60, "samples on the disk")
    flag.touch()
    assert process.wait(60) == -signal.SIGKILL
    facts = summary()
    assert facts["state"] == "torn"
    assert facts["elapsed_ns"] >= facts["cpu_ns"] > 40e6
    assert facts["threads"] >= 1


PROCESS_CASES = {
    "waits_for_exec": 0,
    "own_waits_for_exec": -signal.SIGTRAP,
    "forked_stacks": 0,
    "clones": 5,
    "clones_inside": 5,
}


@pytest.mark.parametrize("case", PROCESS_CASES)
def test_process_case(strata, programs, case):
    plain, sampled = both(strata, [programs / "process_cases", case])
    assert plain.status == PROCESS_CASES[case]
    assert_same(plain, sampled)
    sampling = strata.result_json(sampled.result)["sampling"]
    assert sampling["samples"] > 50
    if case.startswith("clones"):
        # Threads that share another one's thread-local storage are counted, and leave its ring alone.
        assert sampling["not_taken"] > 50
        assert strata.result_json(sampled.result)["loss"]["suspect"] == 0


def test_limited_address_space(strata, programs):
    """The stacks of the handler take their share of what is left, not 32 MiB of 200."""
    limited = f"ulimit -v 200000; exec '{programs / 'process_cases'}' limited"
    plain, sampled = both(strata, ["/bin/sh", "-c", limited])
    assert plain.stdout == b"most of it: 1\n"
    assert_same(plain, sampled)


@pytest.mark.parametrize("what", ["recursion", "threads", "fork", "signals", "exceptions"])
def test_python(strata, python, what):
    plain, sampled = both(strata, [python, TARGETS / "sampled_python.py", what])
    assert plain.status == 0
    assert_same(plain, sampled)
    assert strata.result_json(sampled.result)["sampling"]["samples"] > 50


def test_interpreter_ends_around_threads(strata, python):
    for _ in range(8):
        plain, sampled = both(strata, [python, TARGETS / "sampled_python.py", "ending"])
        assert plain.status == 0
        assert_same(plain, sampled)
        shutil.rmtree(sampled.result)


def test_greenlet(strata, python):
    """Stacks that are copied away and back, where the package is installed."""
    if strata.run([python, "-c", "import greenlet"]).status:
        pytest.skip("greenlet is not installed")
    plain, sampled = both(strata, [python, TARGETS / "sampled_python.py", "greenlets"])
    assert plain.status == 0
    assert_same(plain, sampled)


def test_handler_longer_than_the_interval(strata, python):
    """Whatever a stack takes to look at, the program goes on: it once stood still with it."""
    command = [python, TARGETS / "deep_generators.py"]
    plain = strata.run(command)
    result = strata.folder / "sampled"
    options = ["-quiet", "-knob", "sampling-interval=0.1", "-r", result]
    sampled = strata("-collect", "hotspots", *options, "--", *command, timeout=120)
    assert_same(plain, sampled)
    assert strata.result_json(result)["sampling"]["samples"] > 200
