# SPDX-License-Identifier: Apache-2.0
"""Every function of the real ITT static parts, called and found back value by value.

The static parts are those inside libtorch_cpu.so and the PyPI module ittapi; the reader is trace_reader.py.
"""

import collections

import pytest
import real_calls
from harness import TARGETS
from trace_reader import Result
from trace_records import DETACH, KINDS, PAUSE, RESUME, TRACK_END

PARTS = ("torch", "ittapi")
# Written while paused, too: they may close what began before, or name what is used after.
SPAN_ENDS = ("OVERLAPPED_END", "REGION_END", "FRAME_END", "TIMED_END", "USER_END", "MARK_OFF")
NAMING = ("SYNC_CREATE", "SYNC_RENAME")


@pytest.fixture
def real(strata, programs, ittapi, tmp_path):
    """Runs real_part.py under strata; gives the result and the journals of its threads."""

    def run(*words, options=("-knob", "ring-size=4096")):
        folder = tmp_path / "journal"
        folder.mkdir()
        command = [ittapi, TARGETS / "real_part.py", programs / "real_static_part.so", folder, *words]
        done = strata.collect(*command, options=options)
        result = Result(done.result)
        assert not any(result.loss.values()), result.loss
        return result, real_calls.journals(folder)

    return run


def track_of(result, pid, tid):
    found = [track for track in result.process_of(pid).tracks.values() if track.tid == tid]
    assert len(found) == 1, f"{len(found)} tracks of thread {tid} in process {pid}"
    return found[0]


def settle(records):
    """What a task is told right after its begin may come in any order."""
    records = list(records)
    for at, (one, _) in enumerate(records):
        if one[0] == "TASK_FN" and at + 1 < len(records) and records[at - 1][0][0] == "TASK_ID":
            records[at - 1 : at + 1] = records[at], records[at - 1]
    return records


def compare(result, track, lines, want=real_calls.expected):
    """The stream of a thread is what its calls must leave, in order, each within its call's time."""
    wanted = [(one, line) for line in lines for one in want(line)]
    had = [(one, ticks) for one, ticks in settle(real_calls.seen(track)) if one[:2] != ("mark", TRACK_END)]
    for number, ((one, line), (other, ticks)) in enumerate(zip(wanted, had, strict=False)):
        assert real_calls.same(one, other), f"record {number} of {track}: {line} must leave {one}, not {other}"
        now = result.mono_raw(ticks)
        assert line["before"] - 2000 <= now <= line["after"] + 2000, (line, now)
    assert len(wanted) == len(had), (len(wanted), len(had), wanted[len(had) :][:3], had[len(wanted) :][:3])
    return collections.Counter(one[0] for one, _ in had)


def check_objects(process, lines):
    """Every object that was made is there once, with all it was made with."""
    table = dict(process.objects)
    ancestor = process
    while ancestor.inherit:
        table.update({key: one for key, one in ancestor.inherit[0].objects.items() if key <= ancestor.inherit[3]})
        ancestor = ancestor.inherit[0]
    found = collections.defaultdict(list)
    for one in table.values():
        found[one.kind, one.name].append(one)
    for line in lines:
        kind = real_calls.DEFINITIONS.get(line["call"])
        if line["call"] == "clock_domain_create":
            want = (line["freq"], line["base"])
            assert [one.number[:2] for one in table.values() if one.kind == "CLOCK"].count(want) == 1, want
        elif line["call"] == "bind_context_metadata_to_counter":
            (one,) = found["COUNTER", line["name"].encode()]
            want = [(fact, number, text.encode()) for fact, number, text in line["facts"]]
            assert sorted(set(one.metadata)) == want, one
        elif kind:
            (one,) = found[kind, line["name"].encode()]
            assert one.second == (line.get("second") or "").encode(), (line, one)
            assert one.type == line.get("type", 0) and one.type_y == line.get("type_y", 0), (line, one)
            if kind == "PT_REGION":
                assert one.number[0] == line["number"], (line, one)
            if kind == "TRACK":
                assert table[one.parent].name == line["group"].encode(), (line, one)


def check_callers(result, track):
    """Every begin says where it was called: in the library of ours, one place for each line that calls.

    A process that is gone before strata looks at its mappings is counted instead; a fork has those of its parent.
    """
    maps = [one for process in result.processes.values() for one in process.code_maps]
    ours = [one for one in maps if one[4].endswith(b"/real_static_part.so")]
    assert ours or result.json["loss"]["callers_unknown"], maps
    for one in track.slices:
        assert not ours or any(start <= one.caller < end for start, end, *_ in ours), (one, maps)
    by_function = {one.caller for one in track.slices if one.name.startswith(b"0x")}
    assert len(by_function) == 1
    assert not by_function & {one.caller for one in track.slices if not one.name.startswith(b"0x")}


def check_process(result, pid, threads):
    process = result.process_of(pid)
    kinds, code = collections.Counter(), []
    for tid, lines in threads.items():
        kinds += compare(result, track_of(result, pid, tid), lines)
        check_objects(process, lines)
        check_callers(result, track_of(result, pid, tid))
        names = [line["name"].encode() for line in lines if line["call"] == "thr_name_set"]
        assert process.thread_names.get(tid) == names[-1]
        want = [real_calls.code_event(line) for line in lines if line["call"] in real_calls.CODE]
        have = [(one.kind, real_calls.fields_of(one)) for one in process.code if one.track == tid]
        assert want == have
        code += want
    assert len(process.code) == len(code), "code events of threads that made none"
    assert len(process.tracks) == len(threads), "tracks of threads that called nothing"
    return kinds


@pytest.mark.parametrize("part", PARTS)
def test_every_function(real, part, scale):
    """All 156 entries, 8 threads, a fork in the middle after which parent and child go on."""
    rounds = 40 if scale == "quick" else 400
    result, journals = real("call_all", part, str(rounds))
    families = collections.defaultdict(dict)
    for (pid, tid), lines in journals.items():
        families[pid][tid] = lines
    parent = next(pid for pid, threads in families.items() if any(t[0]["thread"] == 7 for t in threads.values()))
    (child,) = set(families) - {parent}
    assert [len(families[pid]) for pid in (parent, child)] == [8, 8]
    kinds = check_process(result, parent, families[parent])
    more = check_process(result, child, families[child])
    assert result.process_of(child).parent == result.process_of(parent).number
    # Not one kind that a call can make is absent, and a round leaves the same number of each everywhere.
    once = {"COUNTER_DESTROY", "THREAD_IGNORE"}
    assert set(kinds) - once == set(more) - once
    for kind, count in kinds.items():
        if kind not in once:
            assert count * rounds // 2 == more[kind] * rounds, kind
    never = {"TASK_LINE", "SCOPE_PAUSE", "SCOPE_RESUME", "JIT"} | {one for one in real_calls.CODE.values()}
    assert set(kinds) == set(KINDS) - never | {"begin", "end"}


class Pausing:
    """What is left of the calls while recording is off: pauses, shut-downs and the end of it all."""

    def __init__(self):
        self.paused = self.off = False

    def __call__(self, line):
        call = line["call"]
        if call in ("fini", "again"):
            self.off = call == "fini"
        if self.off:
            return []
        if call in ("pause", "resume"):
            self.paused = call == "pause"
            return [("mark", PAUSE if self.paused else RESUME, 0)]
        if call in ("pause_scoped", "resume_scoped"):
            return self.scoped(call == "pause_scoped", line)
        if call == "detach":
            self.off = True
            return [("mark", DETACH, 0)]
        records = real_calls.expected(line)
        return [one for one in records if one[0] in SPAN_ENDS + NAMING] if self.paused else records

    def scoped(self, pause, line):
        told = real_calls.event("SCOPE_PAUSE" if pause else "SCOPE_RESUME", line)
        if not line["detail"] & 1:
            return [told]
        self.paused = pause
        return [told, ("mark", PAUSE, 0)] if pause else [("mark", RESUME, 0), told]


def only_thread(result, journals):
    (((pid, tid), lines),) = journals.items()
    return result.process_of(pid), track_of(result, pid, tid), lines


@pytest.mark.parametrize("part", PARTS)
def test_pauses(real, part):
    """Paused, nothing but the ends of spans and names is kept; a scope without the host pauses nothing here."""
    result, journals = real("pauses", part)
    process, track, lines = only_thread(result, journals)
    kinds = compare(result, track, lines, Pausing())
    check_objects(process, lines)
    assert kinds["SCOPE_PAUSE"] == kinds["SCOPE_RESUME"] == kinds["mark"] // 2 == 3
    assert kinds["THREAD_IGNORE"] == 1


@pytest.mark.parametrize("part", PARTS)
def test_begins_again(real, part):
    """A static part that was shut down binds again by itself; objects of before stay what they were."""
    result, journals = real("begins_again", part)
    process, track, lines = only_thread(result, journals)
    kinds = compare(result, track, lines, Pausing())
    check_objects(process, lines)
    assert kinds["begin"] == 3 * 3 and process.thread_names[track.tid] == b"again"


@pytest.mark.parametrize("part", PARTS)
def test_detaches(real, part):
    """After a detach nothing more comes, whatever is called, and the program goes on."""
    result, journals = real("detaches", part)
    _, track, lines = only_thread(result, journals)
    kinds = compare(result, track, lines, Pausing())
    assert kinds["begin"] == 3 and kinds["mark"] == 1


@pytest.mark.parametrize("parts", [PARTS, PARTS[::-1]])
def test_two_parts(real, parts):
    """Both libraries in one process: one stream per thread in the order of the calls, handles shared."""
    result, journals = real("two_parts", *parts, "3")
    process, track, lines = only_thread(result, journals)
    kinds = compare(result, track, lines)
    check_objects(process, lines)
    assert kinds["begin"] == kinds["end"] == 3 * 3 * 3
    # The same name is the same domain, whichever part it was made through.
    assert list(process.domains.values()).count(b"real") == 1


FIRST_CALLS = "task thread_name pause event_create get_timestamp formatted_metadata counter state".split()


@pytest.mark.parametrize("which", range(len(FIRST_CALLS)), ids=FIRST_CALLS)
def test_first_call(real, which):
    """Whatever call loads the collector is recorded itself, and nothing is made up for it."""
    result, journals = real("first_call", "ittapi", str(which))
    process, track, lines = only_thread(result, journals)
    kinds = compare(result, track, lines, Pausing())
    assert kinds["MARKER"] == 3
    assert process.thread_names.get(track.tid) == (b"first" if FIRST_CALLS[which] == "thread_name" else None)
    made = {(one.kind, one.name) for one in process.objects.values()}
    wanted = {"event_create": {("USER_EVENT", b"first event")}, "counter": {("COUNTER", b"early")}}
    assert made == wanted.get(FIRST_CALLS[which], set())


def test_library_that_comes_and_goes(real):
    """A library with a static part is unloaded and loaded again: its memory is gone, what it told stays."""
    result, journals = real("reopen", "ittapi", "5")
    process, track, lines = only_thread(result, journals)
    kinds = compare(result, track, lines)
    assert kinds == {"begin": 5, "end": 5, "MARKER": 15}
    assert sorted(process.domains.values()) == [b"real"]


@pytest.mark.parametrize("part", PARTS)
def test_loaded_in_a_constructor(real, part):
    result, journals = real("constructor", part)
    _, track, lines = only_thread(result, journals)
    assert compare(result, track, lines) == {"begin": 1, "end": 1, "MARKER": 3}
