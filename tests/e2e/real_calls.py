# SPDX-License-Identifier: Apache-2.0
"""What the calls of tests/programs/real_*.c must leave in a result, call by call.

A journal line says what was called with which values; expected() gives the records of the calling thread's
stream, in order; seen() gives what was recorded, in the same words. Fields that are absent read as zero or
empty, as the format says, so both sides leave them out.
"""

import json
import struct
from pathlib import Path

from trace_records import Event, Mark, Slice

ANY = object()  # a value that no one promises


def journals(folder):
    """(pid, tid) → its lines, in order."""
    found = {}
    for path in sorted(Path(folder).iterdir()):
        pid, tid, _ = path.name.split(".")
        found.setdefault((int(pid), int(tid)), []).extend(json.loads(line) for line in path.open("rb"))
    return found


def event(kind, line=None, **more):
    """The event of a call: the fields the line carries, and those that the kind has besides."""
    fields = {}
    for key in ("domain", "name", "object"):
        if (line or {}).get(key):
            fields[key] = line[key].encode()
    for key in ("value", "extra", "time", "detail"):
        if (line or {}).get(key):
            fields[key] = line[key]
    for key in ("id", "other"):
        if any((line or {}).get(key) or ()):
            fields[key] = tuple(line[key])
    if line and line.get("hex"):
        fields["data"] = bytes.fromhex(line["hex"])
    if line and line.get("text"):
        fields["data"] = line["text"].encode()
    fields.update({key: value for key, value in more.items() if value})
    return kind, fields


def widened(line):
    """The bits of a counter's value as 64: sign or zero extended, floats as doubles."""
    data, kind = bytes.fromhex(line["hex"]), line["type"]
    if kind == 7:
        return struct.unpack("<Q", struct.pack("<d", struct.unpack("<f", data)[0]))[0]
    signed = kind in (2, 4, 6)
    return int.from_bytes(data, "little", signed=signed) & (1 << 64) - 1


def without(line, *keys):
    return {key: value for key, value in line.items() if key not in keys}


# Calls that become one event with the fields they carry.
PLAIN = {
    "task_begin_overlapped": "OVERLAPPED_BEGIN",
    "task_begin_overlapped_ex": "OVERLAPPED_BEGIN",
    "task_end_overlapped": "OVERLAPPED_END",
    "task_end_overlapped_ex": "OVERLAPPED_END",
    "task_group": "TASK_GROUP",
    "region_begin": "REGION_BEGIN",
    "region_end": "REGION_END",
    "frame_begin_v3": "FRAME_BEGIN",
    "frame_end_v3": "FRAME_END",
    "frame_begin": "FRAME_BEGIN",
    "frame_end": "FRAME_END",
    "frame_submit_v3": "FRAME_SUBMIT",
    "marker": "MARKER",
    "marker_ex": "MARKER",
    "id_create": "ID_CREATE",
    "id_create_ex": "ID_CREATE",
    "id_destroy": "ID_DESTROY",
    "id_destroy_ex": "ID_DESTROY",
    "relation_add": "RELATION",
    "relation_add_to_current": "RELATION",
    "relation_add_ex": "RELATION",
    "relation_add_to_current_ex": "RELATION",
    "task_begin_ex": "TIMED_BEGIN",
    "task_begin_fn_ex": "TIMED_BEGIN",
    "task_end_ex": "TIMED_END",
    "metadata_add": "METADATA",
    "formatted_metadata_add": "METADATA_FORMATTED",
    "formatted_metadata_add_overlapped": "METADATA_FORMATTED",
    "histogram_submit": "HISTOGRAM",
    "counter_destroy": "COUNTER_DESTROY",
    "event_start": "USER_START",
    "event_end": "USER_END",
    "mark": "MARK",
    "mark_off": "MARK_OFF",
    "set_track": "SET_TRACK",
    "stack_caller_create": "CALLER_CREATE",
    "stack_caller_destroy": "CALLER_DESTROY",
    "stack_callee_enter": "CALLEE_ENTER",
    "stack_callee_leave": "CALLEE_LEAVE",
    "sync_rename": "SYNC_RENAME",
    "sync_destroy": "SYNC_DESTROY",
    "heap_allocate_begin": "HEAP_ALLOCATE_BEGIN",
    "heap_allocate_end": "HEAP_ALLOCATE_END",
    "heap_free_begin": "HEAP_FREE_BEGIN",
    "heap_free_end": "HEAP_FREE_END",
    "heap_internal_access_begin": "HEAP_ACCESS_BEGIN",
    "heap_internal_access_end": "HEAP_ACCESS_END",
    "heap_record_memory_growth_begin": "HEAP_GROWTH_BEGIN",
    "heap_record_memory_growth_end": "HEAP_GROWTH_END",
    "heap_reset_detection": "HEAP_RESET",
    "heap_record": "HEAP_RECORD",
    "suppress_push": "SUPPRESS_PUSH",
    "suppress_pop": "SUPPRESS_POP",
    "thread_ignore": "THREAD_IGNORE",
    "thr_ignore": "THREAD_IGNORE",
}
# On the program's own clock.
CLOCKED = {call for call in PLAIN if call.endswith("_ex")} | {"counter_set_value_ex"}
# Not in a thread's stream: objects, names, and code, which are definitions.
DEFINITIONS = {
    "heap_function_create": "HEAP_FUNCTION",
    "event_create": "USER_EVENT",
    "mark_create": "MARK_TYPE",
    "pt_region_create": "PT_REGION",
    "frame_create": "FRAME",
    "clock_domain_create": "CLOCK",
    "track_group_create": "TRACK_GROUP",
    "track_create": "TRACK",
    "counter_create_typed": "COUNTER",
    "histogram_create": "HISTOGRAM",
    "bind_context_metadata_to_counter": None,
    "thr_name_set": None,
    "again": None,
    "fini": None,
}
CODE = {
    "module_load": "MODULE_LOAD",
    "module_unload": "MODULE_UNLOAD",
    "module_unload_with_sections": "MODULE_UNLOAD_SECTIONS",
    "module_load_with_sections": "MODULE_LOAD_SECTIONS",
}
# Numbers of enum st_event_call in src/format/event_kind.h.
CALLS = {
    "av_save": 1,
    "memory_read": 2,
    "memory_write": 3,
    "memory_update": 4,
    "state_set": 5,
    "obj_mode_set": 6,
    "thr_mode_set": 7,
    "model_site_begin": 8,
    "model_site_beginA": 8,
    "model_site_beginAL": 8,
    "model_site_end": 9,
    "model_site_end_2": 9,
    "model_task_begin": 10,
    "model_task_beginA": 10,
    "model_task_beginAL": 10,
    "model_task_end": 11,
    "model_task_end_2": 11,
    "model_iteration_taskA": 12,
    "model_iteration_taskAL": 12,
    "model_lock_acquire": 13,
    "model_lock_acquire_2": 13,
    "model_lock_release": 14,
    "model_lock_release_2": 14,
    "model_record_allocation": 15,
    "model_record_deallocation": 16,
    "model_induction_uses": 17,
    "model_reduction_uses": 18,
    "model_observe_uses": 19,
    "model_clear_uses": 20,
    "model_aggregate_task": 21,
    "model_disable_push": 22,
    "model_disable_pop": 23,
    "state_get": 24,
}
SYNC = {"sync": 0, "fsync": 1, "notify_sync": 2}


def sync_event(call, line):
    """prepare, cancel, acquired and releasing of the three families, and the three ways to name one."""
    if call in ("sync_create", "sync_set_name", "notify_sync_name"):
        family = 0 if call == "sync_create" else 2  # the older interface
        texts = [(line[key] or "").encode() for key in ("type", "name")]
        given = (line["type"] is not None) | (line["name"] is not None) << 1
        detail = line["attribute"] | family << 16
        return event("SYNC_CREATE", None, value=line["value"], data=b"\0".join(texts), extra=given, detail=detail)
    family, _, what = call.rpartition("_")
    return event(f"SYNC_{what.upper()}", line, detail=SYNC[family])


def metadata_event(call, line):
    plain = without(line, "id") if "scope" in line else line
    if call == "metadata_str_add":
        return event("METADATA_TEXT", plain, extra=len(line["hex"]) // 2)
    if call == "metadata_add_with_scope":
        return event("METADATA_SCOPED", plain, detail=line["type"] | line["scope"] << 16)
    return event("METADATA_TEXT_SCOPED", plain, extra=len(line["hex"]) // 2, detail=line["scope"] << 16)


def counter_event(call, line):
    if "add" in line:
        return event("COUNTER_ADD", line, value=line["add"] & (1 << 64) - 1)
    return event("COUNTER_SET", without(line, "hex"), value=widened(line))


def call_event(call, line):
    if call == "av_save":
        dimensions = struct.pack("<iiii", 4, 1, 2, 3)
        return event("CALL", line, detail=1, data=dimensions + line["path"].encode())
    return event("CALL", line, detail=CALLS[call])


def code_event(line):
    """The record that a module call leaves with the definitions."""
    call = line["call"]
    if call != "module_load_with_sections":
        return event(CODE[call], line)
    data = line["name"].encode() + b"\0"
    for name, *numbers in line["sections"]:
        data += name.encode() + b"\0" + struct.pack("<5Q", *numbers)
    return event(CODE[call], without(line, "name"), data=data)


def expected(line):
    """Records of the thread's stream for one call."""
    call, thread = line["call"], line["thread"]
    clock = (1000000 + thread, 5000 + thread) if call in CLOCKED else None
    if call in DEFINITIONS or call in CODE:
        return []
    if call == "task_begin":
        told = event("TASK_ID", without(line, "domain", "name"))
        return [("begin", line["domain"].encode(), line["name"].encode())] + [told] * bool(told[1])
    if call == "task_begin_fn":
        told = event("TASK_ID", without(line, "domain", "value"))
        return [
            ("begin", line["domain"].encode(), b"0x%x" % line["value"]),
            event("TASK_FN", without(line, "domain", "id")),
            told,
        ]
    if call == "task_begin_fn_ex":
        return [event("TIMED_BEGIN", line, clock=clock, name=b"0x%x" % line["value"])]
    if call == "task_end":
        return [("end", line["domain"].encode())]
    if call in ("mark_global", "mark_global_off"):
        return [event("MARK_OFF" if call.endswith("off") else "MARK", line, detail=1)]
    if call in ("heap_reallocate_begin", "heap_reallocate_end"):
        return [event(call.upper(), line, id=(line["old"], 0, 0))]
    if call in ("suppress_mark_range", "suppress_clear_range"):
        kind = "SUPPRESS_CLEAR" if "clear" in call else "SUPPRESS_RANGE"
        return [event(kind, line, id=(line["mode"], 0, 0) if line["mode"] else None)]
    if call == "formatted_first":
        return [event("METADATA_FORMATTED", line, detail=1)]
    if call in PLAIN:
        return [event(PLAIN[call], line, clock=clock)]
    if "sync" in call:
        return [sync_event(call, line)]
    if call.startswith("metadata"):
        return [metadata_event(call, line)]
    if call.startswith("counter"):
        kind, fields = counter_event(call, line)
        return [(kind, fields | ({"clock": clock} if clock else {}))]
    return [call_event(call, line)]


def fields_of(one):
    """An event in the words of event() above."""
    fields = {key: getattr(one, key) for key in ("id", "other") if any(getattr(one, key) or ())}
    fields |= {key: getattr(one, key) for key in ("domain", "name", "value", "extra", "time", "detail", "data")}
    if one.object:
        fields["object"] = one.the_object().name
    if one.clock:
        fields["clock"] = one.process.object(one.clock).number[:2]
    return {key: value for key, value in fields.items() if value}


def seen(track):
    """(record, ticks) of a track, in order."""
    for one in track.records:
        if isinstance(one, Slice):
            yield ("begin", one.domain, one.name), one.begin
        elif isinstance(one, Event):
            yield (one.kind, fields_of(one)), one.ticks
        elif isinstance(one, Mark):
            yield ("mark", one.mark, one.value), one.ticks
        else:
            yield ("end", one[1].domain), one[1].end


def same(want, have):
    return len(want) == len(have) and all(a is ANY or a == b for a, b in zip(want, have, strict=True))
