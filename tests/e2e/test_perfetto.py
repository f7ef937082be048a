# SPDX-License-Identifier: Apache-2.0
"""The tasks of the Perfetto export, decoded with the public schema, against the report."""

import gzip
from collections import Counter

import export_cases
import pytest
from perfetto_trace import Trace


@pytest.fixture(scope="module", params=export_cases.params())
def case(request, shared_strata):
    """(strata, result, name of the case, file, decoded)"""
    result = export_cases.collect(request, shared_strata)
    path = shared_strata.folder / f"{request.param}.pftrace"
    done = shared_strata("export", "perfetto", "-r", result, "-o", path)
    assert done.status == 0, done.err
    return shared_strata, result, request.param, path, Trace(path.read_bytes())


def pairs(case):
    """Every slice of the report with what was drawn of it."""
    strata, result, _, _, trace = case
    told = strata.slices(result)
    drawn = {one.notes["row"]: one for one in trace.slices}
    assert len(drawn) == len(trace.slices) == len(told) > 0
    # A worker's copy of its caller's task is drawn, but it is no call.
    assert sum("copy" not in one.row["flags"] for one in told) == strata.total(result)
    return [(one, drawn[one.row["row"]]) for one in told]


def test_slices_equal_the_report(case):
    """For every single task: its whole name, its domain, its times, its flags."""
    for told, drawn in pairs(case):
        assert drawn.name == told.name
        assert drawn.category == drawn.notes["domain"] == told.domain
        assert drawn.begin_ns == told.begin_ns
        assert drawn.end_ns - drawn.begin_ns == told.total_ns
        assert drawn.notes.get("flags", "") == told.row["flags"]


def test_nesting_equals_the_report(case):
    """What a reader pairs by a stack is what the report names; a task drawn apart outlives its parent."""
    apart = 0
    for told, drawn in pairs(case):
        parent = told.parent.row["row"] if told.parent else None
        if "parent" in drawn.notes:
            assert drawn.parent is None and drawn.notes["parent"] == parent
            assert told.end_ns > told.parent.end_ns
            apart += 1
        else:
            assert (drawn.parent.notes["row"] if drawn.parent else None) == parent
    assert apart == (40 if case[2] == "crossed" else 0)


def test_threads_equal_the_report(case):
    trace = case[4]
    for told, drawn in pairs(case):
        assert trace.thread(drawn.track) == (told.process, told.thread)
    lanes = [track for track in trace.tracks.values() if track.name == "overlapping tasks"]
    assert bool(lanes) == (case[2] == "crossed")
    for track in trace.tracks.values():
        if track.HasField("process"):
            assert track.process.process_name and track.process.cmdline


def is_within(drawn, name):
    while drawn and drawn.name != name:
        drawn = drawn.parent
    return drawn is not None


def test_report_by_name_equals_the_export(case):
    """Total times; a task inside one of its own name is not counted again."""
    strata, result, _, _, trace = case
    total = Counter()
    for one in trace.slices:
        if "copy" not in one.notes.get("flags", "") and not is_within(one.parent, one.name):
            total[one.name] += one.end_ns - one.begin_ns
    assert total == {name: row["wall_total_ns"] for name, row in strata.types(result).items()}


def test_names_are_sent_once_per_thread(case):
    """Interned: the longest names do not make the file long."""
    _, _, _, path, trace = case
    threads = {}
    for one in trace.slices:
        threads.setdefault(trace.thread(one.track), set()).add(one.name)
    names = sum(len(name.encode()) + 16 for names in threads.values() for name in names)
    assert path.stat().st_size < names + 100 * len(trace.slices) + 4096 * len(trace.tracks)


def test_compressed_and_to_stdout(case):
    strata, result, _, path, _ = case
    packed = path.with_suffix(".pftrace.gz")
    assert strata("export", "perfetto", "-r", result, "-o", packed).status == 0
    assert gzip.decompress(packed.read_bytes()) == path.read_bytes()
    done = strata("export", "perfetto", "-r", result, "-o", "-")
    assert done.status == 0 and done.stdout == path.read_bytes()
