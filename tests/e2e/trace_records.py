# SPDX-License-Identifier: Apache-2.0
"""The records of a result as docs/format/trace.md describes them; trace_reader.py finds them in the files."""

import struct
from dataclasses import dataclass, field

BEGIN, END, MARK, BEGIN_FLAGGED = range(4)
BEGIN_CLIPPED = 2
UNMATCHED_END, LOST, PAUSE, RESUME, DETACH, TRACK_END, MARK_EVENT, MARK_CALLER = range(1, 9)
MARK_SIGNATURE, MARK_PEAK = 9, 13  # and between them: of operators
CALLER_SLOTS = 64

# Names of event kinds, in the order of their numbers from 1.
KINDS = """TASK_ID TASK_LINE TASK_FN TIMED_BEGIN TIMED_END OVERLAPPED_BEGIN OVERLAPPED_END TASK_GROUP REGION_BEGIN
REGION_END FRAME_BEGIN FRAME_END FRAME_SUBMIT MARKER ID_CREATE ID_DESTROY RELATION METADATA METADATA_TEXT
METADATA_SCOPED METADATA_TEXT_SCOPED METADATA_FORMATTED COUNTER_ADD COUNTER_SET COUNTER_DESTROY HISTOGRAM USER_START
USER_END MARK MARK_OFF SCOPE_PAUSE SCOPE_RESUME THREAD_IGNORE SET_TRACK CALLER_CREATE CALLER_DESTROY CALLEE_ENTER
CALLEE_LEAVE SYNC_CREATE SYNC_RENAME SYNC_DESTROY SYNC_PREPARE SYNC_CANCEL SYNC_ACQUIRED SYNC_RELEASING
HEAP_ALLOCATE_BEGIN HEAP_ALLOCATE_END HEAP_FREE_BEGIN HEAP_FREE_END HEAP_REALLOCATE_BEGIN HEAP_REALLOCATE_END
HEAP_ACCESS_BEGIN HEAP_ACCESS_END HEAP_GROWTH_BEGIN HEAP_GROWTH_END HEAP_RESET HEAP_RECORD SUPPRESS_PUSH SUPPRESS_POP
SUPPRESS_RANGE SUPPRESS_CLEAR MODULE_LOAD MODULE_UNLOAD MODULE_LOAD_SECTIONS MODULE_UNLOAD_SECTIONS JIT CALL""".split()
OBJECT_KINDS = """COUNTER HISTOGRAM HEAP_FUNCTION USER_EVENT MARK_TYPE PT_REGION FRAME CLOCK TRACK_GROUP TRACK
OTHERS""".split()
LOSSES = """slices_dropped unmatched_ends no_slot labels_cut labels_unknown suspect events_dropped events_cut
    samples_dropped""".split()


class Damage(Exception):
    """What the format does not allow."""


def need(condition, text):
    if not condition:
        raise Damage(text)


class Cursor:
    """Fields one after the other; running over the end is damage."""

    def __init__(self, data):
        self.data = bytes(data)
        self.at = 0

    def take(self, count):
        need(self.at + count <= len(self.data), "a field runs over the end")
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, layout):
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def u32(self):
        return self.unpack("I")[0]

    def u64(self):
        return self.unpack("Q")[0]

    def text(self):
        return self.take(self.u32())

    def rest(self):
        return self.take(len(self.data) - self.at)

    def varint(self):
        value, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                need(value < 1 << 64, "a varint of more than 64 bits")
                return value
            need(shift < 70, "a varint of more than ten bytes")

    @property
    def done(self):
        return self.at == len(self.data)


@dataclass
class Event:
    """One event as it was recorded; a field that was not given is None."""

    kind: str
    detail: int
    domain_id: int = None
    name_id: int = None
    id: tuple = None
    other: tuple = None
    value: int = None
    extra: int = None
    object: int = None
    time: int = None
    clock: int = None
    data: bytes = None
    ticks: int = 0
    process: "Process" = field(default=None, repr=False)
    track: "Track" = field(default=None, repr=False)
    slice: "Slice" = field(default=None, repr=False)

    @property
    def domain(self):
        return self.process.domain(self.domain_id) if self.domain_id else None

    @property
    def name(self):
        return self.process.string(self.name_id) if self.name_id else None

    def the_object(self):
        return self.process.object(self.object) if self.object else None


def decode_event(body):
    """Varints: kind, mask, detail, then the fields of the mask in the order of its bits."""
    at = Cursor(body)
    kind, mask, detail = at.varint(), at.varint(), at.varint()
    need(0 < kind <= len(KINDS), f"event kind {kind}")
    need(mask < 512, f"event mask {mask}")
    event = Event(KINDS[kind - 1], detail)
    if mask & 1:
        event.domain_id, event.name_id = at.varint(), at.varint()
    if mask & 2:
        event.id = (at.varint(), at.varint(), at.varint())
    if mask & 4:
        event.other = (at.varint(), at.varint(), at.varint())
    if mask & 8:
        event.value = at.varint()
    if mask & 16:
        event.extra = at.varint()
    if mask & 32:
        event.object = at.varint()
    if mask & 64:
        event.time = at.varint()
    if mask & 128:
        event.clock = at.varint()
    if mask & 256:
        event.data = at.take(at.varint())
    need(at.done, f"{event.kind}: bytes behind its fields")
    return event


@dataclass
class Slice:
    domain: bytes
    name: bytes
    begin: int
    end: int = None  # None: it was still open at the end of its track
    flags: int = 0
    caller: int = 0
    signature: bytes = None  # of an operator
    parent: "Slice" = field(default=None, repr=False)
    track: "Track" = field(default=None, repr=False)
    events: list = field(default_factory=list, repr=False)
    unfinished: bool = False
    mismatched: bool = False

    @property
    def depth(self):
        return 0 if self.parent is None else self.parent.depth + 1


@dataclass
class Mark:
    mark: int
    value: int
    ticks: int


@dataclass
class Object:
    kind: str
    type: int
    type_y: int
    flags: int
    parent: int
    number: tuple
    name: bytes
    second: bytes
    metadata: list = field(default_factory=list)


NODE_NATIVE_CALL, NODE_NATIVE_EXACT, NODE_PYTHON, NODE_KERNEL = range(1, 5)
NODE_EVAL, NODE_RECOVERED = 0x40, 0x80
SAMPLER_LOSSES = (
    """dropped not_taken handler_ticks nodes_refused before_tables build_ns tables_built tables_cached""".split()
)


@dataclass
class Code:
    first_line: int
    flags: int
    file: bytes
    name: bytes
    line_table: bytes = field(repr=False)


@dataclass
class Node:
    caller: object = field(repr=False)  # Node, or None
    kind: int
    flags: int
    address: int = 0
    code: int = 0  # id in the codes of the process, or of one it was forked from
    position: int = 0

    @property
    def frames(self):
        """Frames from the innermost to the outermost."""
        one, frames = self, []
        while one:
            frames.append(one)
            one = one.caller
        return frames


@dataclass
class Sample:
    ticks: int
    weight_ns: int
    node: Node
    flags: int
    track: object = field(repr=False)


@dataclass
class Process:
    number: int
    pid: int = 0
    parent: int = 0
    start_time: int = 0
    incarnation: int = 0
    flags: int = 0
    first: int = 0
    arguments: list = field(default_factory=list)
    executable: bytes = b""
    end: tuple = None  # ticks, how, status
    strings: dict = field(default_factory=dict)
    domains: dict = field(default_factory=dict)
    objects: dict = field(default_factory=dict)
    inherit: tuple = None  # Process, strings, domains, objects
    thread_names: dict = field(default_factory=dict)
    signatures: dict = field(default_factory=dict)
    operator_source: tuple = None  # level, flags, framework, why
    losses: dict = field(default_factory=dict)
    code: list = field(default_factory=list)  # Events
    code_maps: list = field(default_factory=list)
    tracks: dict = field(default_factory=dict)
    nodes: dict = field(default_factory=dict)  # id -> Node; of a ring buffer, those of the file that is read
    last_node: int = 0
    codes: dict = field(default_factory=dict)  # id -> Code
    runtime: tuple = None  # version, flags, four addresses
    sampler: dict = None
    sampler_loss: dict = None
    creators: list = field(default_factory=list)  # (tid, tid of the creator, ticks)

    def lookup(self, what, index, number):
        if self.inherit and number <= self.inherit[index]:
            return self.inherit[0].lookup(what, index, number)
        table = getattr(self, what)
        need(number in table, f"process {self.number} uses {what} {number}, which is not defined")
        return table[number]

    def string(self, number):
        return self.lookup("strings", 1, number)

    def domain(self, number):
        return self.lookup("domains", 2, number)

    def object(self, number):
        return self.lookup("objects", 3, number)

    @property
    def loss(self):
        return self.losses.get(0, dict.fromkeys(LOSSES, 0))


@dataclass
class Track:
    process: Process = field(repr=False)
    number: int = 0
    tid: int = 0
    first: int = 0
    records: list = field(default_factory=list, repr=False)  # Slice at its begin, ("end", Slice), Mark, Event
    open: list = field(default_factory=list, repr=False)
    samples: list = field(default_factory=list, repr=False)
    last: int = 0

    @property
    def name(self):
        return self.process.thread_names.get(self.tid)

    @property
    def slices(self):
        return [one for one in self.records if isinstance(one, Slice)]

    @property
    def events(self):
        return [one for one in self.records if isinstance(one, Event)]

    @property
    def marks(self):
        return [one for one in self.records if isinstance(one, Mark)]
