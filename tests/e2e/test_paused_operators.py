# SPDX-License-Identifier: Apache-2.0
"""While recording is paused, PyTorch does not call us: an operator costs what it costs in any program."""

import json
import statistics

import pytest
from test_command import Run

pytestmark = pytest.mark.torch

# A network of small operators, recording switched on and off in one process; the thread's own CPU time counts.
SWITCHED = """
import itt, json, sys, time, torch
torch.set_num_threads(1)
net = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(20)))
x = torch.ones(2, 4)
def operator_ns():
    before = time.thread_time_ns()
    with torch.no_grad():
        for _ in range(30):
            net(x)
    return (time.thread_time_ns() - before) / (30 * 20 * 10)
found = {"resume": [], "pause": []}
for _ in range(25):
    for switch in found:
        getattr(itt, switch)()
        found[switch].append(operator_ns())
json.dump(found, open(sys.argv[1], "w"))
"""

# Does what it is told: sizes of tensors to make.
TOLD = """
import sys, torch
torch.ones(2)
print("ok", flush=True)
for line in sys.stdin:
    torch.ones(int(line))
    print("ok", flush=True)
sys.exit(7)
"""

RESUMED = """
import itt, torch
torch.ones(3)
itt.pause()
torch.ones(4)
itt.resume()
torch.ones(5)
"""


def made(strata, result):
    """The sizes of the tensors that are known to have been made."""
    sql = "SELECT name, shapes FROM operators WHERE name IN ('aten::ones', 'aten::fill_') ORDER BY row"
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    rows = json.loads(done.stdout)["rows"]
    filled = [json.loads(row["shapes"])[0][0] for row in rows if row["name"] == "aten::fill_"]
    return filled, sum(row["name"] == "aten::ones" for row in rows)


def test_pause_costs_nothing(strata, python, tmp_path):
    """What recording adds to an operator is gone while it is paused."""
    times, result = tmp_path / "times.json", tmp_path / "r"
    done = strata("-collect", "hotspots", "-knob", "collect-operators=true", "-quiet", "-r", result,
                  "--", python, "-c", SWITCHED, times)  # fmt: skip
    assert done.status == 0, done.err
    found = json.loads(times.read_text())
    saved = statistics.median(on - off for on, off in zip(found["resume"], found["pause"], strict=True))
    assert saved > 0.08 * statistics.median(found["pause"])


def test_resumed_by_the_program(strata, python):
    """From the next operator on."""
    result = strata.folder / "r"
    done = strata("-collect", "hotspots", "-quiet", "-r", result, "--", python, "-c", RESUMED)
    assert done.status == 0, done.err
    assert made(strata, result) == ([3, 5], 2)


@pytest.mark.parametrize("options", [[], ["-start-paused"]], ids=["running", "start-paused"])
def test_paused_and_resumed_from_outside(strata, python, options):
    """The operator in which the program first allocates after the resume is not seen, all others are."""
    run = Run(strata, [python, "-c", TOLD], ["-knob", "collect-operators=true", *options])
    assert run.process.stdout.readline() == b"ok\n"
    if options:
        run.tell("3")
        run.command("resume")
        run.tell("4")
    run.tell("5")
    run.command("pause")
    run.tell("6", "7", "6")
    run.command("resume")
    run.tell("8", "9")
    run.end()
    assert made(strata, run.result) == ([*([4] if options else [2]), 5, 8, 9], 3 - bool(options))
