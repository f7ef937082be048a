# SPDX-License-Identifier: Apache-2.0
"""Who held the memory at its peak, and how it grows, in programs that know it."""

import json

import pytest
from harness import TARGETS

pytestmark = pytest.mark.torch

PROGRAM = TARGETS / "operator_memory.py"
MIB, STEPS, LEAK = 1 << 20, 6, 512 << 10


@pytest.fixture(scope="module")
def held(shared_strata, python):
    result = shared_strata.folder / "memory"
    done = shared_strata(
        "-collect", "operators", "-quiet", "-r", result, "--", python, PROGRAM, str(STEPS), str(LEAK >> 10)
    )
    assert done.status == 0, done.err
    return shared_strata, result


def test_who_held_it(held):
    """The last step is at its most while the brief block is out, before the second small one."""
    report = held[0].report(held[1], "memory")
    peak = (24 + 4 + 8 + 3) * MIB + (STEPS - 1) * LEAK
    assert report["totals"]["held_bytes"] == peak
    modules = {row["nn_module"].split(".")[-1]: row for row in report["rows"]}
    assert {name: row["held_bytes"] for name, row in modules.items()} == {
        "large": 24 * MIB,
        "brief": 8 * MIB,
        "small": 4 * MIB,
        "[no module]": 3 * MIB + (STEPS - 1) * LEAK,
    }
    assert [row["operator"] for row in modules["large"]["children"]] == ["aten::zeros"]
    assert report["rows"][0] is modules["large"], "the largest first"
    assert f"(step {STEPS - 1})" in report["subject"] and f"in {4 + STEPS - 1} blocks" in report["subject"]


def test_growth(held):
    report = held[0].report(held[1], "memory-timeline", "-group-by", "step")
    assert [row["step"] for row in report["rows"]] == [f"step {number}" for number in range(STEPS)]
    for number, row in enumerate(report["rows"]):
        assert row["growth_bytes"] == LEAK
        assert row["held_begin_bytes"] == 3 * MIB + number * LEAK
        assert row["peak_bytes"] == 39 * MIB + number * LEAK
        assert row["allocated_bytes"] == 40 * MIB + LEAK and row["freed_bytes"] == 40 * MIB
    assert "+524.29 kB per step" in report["subject"]


def test_over_time(held):
    strata, result = held
    report = strata.report(result, "memory-timeline", "-report-knob", "bin-count=50")
    assert len(report["rows"]) == 50
    assert max(row["peak_bytes"] for row in report["rows"]) == 39 * MIB + (STEPS - 1) * LEAK
    for before, row in zip(report["rows"], report["rows"][1:]):
        assert row["held_begin_bytes"] == before["held_end_bytes"]
        assert row["growth_bytes"] == row["allocated_bytes"] - row["freed_bytes"]
    steps = strata.report(result, "steps")["rows"]
    begin, end = steps[1]["start_ns"] / 1e9, steps[2]["start_ns"] / 1e9
    first = strata.report(result, "memory", "-time-filter", f"{begin:.9f}:{end:.9f}")
    assert first["totals"]["held_bytes"] == 39 * MIB + LEAK


def test_each_block(held):
    strata, result = held
    done = strata("query", "-r", result, "-format", "json", "SELECT address, allocated, freed FROM memory")
    blocks = {}
    for row in json.loads(done.out)["rows"]:
        if row["allocated"]:
            assert row["address"] not in blocks
            blocks[row["address"]] = row["allocated"]
        else:
            assert blocks.pop(row["address"]) == row["freed"]
    single = strata.report(result, "memory", "-group-by", "instance")["rows"]
    assert sorted(row["size_bytes"] for row in single) == sorted(
        [24 * MIB, 8 * MIB, 4 * MIB, 3 * MIB, *[LEAK] * (STEPS - 1)]
    )
    assert all(row["end_ns"] > row["start_ns"] for row in single if row["end_ns"] is not None)


@pytest.mark.parametrize("kind", ["operators", "hotspots"])
def test_the_programs_own_profiler(strata, python, kind):
    """It is told of what it would be told without us, blocks from before its time not being among it."""
    program = [python, TARGETS / "operator_memory_own.py"]
    alone = strata.run(program)
    done = strata("-collect", kind, "-quiet", "-r", strata.folder / "own", "--", *program)
    cycles = json.loads(alone.out)
    assert [11 << 10, 11 << 10] in cycles[0] and [-(11 << 10), (13 + 15) << 10] in cycles[1], "as torch has it"
    assert json.loads(done.stdout) == cycles
