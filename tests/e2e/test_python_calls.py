# SPDX-License-Identifier: Apache-2.0
"""Calls of Python functions, counted: cProfile's figures, and a program that does not notice."""

import json

import pytest
from harness import TARGETS
from pythons import VERSIONS, interpreter

PROGRAM = TARGETS / "python_calls.py"
KNOB = ("-knob", "python-calls=true")
STATS = """
import json, pstats, sys
stats = pstats.Stats(sys.argv[1]).stats
print(json.dumps({pstats.func_std_string(key): value[:4] for key, value in stats.items()}))
"""
# What only `python -m cProfile` calls, or only strata can see: the end of the interpreter.
OF_CPROFILE = ("{built-in method builtins.exec}", "{method 'disable' of '_lsprof.Profiler' objects}")


def collect(strata, *program, status=0, options=()):
    result = strata.folder / f"result{len(strata.history)}"
    done = strata("-collect", "tasks", "-r", result, *KNOB, *options, "--", *program)
    assert done.status == status, done.err
    return done, result


def report(strata, result, *options):
    done = strata("report", "python-calls", "-r", result, "-format", "json", *options)
    assert done.status == 0, done.err
    return json.loads(done.stdout)


def calls_of(strata, result):
    """Function -> its row."""
    return {row["python_function"]: row for row in report(strata, result)["rows"]}


def by_name(strata, result):
    """Name of each of the program's own functions -> (calls, primitive calls)."""
    head = f"{PROGRAM}:"
    return {
        name.split("(")[1].rstrip(")"): (row["calls"], row["primitive_calls"])
        for name, row in calls_of(strata, result).items()
        if name.startswith(head)
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_figures_are_those_of_cprofile(strata, version):
    """Every function of the program and every built-in one that it calls, called as often."""
    python = interpreter(version)
    file = strata.folder / "stats"
    # Without site: what it brings in may have something to do at the end, which only strata sees.
    strata.run([python, "-S", "-m", "cProfile", "-o", file, PROGRAM, "work"])
    expected = json.loads(strata.run([python, "-c", STATS, file]).stdout)
    done, result = collect(strata, python, "-S", PROGRAM, "work")
    assert done.stdout == b"ONE,TWO,THREE\n"
    found = calls_of(strata, result)
    ours = {name: figures for name, figures in expected.items() if name.startswith((str(PROGRAM), "{"))}
    assert len(ours) > 25
    for name, (primitive, calls, _, _) in ours.items():
        if name in OF_CPROFILE:
            continue
        row = found[name]
        assert (row["calls"], row["primitive_calls"]) == (calls, primitive), name
        assert row["ncalls"] == (str(calls) if calls == primitive else f"{calls}/{primitive}")
        assert row["tottime_ns"] <= row["cumtime_ns"] or calls != primitive
    assert found[f"{PROGRAM}:5(fib)"]["ncalls"] == "8361/1"


def test_times(strata, python):
    """Time in a function itself, and with what it called: of a program that says what it does."""
    done, result = collect(strata, python, PROGRAM, "times")
    first, slept, second = json.loads(done.out.splitlines()[0])  # by the program's own clock
    found = {name.split("(")[-1]: row for name, row in calls_of(strata, result).items()}
    spin, times = found["spin)"], found["times)"]
    assert 180e6 <= spin["cumtime_ns"] < first + second
    assert 230e6 <= times["cumtime_ns"] and abs(times["cumtime_ns"] - first - slept - second) < 40e6
    assert times["tottime_ns"] < 40e6
    clock = next(row for name, row in found.items() if "perf_counter" in name)
    assert abs(spin["cumtime_ns"] - spin["tottime_ns"] - clock["cumtime_ns"]) < 1e6
    assert abs(spin["cumtime_percall_ns"] - spin["cumtime_ns"] / 2) < 1
    total = report(strata, result)["totals"]
    assert total["tottime_ns"] >= times["cumtime_ns"]
    assert total["calls"] == sum(row["calls"] for row in calls_of(strata, result).values())


@pytest.mark.parametrize("version", ("3.8", "3.11", "3.12"))
def test_threads(strata, version):
    """All of them, each by itself; those of _thread too."""
    python = interpreter(version)
    for mode, count in (("threads", 3), ("bare_thread", 1)):
        _, result = collect(strata, python, PROGRAM, mode)
        assert by_name(strata, result)["fib"] == (count * 1973, count)
        sql = "SELECT tid, calls FROM python_calls WHERE name = 'fib'"
        done = strata("query", "-r", result, "-format", "json", sql)
        rows = json.loads(done.stdout)["rows"]
        assert [row["calls"] for row in rows] == count * [1973]
        assert len({row["tid"] for row in rows}) == count


@pytest.mark.parametrize("version", ("3.11", "3.13"))
def test_processes(strata, version):
    """A child counts for itself, from the fork to os._exit."""
    done, result = collect(strata, interpreter(version), PROGRAM, "forks")
    assert b"child 7" in done.stdout
    done = strata(
        "query", "-r", result, "-format", "json",
        "SELECT process_id, calls, primitive_calls FROM python_calls WHERE name = 'fib' ORDER BY process_id",
    )  # fmt: skip
    rows = [(row["process_id"], row["calls"], row["primitive_calls"]) for row in json.loads(done.stdout)["rows"]]
    assert rows == [(0, 30, 2), (1, 465, 1)]
    assert by_name(strata, result)["fib"] == (495, 3)


def test_a_kill_loses_little(strata, python):
    _, result = collect(strata, python, PROGRAM, "killed", status=-9)
    found = by_name(strata, result)
    assert 4 <= found["tries"][0] <= 8
    assert found["killed"] == (1, 1), "open calls are there, too"
    row = next(row for name, row in calls_of(strata, result).items() if name.endswith("(killed)"))
    assert row["cumtime_ns"] > 400e6


@pytest.mark.parametrize("version", ("3.8", "3.11", "3.12"))
@pytest.mark.parametrize("mode", ("profiled", "pure", "cprofiled", "traced"))
def test_tools_of_the_program(strata, version, mode):
    """They see what they would see without us; up to 3.11 we step aside for them, and say so."""
    python = interpreter(version)
    alone = strata.run([python, PROGRAM, mode])
    done, result = collect(strata, python, PROGRAM, mode)
    assert done.stdout == alone.stdout
    found = by_name(strata, result)
    before, after = {"profiled": (2, 1), "pure": (1, 1), "cprofiled": (1, 1), "traced": (1, 0)}[mode]
    apart = mode == "profiled" and version == "3.12"
    assert found["tries"][0] == before + apart + after
    notes = strata("report", "info", "-r", result).out
    assert ("its own profile function" in notes) == (version != "3.12" and mode != "traced")


def test_the_program_does_not_notice(strata, python):
    """Depth of recursion, exit status."""
    alone = strata.run([python, PROGRAM, "deep"])
    done, _ = collect(strata, python, PROGRAM, "deep", status=3)
    assert done.stdout == alone.stdout and alone.status == 3


def test_sorted_as_pstats_does(strata, python):
    _, result = collect(strata, python, PROGRAM, "work")
    for word, key in (("ncalls", "calls"), ("tottime", "tottime_ns"), ("cumulative", "cumtime_ns")):
        values = [row[key] for row in report(strata, result, "-sort-desc", word)["rows"]]
        assert values == sorted(values, reverse=True)
    rows = report(strata, result, "-sort-desc", "time", "-limit", "2")["rows"]
    assert len(rows) == 3 and rows[2]["python_function"] == "[Others]"
    text = strata("report", "python-calls", "-r", result).out
    assert "function calls (" in text.splitlines()[0] and "8361/1" in text
    assert strata("report", "python-calls", "-r", result, "-sort-desc", "wait").status == 2


def test_none_were_counted(strata, python):
    result = strata.folder / "result"
    strata("-collect", "tasks", "-r", result, "--", python, PROGRAM, "work")
    done = strata("report", "python-calls", "-r", result)
    assert done.status == 0 and "-knob python-calls=true" in done.out


def test_more_functions_than_are_told_apart(strata, python, scale):
    """Their calls are counted together; text that is compiled again and again is one function."""
    if scale != "full":
        pytest.skip("takes long: STRATA_TEST_SCALE=full")
    _, result = collect(strata, python, PROGRAM, "many")
    found = calls_of(strata, result)
    beyond = next(row for name, row in found.items() if "too many" in name)
    told = sum(row["calls"] for name, row in found.items() if name.startswith("<string>") and "(f" in name)
    assert 400 < beyond["calls"] < 2000
    assert told > 64000
    assert found["<string>:1(<module>)"]["calls"] == 66000
