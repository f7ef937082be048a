# SPDX-License-Identifier: Apache-2.0
"""Everything but plain tasks, in both trace formats: arguments, spans, instants, counters, flows.

The program tells values that are written down here again; nothing is taken from strata's own answers. Where a
report tells the same, the export must agree with it.
"""

import struct
from collections import Counter, defaultdict

import pytest
from harness import strict_json
from perfetto_trace import Trace
from test_chrome import hta_frame
from test_command import Run

OUTER, OTHER = "1:2:3", "18446744073709551615:5:0"
NARROW = struct.unpack("f", struct.pack("f", 0.1))[0]
METADATA = {
    "u64": 2**64 - 1,
    "s64": [-(2**63), -1, 2**63 - 1],
    "u32": 2**32 - 1,
    "s32": [-(2**31), 7],
    "u16": 65535,
    "s16": -32768,
    "float": NARROW,
    "double": [0.1, -1e300],
    "text": "größer than a word",
    "broken": {"escaped": "a\\\\\\xff"},
    "key\\xff": "1",
    "key\\xfe": "2",
    "formatted": "conv,42",
}
COUNTERS = {
    "c.u64": [1, 2**64 - 1],
    "c.s64": [2, -(2**63)],
    "c.u32": [3, 2**32 - 1],
    "c.s32": [4, -(2**31)],
    "c.u16": [5, 65535],
    "c.s16": [6, -32768],
    "c.float": [1.5, NARROW],
    "c.double": [1.5, 0.1],
    "queue": [5, 4],
}
RELATIONS = [
    "dependent_on",
    "sibling_of",
    "parent_of",
    "continuation_of",
    "child_of",
    "continued_by",
    "predecessor_to",
]
# Kind and domain → names in order of begin.
SPANS = {
    "overlapped tasks: things": ["request"] * 3,
    "regions: things": ["a region", "another"],
    "frames: frames": ["frame"] * 3,
    "user events": ["an event"],
    "marks": ["a long mark"],
    "waits: mutex": ["the lock"] * 2,
    "holds: mutex": ["the lock"],
}
OF_THREAD = {"user events", "waits: mutex", "holds: mutex"}
SCOPES = ["unknown", "global", "process", "thread", "task", "marker"]


@pytest.fixture(scope="module")
def result(shared_strata, programs):
    return shared_strata.collect(programs / "export_things", result=shared_strata.folder / "things").result


@pytest.fixture(scope="module")
def trace(result, shared_strata):
    path = shared_strata.folder / "things.pftrace"
    done = shared_strata("export", "perfetto", "-r", result, "-o", path)
    assert done.status == 0, done.err
    return Trace(path.read_bytes())


@pytest.fixture(scope="module")
def events(result, shared_strata):
    """The events of the Chrome export by phase."""
    found = defaultdict(list)
    for event in shared_strata.chrome(result, shared_strata.folder / "things.json")["traceEvents"]:
        found[event["ph"]].append(event)
    return found


def only(found):
    (one,) = found
    return one


def by_name(things, name):
    return [one for one in things if one.name == name]


# Perfetto ------------------------------------------------------------------------------------------


def test_tasks_and_their_arguments(trace):
    tasks = {one.name: one for one in trace.slices}
    assert sorted(tasks) == ["other", "outer", "related", "typed"]
    assert tasks["typed"].notes["metadata"] == METADATA
    assert tasks["typed"].parent is tasks["related"].parent is tasks["outer"]
    assert tasks["outer"].notes["metadata"] == {"early": "before a task inside", "late": "after a task inside"}
    assert tasks["outer"].notes["id"] == OUTER
    assert tasks["other"].notes["id"] == OTHER and tasks["other"].notes["parent_id"] == OUTER


def test_spans_lie_on_tracks_of_their_kind(trace):
    drawn, owners, lanes = defaultdict(list), {}, defaultdict(list)
    for one in trace.spans:
        group, owner = trace.group(one.track)
        drawn[group].append(one.name)
        owners[group] = owner
        lanes[one.track].append(one)
        assert one.parent is None, "spans of one lane never overlap"
    assert drawn == SPANS
    for group, owner in owners.items():
        assert owner.HasField("thread" if group in OF_THREAD else "process")
    requests = [one for one in trace.spans if one.name == "request"]
    assert len({one.track for one in requests}) == 3
    assert [one.notes["id"] for one in requests] == ["21:0:0", "22:0:0", "23:0:0"]
    assert requests[1].notes["metadata"] == {"of a span": "by id"}
    assert requests[1].notes["parent_id"] == "21:0:0"
    assert {one.notes["address"] for one in by_name(trace.spans, "the lock")} > set()
    waits = [one for one in trace.spans if trace.group(one.track)[0] == "waits: mutex"]
    assert [one.notes.get("flags") for one in waits] == [None, "cancelled"]
    assert all(one.notes["type"] == "mutex" for one in waits)


def test_instants_lie_where_their_scope_says(trace):
    for number, scope in enumerate(SCOPES):
        one = only(by_name(trace.instants, f"marker {number}"))
        track = trace.tracks[one.track]
        assert one.category == "things" and one.notes["scope"] == scope
        if scope == "global":
            assert not track.parent_uuid
        else:
            assert track.HasField("process" if scope == "process" else "thread")
    assert only(by_name(trace.instants, "a mark")).notes["value"] == "with a parameter"
    names = Counter(one.name for one in trace.instants)
    assert names == Counter([f"marker {i}" for i in range(6)] + ["never ended", "a mark", "request", "request"])


def test_counters_to_the_last_bit(trace):
    counters = trace.counters()
    assert set(counters) == set(COUNTERS)
    for name, (unit, parent, samples) in counters.items():
        values = [notes.get("value", value) for _, value, notes in samples]
        assert values == COUNTERS[name], name
        assert unit == ("widgets" if name == "c.double" else "")
        assert parent.HasField("process")


def ends(trace, flow):
    return [one.name for one in trace.flows[flow]]


def test_flows_join_what_ids_name(trace):
    tasks = {one.name: one for one in trace.slices}
    told = tasks["related"].notes["relations"]
    assert [one["relation"] for one in told] == [*RELATIONS, "dependent_on"]
    assert all(one["edge"] == "head" for one in told)
    assert [one["tail"] for one in told] == [OTHER] * 7 + ["99:0:0"]
    assert "flow" not in told[7], "what nobody has cannot be pointed at"
    for one in told[:7]:
        assert trace.flows[one["flow"]] == [tasks["other"], tasks["related"]], "arrows go forward in time"
    # The rest: a parent on another thread, the parent of a request, a relation by two ids, and the request that
    # another thread ended.
    rest = sorted(ends(trace, flow) for flow in set(trace.flows) - {one["flow"] for one in told[:7]})
    assert rest == sorted([["outer", "other"], ["outer", "other"], ["request"] * 2, ["request"] * 3])
    begin, span, end = next(trace.flows[flow] for flow in trace.flows if len(trace.flows[flow]) == 3)
    assert (begin.notes["edge"], end.notes["edge"]) == ("begin", "end")
    assert span.notes["id"] == "23:0:0"
    assert trace.thread(begin.track) == trace.thread(tasks["outer"].track)
    assert trace.thread(end.track) == trace.thread(tasks["other"].track)
    assert (begin.begin_ns, end.begin_ns) == (span.begin_ns, span.end_ns)


# Chrome --------------------------------------------------------------------------------------------


def test_chrome_tells_the_same_tasks(trace, events):
    told = {one.name: one.notes for one in trace.slices}
    for event in events["X"]:
        args = event["args"]
        for key in ("id", "parent_id", "metadata", "caller", "relations"):
            assert args.get(key) == told[event["name"]].get(key), (event["name"], key)


def to_ns(microseconds):
    return round(microseconds * 1000)


def test_chrome_tells_the_same_spans(trace, events):
    """Pairs on one id are one after the other."""
    drawn = []
    began = {}
    for event in sorted(events["b"] + events["e"], key=lambda one: one["ts"]):
        key = (event["cat"], event["id2"]["local"], event["pid"])
        if event["ph"] == "b":
            assert key not in began, "a lane holds two spans at a time"
            began[key] = event
        else:
            begin = began.pop(key)
            drawn.append((begin["name"], to_ns(begin["ts"]), to_ns(event["ts"]), begin["args"]["row"]))
    assert not began
    assert sorted(drawn) == sorted((one.name, one.begin_ns, one.end_ns, one.notes["row"]) for one in trace.spans)


def test_chrome_tells_the_same_instants(events):
    scope = {event["name"]: event["s"] for event in events["i"]}
    assert [scope[f"marker {i}"] for i in range(6)] == ["t", "g", "p", "t", "t", "t"]
    assert set(scope) == {f"marker {i}" for i in range(6)} | {"never ended", "a mark"}


def test_chrome_tells_the_same_counters(events):
    found = defaultdict(list)
    for event in sorted(events["C"], key=lambda one: one["ts"]):
        found[event["name"]].append(event["args"]["value"])
    assert found == COUNTERS


def test_chrome_tells_the_same_flows(trace, events):
    starts = {event["id"]: event for event in events["s"]}
    finishes = {event["id"]: event for event in events["f"]}
    assert set(starts) == set(finishes) == set(trace.flows)
    assert len(starts) == len(events["s"]) == len(events["f"])
    for flow, event in starts.items():
        assert to_ns(event["ts"]) == trace.flows[flow][0].begin_ns
        assert to_ns(finishes[flow]["ts"]) == trace.flows[flow][-1].begin_ns
    assert Counter(event["name"] for event in events["s"])["sibling_of"] == 1


# The same in SQL -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ask(result, shared_strata):
    """Rows of an SQL question about the result."""

    def answer(sql):
        done = shared_strata("query", "-r", result, "-format", "json", sql)
        assert done.status == 0, done.err
        return strict_json(done.stdout)["rows"]

    return answer


def test_tasks_equal_sql(trace, ask):
    rows = {row["row"]: row for row in ask("SELECT * FROM slices")}
    assert len(rows) == len(trace.slices)
    for one in trace.slices:
        row = rows[one.notes["row"]]
        assert (one.name, one.category, one.begin_ns, one.end_ns) == (
            row["task_type"],
            row["task_domain"],
            row["start_ns"],
            row["end_ns"],
        )
        assert one.notes.get("id") == row.get("itt_id")
        assert one.notes.get("parent_id") == row.get("parent_id")
        assert one.notes["caller"] == row["caller"]
        assert (one.parent.notes["row"] if one.parent else None) == row.get("parent")


def test_spans_equal_sql(trace, ask):
    rows = {row["row"]: row for row in ask("SELECT * FROM spans")}
    tids = {row["track"]: row["tid"] for row in ask("SELECT track, tid FROM threads")}
    assert len(rows) == len(trace.spans)
    for one in trace.spans:
        row = rows[one.notes["row"]]
        assert (one.begin_ns, one.end_ns, one.category) == (row["start_ns"], row["end_ns"], row.get("domain") or "")
        assert one.name == (row.get("name") or row["kind"])
        assert one.notes.get("id") == row.get("itt_id") and one.notes.get("parent_id") == row.get("parent_id")
        assert one.notes["tid"] == tids[row["track"]]
        assert one.notes.get("end_tid", one.notes["tid"]) == tids[row["end_track"]]
        assert ("cancelled" in one.notes.get("flags", "")) == bool(row["cancelled"])


def test_instants_equal_sql(trace, ask):
    rows = {row["row"]: row for row in ask("SELECT * FROM events")}
    for one in trace.instants:
        if "edge" in one.notes:  # where an overlapped task begins or ends on its thread
            continue
        row = rows[one.notes["row"]]
        assert one.begin_ns == row["start_ns"] and one.category == (row.get("domain") or "")
    markers = [row for row in rows.values() if row["kind"] == "marker"]
    assert len(markers) == 6
    assert {row["name"] for row in markers} == {one.name for one in trace.instants if "scope" in one.notes}


def test_counters_equal_sql(trace, ask):
    """SQL has no whole numbers beyond 63 bits: those are compared as it shows them."""
    rows = defaultdict(list)
    for row in ask("SELECT name, start_ns, value FROM counter_values ORDER BY start_ns, row"):
        rows[row["name"]].append((row["start_ns"], row["value"]))
    drawn = {name: [sample[:2] for sample in samples] for name, (_, _, samples) in trace.counters().items()}
    assert drawn == rows


def test_relations_and_metadata_equal_sql(trace, ask):
    told = Counter((row["relation"], row.get("head_id"), row["tail_id"]) for row in ask("SELECT * FROM relations"))
    drawn = Counter(
        (each["relation"], each.get("head"), each["tail"])
        for one in trace.slices
        for each in one.notes.get("relations", ())
        if each["edge"] == "head"
    )
    assert drawn == told
    rows = ask("SELECT * FROM metadata")
    things = trace.slices + trace.spans
    assert sum(len(one.notes.get("metadata", {})) for one in things) == len(rows)
    keys = Counter("formatted" if row["type"] == "formatted" else row["key"] for row in rows)
    drawn = Counter(key for one in things for key in one.notes.get("metadata", {}))
    assert {key: n for key, n in keys.items() if "\ufffd" not in key} == {
        key: n for key, n in drawn.items() if "\\x" not in key
    }


def test_commands_are_drawn(strata, programs):
    """A mark by strata -command stands over everything; a task around a pause says so."""
    run = Run(strata, [programs / "obedient"])
    run.tell("begin outer")
    run.command("mark", "epoch 3 é")
    run.command("pause")
    run.command("resume")
    run.tell("end")
    run.end()
    path = strata.folder / "marked.pftrace"
    assert strata("export", "perfetto", "-r", run.result, "-o", path).status == 0
    trace = Trace(path.read_bytes())
    mark = only(trace.instants)
    assert mark.name == "epoch 3 é" and not trace.tracks[mark.track].parent_uuid
    outer = only(trace.slices)
    assert outer.notes["flags"] == "clipped" and outer.begin_ns < mark.begin_ns < outer.end_ns
    assert outer.notes["recorded_ns"] < outer.end_ns - outer.begin_ns
    events = strata.chrome(run.result, strata.folder / "marked.json")["traceEvents"]
    event = only(event for event in events if event["ph"] == "i")
    assert (event["name"], event["s"], to_ns(event["ts"])) == ("epoch 3 é", "g", mark.begin_ns)


def test_head_of_the_chrome_file(result, shared_strata):
    """Strict JSON that names the counters with their units and types."""
    done = shared_strata("export", "chrome", "-r", result, "-o", "-")
    head = {one["name"]: one for one in strict_json(done.stdout)["strata"]["counters"]}
    assert set(head) == set(COUNTERS)
    assert head["c.double"]["unit"] == "widgets" and head["c.s16"]["type"] == "s16"


def test_holistic_trace_analysis_finds_the_tasks(result, shared_strata):
    path = shared_strata.folder / "things.hta.json"
    assert shared_strata("export", "chrome", "-r", result, "-o", path).status == 0
    assert sorted(hta_frame(path)["label"]) == ["other", "outer", "related", "typed"]
