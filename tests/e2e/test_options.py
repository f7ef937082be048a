# SPDX-License-Identifier: Apache-2.0
"""Options of collect and report: VTune's grammar, and numbers that agree with the program's own."""

import json
import os
import re
import subprocess

import pytest
from harness import emit_words, strict_csv, strict_json, until


def span(strata, result):
    slices = strata.slices(result)
    return min(one.begin_ns for one in slices), max(one.end_ns for one in slices)


# Collecting ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["-collect", "tasks", "-r", "R", "--"],
        ["-collect", "tasks", "-r", "R"],
        ["--collect", "tasks", "--result-dir", "R", "--"],
        ["-collect=tasks", "-result-dir=R", "--"],
        ["--collect=tasks", "--result-dir=R"],
        ["collect", "tasks", "-r", "R", "--"],
        ["collect", "tasks", "--result-dir=R"],
        ["-c", "tasks", "-r", "R", "--"],
        ["-r", "R", "-collect", "tasks", "--"],
        ["-collect", "tasks", "-result", "R", "-quiet", "--"],
        ["-q", "-collect", "tasks", "-r=R"],
    ],
    ids=" ".join,
)
def test_grammar(strata, target, words):
    words = [word.replace("R", str(strata.folder / "r")) if word.endswith("R") else word for word in words]
    done = strata(*words, *emit_words(target, 7))
    assert done.status == 0, done.err
    assert strata.counts(strata.folder / "r") == {"t0": 7}


def test_program_options_are_the_programs(strata, target):
    """Without `--` everything after the program's name is the program's, also what we would know."""
    done = strata("-collect", "tasks", "-r", strata.folder / "r", "echo", "-quiet", "--help", "-r", "x", "--", "y")
    assert done.stdout == b"-quiet --help -r x -- y\n"


def test_help_and_version(strata):
    for words in (["-help"], ["--help"], ["help"], ["-h"]):
        done = strata(*words)
        assert done.status == 0 and b"collect" in done.stdout and b"report" in done.stdout, words
    done = strata("-version")
    assert done.status == 0 and re.search(rb"\d+\.\d+", done.stdout)
    for words in (["-help", "collect"], ["help", "report"], ["report", "-help"], ["-collect", "tasks", "-help"]):
        done = strata(*words)
        assert done.status == 0 and len(done.stdout.splitlines()) > 5, words
    assert b"-start-paused" in strata("help", "collect").stdout


def test_names_of_results(strata):
    """r000ta, r001ta … in the working folder; @@@ anywhere in a given name."""
    for _ in range(3):
        assert strata("-collect", "tasks", "-quiet", "--", "true").status == 0
    assert sorted(os.listdir(strata.folder)) == ["r000ta", "r001ta", "r002ta"]
    for _ in range(2):
        assert strata("-collect", "tasks", "-quiet", "-r", "my-@@@-run", "--", "true").status == 0
    assert (strata.folder / "my-000-run").is_dir() and (strata.folder / "my-001-run").is_dir()


def test_result_is_found(strata, target):
    """-r, a plain word, or the newest in the working folder."""
    for count in (1, 2, 3):
        done = strata("-collect", "tasks", "-quiet", "--", *emit_words(target, count))
        assert done.status == 0, done.err
    for words, count in ((["-r", "r000ta"], 1), (["r001ta"], 2), ([], 3), (["--result-dir=r000ta"], 1)):
        done = strata("report", "tasks", "-format", "json", *words)
        assert done.status == 0, done.err
        report = strict_json(done.stdout)
        assert report["totals"]["count"] == count, words
    assert report["result"].endswith("r000ta")
    for words in (
        ["-report", "tasks", "-r", "r001ta", "-format=json"],
        ["-R", "tasks", "-r", "r001ta", "-format=json"],
    ):
        assert strict_json(strata(*words).stdout)["totals"]["count"] == 2


def test_app_working_dir(strata):
    place = strata.folder / "place"
    place.mkdir()
    done = strata("-collect", "tasks", "-quiet", "-app-working-dir", place, "--", "pwd")
    assert done.stdout == f"{place}\n".encode()
    assert os.listdir(place) == [] and (strata.folder / "r000ta").is_dir()
    assert strata.result_json(strata.folder / "r000ta")["working_dir"] == str(place)


def test_start_paused(strata, target):
    done = strata.collect(*emit_words(target, 1000), options=["-start-paused"])
    assert strata.total(done.result) == 0
    strata.opens(done.result)


def paced_for(target, seconds):
    """A thousand tasks a second, each with a label of its own."""
    return [target, "--seconds", str(seconds), "--rate", "1000", "--labels", "1000000"]


def test_resume_after(strata, target):
    """-start-paused -resume-after 1: the first second is not there, what follows is."""
    for options in (["-start-paused", "-resume-after", "1"], ["-resume-after=1"]):
        done = strata.collect(*paced_for(target, 4), options=options)
        pairs = json.loads(done.stdout)["pairs"]
        first, _ = span(strata, done.result)
        assert 0.9e9 <= first <= 2.6e9, first
        counts = strata.counts(done.result)
        assert 0 < len(counts) < pairs
        assert counts == {f"label_{number}": 1 for number in range(pairs - len(counts), pairs)}, "a gap"


def test_duration(strata, target):
    """-duration stops the collection, never the program."""
    done = strata.collect(*paced_for(target, 4), options=["-duration", "1"])
    pairs = json.loads(done.stdout)["pairs"]
    assert done.seconds > 3.9
    _, last = span(strata, done.result)
    assert 0.9e9 <= last <= 2.6e9
    counts = strata.counts(done.result)
    assert 0 < len(counts) < pairs
    assert counts == {f"label_{number}": 1 for number in range(len(counts))}, "a gap"
    info = strata.result_json(done.result)
    assert info["stop_reason"] == "duration"
    assert "duration" in strata("report", "summary", "-r", done.result).out


def test_duration_longer_than_the_program(strata, target):
    done = strata.collect(*emit_words(target, 10), options=["-duration=60"])
    assert done.seconds < 10 and strata.total(done.result) == 10
    assert strata.result_json(done.result).get("stop_reason", "") == ""


def test_data_limit(strata, target):
    """-data-limit 1 (MB): the folder stays near it, the program runs on, the rest is told."""
    done = strata.collect(
        target, "--seconds", "3", "--rate", "500000", "--labels", "5000", "--cached", options=["-data-limit", "1"]
    )
    pairs = json.loads(done.stdout)["pairs"]
    size = sum(path.stat().st_size for path in done.result.iterdir() if path.name != "index.strata")
    assert size <= 1.5e6, size
    assert 0 < strata.total(done.result) < pairs
    assert strata.result_json(done.result)["stop_reason"] == "data-limit"
    assert "data-limit" in strata("report", "summary", "-r", done.result).out or "data limit" in done.err


def test_quiet_and_loud(strata):
    loud = strata.collect("true")
    assert str(loud.result.name) in loud.err
    # As with VTune, the summary is an answer and not a message: -no-summary leaves it out.
    silent = strata.collect("true", options=["-quiet", "-no-summary"])
    assert silent.stderr == b""


def test_result_can_be_read_while_running(strata, target):
    result = strata.folder / "r"
    running = strata.popen(
        [strata.binary, "-collect", "tasks", "-quiet", "-r", result, "--", target, "--seconds", "20", "--rate", "1000"],
        stdout=subprocess.DEVNULL,
    )
    until((result / "result.json").exists, what="result.json")
    assert strata.result_json(result)["state"] == "running"
    assert strata.result_json(result)["schema"] == "strata.result/1"
    first = until(lambda: strata.total(result), what="tasks in the running result")
    assert until(lambda: strata.total(result) > first, what="more tasks")
    assert not running.poll()


# Asking ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known(shared_strata, target):
    """4 threads × 3000 pairs, 7 labels, nested 3 deep; (strata, result, what the program told)."""
    done = shared_strata.collect(
        target,
        "--threads",
        "4",
        "--pairs",
        "3000",
        "--labels",
        "7",
        "--depth",
        "3",
        "--burst",
        "600",
        "--print-counts",
        "--domain",
        "known",
        "--thread-name",
        "w",
        result=shared_strata.folder / "known",
    )
    return shared_strata, done.result, strict_json(done.stdout)


def test_group_by_depth(known):
    strata, result, told = known
    report = strata.report(result, "tasks", "-group-by", "task-domain,thread,task-type")
    assert report["group_by"] == ["task-domain", "thread", "task-type"]
    (domain,) = report["rows"]
    assert domain["task_domain"] == "known" and domain["count"] == told["pairs"]
    assert [row["count"] for row in domain["children"]] == [3000] * 4
    for thread in domain["children"]:
        assert sum(row["count"] for row in thread["children"]) == 3000
        assert len(thread["children"]) == 7


def test_default_is_by_type(known):
    strata, result, told = known
    report = strata.report(result, "tasks")
    assert {row["task_type"]: row["count"] for row in report["rows"]} == told["labels"]
    assert report["totals"]["count"] == told["pairs"]


def test_filters(known):
    strata, result, told = known
    labels = told["labels"]
    assert strata.counts(result, "-filter", "task-type=label_3") == {"label_3": labels["label_3"]}
    assert strata.counts(result, "-filter", "task-type=label_*") == labels
    assert strata.counts(result, "-filter", "task-type=label_?", "-filter", "task-domain=nothing") == {}
    two = strata.counts(result, "-filter", "task-type=label_1", "-filter", "task-type=label_2")
    assert two == {name: labels[name] for name in ("label_1", "label_2")}
    rest = strata.counts(result, "-filter", "task-type!=label_1")
    assert rest == {name: count for name, count in labels.items() if name != "label_1"}
    one = strata.counts(result, "-filter", f"thread=*{told['threads'][2]['tid']}*")
    assert sum(one.values()) == 3000


def test_sort_and_limit(known):
    strata, result, told = known
    for key in ("wall_self_ns", "wall_total_ns", "count", "wall_max_ns"):
        rows = strata.report(result, "tasks", "-sort-desc", key)["rows"]
        values = [row[key] for row in rows]
        assert values == sorted(values, reverse=True), key
    rows = strata.report(result, "tasks", "-sort-asc", "wall_total_ns")["rows"]
    assert [row["wall_total_ns"] for row in rows] == sorted(row["wall_total_ns"] for row in rows)
    by_title = strata.report(result, "tasks", "-sort-desc", "Task Time")["rows"]
    assert [row["wall_total_ns"] for row in by_title] == sorted((row["wall_total_ns"] for row in rows), reverse=True)
    full = strata.report(result, "tasks")
    cut = strata.report(result, "tasks", "-limit", "3")
    shown = [row for row in cut["rows"] if row["task_type"] in told["labels"]]
    assert shown == full["rows"][:3]
    assert cut["totals"] == full["totals"]


def test_time_filter(known):
    """Seconds since the start of collection; what overlaps is shown, clipped."""
    strata, result, _ = known
    slices = strata.slices(result)
    first, last = min(one.begin_ns for one in slices), max(one.end_ns for one in slices)
    middle = (first + last) / 2e9
    report = strata.report(result, "tasks", "-time-filter", f"{middle:.9f}:{last / 1e9 + 1:.9f}")
    exact = sum(1 for one in slices if one.end_ns > middle * 1e9)
    assert abs(report["totals"]["count"] - exact) <= 12
    nothing = strata.report(result, "tasks", "-time-filter", f"{last / 1e9 + 1}:{last / 1e9 + 2}")
    assert nothing["totals"].get("count", 0) == 0


def test_formats_agree(known):
    strata, result, _ = known
    report = strata.report(result, "tasks")
    done = strata("report", "tasks", "-r", result, "-format=csv")
    rows = strict_csv(done.stdout)
    keys = [column["key"] for column in report["columns"]]
    assert list(rows[0]) == keys
    for ours, theirs in zip(report["rows"], rows, strict=True):
        for key in keys:
            assert str(ours[key]) == theirs[key] or float(ours[key]) == float(theirs[key]), key
    text = strata("report", "tasks", "-r", result).out
    for row in report["rows"]:
        assert row["task_type"] in text


def test_report_output(known):
    strata, result, _ = known
    path = strata.folder / "report.csv"
    done = strata("report", "tasks", "-r", result, "-format", "csv", "-report-output", path)
    assert done.status == 0 and done.stdout == b""
    assert path.read_bytes() == strata("report", "tasks", "-r", result, "-format", "csv").stdout


def test_timeline(known):
    strata, result, _ = known
    report = strata.report(result, "timeline")
    assert report["rows"]
    text = strata("report", "timeline", "-r", result).out
    assert "w0" in text and "w3" in text


def test_info(known):
    strata, result, told = known
    text = strata("report", "info", "-r", result).out
    assert "itt_target" in text and str(told["pid"]) in text
    report = strata.report(result, "info")
    assert report["rows"]


def test_totals_have_every_metric(known):
    strata, result, _ = known
    report = strata.report(result, "tasks")
    for key in (
        "count",
        "wall_total_ns",
        "wall_self_ns",
        "wall_min_ns",
        "wall_avg_ns",
        "wall_median_ns",
        "wall_p95_ns",
        "wall_p99_ns",
        "wall_max_ns",
    ):
        assert key in report["rows"][0], key


def test_index_is_rebuilt(known):
    """The index is derived: without it, or with another result's, the answer is the same."""
    strata, result, _ = known
    before = strata("report", "tasks", "-r", result, "-format", "json").stdout
    index = result / "index.strata"
    assert index.exists()
    index.unlink()
    assert strata("report", "tasks", "-r", result, "-format", "json").stdout == before
    assert index.exists()
    index.write_bytes(b"rubbish" * 100)
    assert strata("report", "tasks", "-r", result, "-format", "json").stdout == before
