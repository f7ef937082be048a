# SPDX-License-Identifier: Apache-2.0
"""Traces of results with devices for Perfetto and chrome://tracing: a track for each stream, and a flow from each call
to what it launched. Results of an H200 (tests/data/devices), and of doubles whose work is known (tests/programs)."""

import json
import shutil
from collections import Counter

import pytest
from harness import ROOT, strict_json
from perfetto_trace import Trace

GOLDEN = ROOT / "tests/data/devices"
LAUNCHES = "SELECT call, slice FROM kernels WHERE call IS NOT NULL"


def export(strata, result, form, name):
    out = strata.folder / name
    done = strata("export", form, "-r", result, "-o", out)
    assert done.status == 0, done.err
    return out.read_bytes()


def rows_of(strata, result, sql):
    done = strata("query", "-r", result, sql, "-format", "json")
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


@pytest.fixture(params=["streams", "graph", "three devices"])
def result(request, strata, programs):
    if request.param != "three devices":
        return shutil.copytree(GOLDEN / request.param, strata.folder / request.param)
    return strata.collect(programs / "cuda" / "cuda_target", "devices").result


def test_perfetto(strata, result):
    trace = Trace(export(strata, result, "perfetto", "devices.pftrace"))
    ran = [one for one in trace.slices + trace.spans if one.category in ("device.kernel", "device.copy",
                                                                        "device.communication")]  # fmt: skip
    told = rows_of(strata, result, "SELECT * FROM slices WHERE thread LIKE 'device % stream %'")
    assert len(ran) == len(told) > 6
    by_row = {one.notes["row"]: one for one in ran}
    for row in told:
        one = by_row[row["row"]]
        track = trace.tracks[one.track]
        if track.name == "overlapping tasks":
            track = trace.tracks[track.parent_uuid]
        # A stream is a track of its process and no thread of it: its number is not the system's.
        assert not track.HasField("thread")
        assert trace.tracks[track.parent_uuid].HasField("process")
        assert row["thread"].startswith(track.name)
        assert one.end_ns - one.begin_ns == row["wall_ns"]
        assert row["thread"].startswith(f"device {one.notes['device']} stream {one.notes['stream']}")
    threads = [(track.thread.pid, track.thread.tid) for track in trace.tracks.values() if track.HasField("thread")]
    assert len(set(threads)) == len(threads)
    # Every call leads to what it launched, and to nothing else.
    drawn = Counter()
    for flow in trace.flows.values():
        call, on_device = sorted(flow, key=lambda one: one.category != "device.runtime")
        assert call.category == "device.runtime"
        assert call.notes["correlation"] == on_device.notes["correlation"]
        drawn[call.notes["row"], on_device.notes["row"]] += 1
    assert drawn == Counter((one["call"], one["slice"]) for one in rows_of(strata, result, LAUNCHES))
    assert {row for _, row in drawn} == set(by_row)


def test_kernels_tell_their_launch(strata, programs):
    result = strata.collect(programs / "cuda" / "cuda_target", "devices").result
    trace = Trace(export(strata, result, "perfetto", "devices.pftrace"))
    (first, *_) = [one for one in trace.spans if one.name == "vector_add(float*, float*, int)"]
    wanted = {
        "device": 0, "stream": 7, "grid": "128 x 1 x 1", "block": "256 x 1 x 1", "registers_per_thread": 32,
        "shared_memory_bytes": 1536,
    }  # fmt: skip
    assert {key: first.notes[key] for key in wanted} == wanted
    (copy, *_) = [one for one in trace.spans if one.category == "device.copy"]
    assert copy.notes["bytes"] == 1 << 20
    # The same number of a stream on three devices: three tracks.
    names = [track.name for track in trace.tracks.values() if "stream 7" in track.name]
    assert sorted(names) == [f"device {number} stream 7" for number in range(3)]


def test_chrome(strata, result):
    """Streams have rows of their own there too, and flows have both ends."""
    events = json.loads(export(strata, result, "chrome", "devices.json"))["traceEvents"]
    flows = Counter((event["ph"], event["id"]) for event in events if event.get("name") == "launch")
    count = len(rows_of(strata, result, LAUNCHES))
    assert set(flows.values()) == {1} and len(flows) == 2 * count
    slices = {(event["pid"], event["tid"], event["ts"]) for event in events if event["ph"] == "X"}
    for event in events:
        if event.get("name") == "launch":
            assert (event["pid"], event["tid"], event["ts"]) in slices
