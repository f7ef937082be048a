# SPDX-License-Identifier: Apache-2.0
"""The Perfetto export, decoded with the public schema, against the report.

The decoder below does what the format asks of every reader: interning state per packet sequence, tracks
by uuid, begins and ends paired by a stack per track. It knows nothing of how strata writes.
"""

import gzip
from collections import Counter
from dataclasses import dataclass, field

import export_cases
import pytest

schema = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the perfetto package is not installed"
)

CLEARED = schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
NEEDS_STATE = schema.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE


@dataclass
class Drawn:
    """A slice as a reader draws it."""

    name: str
    category: str
    begin_ns: int
    track: int
    notes: dict
    parent: "Drawn"
    end_ns: int = None


@dataclass
class Sequence:
    names: dict = field(default_factory=dict)
    categories: dict = field(default_factory=dict)
    note_names: dict = field(default_factory=dict)
    note_texts: dict = field(default_factory=dict)

    def intern(self, data):
        for table, entries in (
            (self.names, data.event_names),
            (self.categories, data.event_categories),
            (self.note_names, data.debug_annotation_names),
        ):
            for entry in entries:
                assert entry.iid and entry.iid not in table, f"id {entry.iid} is given out twice"
                table[entry.iid] = entry.name
        for entry in data.debug_annotation_string_values:
            assert entry.iid and entry.iid not in self.note_texts
            self.note_texts[entry.iid] = entry.str.decode("utf-8", errors="strict")

    def note(self, one):
        kind = one.WhichOneof("value")
        value = getattr(one, kind)
        return self.note_names[one.name_iid], self.note_texts[value] if kind == "string_value_iid" else value


class Trace:
    def __init__(self, data):
        self.tracks, self.slices, self.open, self.last_ns = {}, [], {}, {}
        sequences = {}
        for packet in schema.Trace.FromString(data).packet:
            number = packet.trusted_packet_sequence_id
            assert number, "a packet of no sequence"
            if packet.sequence_flags & CLEARED:
                assert packet.first_packet_on_sequence and number not in sequences
                sequences[number] = Sequence()
            state = sequences[number]
            state.intern(packet.interned_data)
            if packet.HasField("track_descriptor"):
                self.describe(packet.track_descriptor)
            if packet.HasField("track_event"):
                assert packet.sequence_flags & NEEDS_STATE and packet.HasField("timestamp")
                self.event(packet, state)
        assert not any(self.open.values()), "slices without an end"

    def describe(self, descriptor):
        assert descriptor.uuid and descriptor.uuid not in self.tracks, "a uuid is given out twice"
        if not descriptor.HasField("process"):
            assert descriptor.parent_uuid in self.tracks
        self.tracks[descriptor.uuid] = descriptor

    def event(self, packet, state):
        event, now = packet.track_event, packet.timestamp
        stack = self.open.setdefault(event.track_uuid, [])
        assert event.track_uuid in self.tracks
        assert now >= self.last_ns.get(event.track_uuid, 0), "time runs backwards on a track"
        self.last_ns[event.track_uuid] = now
        if event.type == schema.TrackEvent.TYPE_SLICE_END:
            stack.pop().end_ns = now
            return
        assert event.type == schema.TrackEvent.TYPE_SLICE_BEGIN
        (category,) = event.category_iids
        one = Drawn(
            state.names[event.name_iid],
            state.categories[category],
            now,
            event.track_uuid,
            dict(map(state.note, event.debug_annotations)),
            stack[-1] if stack else None,
        )
        stack.append(one)
        self.slices.append(one)

    def thread(self, uuid):
        """The thread of a track, and its process, in the words of the report."""
        track = self.tracks[uuid]
        while not track.HasField("thread"):
            track = self.tracks[track.parent_uuid]
        process = self.tracks[track.parent_uuid].process
        assert process.pid == track.thread.pid
        labels = "".join(f", {label}" for label in process.process_labels)
        return (
            f"{process.process_name} ({process.pid}{labels})",
            f"{track.thread.thread_name} ({track.thread.tid})",
        )


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
    assert len(drawn) == len(trace.slices) == len(told) == strata.total(result) > 0
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
    threads = {track.uuid for track in trace.tracks.values() if track.HasField("thread")}
    lanes = {track.uuid for track in trace.tracks.values() if track.parent_uuid in threads}
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
        if not is_within(one.parent, one.name):
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
