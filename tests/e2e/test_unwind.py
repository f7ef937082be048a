# SPDX-License-Identifier: Apache-2.0
"""The walker inside real programs: against libunwind, with call frame information hidden, and by rules that were
read off code. The probe (tests/programs/unwind_probe.c) compares whole stacks in a signal handler."""

import json
import math
import subprocess
from pathlib import Path

import pytest

TARGET = Path(__file__).parent / "targets" / "unwind_scores.py"
SECONDS = {"quick": 4, "full": 30}
# Reading rules off 280 MB of code takes its time: the biggest library only at full scale.
CODE_BYTES = {"quick": 64 << 20, "full": 1 << 40}


def run(python, programs, load, scale):
    command = [python, TARGET, programs / "libunwind_probe.so", load, str(SECONDS[scale]), str(CODE_BYTES[scale])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def total(score):
    return score["right"] + score["wrong"] + score["none"]


def ratio(score):
    return score["right"] / total(score) if total(score) else 1.0


def enough(score, limit):
    """At least the limit, less what chance does to so many samples (three standard deviations)."""
    count = total(score)
    return score["right"] >= limit * count - 3 * math.sqrt(count * limit * (1 - limit))


@pytest.fixture(scope="module", params=["torch", "python"])
def scores(request, python, programs, scale):
    result = run(python, programs, request.param, scale)
    print(
        f"\n{request.param}: {result['samples']} stacks, {result['complete']} complete by rules, "
        f"{result['recovered']} with a scan, {result['truncated']} cut"
    )
    for name, value in result.items():
        if isinstance(value, dict):
            print(
                f"  {name}: right {value['right']} of {total(value)} ({100 * ratio(value):.2f} %), none {value['none']}"
            )
    return result


def test_stacks_are_complete(scores):
    assert scores["samples"] > 200
    assert scores["truncated"] <= 0.01 * scores["samples"]


def test_same_as_libunwind(scores):
    assert scores["libunwind"]["wrong"] == 0
    assert scores["libunwind"]["right"] > 100


def test_anonymous_leaves_are_recovered(scores):
    """Leaves that were called indirectly, as JIT kernels are, and whose code belongs to no file."""
    assert total(scores["anonymous_leaf"]) >= 20
    assert enough(scores["anonymous_leaf"], 0.99)


def test_rules_read_off_code(scores):
    """Functions with a symbol, any depth, as if they had no call frame information."""
    both = {key: scores["derived"][key] + scores["derived_leaf"][key] for key in scores["derived"]}
    assert total(both) > 1000
    assert ratio(both) >= 0.95
    assert ratio(scores["derived_leaf"]) >= 0.95


def test_recovery_says_so(scores):
    assert scores["unflagged"] == 0
