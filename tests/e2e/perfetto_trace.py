# SPDX-License-Identifier: Apache-2.0
"""A reader of Perfetto traces over the public schema's own classes.

It does what the format asks of every reader: interning state per packet sequence, tracks by uuid, begins and
ends paired by a stack per track in order of time, flows joined by their number. It knows nothing of how strata
writes, only how it names its tracks.
"""

from dataclasses import dataclass, field

import pytest

schema = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the perfetto package is not installed"
)

CLEARED = schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
NEEDS_STATE = schema.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
BEGIN, END, INSTANT, COUNTER = (
    schema.TrackEvent.TYPE_SLICE_BEGIN,
    schema.TrackEvent.TYPE_SLICE_END,
    schema.TrackEvent.TYPE_INSTANT,
    schema.TrackEvent.TYPE_COUNTER,
)


@dataclass(eq=False)
class Drawn:
    """A slice or an instant as a reader draws it."""

    name: str
    category: str
    begin_ns: int
    track: int
    notes: dict
    parent: "Drawn" = None
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

    def value(self, one):
        if one.dict_entries:
            return dict(map(self.note, one.dict_entries))
        if one.array_values:
            return [self.value(each) for each in one.array_values]
        kind = one.WhichOneof("value")
        if kind is None:
            return []
        value = getattr(one, kind)
        return self.note_texts[value] if kind == "string_value_iid" else value

    def note(self, one):
        name = one.name if one.HasField("name") else self.note_names[one.name_iid]
        return name, self.value(one)

    def notes(self, event):
        found = [self.note(one) for one in event.debug_annotations]
        assert len(dict(found)) == len(found), "an annotation stands twice"
        return dict(found)


class Trace:
    def __init__(self, data):
        self.tracks, self.slices, self.spans, self.instants = {}, [], [], []
        self.samples, self.flows, self.open = {}, {}, {}
        sequences, events = {}, []
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
                assert packet.track_event.track_uuid in self.tracks
                events.append((packet.timestamp, packet.track_event, state))
        for now, event, state in sorted(events, key=lambda one: one[0]):
            self.event(now, event, state)
        assert not any(self.open.values()), "slices without an end"
        self.all_slices_in_file_order_nest([(now, event) for now, event, _ in events])

    def all_slices_in_file_order_nest(self, events):
        """Readers that do not sort get the slices right too."""
        last = {}
        for now, event in events:
            if event.type in (BEGIN, END, COUNTER):
                assert now >= last.get(event.track_uuid, 0), "time runs backwards on a track"
                last[event.track_uuid] = now

    def describe(self, descriptor):
        assert descriptor.uuid and descriptor.uuid not in self.tracks, "a uuid is given out twice"
        if descriptor.parent_uuid:
            assert descriptor.parent_uuid in self.tracks
        self.tracks[descriptor.uuid] = descriptor

    def event(self, now, event, state):
        stack = self.open.setdefault(event.track_uuid, [])
        if event.type == END:
            stack.pop().end_ns = now
            return
        if event.type == COUNTER:
            value = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            self.samples.setdefault(event.track_uuid, []).append((now, value, state.notes(event)))
            return
        assert event.type in (BEGIN, INSTANT)
        (category,) = event.category_iids
        one = Drawn(
            event.name if event.HasField("name") else state.names[event.name_iid],
            state.categories[category],
            now,
            event.track_uuid,
            state.notes(event),
            stack[-1] if stack else None,
        )
        for flow in (*event.flow_ids, *event.terminating_flow_ids):
            self.flows.setdefault(flow, []).append(one)
        if event.type == INSTANT:
            self.instants.append(one)
            return
        stack.append(one)
        (self.slices if self.is_of_tasks(event.track_uuid) else self.spans).append(one)

    def is_of_tasks(self, uuid):
        """The track of a thread, or one beside it for tasks that outlive the one they began in."""
        track = self.tracks[uuid]
        return track.HasField("thread") or (
            track.name == "overlapping tasks" and self.tracks[track.parent_uuid].HasField("thread")
        )

    def group(self, uuid):
        """The name of the group of tracks that a span lies in, and the track that it belongs to."""
        group = self.tracks[self.tracks[uuid].parent_uuid]
        return group.name, self.tracks[group.parent_uuid]

    def counters(self):
        """Counter name → (unit, parent track, samples)"""
        found = {}
        for uuid, track in self.tracks.items():
            if track.HasField("counter"):
                assert track.name not in found
                found[track.name] = (
                    track.counter.unit_name,
                    self.tracks[track.parent_uuid],
                    self.samples.get(uuid, []),
                )
        return found

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
