# SPDX-License-Identifier: Apache-2.0
"""Collecting samples: the shares that the program itself measured, only while collecting, whatever ends it."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness import become_subreaper, children_of, emit_words, process_state, strict_json, until

PARTS = ("hot_seventy", "hot_twenty", "hot_ten")
FINE = ["-knob", "sampling-interval=1"]


def collect(strata, *program, options=(), ok=True, **more):
    """`strata -collect hotspots` on a program, quietly."""
    result = strata.folder / f"result{len(strata.history)}"
    done = strata("-collect", "hotspots", "-quiet", "-no-summary", "-r", result, *options, "--", *program, **more)
    done.result = result
    if ok:
        assert done.status == 0, done.err
    return done


def query(strata, result, sql):
    done = strata("query", result, sql, "-format", "json")
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def by_function(strata, result):
    """Name of the function → CPU ns of the samples that were in it, or in what was inlined into it."""
    sql = """
        WITH RECURSIVE up(sample, frame) AS (
            SELECT samples.sample, stack_nodes.frame FROM samples JOIN stack_nodes USING (node)
            UNION
            SELECT up.sample, stack_frames.parent FROM up JOIN stack_frames USING (frame)
            WHERE stack_frames.parent <> 0)
        SELECT functions.name AS name, SUM(samples.weight_ns) AS ns, COUNT(*) AS samples
        FROM up JOIN stack_frames USING (frame) JOIN functions USING (function) JOIN samples USING (sample)
        WHERE functions.name LIKE 'hot_%' GROUP BY 1"""
    return {row["name"]: row for row in query(strata, result, sql)}


def truth(out):
    """What the program says of itself; more than one process may have printed."""
    spent = dict.fromkeys(PARTS, 0)
    for line in out.splitlines():
        name, _, ns = line.partition(" ")
        if name in spent:
            spent[name] += int(ns)
    return spent


def assert_shares(found, spent, points=3.0, missing=0.05):
    """Shares agree within the statistical error of about a thousand samples."""
    whole, true = sum(row["ns"] for row in found.values()), sum(spent.values())
    for name in PARTS:
        share, expected = 100 * found[name]["ns"] / whole, 100 * spent[name] / true
        assert abs(share - expected) < points, f"{name}: {share:.2f} % found, {expected:.2f} % spent"
    assert abs(whole - true) < missing * true, f"{whole} ns found, {true} ns spent"


@pytest.fixture
def hot(programs):
    return programs / "hot_parts"


def test_known_shares_in_two_threads(strata, hot):
    done = collect(strata, hot, "1.2", "threads", options=FINE)
    assert_shares(by_function(strata, done.result), truth(done.out))
    about = strata.result_json(done.result)
    sampling = about["sampling"]
    assert about["type"] == "hotspots"
    assert sampling["mode"] == "sw" and sampling["period_ns"] == 1_000_000
    assert sampling["samples"] > 1000 and sampling["dropped"] == 0
    assert about["source"].startswith("CPU timer 1000 Hz (")
    threads = query(strata, done.result, "SELECT tid, COUNT(*) AS n FROM samples GROUP BY tid")
    assert len(threads) == 2 and all(row["n"] > 300 for row in threads)
    whole = query(strata, done.result, "SELECT SUM(truncated) AS cut, COUNT(*) AS n FROM samples")[0]
    assert whole["cut"] <= 0.01 * whole["n"], whole


@pytest.mark.alone  # it takes a processor away from all others
def test_a_thread_weighs_no_more_than_its_clock_says(strata, programs):
    """The kernel's event goes on from thread to thread: one of them may meet it twice as often as its own time says."""
    done = collect(strata, programs / "take_turns", "0.5", options=FINE)
    clocks = {int(tid): int(ns) for tid, ns in (line.split() for line in done.out.splitlines())}
    rows = query(strata, done.result, "SELECT tid, SUM(weight_ns) AS ns FROM samples GROUP BY tid")
    found = {row["tid"]: row["ns"] for row in rows}
    assert len(clocks) == 2 and set(clocks) & set(found)
    for tid in set(clocks) & set(found):
        print(f"{found[tid]} of {clocks[tid]} ns")
        assert found[tid] < 1.05 * clocks[tid], (found, clocks)


def test_names_are_kept_and_finalize_redoes_them(strata, hot):
    done = collect(strata, hot, "0.2", options=FINE)
    names = done.result / "names.strata"
    assert names.is_file()
    again = strata("finalize", "-r", done.result)
    assert again.status == 0 and "functions in" in again.err, again.err
    deferred = collect(strata, hot, "0.2", options=[*FINE, "-finalization-mode", "deferred"])
    assert not (deferred.result / "names.strata").exists()
    assert strata("finalize", deferred.result, "-quiet").status == 0
    assert (deferred.result / "names.strata").is_file()


def test_children_and_forks(strata, hot):
    done = collect(strata, hot, "0.6", "fork", options=FINE)
    assert_shares(by_function(strata, done.result), truth(done.out), points=4)
    pids = query(strata, done.result, "SELECT pid, SUM(weight_ns) AS ns FROM samples GROUP BY pid")
    assert len(pids) == 2 and all(row["ns"] > 0.4e9 for row in pids), pids
    assert sum(rung["processes"] for rung in strata.result_json(done.result)["sampling"]["rungs"]) == 2


def test_exec_is_a_process_of_its_own(strata, hot):
    done = collect(strata, hot, "0.3", "exec", hot, "0.3", options=FINE)
    rows = query(strata, done.result, "SELECT process_id, SUM(weight_ns) AS ns FROM samples GROUP BY 1")
    assert len(rows) == 2 and all(row["ns"] > 0.2e9 for row in rows), rows
    assert_shares(by_function(strata, done.result), truth(done.out), points=6)


def test_no_follow_child(strata, hot):
    done = collect(strata, "/bin/sh", "-c", f"'{hot}' 0.2; true", options=[*FINE, "-no-follow-child"])
    assert "hot_ten" in done.out and not by_function(strata, done.result)


@pytest.mark.parametrize("started", ["running", "paused"])
def test_only_what_lies_inside(strata, hot, started):
    """ITT resume and pause around one part of three."""
    options = [*FINE, *(["-start-paused"] if started == "paused" else [])]
    done = collect(strata, hot, "1.2", "region", options=options)
    found, spent = by_function(strata, done.result), truth(done.out)
    assert ("hot_seventy" in found) == (started == "running")
    assert "hot_ten" not in found
    # The trigger is switched on by strata, which looks every few milliseconds.
    assert 0.7 * spent["hot_twenty"] < found["hot_twenty"]["ns"] < 1.05 * spent["hot_twenty"]


def test_pause_by_command(strata, hot, tmp_path):
    result = tmp_path / "paused"
    words = [strata.binary, "-collect", "hotspots", "-quiet", *FINE, "-r", result, "--", hot, "4"]
    process = strata.popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until((result / "control").exists, what="the collection")
    assert strata("command", "pause", "-r", result).status == 0
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    found = by_function(strata, result)
    assert sum(row["ns"] for row in found.values()) < 0.5 * sum(truth(out.decode()).values())


def test_resume_after(strata, hot):
    done = collect(strata, hot, "2", options=[*FINE, "-resume-after", "0.3"])
    first = query(strata, done.result, "SELECT MIN(time_ns) AS ns FROM samples")[0]["ns"]
    assert first >= 300_000_000


def test_duration(strata, hot):
    done = collect(strata, hot, "2.5", options=[*FINE, "-duration", "0.4"])
    last = query(strata, done.result, "SELECT MAX(time_ns) AS ns FROM samples")[0]["ns"]
    assert last <= 2_000_000_000
    assert strata.result_json(done.result)["stop_reason"] == "duration"
    assert sum(truth(done.out).values()) > 2.4e9, "the program went on"


def test_data_limit(strata, hot):
    done = collect(strata, hot, "1.5", options=["-knob", "sampling-interval=0.2", "-data-limit", "20KB"])
    about = strata.result_json(done.result)
    assert about["stop_reason"] == "data-limit"
    assert about["size_bytes"] < 120_000
    assert by_function(strata, done.result)


@pytest.mark.alone  # as many samples as a processor of its own gives
def test_ring_buffer(strata, hot):
    done = collect(strata, hot, "3", options=[*FINE, "-ring-buffer", "0.5"])
    span = query(strata, done.result, "SELECT MIN(time_ns) AS a, MAX(time_ns) AS b, COUNT(*) AS n FROM samples")[0]
    assert 0.4e9 < span["b"] - span["a"] < 2e9, span
    assert span["n"] > 100
    assert strata.result_json(done.result)["ring_buffer"]["records_dropped"] > 0
    assert set(by_function(strata, done.result)) == set(PARTS)


def test_kill_of_the_program(strata, hot, tmp_path):
    result = tmp_path / "killed"
    words = [strata.binary, "-collect", "hotspots", "-quiet", *FINE, "-r", result, "--", hot, "60"]
    process = strata.popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: any(result.glob("trace.*")) and sum(p.stat().st_size for p in result.glob("trace.*")) > 2000)
    child = until(lambda: children_of(process.pid))[0]
    os.kill(child, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert by_function(strata, result)["hot_seventy"]["samples"] > 5


def test_kill_of_strata(strata, hot, tmp_path):
    """The program goes on to its end, with its own status; the result opens."""
    become_subreaper()
    result = tmp_path / "killed"
    words = [strata.binary, "-collect", "hotspots", "-quiet", *FINE, "-r", result, "--", hot, "2"]
    process = strata.popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: any(result.glob("trace.*")) and sum(p.stat().st_size for p in result.glob("trace.*")) > 2000)
    child = until(lambda: children_of(process.pid))[0]
    process.kill()
    out, _ = process.communicate(timeout=60)
    assert b"hot_ten" in out, "the program did not reach its end"
    until(lambda: process_state(child) in ("Z", None))
    assert os.waitpid(child, 0)[1] == 0
    assert by_function(strata, result)["hot_seventy"]["samples"] > 5


@pytest.mark.alone
def test_seccomp_refuses_perf(strata, hot, programs):
    """A lower rung, named, with the reason; the shares are right all the same."""
    done = collect(strata, programs / "filtered", "eperm", "perf_event_open", "--", hot, "2", options=FINE)
    rungs = strata.result_json(done.result)["sampling"]["rungs"]
    mine = [rung for rung in rungs if "timer" in rung["rung"]]
    assert mine and "not permitted" in mine[0]["why"], rungs
    assert "timer" in strata.result_json(done.result)["source"]
    # A timer looks only at ticks of 4 ms, and at few of them while other programs run: a sample weighs the time since
    # the one before. They fall anywhere, so chance moves the shares by what so many samples of such weights allow.
    found, spent = by_function(strata, done.result), truth(done.out)
    rows = query(strata, done.result, "SELECT weight_ns / 1e6 AS ms FROM samples")
    weights = [row["ms"] for row in rows]
    count = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    whole, true = sum(row["ns"] for row in found.values()), sum(spent.values())
    for name in PARTS:
        share, expected = found[name]["ns"] / whole, spent[name] / true
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / count), (name, share, expected, count)
    # The first and the last of them may stand for what is no part, and the end of a thread is in none.
    assert abs(whole - true) < 2e6 * max(weights), (whole, true, max(weights))


def test_hw_mode_says_what_it_does(strata, hot):
    options = ["-knob", "sampling-mode=hw", "-knob", "sampling-interval=0.1"]
    done = collect(strata, hot, "0.3", options=options)
    sampling = strata.result_json(done.result)["sampling"]
    if sampling["trigger"] == "cycles":
        assert sampling["period_ns"] == 100_000
        return
    assert sampling["period_ns"] == 1_000_000 and sampling["asked_ns"] == 100_000
    assert "every 1 ms instead of 0.1 ms" in done.err
    assert "every 1 ms instead of 0.1 ms" in sampling["note"]
    summary = strata("report", "summary", "-r", done.result)
    assert "1000 Hz, not 10000" in summary.out, summary.out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["-knob", "sampling-interval=0.05"], "between 0.1 and 1000 ms"),
        (["-knob", "sampling-mode=hw", "-knob", "sampling-interval=0.001"], "between 0.01 and 1000 ms"),
        (["-call-stack-mode", "some"], "user-only|user-plus-one|all"),
        (["-finalization-mode", "later"], "full|fast|deferred|none"),
    ],
)
def test_refused(strata, hot, options, text):
    done = collect(strata, hot, "0.1", options=options, ok=False)
    assert done.status == 2 and text in done.err


def test_the_options_of_vtune_are_taken(strata, hot, tmp_path):
    """No dashes before the program, and the knobs and options that its users write."""
    words = ["-collect", "hotspots", "-data-limit=5000", "-knob", "sampling-mode=hw", "-knob", "sampling-interval=1"]
    words += ["-knob", "enable-characterization-insights=false", "-knob", "stack-size=4096", "-call-stack-mode", "all"]
    words += ["-inline-mode=off", "-mrte-mode=auto", "-target-duration-type", "short", "-finalization-mode=full"]
    done = strata(*words, "-result-dir", tmp_path / "r001hs", "-quiet", hot, "0.1")
    assert done.status == 0, done.err
    options = json.loads(Path(tmp_path / "r001hs" / "result.json").read_text())["options"]
    assert options["call-stack-mode"] == "all" and options["inline-mode"] == "off"


def test_files_that_name_code_are_kept(strata, tmp_path):
    """A perf map is copied when its process ends; a file of an earlier process of that number is not."""
    script = tmp_path / "mapped.py"
    script.write_text(
        "import os, time\n"
        "path = f'/tmp/perf-{os.getpid()}.map'\n"
        "open(path, 'w').write('1000 20 made_at_run_time\\n')\n"
        "end = time.process_time() + 0.2\n"
        "while time.process_time() < end: pass\n"
        "print(path)\n"
    )
    done = collect(strata, sys.executable, script, options=FINE)
    path = Path(done.out.strip())
    try:
        assert (done.result / path.name).read_text() == "1000 20 made_at_run_time\n"
    finally:
        path.unlink()


def test_a_process_of_another_name_is_left_alone(strata, hot):
    done = collect(strata, hot, "0.2", options=[*FINE, "-knob", "sample-processes=other*"])
    assert strata.result_json(done.result)["sampling"]["samples"] == 0


def test_a_program_that_drops_the_preload_says_why_it_has_no_samples(strata, target):
    done = collect(strata, "env", "-u", "LD_PRELOAD", *emit_words(target, 1000), options=FINE)
    rungs = strata.result_json(done.result)["sampling"]["rungs"]
    assert any("started without LD_PRELOAD" in rung["why"] for rung in rungs)
    summary = " ".join(strata("report", "summary", done.result).out.split())
    assert "not sampled: it was started without LD_PRELOAD" in summary
