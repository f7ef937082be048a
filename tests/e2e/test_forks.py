# SPDX-License-Identifier: Apache-2.0
"""Forks while another thread runs operators.

Switching recording makes each thread take a lock of PyTorch's once more, which no child may find locked. It is kept for
longer than PyTorch does (programs/slow_callback_lock.c), so that forks come in between for certain.
"""

import pytest
from harness import TARGETS, preloadable
from test_command import Run

pytestmark = pytest.mark.torch


@pytest.fixture
def forks(strata, python, programs):
    """Starts the program under strata, with every operator recorded."""

    def start(*options):
        double = preloadable(programs / "slow_callback_lock.so", strata.folder)
        program = [python, TARGETS / "forks_beside_operators.py", double]
        run = Run(strata, program, ["-knob", "collect-operators=true", *options], env={"LD_PRELOAD": str(double)})
        assert run.process.stdout.readline() == b"ok\n", run.error.read_text()
        return run

    return start


def test_fork_while_a_thread_looks_up_callbacks(forks):
    """The program pauses itself; the other thread finds out with its next operator."""
    run = forks()
    run.tell("pause", "held", "resume", "held")
    run.end()


def test_fork_while_a_thread_switches(forks):
    """strata pauses the program, which the other thread's next operator notices first."""
    run = forks()
    run.command("pause")
    run.tell("held")
    run.command("resume")
    run.tell("held")
    run.end()


def test_many_forks_beside_operators(forks):
    run = forks()
    run.tell("slow 20")
    run.end()


@pytest.mark.parametrize("binding", ["bound", "deep"])
def test_nothing_is_switched_where_the_lock_is_not_found(strata, python, programs, binding):
    """It is found by PyTorch's pointer to pthread_mutex_lock, which here leads past what everybody else calls."""
    result = strata.folder / "lock"
    program = [python, TARGETS / "callback_lock.py", binding]
    env = {"LD_PRELOAD": str(preloadable(programs / "slow_callback_lock.so", strata.folder))}
    done = strata("-collect", "hotspots", "-no-summary", "-r", result, "--", *program, env=env)
    assert done.status == 0, done.err
    operators = strata.report(result, "operators")
    counts = {row["operator"]: row["count"] for row in operators["rows"]}
    facts = {row["name"]: row.get("value") for row in strata.report(result, "summary")["rows"]}
    # Far more than may be recorded: in turns, if they can be switched. A pause is a pause all the same.
    if binding == "bound":
        assert facts["operators_recorded_ratio"] < 0.8
        assert counts["aten::ones"] == pytest.approx(int(done.out), rel=0.3)
    else:
        assert "operators_recorded_ratio" not in facts
        # All of them are more than a reader without a CPU keeps up with; what it misses is counted.
        dropped = operators["quality"]["slices_dropped"]
        assert int(done.out) - dropped <= counts["aten::ones"] <= int(done.out)
