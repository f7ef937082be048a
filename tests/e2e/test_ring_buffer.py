# SPDX-License-Identifier: Apache-2.0
"""-ring-buffer: the last seconds are there, whole and without a gap; what came before is gone and said to be."""

import json
import signal
import subprocess
import time

import pytest
from harness import TARGETS, become_subreaper, strict_json
from trace_reader import CHUNK_SAMPLES, CHUNK_SLICES, Result, chunks_of

ALL_DIFFERENT = 1 << 40  # labels, so that every pair has its own


def paced(programs, rate, seconds, labels=ALL_DIFFERENT):
    return [programs / "paced", str(rate), str(seconds), str(labels)]


def steps_of(result):
    """The numbers of the steps that are there, in order of their begin."""
    steps = [one for one in result.slices if one.name.startswith(b"step number ")]
    return [int(one.name.split()[-1]) for one in sorted(steps, key=lambda one: one.begin)]


def assert_window(folder, seconds):
    """All of the window is there; what lay before it had been deleted when the last file was begun. Gives its span."""
    files = []
    for path in sorted(folder.glob("trace.*.strata")):
        heads = [head for kind, _, _, head, _ in chunks_of(path) if kind in (CHUNK_SLICES, CHUNK_SAMPLES)]
        files += [(min(head[3] for head in heads), max(head[4] for head in heads))] if heads else []
    assert len(files) >= 2, "the test is too short"
    window = seconds * Result(folder).rate
    newest = max(last for _, last in files)
    assert newest - files[0][0] >= window
    assert max(last for _, last in files[:-1]) - files[0][1] <= window
    return (newest - files[0][0]) * 1e9 / Result(folder).rate


def assert_sound(quality):
    """Deleted files are no damage."""
    for key in ("missing_segments", "damaged_chunks", "missing_names", "unmatched_ends", "lost"):
        assert quality[key] == 0, key


def test_the_last_seconds_are_kept(strata, programs):
    rate, seconds, window = 5000, 4, 1
    done = strata.collect(*paced(programs, rate, seconds), options=["-quiet", "-ring-buffer", str(window)])
    pairs = json.loads(done.out.splitlines()[0])["pairs"]
    assert pairs == rate * seconds
    about = strata.result_json(done.result)
    result = Result(done.result)
    steps = steps_of(result)
    assert_window(done.result, window)
    assert 0 < len(steps) < pairs
    assert steps == list(range(pairs - len(steps), pairs)), "a gap, or not the last ones"
    ring = about["ring_buffer"]
    assert ring["seconds"] == window
    assert ring["records_dropped"] >= 2 * (pairs - len(steps))
    assert ring["files_dropped"] == min(int(path.name.split(".")[1]) for path in done.result.glob("trace.*"))
    assert ring["bytes_dropped"] > 0
    assert about["loss"]["slices_dropped"] == 0
    assert about["events"] == pairs + 1


def test_every_file_says_what_is_open(strata, programs):
    done = strata.collect(*paced(programs, 2000, 3), options=["-quiet", "-ring-buffer", "1"])
    result = Result(done.result)
    process = next(iter(result.processes.values()))
    files = sorted(path.name for path in done.result.glob("trace.*"))
    assert len(files) >= 2
    assert files[0] != "trace.000.strata"
    for name in files:
        records = [one for one in result.open_records if one[0] == name]
        names = [process.strings[one[4]] for one in records]
        assert names == [b"whole run"], name
    begins = {one[6] for one in result.open_records}
    assert len(begins) == 1  # always the same moment: when it really began


def test_reports_show_the_window(strata, programs):
    done = strata.collect(*paced(programs, 2000, 3), options=["-quiet", "-ring-buffer", "1"])
    counts = strata.counts(done.result)
    steps = steps_of(Result(done.result))
    named = {name for name in counts if name.startswith("step number ")}
    assert named == {f"step number {number}" for number in steps}
    # What began before the window is there once, from the window's beginning on, and is said to be cut.
    whole = strata.types(done.result)["whole run"]
    assert whole["count"] == 1
    span = assert_window(done.result, 1)
    print(f"{whole['wall_total_ns']} of {span}")
    assert 0.999 * span <= whole["wall_total_ns"] <= 1.001 * span
    report = strata.report(done.result, "tasks")
    assert report["quality"]["clipped"] == 1
    assert_sound(report["quality"])
    ring = strata.result_json(done.result)["ring_buffer"]
    note = f"{ring['files_dropped']} files with {ring['records_dropped']} records dropped"
    assert any(note in text for text in report["quality"]["notes"])
    strata.opens(done.result)


def test_a_limit_counts_what_is_kept(strata, programs):
    """A few hundred KB of all different labels a second; some 90 KB of them are kept, more where strata is late."""
    options = ["-quiet", "-ring-buffer", "0.5", "-data-limit", "1"]
    done = strata.collect(*paced(programs, 40000, 8), options=options)
    about = strata.result_json(done.result)
    assert about["ring_buffer"]["bytes_dropped"] + about["size_bytes"] > 10**6, "the test is too small"
    assert about["stop_reason"] == ""
    assert about["size_bytes"] < 10**6


def wait_for_file(folder, number, process):
    """Until the trace file of that number, or a later one, is there."""
    while process.poll() is None:
        if any(int(path.name.split(".")[1]) >= number for path in folder.glob("trace.*.strata")):
            return
        time.sleep(0.002)  # polling
    pytest.fail("strata ended before it was killed")


@pytest.mark.parametrize("number", [1, 3, 6])
def test_killed_at_any_instant_it_opens(strata, programs, number):
    """Right after a file was begun old ones are being deleted and the new one is filled."""
    become_subreaper()
    folder = strata.folder / "killed"
    command = [strata.binary, "-collect", "tasks", "-quiet", "-ring-buffer", "0.25", "-r", folder, "--"]
    process = strata.popen([*command, *paced(programs, 20000, 20)], stdout=subprocess.DEVNULL)
    while not folder.is_dir():
        assert process.poll() is None
        time.sleep(0.002)  # polling
    wait_for_file(folder, number, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    counts = strata.counts(folder)
    steps = sorted(int(name.split()[-1]) for name in counts if name.startswith("step number "))
    assert steps, "nothing is left"
    assert steps == list(range(steps[0], steps[0] + len(steps))), "a gap"
    assert_sound(strata.report(folder, "tasks")["quality"])
    strata.opens(folder)


PHASES, PHASE_SECONDS = 8, 0.5
SAMPLED = ["-collect", "hotspots", "-quiet", "-no-summary", "-knob", "sampling-interval=1"]


def python_frames(process, node):
    """Names of the Python functions of a stack, innermost first."""
    names = []
    while node:
        if node.kind == 3:
            names.append(process.codes[node.code].name.decode())
        node = node.caller
    return names


def assert_sound_stacks(strata, folder):
    """No sample of the window has lost its stack, and every Python function has its name."""
    report = strata.report(folder, "hotspots")
    assert_sound(report["quality"])
    assert report["totals"]["samples"] > 0
    assert not [note for note in report["quality"]["notes"] if "stack" in note or "Python" in note]


def test_stacks_pass_with_the_files(strata, python):
    folder = strata.folder / "sampled"
    program = [python, TARGETS / "phases.py", str(PHASES), str(PHASE_SECONDS)]
    done = strata(*SAMPLED, "-ring-buffer", "1", "-r", folder, "--", *program)
    assert done.status == 0, done.err
    ring = strata.result_json(folder)["ring_buffer"]
    assert ring["files_dropped"] >= 4
    result = Result(folder)
    process = next(iter(result.processes.values()))
    phases = [python_frames(process, one.node) for one in result.samples]
    seen = {name for names in phases for name in names if name.startswith("phase_")}
    # A window of 1 s, cut at borders of files, holds the last three phases or four, each of half a second of CPU time.
    assert f"phase_{PHASES - 1}" in seen
    assert "phase_0" not in seen
    kept = [track for track in process.tracks.values() if track.samples]
    assert len(process.tracks) <= len(kept) + 2, "threads of files that are gone"
    assert process.last_node > len(process.nodes), "numbers do not begin anew"
    named = {code.name.decode() for code in process.codes.values()}
    assert seen <= named
    assert "phase_0" not in named, "functions of files that are gone"
    assert (folder / "definitions.strata").stat().st_size < 64 << 10
    assert_sound_stacks(strata, folder)
    rows = strata("query", folder, "SELECT name FROM functions WHERE name LIKE 'phase_%'", "-format", "json")
    assert {row["name"] for row in strict_json(rows.stdout)["rows"]} >= seen
    strata.opens(folder)


@pytest.mark.parametrize("number", [1, 5])
def test_killed_while_sampling_it_opens(strata, python, number):
    become_subreaper()
    folder = strata.folder / "killed"
    command = [strata.binary, *SAMPLED, "-ring-buffer", "0.25", "-r", folder, "--"]
    program = [python, TARGETS / "phases.py", "40", str(PHASE_SECONDS)]
    process = strata.popen([*command, *program], stdout=subprocess.DEVNULL)
    while not folder.is_dir():
        assert process.poll() is None
        time.sleep(0.002)  # polling
    wait_for_file(folder, number, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert_sound_stacks(strata, folder)
    strata.opens(folder)
