# SPDX-License-Identifier: Apache-2.0
"""The reader that shares no code with strata sees the same slices as strata's own reports."""

import pytest
import trace_records
from harness import TARGETS, emit_words, strict_json
from trace_reader import Result


def told(strata, result):
    return sorted((one.domain, one.name, one.begin_ns, one.total_ns) for one in strata.slices(result))


def read(result):
    """The same from the bytes; times as the format says, in ns since the start of collection."""

    def at(ticks):
        return result.mono_raw(ticks) - result.start_mono_raw_ns

    return sorted(
        (one.domain.decode(), one.name.decode(), at(one.begin), at(one.end) - at(one.begin)) for one in result.slices
    )


@pytest.mark.parametrize("words", [("many", "20", "30"), ("fork", "5", "40"), ("live", "100", "5")])
def test_same_slices(strata, programs, words):
    done = strata.collect(programs / "thread_life", *words)
    result = Result(done.result)
    assert not any(result.loss.values()), result.loss
    reported, found = told(strata, done.result), read(result)
    assert len(found) == len(reported) > 100
    for one, other in zip(reported, found, strict=True):
        assert one[:2] == other[:2]
        # Two roundings on either side.
        assert abs(one[2] - other[2]) <= 2 and abs(one[3] - other[3]) <= 2, (one, other)


def test_parents_and_processes(strata, ittapi, target):
    done = strata.collect(ittapi, TARGETS / "family.py", "fork", "7", target)
    result = Result(done.result)
    by_report = {
        (one.name, one.parent.name if one.parent else None, one.process.split()[0])
        for one in strata.slices(done.result)
    }
    by_bytes = {(one.name.decode(), one.parent.name.decode() if one.parent else None) for one in result.slices}
    assert {one[:2] for one in by_report} == by_bytes
    assert len(result.processes) == len({one.process for one in strata.slices(done.result)})


@pytest.mark.parametrize("where", [20, 40, 70, -70, -1])
def test_damage_is_seen(strata, target, where):
    """The reader is strict: a changed byte anywhere is an error, so that no test can pass by accident."""
    done = strata.collect(*emit_words(target, 50))
    Result(done.result)
    path = done.result / "trace.000.strata"
    data = bytearray(path.read_bytes())
    data[where] ^= 1
    path.write_bytes(data)
    with pytest.raises(trace_records.Damage):
        Result(done.result)


BURN = """
import ittapi, sys, threading

def burn(count):
    total = 0
    for i in range(count):
        total += i * i
    return total

def work():
    for turn in range(int(sys.argv[1])):
        with ittapi.task("outer"):
            burn(20000)
            with ittapi.task("inner"):
                burn(20000)
        burn(20000)

threads = [threading.Thread(target=work) for _ in range(2)]
for one in threads:
    one.start()
work()
for one in threads:
    one.join()
"""


def by_time(row):
    return row[:3]


def test_same_samples(strata, ittapi):
    """Every sample: time, weight, flags, innermost frame, and the slice that was open then, by ticks."""
    result = strata.folder / "sampled"
    command = ("-collect", "hotspots", "-knob", "sampling-interval=0.5", "-no-summary", "-r", result)
    done = strata(*command, "--", ittapi, "-c", BURN, "25")
    assert done.status == 0, done.err
    read = Result(result)
    found = []
    for track in read.tracks:
        slices = sorted(track.slices, key=lambda one: one.begin)
        for one in track.samples:
            inside = [task for task in slices if task.begin <= one.ticks < (task.end or one.ticks + 1)]
            frame = one.node
            found.append(
                (
                    track.process.pid,
                    track.tid,
                    read.mono_raw(one.ticks) - read.start_mono_raw_ns,
                    one.weight_ns,
                    one.flags,
                    inside[-1].name.decode() if inside else None,
                    hex(frame.address) if frame and frame.kind != trace_records.NODE_PYTHON else None,
                )
            )
    sql = """SELECT s.pid, s.tid, s.time_ns, s.weight_ns, s.flags, sl.task_type, n.address FROM samples s
             LEFT JOIN slices sl ON sl.row = s.slice JOIN stack_nodes n USING (node)"""
    shown = strata("query", result, sql, "-format", "json")
    assert shown.status == 0, shown.err
    rows = [
        tuple(value for key, value in row.items() if key != "children") for row in strict_json(shown.stdout)["rows"]
    ]
    assert len(rows) == len(found) > 100
    assert {"outer", "inner", None} <= {row[5] for row in found}
    for one, other in zip(sorted(rows, key=by_time), sorted(found, key=by_time), strict=True):
        assert one[:2] + one[3:] == other[:2] + other[3:], (one, other)
        assert abs(one[2] - other[2]) <= 2, (one, other)
