# SPDX-License-Identifier: Apache-2.0
"""What strata itself reads back of every ITT call equals what the reader that is not ours finds."""

import collections
import json
import struct

import pytest
from harness import TARGETS
from trace_reader import Result

ROUNDS = 4
NAMES = {"USER_START": "event_start", "USER_END": "event_end"}


@pytest.fixture(scope="module")
def case(shared_strata, programs, ittapi):
    """A run that calls everything, from 16 threads of two processes."""
    folder = shared_strata.folder / "journal"
    folder.mkdir()
    command = [ittapi, TARGETS / "real_part.py", programs / "real_static_part.so", folder, "call_all", "ittapi"]
    done = shared_strata.collect(*command, str(ROUNDS), options=("-knob", "ring-size=4096"))
    result = Result(done.result)
    assert not any(result.loss.values()), result.loss
    return shared_strata, done.result, result


def ask(case, sql):
    strata, folder, _ = case
    done = strata("query", "-r", folder, "-format", "json", sql)
    assert done.status == 0, done.err
    return json.loads(done.stdout)["rows"]


def id_text(value):
    return ":".join(map(str, value)) if value and any(value) else None


def signed(value):
    """SQL's integers have a sign."""
    return (value or 0) - (1 << 64) * ((value or 0) >> 63)


def text(value):
    return value.decode() if value else None


def test_every_event(case):
    """Row by row, in the order of each thread: kind, names, ids and numbers."""
    rows = ask(
        case,
        "SELECT t.pid, t.tid, e.kind, e.domain, e.name, e.itt_id, e.other_id, e.value, e.extra, e.detail,"
        " e.time_given, o.name AS object FROM events e JOIN threads t ON t.track = e.track"
        " LEFT JOIN objects o ON o.object = e.object ORDER BY e.row",
    )
    told = collections.defaultdict(list)
    for row in rows:
        key = row["pid"], row["tid"]
        words = [row[name] or None for name in ("kind", "domain", "name", "itt_id", "other_id")]
        numbers = [row[name] or 0 for name in ("value", "extra", "detail")]
        # A counter named by domain and string is an object for strata, and none in the record.
        has_object = row["object"] if row["name"] is None else None
        told[key].append((*words, *numbers, has_object))
    for track in case[2].tracks:
        found = []
        for one in track.events:
            kind = NAMES.get(one.kind, one.kind.lower())
            words = [kind, text(one.domain), text(one.name), id_text(one.id), id_text(one.other)]
            numbers = [signed(one.value), signed(one.extra), one.detail]
            # Clocks and submitted frames have their times in places of their own.
            found.append((*words, *numbers, text(one.the_object().name) if one.object else None))
        assert told[track.process.pid, track.tid] == found
    assert sum(map(len, told.values())) == len(case[2].events) == len(rows) > 9_000


def test_every_span(case):
    """What has a begin and an end is one span, for each pair that the threads made."""
    kinds = collections.Counter(one.kind for one in case[2].events)
    # Who releases by fsync lets another thread go on, and has held nothing.
    held = [one for one in case[2].events if one.kind == "SYNC_RELEASING" and one.detail != 1]
    expected = {
        "overlapped": kinds["OVERLAPPED_END"],
        "region": kinds["REGION_END"],
        "frame": kinds["FRAME_END"] + kinds["FRAME_SUBMIT"],
        "timed": kinds["TIMED_END"],
        "event": kinds["USER_END"],
        "mark": kinds["MARK_OFF"],
        "wait": kinds["SYNC_PREPARE"],
        "hold": len(held),
    }
    rows = ask(case, "SELECT kind, count(*) AS n, sum(unfinished) AS open FROM spans GROUP BY kind")
    assert {row["kind"]: row["n"] for row in rows} == expected
    assert not any(row["open"] for row in rows)
    cancelled = ask(case, "SELECT count(*) AS n FROM spans WHERE cancelled")
    assert cancelled[0]["n"] == kinds["SYNC_CANCEL"]


def test_every_object(case):
    rows = ask(case, "SELECT p.pid, o.kind, o.name, o.domain FROM objects o JOIN processes p USING (process_id)")
    told = collections.Counter((row["pid"], row["kind"], row["name"] or None, row["domain"] or None) for row in rows)
    for process in case[2].processes.values():
        for one in process.objects.values():
            if one.kind == "CLOCK":
                continue  # nameless, and another one each time it is reset
            kind = {"USER_EVENT": "event", "MARK_TYPE": "mark"}.get(one.kind, one.kind.lower())
            key = process.pid, kind, text(one.name), text(one.second)
            assert told[key] == 1, key
    # Two facts about one counter of each of 16 threads; the one that forked goes on with its parent's.
    facts = ask(case, "SELECT fact, count(*) AS n FROM object_facts GROUP BY fact")
    assert {row["n"] for row in facts} == {16} and len(facts) == 2


def test_the_modules(case):
    """A module is one piece of code, or one for each of its sections."""
    rows = ask(case, "SELECT kind, name, address, size_bytes FROM code")
    told = sorted((row["kind"], row["name"], int(row["address"], 16), row["size_bytes"]) for row in rows)
    found = []
    for one in (one for process in case[2].processes.values() for one in process.code):
        if one.kind == "MODULE_LOAD":
            found.append(("module_load", one.data.decode(), one.value, one.extra - one.value))
        elif one.kind == "MODULE_LOAD_SECTIONS":
            name, _, rest = one.data.partition(b"\0")
            for _ in range(one.extra):
                _, _, rest = rest.partition(b"\0")
                _, _, start, size, _ = struct.unpack("<5Q", rest[:40])
                found.append(("module_load_sections", name.decode(), start, size))
                rest = rest[40:]
    assert told == sorted(found) and found
