# SPDX-License-Identifier: Apache-2.0
"""What strata sees from outside: a program that runs already, the kernel's frames, and waits."""

import os
import subprocess
import sys

import pytest
from harness import TARGETS, above_commands, walk


def flags_of(strata, result, condition="1"):
    done = strata(
        "query", "-r", result, "-format", "csv", f"SELECT count(*), sum(weight_ns) FROM samples WHERE {condition}"
    )
    assert done.status == 0, done.err
    count, weight = done.out.splitlines()[1].split(",")
    return int(count), int(weight or 0)


@pytest.fixture(name="running")
def fixture_running(strata, python):
    process = strata.popen([python, TARGETS / "running.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"running\n"
    yield process
    if process.poll() is None:
        out, _ = process.communicate(timeout=60)
        assert out == b"done\n", "the program did not notice us"
    assert process.returncode == 0


def test_a_running_program_is_sampled_and_left_alone(strata, running, tmp_path):
    result = tmp_path / "outside"
    done = strata(
        "-collect",
        "hotspots",
        "-target-pid",
        str(running.pid),
        "-duration",
        "2",
        "-knob",
        "sampling-interval=2",
        "-r",
        result,
    )
    assert done.status == 0, done.err
    assert running.poll() is None, "strata ended the program"
    said = strata.result_json(result)["sampling"]
    assert said["rung"] == "read from outside"
    assert said["outside"]["python_frames"] == "read at the sample"
    count, weight = flags_of(strata, result)
    assert count > 50
    assert flags_of(strata, result, "approximate OR mismatched") == (0, 0)
    late, late_weight = flags_of(strata, result, "python_late")
    assert late == said["outside"]["python_late"] == count - said["outside"]["python_read"]
    assert late < count * 0.5, "most frames are not read in time"
    weight -= late_weight
    truncated, _ = flags_of(strata, result, "flags & 1")
    assert truncated <= count * 0.02
    rows = strata.report(result, "hotspots", "-group-by", "python-function")["rows"]
    total = {row["python_function"]: row["cpu_total_ns"] for row in rows}
    # mostly() runs three times as many rounds as seldom(), and each of them does more.
    assert total["mostly"] > total["seldom"] > 0
    assert total["mostly"] > weight * 0.4


# What runs in each of these, and nowhere else in the program.
PARTS = {"forward_part": "addmm::call", "backward_part": "THPEngine_run_backward", "crc_part": "crc32"}


def test_native_and_python_frames_are_of_one_instant_with_a_cold_cache(strata, python, tmp_path):
    process = strata.popen([python, TARGETS / "training_parts.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"running\n"
    result, folded = tmp_path / "cold", tmp_path / "folded.txt"
    done = strata(
        *("-collect", "hotspots", "-target-pid", str(process.pid), "-duration", "4", "-r", result),
        *("-knob", "sampling-interval=2"),
        env={"STRATA_CACHE_DIR": str(tmp_path / "cache")},
    )
    out, _ = process.communicate(timeout=60)
    assert done.status == 0, done.err
    assert process.returncode == 0
    true_share = dict(zip(PARTS, map(float, out.split()), strict=True))
    count, _ = flags_of(strata, result)
    late, _ = flags_of(strata, result, "python_late")
    assert count > 100
    assert late < count * 0.5, "most frames are not read in time"
    assert flags_of(strata, result, "truncated")[0] <= 0.02 * count
    assert flags_of(strata, result, "mismatched")[0] <= 0.01 * count
    assert strata("export", "folded", "-r", result, "-call-stack-mode", "all", "-o", folded).status == 0
    part_samples, right = dict.fromkeys(PARTS, 0), dict.fromkeys(PARTS, [0, 0])
    unknown = 0  # their Python frames were not read in time, and native code may be of any part
    for line in folded.read_text().splitlines():
        stack, _, weight = line.rpartition(" ")
        unknown += 0 if "_part" in stack else int(weight)
        for part, native in PARTS.items():
            if part in stack:
                part_samples[part] += int(weight)
            if native in stack and "_part" in stack:
                right[part] = [right[part][0] + (int(weight) if part in stack else 0), right[part][1] + int(weight)]
    for part, (own, everywhere) in right.items():
        assert everywhere, f"no sample in {PARTS[part]}"
        assert own > 0.98 * everywhere, f"{PARTS[part]} is on the lines of other parts"
    total = sum(part_samples.values()) + unknown
    for part, share in true_share.items():
        least, most = part_samples[part] / total, (part_samples[part] + unknown) / total
        assert least - 0.05 < share < most + 0.05, (part, part_samples, unknown, true_share)


def summary_of(strata, result):
    done = strata("report", "summary", result)
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, above_commands(lines))) <= 100
    assert "EMPTY" not in done.out
    assert "tasks" not in done.out
    return done.out


def burn(seconds):
    return [sys.executable, "-c", f"import time\nwhile time.process_time() < {seconds}: pass"]


# It ends while it is sampled, or goes on.
@pytest.mark.parametrize(("seconds", "options"), [(1.5, ()), (600, ("-duration", "1"))], ids=["ends", "goes on"])
def test_the_summary_says_how_it_ended_and_nothing_of_pauses(strata, tmp_path, seconds, options):
    result = tmp_path / "attached"
    process = subprocess.Popen(burn(seconds))
    try:
        done = strata("-collect", "hotspots", "-quiet", "-target-pid", str(process.pid), "-r", result, *options)
    finally:
        process.kill()
        process.wait()
    assert done.status == 0, done.err
    out = summary_of(strata, result)
    assert ("LEFT RUNNING" in out) == bool(options)
    assert "pause" not in out + strata("report", "info", result).out


def test_the_summary_of_a_program_without_tasks(strata, tmp_path):
    result = tmp_path / "started"
    assert strata("-collect", "hotspots", "-quiet", "-no-summary", "-r", result, "--", *burn(0.5)).status == 0
    assert "pause" not in summary_of(strata, result)


def test_attaching_to_nobody_is_refused(strata):
    for words, needle in (
        (["-target-pid", "999999999"], "no process"),
        (["-target-pid", "x"], "target-pid"),
        (["-target-process", "no-such-program"], "no running process"),
        (["-target-pid", str(os.getpid()), "--", "true"], "cannot be combined"),
    ):
        done = strata("-collect", "hotspots", *words)
        assert done.status == 2, done.err
        assert needle in done.err
    assert not list(strata.folder.glob("r0*"))


@pytest.mark.alone  # interrupts for other programs fall into its system calls
@pytest.mark.skipif(os.geteuid() != 0, reason="kernel frames need rights")
def test_kernel_frames_and_waits(strata, programs, tmp_path):
    result = tmp_path / "kernel"
    done = strata("-collect", "hotspots", "-knob", "sampling-mode=hw", "-r", result, "--", programs / "kernel_share")
    assert done.status == 0, done.err
    user_ns, system_ns, slept_ns = map(int, done.out.split())
    kernel = strata.result_json(result)["sampling"]["kernel"]
    assert kernel["stacks"] and kernel["context_switches"] and kernel["lost"] == 0
    _, cpu = flags_of(strata, result, "flags & 12288 = 0")
    assert abs(cpu - (user_ns + system_ns)) < 0.03 * (user_ns + system_ns)
    _, inside = flags_of(strata, result, "flags & 256")
    # Some 700 samples, and interrupts in the other part. A call ends in the kernel without a frame of it.
    assert 0.9 * system_ns < inside < system_ns + 0.3 * user_ns
    (reading,) = (row for row in strata.report(result, "hotspots")["rows"] if row["function"] == "read")
    assert abs(reading["cpu_total_ns"] - system_ns) < 0.08 * system_ns
    rows = strata.report(result, "hotspots", "-call-stack-mode", "all")["rows"]
    leaves = {row["function"]: row["cpu_self_ns"] for row in walk(rows)}
    assert leaves["user_share"] > 0.6 * user_ns
    assert any(row.get("module") == "[kernel]" and row["cpu_self_ns"] > 0.3 * system_ns for row in walk(rows))
    # The sleep lies between two looks at the program's clock. Other waits are for the disk, while it is loaded; one
    # thread does not wait longer than it lives.
    longest = "flags & 4096 AND weight_ns = (SELECT max(weight_ns) FROM samples WHERE flags & 4096)"
    _, slept = flags_of(strata, result, longest)
    assert 299_000_000 < slept < slept_ns + 1_000_000
    _, waited = flags_of(strata, result, "flags & 12288")
    assert slept <= waited < done.seconds * 1e9 - cpu
