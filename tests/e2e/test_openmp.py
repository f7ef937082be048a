# SPDX-License-Identifier: Apache-2.0
"""OpenMP regions: how long, how evenly spread, and the time outside of them; against the program's own clock."""

import os
import re
from collections import defaultdict
from dataclasses import dataclass

import pytest
from harness import strict_json
from waiting import TOLERANCE, compiled, threading

SERIAL = "[Serial - outside parallel regions]"


@dataclass
class Region:
    """As the program measured it."""

    line: int
    threads: int
    elapsed: int
    imbalance: int


@pytest.fixture(scope="module", params=["gcc", "clang-14"], ids=["libgomp", "libomp"])
def regions(shared_strata, request):
    """(result, what the program says of each of its regions)."""
    program = compiled(shared_strata, request.param, "openmp_balance.c", "-fopenmp")
    done = threading(shared_strata, program, options=["-quiet", "-knob", "wait-stack-threshold=1000000"])
    assert done.status == 0, done.err
    own = defaultdict(list)
    for line in done.out.splitlines():
        name, *numbers = line.split("\t")
        own[name].append(Region(*map(int, numbers)))
    return done.result, own


def instances(strata, result, name):
    """Each region of a function, in order."""
    query = f"SELECT * FROM openmp WHERE function = '{name}' ORDER BY start_ns"
    return strict_json(strata("query", query, "-r", result, "-format", "json").stdout)["rows"]


def rows_of(strata, result, *options):
    return {row["region"]: row for row in strata.report(result, "openmp", *options)["rows"]}


def test_regions_against_the_programs_clock(shared_strata, regions):
    """But for those around which the program had no processor: its clock goes on then."""
    result, own = regions
    for name in ("uneven", "even"):
        rows = instances(shared_strata, result, name)
        pairs = list(zip(own[name], rows, strict=True))
        assert {(row["threads"], row["source_line"]) for row in rows} == {
            (told.threads, f"openmp_balance.c:{told.line}") for told in own[name]
        }
        near = [
            told
            for told, row in pairs
            if row["wall_ns"] == pytest.approx(told.elapsed, rel=TOLERANCE)
            and row["imbalance_ns"] == pytest.approx(told.imbalance, rel=TOLERANCE, abs=0.01 * told.elapsed)
        ]
        assert len(near) >= 0.8 * len(pairs)


def test_report_is_the_sum_of_instances(shared_strata, regions):
    result, own = regions
    rows = rows_of(shared_strata, result)
    for name in ("uneven", "even"):
        row, single = rows[f"{name} (openmp_balance.c:{own[name][0].line})"], instances(shared_strata, result, name)
        assert (row["count"], row["region_threads"]) == (len(own[name]), own[name][0].threads)
        assert row["wall_total_ns"] == sum(one["wall_ns"] for one in single)
        assert row["imbalance_ns"] == sum(one["imbalance_ns"] for one in single)
        assert row["region_wait_ns"] == sum(one["wait_ns"] for one in single)
        assert row["imbalance_ratio"] == pytest.approx(row["imbalance_ns"] / row["wall_total_ns"], abs=0.001)


def test_time_outside_of_regions(shared_strata, regions):
    """All that is not in a region, from the process's begin on: at least what the program knows of."""
    result, own = regions
    rows = rows_of(shared_strata, result)
    processes = strict_json(
        shared_strata("query", "SELECT start_ns, end_ns FROM processes", "-r", result, "-format", "json").stdout
    )["rows"]
    life = processes[0]["end_ns"] - processes[0]["start_ns"]
    inside = sum(row["wall_total_ns"] for name, row in rows.items() if name != SERIAL)
    assert rows[SERIAL]["wall_total_ns"] == pytest.approx(life - inside, rel=0.001)
    assert rows[SERIAL]["wall_total_ns"] > sum(told.elapsed for told in own["serial"]) * (1 - TOLERANCE)
    assert rows[SERIAL]["imbalance_ns"] == 0


def test_a_part_of_a_region(shared_strata, regions):
    """Its last tenth has a tenth of its imbalance, in the report, of the single region and in the summary."""
    result, own = regions
    name, first = f"uneven (openmp_balance.c:{own['uneven'][0].line})", instances(shared_strata, result, "uneven")[0]
    end = first["start_ns"] + first["wall_ns"]
    chosen = ("-time-filter", f"{(end - first['wall_ns'] // 10) / 1e9:.9f}:{end / 1e9:.9f}")
    row = rows_of(shared_strata, result, *chosen)[name]
    assert row["wall_total_ns"] == pytest.approx(first["wall_ns"] / 10, abs=10)
    assert row["imbalance_ns"] == pytest.approx(first["imbalance_ns"] / 10, abs=10)
    assert row["region_wait_ns"] == pytest.approx(first["wait_ns"] / 10, abs=10)
    single = shared_strata.report(result, "openmp", "-group-by", "instance", "-filter", f"region={name}", *chosen)
    assert [one["imbalance_ns"] for one in single["rows"]] == [row["imbalance_ns"]]
    facts = shared_strata.report(result, "summary", *chosen)["rows"]
    (told,) = [fact for fact in facts if fact["section"] == "openmp" and fact["name"] == "imbalance"]
    assert told["share_ratio"] == pytest.approx(first["imbalance_ns"] / first["wall_ns"], abs=0.001)


def test_regions_agree_with_waits(shared_strata, regions):
    """What threads wait for the end of a region is told twice: with the region, and by each of them."""
    result, _ = regions
    waits = shared_strata.report(result, "waits", "-group-by", "sync-object", "-filter", "sync-type=OpenMP Region End")
    by_region = {row["sync_object"]: row["wait_ns"] for row in waits["rows"]}
    for name, row in rows_of(shared_strata, result).items():
        if name != SERIAL and row["region_wait_ns"] > 1_000_000:
            assert by_region[name] == pytest.approx(row["region_wait_ns"], rel=0.005)


def test_summary_and_finding(shared_strata, regions):
    """One region has one slow thread: the summary says so, and what evenly spread work would save was measured."""
    result, own = regions
    text = shared_strata("report", "summary", "-r", result).out
    assert re.search(r"OPENMP .*imbalance", text)
    findings = shared_strata.report(result, "findings")["rows"]
    (found,) = [row for row in findings if row["rule"] == "openmp-imbalance"]
    assert "uneven" in found["what"]
    assert 0 < found["saving_ns"] <= sum(told.imbalance for told in own["uneven"]) * (1 + TOLERANCE)


def test_no_finding_where_work_is_even(strata):
    program = compiled(strata, "gcc", "openmp_balance.c", "-fopenmp", "-DEVEN")
    done = threading(strata, program, options=["-quiet"])
    assert done.status == 0, done.err
    assert not [row for row in strata.report(done.result, "findings")["rows"] if row["rule"] == "openmp-imbalance"]


# Never harm --------------------------------------------------------------------------------------------


def clang(strata, name, *flags):
    made = strata.folder / name
    done = strata.run(
        ["clang-14", "-O1", "-g", "-fopenmp", "-D_GNU_SOURCE", PROGRAM, *flags, "-o", made], cwd=strata.folder
    )
    assert done.status == 0, done.err
    return made


PROGRAM = __file__.replace("e2e/test_openmp.py", "programs/openmp_tool.c")


def same(strata, program, **env):
    plain = strata.run([program], env={**os.environ, **env})
    done = threading(strata, program, env={**os.environ, **env})
    assert plain.out
    assert (done.status, done.out) == (plain.status, plain.out), done.err
    return done


def regions_in(strata, result):
    return sum(row["count"] for row in strata.report(result, "openmp")["rows"] if row["region"] != SERIAL)


def test_the_program_is_the_tool(strata):
    """Its own function is found before ours: nothing of ours is called, and nobody notices."""
    done = same(strata, clang(strata, "own"))
    assert "the tool saw 5 regions" in done.out
    assert regions_in(strata, done.result) == 0


def test_a_library_is_the_tool(strata):
    """Behind us in the order of libraries: it gets the place, and strata says what it lacks."""
    tool = clang(strata, "libtool.so", "-shared", "-fPIC", "-DONLY_TOOL")
    done = same(strata, clang(strata, "linked", "-DONLY_PROGRAM", tool))
    assert "the tool saw 5 regions" in done.out
    assert regions_in(strata, done.result) == 0
    assert "OMPT" in done.err


def test_a_tool_that_the_user_names(strata):
    tool = clang(strata, "libnamed.so", "-shared", "-fPIC", "-DONLY_TOOL")
    done = same(strata, clang(strata, "plain", "-DONLY_PROGRAM"), OMP_TOOL_LIBRARIES=str(tool))
    assert "the tool saw 5 regions" in done.out
    assert "OMPT" in done.err


def test_tools_are_disabled(strata):
    done = same(strata, clang(strata, "plain", "-DONLY_PROGRAM"), OMP_TOOL="disabled")
    assert regions_in(strata, done.result) == 0


def test_fork(strata):
    """Parent and child have five each."""
    done = same(strata, clang(strata, "plain", "-DONLY_PROGRAM"))
    assert regions_in(strata, done.result) == 10
    assert len({row["process"] for row in strata.report(done.result, "openmp", "-group-by", "process")["rows"]}) == 2
