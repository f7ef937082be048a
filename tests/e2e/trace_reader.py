# SPDX-License-Identifier: Apache-2.0
"""Reads a result folder from its bytes, as docs/format/trace.md describes them.

Shares nothing with strata: zstandard and google-crc32c do the packing and the checksum, the rest is here.
It is strict where strata is forgiving: damage, a hole in the sequence, an unknown record or an id that was
not defined before its use is an error, because the tests that read through it expect none of these.
"""

import bisect
import json
import struct
from pathlib import Path

import google_crc32c
import zstandard
from trace_records import (
    BEGIN_CLIPPED,
    BEGIN_FLAGGED,
    CALLER_SLOTS,
    END,
    LOSSES,
    MARK,
    MARK_CALLER,
    MARK_EVENT,
    MARK_PEAK,
    MARK_SIGNATURE,
    NODE_PYTHON,
    OBJECT_KINDS,
    SAMPLER_LOSSES,
    Code,
    Cursor,
    Damage,
    Mark,
    Node,
    Object,
    Process,
    Sample,
    Slice,
    Track,
    decode_event,
    need,
)

HEADER = struct.Struct("<IBBHIIIIQQIIIIII")
MAGIC = 0x4B435453
CHUNK_FILE, CHUNK_CALIBRATION, CHUNK_DEFINITIONS, CHUNK_SLICES, CHUNK_END, CHUNK_OPEN, CHUNK_SAMPLES = range(1, 8)
CHUNK_CALLS = 9
FILE_TRACE, FILE_DEFINITIONS = 1, 2
FILE_RING_BUFFER = 1


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def chunks_of(path):
    """(header fields, payload) of every chunk; the file must be whole and closed in order."""
    data = Path(path).read_bytes()
    unpacker = zstandard.ZstdDecompressor()
    at, sequence, closed = 0, 0, False
    while at < len(data):
        need(not closed, f"{path}: something behind the end chunk")
        need(at + HEADER.size <= len(data), f"{path}: torn at byte {at}")
        head = data[at : at + HEADER.size]
        fields = HEADER.unpack(head)
        magic, major, minor, kind, process, track, records, begins, first, last = fields[:10]
        raw_bytes, packed_bytes, flags, number, events, crc = fields[10:]
        need(magic == MAGIC and major == 1, f"{path}: no chunk at byte {at}")
        packed = data[at + HEADER.size : at + HEADER.size + packed_bytes]
        need(len(packed) == packed_bytes, f"{path}: torn at byte {at}")
        need(google_crc32c.value(head[:60] + bytes(4) + packed) == crc, f"{path}: checksum at byte {at}")
        need(number == sequence, f"{path}: chunk {sequence} is missing")
        payload = packed if flags & 1 else unpacker.decompress(packed, max_output_size=4 << 20)
        need(len(payload) == raw_bytes, f"{path}: wrong size at byte {at}")
        yield kind, process, track, (records, begins, events, first, last), payload
        at += HEADER.size + packed_bytes
        sequence += 1
        closed = kind == CHUNK_END
    need(closed, f"{path}: no end chunk")


class Result:
    """Everything a result folder holds, read once."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.json = json.loads((self.folder / "result.json").read_bytes())
        self.processes = {}
        self.notes = []
        self.not_entered = []
        self.controls = []
        self.family_marks = []
        self.demand = []  # of all threads: from, to, ran, waited for a CPU, threads
        self.pairs = []  # (ticks, MONOTONIC_RAW ns)
        self.open_records = []
        self.result_id = None
        self._read_definitions()
        self.first_segment = None
        for path in sorted(self.folder.glob("trace.[0-9]*.strata")):
            self._read_trace(path)
        for track in self.tracks:
            for one in track.open:
                one.unfinished = True

    # What a test asks for -------------------------------------------------------------------------

    @property
    def tracks(self):
        return [track for process in self.processes.values() for track in process.tracks.values()]

    @property
    def slices(self):
        return [one for track in self.tracks for one in track.slices]

    @property
    def events(self):
        return [one for track in self.tracks for one in track.events]

    @property
    def samples(self):
        return [one for track in self.tracks for one in track.samples]

    @property
    def loss(self):
        return {name: sum(process.loss[name] for process in self.processes.values()) for name in LOSSES}

    def process_of(self, pid):
        found = [one for one in self.processes.values() if one.pid == pid]
        need(len(found) == 1, f"{len(found)} processes have the pid {pid}")
        return found[0]

    def mono_raw(self, ticks):
        """Ticks as CLOCK_MONOTONIC_RAW ns: straight lines between the pairs, the outer ones go on."""
        if self.clock == 2:
            return ticks
        at = bisect.bisect_left(self.pairs, (ticks, 0))
        at = min(max(at, 1), len(self.pairs) - 1)
        (x0, y0), (x1, y1) = self.pairs[at - 1], self.pairs[at]
        return y0 + (ticks - x0) * (y1 - y0) // (x1 - x0)

    # Files ----------------------------------------------------------------------------------------

    def _file_head(self, path, payload, kind):
        result_id, file_kind, segment, clock, flags, ticks, mono, wall, rate = struct.unpack(
            "<16sIIIIQQQQ", payload[:64]
        )
        need(file_kind == kind, f"{path}: kind {file_kind}")
        need(self.result_id in (None, result_id), f"{path}: of another result")
        self.result_id, self.clock, self.start_ticks = result_id, clock, ticks
        self.is_ring = bool(flags & FILE_RING_BUFFER)
        self.start_mono_raw_ns, self.start_wall_ns, self.rate = mono, wall, rate
        if (ticks, mono) not in self.pairs:
            self.pairs.append((ticks, mono))
        return segment

    def _read_definitions(self):
        path = self.folder / "definitions.strata"
        for kind, process, _, _, payload in chunks_of(path):
            if kind == CHUNK_FILE:
                self._file_head(path, payload, FILE_DEFINITIONS)
            elif kind == CHUNK_DEFINITIONS:
                self._definitions(process, payload)
            else:
                need(kind in (CHUNK_END, CHUNK_CALIBRATION), f"{path}: chunk type {kind}")

    def _read_trace(self, path):
        for kind, process, track, head, payload in chunks_of(path):
            if kind == CHUNK_FILE:
                segment = self._file_head(path, payload, FILE_TRACE)
                need(f"trace.{segment:03d}.strata" == path.name, f"{path}: says it is segment {segment}")
                if self.first_segment is None:
                    self.first_segment = segment
                    need(segment == 0 or self.is_ring, f"{path} is the first, and no ring buffer")
                if self.is_ring:  # each file has the nodes of its own samples
                    self._forget_nodes()
            elif kind == CHUNK_CALIBRATION:
                ticks, mono, _ = struct.unpack("<QQQ", payload[:24])
                bisect.insort(self.pairs, (ticks, mono))
            elif kind == CHUNK_SLICES:
                self._slices(self.processes[process].tracks[track], head, payload)
            elif kind == CHUNK_SAMPLES:
                self._samples(self.processes[process].tracks[track], head, payload)
            elif kind == CHUNK_DEFINITIONS:
                need(self.is_ring, f"{path}: definitions, and no ring buffer")
                self._definitions(process, payload)
            elif kind == CHUNK_OPEN:
                need(len(payload) % 24 == 0, f"{path}: open records")
                opened = list(struct.iter_unpack("<IIIIQ", payload))
                self.open_records += [(path.name, process, *one) for one in opened]
                if segment == self.first_segment and segment > 0:
                    self._open(self.processes[process], opened)
            else:
                need(kind in (CHUNK_END, CHUNK_CALLS), f"{path}: chunk type {kind}")

    # Records --------------------------------------------------------------------------------------

    def _definitions(self, number, payload):
        at = Cursor(payload)
        process = self.processes.setdefault(number, Process(number)) if number else None
        while not at.done:
            kind, _, size = at.unpack("HHI")
            self._definition(process, kind, Cursor(at.take(size)))

    def _definition(self, process, kind, body):
        if kind == 1:
            process.pid, process.parent, process.start_time = body.unpack("IIQ")
            process.incarnation, process.flags, process.first = body.unpack("IIQ")
            process.arguments = body.text().split(b"\0")
            process.executable = body.text()
        elif kind == 2:
            process.end = body.unpack("QII")
        elif kind in (3, 4):
            table = process.strings if kind == 3 else process.domains
            number = body.u32()
            text = body.text()
            # In a ring buffer a file repeats what the files before it defined.
            need(table.get(number, text) == text, f"id {number} is defined twice")
            need(number not in table or self.is_ring, f"id {number} is defined twice")
            table[number] = text
        elif kind == 5:
            ancestor, strings, domains = body.unpack("III")
            objects = body.u32() if not body.done else 0
            process.inherit = (self.processes[ancestor], strings, domains, objects)
        elif kind == 6:
            track, tid, first = body.unpack("IIQ")
            need(track not in process.tracks or self.is_ring, f"track {track} is defined twice")
            process.tracks.setdefault(track, Track(process, track, tid, first))
        elif kind == 7:
            tid = body.u32()
            process.thread_names[tid] = body.text()
        elif kind == 8:
            track = body.u32()
            numbers = body.unpack("9Q" if len(body.data) > 68 else "8Q")
            process.losses[track] = dict.fromkeys(LOSSES, 0) | dict(zip(LOSSES, numbers, strict=False))
        elif kind == 9:
            pid, reason, ticks = body.unpack("IIQ")
            self.not_entered.append((pid, reason, ticks, body.text(), body.text()))
        elif kind == 10:
            severity, ticks = body.unpack("IQ")
            self.notes.append((severity, ticks, body.text()))
        elif kind == 11:
            self.controls.append(body.unpack("QI"))
        elif kind == 12:
            self._object(process, body)
        elif kind == 13:
            number, _ = body.unpack("II")
            fact, size, value = body.unpack("IIQ")
            process.object(number).metadata.append((fact, value, body.take(size)))
        elif kind == 14:
            ticks, tid, size = body.unpack("QII")
            event = decode_event(body.take(size))
            event.ticks, event.process, event.track = ticks, process, tid
            process.code.append(event)
        elif kind == 15:
            process.code_maps.append((*body.unpack("QQQQ"), body.text(), body.text()))
        elif kind == 16:
            self.family_marks.append((body.u64(), body.text()))
        elif kind == 17:
            self._nodes(process, body)
        elif kind == 18:
            number, line, flags = body.unpack("III")
            process.codes[number] = Code(line, flags, body.text(), body.text(), body.text())
        elif kind == 19:
            process.runtime = body.unpack("IIQQQQ")
        elif kind == 20:
            rung, trigger, flags, _, period_ns, ticks = body.unpack("IIIIQQ")
            process.sampler = {"rung": rung, "trigger": trigger, "flags": flags, "period_ns": period_ns}
            process.sampler |= {"ticks": ticks, "why": body.text()}
        elif kind == 21:
            process.creators.append(body.unpack("IIQ"))
        elif kind == 22:
            process.sampler_loss = dict(zip(SAMPLER_LOSSES, body.unpack("8Q"), strict=True))
        elif kind == 23:
            number, _ = body.unpack("II")
            process.signatures[number] = body.data
        elif kind == 24:
            process.operator_source = (*body.unpack("II"), body.text(), body.text())
        elif kind == 27:
            self.demand.append(body.unpack("QQQQI"))
        else:
            raise Damage(f"definition type {kind}")

    def _forget_nodes(self):
        for process in self.processes.values():
            process.nodes = {}

    def _nodes(self, process, body):
        first, count = body.unpack("II")
        starts = self.is_ring and not process.nodes and first > process.last_node
        need(starts or first == process.last_node + 1, f"nodes from {first}, the last was {process.last_node}")
        process.last_node = first + count - 1
        address = 0
        for number in range(first, first + count):
            caller = number - body.varint()
            need(0 <= caller < number, f"node {number} hangs on {caller}")
            kind = body.take(1)[0]
            node = Node(process.nodes[caller] if caller else None, kind & 15, kind & 0xF0)
            if node.kind == NODE_PYTHON:
                node.code, node.position = body.varint(), body.varint()
            else:
                need(node.kind in (1, 2, 4), f"node of kind {node.kind}")
                address = (address + unzigzag(body.varint())) % (1 << 64)
                node.address = address
            process.nodes[number] = node
        need(body.done, "bytes behind the nodes")

    @staticmethod
    def _samples(track, head, payload):
        records, _, _, ticks, last = head
        sizes = struct.unpack("<3I", payload[:12])
        ends = [12]
        for size in sizes:
            ends.append(ends[-1] + size)
        need(ends[-1] <= len(payload), "columns do not fit")
        times, nodes, weights = (Cursor(payload[a:b]) for a, b in zip(ends, ends[1:], strict=False))
        flags = Cursor(payload[ends[-1] :])
        node = 0
        for _ in range(records):
            ticks += times.varint()
            node += unzigzag(nodes.varint())
            need(node == 0 or node in track.process.nodes, f"sample at node {node}, which is not defined")
            found = track.process.nodes[node] if node else None
            track.samples.append(Sample(ticks, weights.varint(), found, flags.varint(), track))
        need(all(column.done for column in (times, nodes, weights, flags)), "a column has bytes left")
        need(not records or ticks == last, "last_time is not that of the last sample")

    @staticmethod
    def _object(process, body):
        number, _ = body.unpack("II")
        kind, value_type, type_y, flags, parent = body.unpack("BBBBI")
        numbers = body.unpack("QQQ")
        name_bytes, second_bytes = body.unpack("II")
        need(0 < kind <= len(OBJECT_KINDS), f"object kind {kind}")
        name, second = body.take(name_bytes), body.take(second_bytes)
        process.objects[number] = Object(
            OBJECT_KINDS[kind - 1], value_type, type_y, flags, parent, numbers, name, second
        )

    def _slices(self, track, head, payload):
        records, begins, events, first, last = head
        sizes = struct.unpack("<4I", payload[:16])
        need(16 + sum(sizes) <= len(payload) and sizes[0] == records, "columns do not fit")
        ends = [16]
        for size in sizes:
            ends.append(ends[-1] + size)
        columns = [Cursor(payload[a:b]) for a, b in zip(ends, ends[1:], strict=False)]
        columns.append(Cursor(payload[ends[-1] :]))
        counts = self._records(track, payload[16 : ends[1]], columns, first)
        need(counts == (begins, events), f"header says {begins, events}, inside are {counts}")
        need(all(column.done for column in columns[1:]), "a column has bytes left")
        need(track.last == last, "last_time is not that of the last record")

    def _records(self, track, ops, columns, ticks):
        _, names, times, extras, bodies = columns
        callers = [0] * CALLER_SLOTS
        pending, signature, begins, events = None, None, 0, 0
        need(ticks >= track.last, f"track {track.number}: chunks go back in time")
        for op in ops:
            operation, domain = op & 3, op >> 2
            ticks += times.varint()
            if domain == 63:
                domain = extras.varint()
            if operation == MARK:
                mark, value = extras.varint(), extras.varint()
                if mark == MARK_CALLER:
                    pending = value
                elif mark == MARK_SIGNATURE:
                    signature = value
                elif MARK_SIGNATURE < mark <= MARK_PEAK:
                    pass  # sequence numbers and memory
                elif mark == MARK_EVENT:
                    event = decode_event(bodies.take(value))
                    event.ticks, event.process, event.track = ticks, track.process, track
                    event.slice = track.open[-1] if track.open else None
                    if event.slice:
                        event.slice.events.append(event)
                    track.records.append(event)
                    events += 1
                else:
                    track.records.append(Mark(mark, value, ticks))
            elif operation == END:
                self._end(track, track.process.domain(domain) if domain else None, ticks)
            else:
                name = names.varint()
                if pending is not None:
                    callers[name % CALLER_SLOTS], pending = pending, None
                self._begin(track, domain, name, ticks, 0 if signature else callers[name % CALLER_SLOTS])
                track.open[-1].signature, signature = signature, None
                if operation == BEGIN_FLAGGED:
                    track.open[-1].flags = extras.varint()
                begins += 1
            track.last = ticks
        return begins, events

    def _open(self, process, opened):
        """What began in a file that is gone."""
        for track, domain, name, _, begin in opened:
            track = process.tracks[track]
            self._begin(track, domain, name, begin, 0)
            track.open[-1].flags = BEGIN_CLIPPED

    @staticmethod
    def _begin(track, domain, name, ticks, caller):
        one = Slice(
            track.process.domain(domain) if domain else None, track.process.string(name) if name else None, ticks
        )
        one.caller, one.track = caller, track
        one.parent = track.open[-1] if track.open else None
        track.open.append(one)
        track.records.append(one)

    @staticmethod
    def _end(track, domain, ticks):
        need(track.open, f"track {track.number}: an end with nothing open")
        at = next((i for i in reversed(range(len(track.open))) if track.open[i].domain == domain), len(track.open) - 1)
        one = track.open.pop(at)
        one.end = ticks
        one.mismatched = one.domain != domain or any(above.domain != domain for above in track.open[at:])
        track.records.append(("end", one))
