# SPDX-License-Identifier: Apache-2.0
"""200,000 distinct labels in one run: all found back, memory on both sides within the stated bound."""

import re

import pytest

LABELS = 200_000
KIB = 1024
# Header, definitions ring, one live thread, the label table; and what an allocator may round up.
RING_KIB = 4096  # a reader that others keep from the CPU for a second still comes in time
TARGET_BOUND_KIB = 64 + 1024 + RING_KIB + 16 * 1024 + 4 * 1024
# strata: 64 MiB beside what it holds of each name (the names themselves, 40 bytes on the average).
STRATA_BOUND = 128 << 20


def letters(number):
    text = ""
    while True:
        text += chr(ord("a") + number % 26)
        number //= 26
        if not number:
            return text


def label(number):
    if number % 3 == 0:
        return f"step_{number}"
    if number % 3 == 1:
        return f"word {letters(number)}"
    return f"a.rather.long.name.as.of.a.module.path.in.some.model.{letters(number)}.layer_{number}.forward"


@pytest.fixture(scope="module")
def run(shared_strata, programs):
    words = ["-knob", f"ring-size={RING_KIB}"]
    return shared_strata, shared_strata.collect(programs / "many_labels", str(LABELS), "2", options=words, timeout=120)


@pytest.mark.slow
def test_all_found_back(run):
    strata, done = run
    quality = strata.report(done.result, "tasks", "-limit", "1")["quality"]
    assert quality.get("slices_dropped", 0) == 0, quality
    assert quality.get("labels_unknown", 0) == 0 and quality.get("labels_cut", 0) == 0, quality
    counts = strata.counts(done.result)
    wanted = {label(number) for number in range(LABELS)}
    assert len(counts) == LABELS
    assert counts.keys() == wanted
    assert set(counts.values()) == {2}


@pytest.mark.slow
def test_families_fold(run):
    strata, done = run
    report = strata.report(done.result, "tasks", "-group-by", "task-family")
    rows = {row["task_family"]: row["count"] for row in report["rows"]}
    assert rows["step_*"] == 2 * len(range(0, LABELS, 3))


@pytest.mark.slow
def test_target_memory(run, programs):
    strata, done = run
    before, after = map(int, re.findall(r"\d+", done.out))
    plain = strata.run([programs / "many_labels", str(LABELS), "1"])
    plain_before, plain_after = map(int, re.findall(r"\d+", plain.out))
    added = (after - before) - (plain_after - plain_before)
    assert added <= TARGET_BOUND_KIB, f"{added} KiB added to the target"


@pytest.mark.slow
def test_strata_memory(run):
    strata, done = run
    info = strata.result_json(done.result)
    assert 1 << 20 <= info["peak_rss_bytes"] <= STRATA_BOUND
    # What a small program costs, too: the figure is strata's own, not that of whoever started it.
    small = strata.result_json(strata.collect("true").result)["peak_rss_bytes"]
    assert small <= 16 << 20, f"{small} bytes in front of `true`"
