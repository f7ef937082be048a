# SPDX-License-Identifier: Apache-2.0
"""What reports make of samples, against what the sampled program measured of itself."""

import math
import os
import subprocess
from pathlib import Path

import pytest
from harness import check_report, strict_csv, strict_json, walk

FULL = os.environ.get("STRATA_TEST_SCALE") == "full"
PARTS = ("hot_seventy", "hot_twenty", "hot_ten")
FINE = ["-knob", "sampling-interval=1"]
TIMES = ("effective_ns", "spin_ns", "overhead_ns")


def collect(strata, *program, options=(), **more):
    result = strata.folder / f"result{len(strata.history)}"
    words = ["-collect", "hotspots", "-quiet", "-no-summary", "-r", result, *FINE, *options]
    done = strata(*words, "--", *program, **more)
    assert done.status == 0, done.err
    done.result = result
    return done


def report(strata, name, result, *options, form="json"):
    done = strata("report", name, "-r", result, "-format", form, *options)
    assert done.status == 0, done.err
    if form == "csv":
        return strict_csv(done.stdout)
    if form == "text":
        return done.out
    answer = strict_json(done.stdout)
    check_report(answer, name)
    return answer


def by_key(rows, key):
    return {row[key]: row for row in rows if key in row}


def spent_by(out):
    pairs = (line.split() for line in out.splitlines())
    return {name: float(value) for name, value in (pair for pair in pairs if len(pair) == 2)}


@pytest.fixture(scope="module")
def run(shared_strata, programs):
    """One run of known shares that many tests ask about."""
    return collect(shared_strata, programs / "hot_parts", "30" if FULL else "1.5", "threads", timeout=300)


def test_shares_are_those_of_the_program(shared_strata, run):
    """Total time by function: within one point over half a minute, within chance in a short run."""
    rows = by_key(report(shared_strata, "hotspots", run.result)["rows"], "function")
    spent = {name: value for name, value in spent_by(run.out).items() if name in PARTS}
    whole, true = sum(rows[name]["cpu_total_ns"] for name in PARTS), sum(spent.values())
    for name in PARTS:
        share, expected = rows[name]["cpu_total_ns"] / whole, spent[name] / true
        chance = 4 * math.sqrt(expected * (1 - expected) / (true / 1e6))
        limit = 0.01 if FULL else max(0.01, chance)
        assert abs(share - expected) < limit, f"{name}: {share:.4f} found, {expected:.4f} spent, limit {limit:.4f}"
    assert abs(whole - true) < 0.03 * true, f"{whole} ns found, {true} ns spent"


def test_parts_make_the_whole(shared_strata, run):
    """Self times add up to the total whatever the grouping, and classes add up to the time."""
    whole = report(shared_strata, "hotspots", run.result)["totals"]["cpu_self_ns"]
    groupings = ("function", "module", "thread", "process", "source-line", "python-line", "cpu-class", "task-type")
    for grouping in (*groupings, "task-domain,task-type,function,callstack", "module,function"):
        answer = report(shared_strata, "hotspots", run.result, "-group-by", grouping)
        assert sum(row["cpu_self_ns"] for row in answer["rows"]) == whole, grouping
        for row in walk(answer["rows"]):
            assert sum(row[key] for key in TIMES) == row["cpu_self_ns"], (grouping, row)
    tree = report(shared_strata, "top-down", run.result)["rows"]
    assert sum(row["cpu_total_ns"] for row in tree) == whole
    for row in walk(tree):
        assert row["cpu_total_ns"] == row["cpu_self_ns"] + sum(child["cpu_total_ns"] for child in row["children"])


@pytest.mark.parametrize("name", ["hotspots", "callstacks", "top-down", "gprof-cc", "utilization", "summary"])
def test_forms_tell_the_same(shared_strata, run, name):
    """CSV has the rows of the JSON, and the text is there."""
    answer = report(shared_strata, name, run.result)
    rows = report(shared_strata, name, run.result, form="csv")
    assert list(rows[0]) == [column["key"] for column in answer["columns"]]
    number = "elapsed_ns" if name == "utilization" else "cpu_self_ns"
    if name in ("hotspots", "gprof-cc", "utilization", "summary"):
        told = [row.get(number) for row in walk(answer["rows"])]
        assert [row[number] for row in rows] == ["" if value is None else str(value) for value in told]
    text = report(shared_strata, name, run.result, form="text")
    # All the time of the parts is that of a function inlined into them: the summary may name just that one.
    assert name in ("utilization", "summary") or "hot_seventy" in text
    assert name != "summary" or ("\nHOT " in text and len(text.splitlines()) <= 40)


def test_filters_limits_and_shares(shared_strata, run):
    everything = report(shared_strata, "hotspots", run.result)
    whole = everything["totals"]["cpu_self_ns"]
    inside = report(shared_strata, "hotspots", run.result, "-filter", "module=hot_parts")
    outside = report(shared_strata, "hotspots", run.result, "-filter", "module!=hot_parts")
    assert inside["totals"]["cpu_self_ns"] + outside["totals"]["cpu_self_ns"] == whole
    assert all(row["module"] == "hot_parts" for row in inside["rows"] if row["cpu_self_ns"])
    first = report(shared_strata, "hotspots", run.result, "-limit", "1")["rows"]
    assert len(first) == 2 and first[1]["function"] == "[Others]"
    assert first[0]["cpu_self_ns"] + first[1]["cpu_self_ns"] == whole
    shares = report(shared_strata, "hotspots", run.result, "-show-as", "percent")["rows"]
    assert abs(sum(row["cpu_self_ratio"] for row in shares) - 1) < 1e-9
    counts = report(shared_strata, "hotspots", run.result, "-show-as", "samples")
    assert sum(row["cpu_self_samples"] for row in counts["rows"]) == everything["totals"]["samples"]
    query = "SELECT (MIN(time_ns) + MAX(time_ns)) / 2e9 AS middle FROM samples"
    middle = strict_json(shared_strata("query", run.result, query, "-format", "json").stdout)["rows"][0]["middle"]
    half = report(shared_strata, "hotspots", run.result, "-time-filter", f"0:{middle}")["totals"]["cpu_self_ns"]
    assert 0 < half < whole
    for wrong in (["-group-by", "callstack,function"], ["-filter", "callstack=x"], ["-call-stack-mode", "some"]):
        assert shared_strata("report", "hotspots", "-r", run.result, *wrong).status == 2


@pytest.mark.parametrize("words", [["gprof-cc"], ["source", "hot_parts.c"], ["disassembly", "hot_ten"], ["hotspots"]])
def test_filters_that_samples_have_no_answer_to(shared_strata, run, words):
    for given in ("operator-scope=user", "counter=x", "nn-module=Net"):
        done = shared_strata("report", *words, "-r", run.result, "-filter", given)
        assert done.status == 2 and done.err.startswith("strata: error: "), (given, done)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-collect", "hotspots"], "less CPU time than one sampling interval"),
        (["-collect", "hotspots", "-start-paused"], "recording was paused"),
        (["-collect", "tasks"], "use strata -collect hotspots"),
    ],
    ids=["short", "paused", "tasks"],
)
def test_no_samples_say_why(strata, options, says):
    """What to do next is not what was done already."""
    strata(*options, "-quiet", "-no-summary", "-r", strata.folder / "none", "--", "true")
    for words in (["hotspots"], ["gprof-cc"], ["utilization"]):
        text = " ".join(strata("report", *words, "-r", strata.folder / "none").out.split())
        assert says in text, (words, text)


def test_comparison_with_itself_is_zero(shared_strata, run):
    """By either spelling; every difference is nothing."""
    both = [run.result, run.result]
    for words in (["report", "hotspots", "-r", both[0], "-r", both[1]], ["compare", "hotspots", *both]):
        done = shared_strata(*words, "-format", "json")
        assert done.status == 0, done.err
        rows = strict_json(done.stdout)["rows"]
        assert rows and all(row["difference_cpu_self_ns"] == 0 for row in rows)
        assert all(row["first_cpu_self_ns"] == row["second_cpu_self_ns"] for row in rows)


def torch_lib(python):
    code = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    place = Path(done.stdout.strip() or "/nowhere") / "lib"
    if not (place / "libgomp.so.1").exists():
        pytest.skip("torch brings no libgomp.so.1 of its own")
    return place


def assert_spins(strata, done, kind):
    """What waited is spin time, what worked is effective, by the threads' own clocks."""
    spent = spent_by(done.out)
    totals = report(strata, "hotspots", done.result)["totals"]
    worked, waited = spent["worked"] * 1e9, spent["waited"] * 1e9
    slack = 0.1 * (worked + waited) + 20e6
    assert abs(totals["spin_ns"] - waited) < slack, (totals, spent)
    assert abs(totals["effective_ns"] - worked) < slack, (totals, spent)
    assert totals[kind] > 0.8 * totals["spin_ns"], totals
    # Names of functions that wait seldom say so: trees do.
    for tree in ("callstacks", "top-down"):
        lines = strata("report", tree, "-r", done.result, "-report-width", "120").out.splitlines()
        assert any("(busy waiting)" in line for line in lines), (tree, lines)
        assert not any("(busy waiting)" in line and " work " in line for line in lines), (tree, lines)


@pytest.mark.alone  # who yields gives his processor to another test
@pytest.mark.parametrize(("mode", "kind"), [("yield", "spin_other_ns"), ("lock", "spin_lock_ns")])
def test_waiting_loops_are_spin(strata, programs, mode, kind):
    assert_spins(strata, collect(strata, programs / "spin_kinds", mode, "0.5"), kind)


@pytest.mark.alone
@pytest.mark.parametrize("runtime", ["distribution", "torch"])
def test_barriers_are_spin(strata, programs, runtime, python):
    """Both are stripped: the loop is known by what it does, not by the nearest symbol."""
    env = {"OMP_WAIT_POLICY": "active"}
    if runtime == "torch":
        env["LD_LIBRARY_PATH"] = str(torch_lib(python))
    done = collect(strata, programs / "spin_kinds", "barrier", "0.5", env=env)
    assert_spins(strata, done, "spin_imbalance_ns")
