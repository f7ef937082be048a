# SPDX-License-Identifier: Apache-2.0
"""export kineto: the same run as torch's own profiler exports it, by a strict parser and by HolisticTraceAnalysis."""

import gzip
import json
import re
import statistics
import sys
from collections import Counter, defaultdict
from types import SimpleNamespace

import pytest
from harness import TARGETS, strict_json
from test_chrome import hta_frame, to_ns

pytestmark = pytest.mark.torch

OPERATORS = ("cpu_op", "user_annotation")
# What is asked of the index, row by row; parents are operators or ranges.
TABLE = (
    "SELECT s.row, o.name, s.end_ns - s.start_ns AS dur, s.start_ns AS begin_ns, s.parent, o.scope, t.pid, t.tid"
    " FROM operators o JOIN slices s ON s.row = o.row JOIN threads t ON t.track = s.track"
    " WHERE o.scope IS NOT NULL ORDER BY s.row"
)


def rows_of(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def export(strata, result, path, *options):
    done = strata("export", "kineto", "-r", result, "-o", path, *options)
    assert done.status == 0, done.err
    data = path.read_bytes()
    return strict_json(gzip.decompress(data) if path.suffix == ".gz" else data)


@pytest.fixture(scope="module")
def case(shared_strata, python):
    result, said = shared_strata.folder / "kineto", shared_strata.folder / "torch.json"
    done = shared_strata("-collect", "operators", "-quiet", "-r", result, "--", python, TARGETS / "kineto.py", said)
    assert done.status == 0, done.err
    path = shared_strata.folder / "ours.json"
    return SimpleNamespace(
        strata=shared_strata,
        result=result,
        path=path,
        ours=export(shared_strata, result, path),
        torch=json.loads(said.read_text()),
        said=said,
        table=[row for row in rows_of(shared_strata, result, TABLE) if row["scope"] != "module"],
    )


def complete(trace, *cats):
    return [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] in (cats or OPERATORS)]


def window(case):
    """Of ours, what torch's profiler saw as well: it numbers its events as they began."""
    theirs = sorted(complete(case.torch), key=lambda event: event["args"]["External id"])
    ours = sorted(complete(case.ours), key=lambda event: event["args"]["External id"])
    first = next(at for at, event in enumerate(ours) if event["name"] == theirs[0]["name"])
    return theirs, ours[first : first + len(theirs)]


def test_every_operator_of_torchs_own_file(case):
    """Names in order, sequence numbers, forward threads, sizes and types of tensors; times on the same base."""
    theirs, ours = window(case)
    assert len(theirs) > 500
    for one, other in zip(theirs, ours, strict=True):
        assert (one["cat"], one["name"], one["pid"], one["tid"]) == (
            other["cat"], other["name"], other["pid"], other["tid"],
        )  # fmt: skip
        for key in ("Sequence number", "Fwd thread id", "Input Dims", "Record function id"):
            assert one["args"].get(key) == other["args"].get(key), one["name"]
        # Lists of numbers are not recorded.
        kinds = [("" if kind == "ScalarList" else kind) for kind in one["args"].get("Input type", [])]
        assert [("" if kind == "ScalarList" else kind) for kind in other["args"].get("Input type", [])] == kinds
    # Both clocks are set by CLOCK_REALTIME, at different times of the run. Between our begin of an operator and torch's
    # the program may lose the processor.
    apart = [abs(one["ts"] - other["ts"]) for one, other in zip(theirs, ours, strict=True)]
    assert statistics.median(apart) < 1000
    assert sum(us >= 5000 for us in apart) <= 0.01 * len(apart), sorted(apart)[-10:]
    assert case.torch["baseTimeNanoseconds"] == case.ours["baseTimeNanoseconds"]


def keys_by_kind(trace):
    kinds = defaultdict(set)
    for event in trace["traceEvents"]:
        kind = event["ph"], event.get("cat"), event["name"] if event["ph"] in "Mi" else ""
        kinds[kind].add(frozenset(event))
        kinds[*kind, "args"].add(frozenset(event.get("args", ())))
    return kinds


def test_same_structure_as_torchs(case):
    """Every kind of event has the same keys, in the event and in its arguments; so has the file."""
    theirs, ours = keys_by_kind(case.torch), keys_by_kind(case.ours)
    assert set(theirs) - set(ours) == set()
    # Calls of modules are ours only: torch writes them with stacks.
    assert {kind[1] for kind in set(ours) - set(theirs)} == {"python_function"}
    for kind in theirs:
        assert theirs[kind] <= ours[kind], kind
        assert set().union(*theirs[kind]) == set().union(*ours[kind]), kind
    assert set(case.torch) == set(case.ours)
    for key in ("schemaVersion", "deviceProperties", "record_shapes", "profile_memory", "with_modules"):
        assert case.torch[key] == case.ours[key]
    assert case.ours["traceName"] == str(case.path)
    assert case.torch["traceName"] == str(case.said)
    assert re.fullmatch("[0-9A-F]{32}", case.ours["trace_id"])


def flows(trace, begin, end):
    at = {(event["tid"], event["ts"]): event for event in complete(trace, "cpu_op")}
    pairs = defaultdict(dict)
    for event in trace["traceEvents"]:
        if event.get("cat") == "fwdbwd" and begin <= event["ts"] < end:
            assert event.get("bp") == ("e" if event["ph"] == "f" else None)
            target = at[event["tid"], event["ts"]]
            pairs[event["id"]][event["ph"]] = target["name"], target["args"]["Sequence number"]
    return sorted((pair["s"], pair["f"]) for pair in pairs.values())


def test_forward_and_backward(case):
    theirs, ours = window(case)
    edges = [(events[0]["ts"], events[-1]["ts"] + events[-1]["dur"]) for events in (theirs, ours)]
    told = flows(case.torch, *edges[0])
    assert len(told) == 21
    assert flows(case.ours, *edges[1]) == told


def parents_by_time(trace, *cats):
    """(name, name of the parent) by a stack over times alone; slices of a thread must not overlap."""
    threads, found = defaultdict(list), Counter()
    for event in complete(trace, *cats):
        begin = round(event["ts"] * 1000)
        threads[event["pid"], event["tid"]].append((begin, -round(event["dur"] * 1000), event))
    for events in threads.values():
        stack = []
        for begin, negative, event in sorted(events, key=lambda one: (*one[:2], one[2]["args"]["Ev Idx"])):
            end = begin - negative
            while stack and stack[-1][0] <= begin and (stack[-1][0] < end or stack[-1][2] != begin):
                stack.pop()
            assert not stack or end <= stack[-1][0], f"{event['name']} overlaps {stack[-1][1]}"
            found[event["name"], stack[-1][1] if stack else None] += 1
            stack.append((end, event["name"], begin))
    return found


def test_rows_equal_the_table(case):
    drawn = complete(case.ours)
    assert len(drawn) == len(case.table) > 900
    told = Counter((row["name"], row["dur"], row["pid"], row["tid"]) for row in case.table)
    assert Counter((one["name"], to_ns(one["dur"]), one["pid"], one["tid"]) for one in drawn) == told
    assert {one["cat"] for one in drawn if one["name"].startswith("aten::")} == {"cpu_op"}
    ranges = {row["name"] for row in case.table if row["scope"] == "user"}
    assert {one["name"] for one in drawn if one["cat"] == "user_annotation"} == ranges
    assert 'a "range" \\ of ours' in ranges and "ProfilerStep#2" in ranges


def told_parents(case):
    slices = {row["row"]: row for row in rows_of(case.strata, case.result, "SELECT row, parent FROM slices")}
    names = {row["row"]: row["name"] for row in case.table}
    told = Counter()
    for row in case.table:
        up = row.get("parent")
        while up is not None and up not in names:
            up = slices[up].get("parent")
        told[row["name"], names.get(up)] += 1
    return told


def test_parents_equal_the_table(case):
    assert parents_by_time(case.ours) == told_parents(case)


def test_nothing_overlaps(case):
    parents_by_time(case.ours, *OPERATORS, "python_function")


def test_modules(case):
    calls = complete(case.ours, "python_function")
    told = rows_of(
        case.strata, case.result,
        "SELECT task_type AS name, end_ns - start_ns AS dur FROM slices WHERE task_domain = 'torch.module'",
    )  # fmt: skip
    assert Counter((one["name"], to_ns(one["dur"])) for one in calls) == Counter(
        (f"nn.Module: {row['name']}", row["dur"]) for row in told
    )
    by_id = {one["args"]["Python id"]: one for one in calls}
    inner = [one for one in calls if one["name"] == "nn.Module: Sequential.0"]
    assert inner
    for one in inner:
        assert by_id[one["args"]["Python parent id"]]["name"] == "nn.Module: Sequential"


def test_memory(case):
    told = rows_of(case.strata, case.result, "SELECT sum(allocated) AS up, sum(freed) AS down FROM memory")[0]
    moments = [event for event in case.ours["traceEvents"] if event["name"] == "[memory]"]
    sizes = [event["args"]["Bytes"] for event in moments]
    assert sum(size for size in sizes if size > 0) == told["up"] > 0
    assert -sum(size for size in sizes if size < 0) == told["down"] > 0
    total = 0
    for event in moments:
        total += event["args"]["Bytes"]
        assert event["args"]["Total Allocated"] == total


def test_memory_is_torchs(case):
    """Block for block between the first and the last operator of the window: address and bytes.

    Where a block goes that came before the window is left out: torch tells nothing of those from before its profile.
    """

    def blocks(trace, events):
        begin, end = events[0]["ts"], events[-1]["ts"] + events[-1]["dur"]
        moments = [one for one in trace["traceEvents"] if one["name"] == "[memory]" and begin <= one["ts"] < end]
        found, held = [], set()
        for one in sorted(moments, key=lambda one: one["ts"]):
            address, size = one["args"]["Addr"], one["args"]["Bytes"]
            if size > 0:
                held.add(address)
            elif address not in held:
                continue
            else:
                held.discard(address)
            found.append((address, size))
        return found

    theirs, ours = window(case)
    told = blocks(case.torch, theirs)
    assert len(told) > 300
    assert blocks(case.ours, ours) == told


def test_holistic_trace_analysis_reads_it(case):
    frame = hta_frame(case.path)
    frame = frame[frame["cat"].isin(cat_numbers(frame, case))]
    told = Counter((row["name"], row["dur"]) for row in case.table)
    assert Counter((row.label, to_ns(row.dur)) for row in frame.itertuples()) == told


def cat_numbers(frame, case):
    """HolisticTraceAnalysis's own numbers of the two categories."""
    names = {event["name"] for event in complete(case.ours)}
    modules = {event["name"] for event in complete(case.ours, "python_function")}
    assert not names & modules
    return set(frame[frame["label"].isin(names)]["cat"])


def test_holistic_trace_analysis_call_stacks(case):
    """Parents by its own call stacks, of operators and ranges alone."""
    path = case.strata.folder / "plain.json"
    export(case.strata, case.result, path, "-parts", "none")
    frame = hta_frame(path)
    stacks = pytest.importorskip("hta.common.call_stack")
    frame["end"] = frame["ts"] + frame["dur"]
    frame["index_correlation"] = -1
    frame["stream"] = -1
    label = dict(zip(frame["index"], frame["label"], strict=True))
    drawn = Counter()
    for (pid, tid), part in frame.groupby(["pid", "tid"]):
        graph = stacks.CallStackGraph(part.copy(), stacks.CallStackIdentity(0, pid, tid))
        for index, node in graph.get_nodes().items():
            if index >= 0:
                drawn[label[index], label.get(node.parent)] += 1
    assert drawn == told_parents(case)


def test_parts(case):
    plain = export(case.strata, case.result, case.strata.folder / "none.json", "-parts", "none")
    assert len(complete(plain)) == len(case.table)
    assert {event.get("cat") for event in plain["traceEvents"]} == {None, "Trace", "fwdbwd", *OPERATORS}
    assert not {"record_shapes", "profile_memory", "with_modules"} & set(plain)
    assert not any("Input Dims" in event["args"] for event in complete(plain))
    shapes = export(case.strata, case.result, case.strata.folder / "shapes.json", "-parts", "shapes")
    assert shapes["record_shapes"] == 1 and "profile_memory" not in shapes


def test_window(case):
    """Only what began and ended in it, as torch's profiler sees it; and only the threads that are asked for."""
    step = next(row for row in case.table if row["name"] == "ProfilerStep#2")
    begin, end = step["begin_ns"], step["begin_ns"] + step["dur"]
    path = case.strata.folder / "step.json.gz"
    words = f"{begin / 1e9:.9f}:{end / 1e9:.9f}"
    trace = export(case.strata, case.result, path, "-time-filter", words, "-filter", f"process={step['pid']}")
    told = [row["name"] for row in case.table if begin <= row["begin_ns"] and row["begin_ns"] + row["dur"] <= end]
    assert [event["name"] for event in complete(trace)] == told
    ids = [event["args"]["External id"] for event in complete(trace)]
    assert ids == list(range(1, len(told) + 1))
    nobody = export(case.strata, case.result, path, "-filter", "process!=*")
    assert not complete(nobody)


def test_metadata(case):
    path = case.strata.folder / "facts.json"
    value = '{"rank": 0, "list": [1.5e3, null, "\\u00e9"]}'
    facts = ["number=5", f"object={value}", 'text=a "b" \\', "number=6", "nan=NaN"]
    trace = export(case.strata, case.result, path, *(word for fact in facts for word in ("-metadata", fact)))
    assert trace["number"] == 6
    assert trace["object"] == {"rank": 0, "list": [1500.0, None, "é"]}
    assert (trace["text"], trace["nan"]) == ('a "b" \\', "NaN")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-metadata", "traceEvents=[]"], "the file already has a key 'traceEvents'"),
        (["-metadata", "=5"], "expected key=value"),
        (["-parts", "shapes,colours"], "invalid value 'colours'; expected shapes"),
        (["-filter", "operator=aten::mm"], "cannot filter by operator: only process and thread are supported here"),
        (["-group-by", "thread"], "export kineto does not take -group-by"),
    ],
)
def test_refused(case, words, why):
    path = case.strata.folder / "refused.json"
    done = case.strata("export", "kineto", "-r", case.result, "-o", path, *words)
    assert done.status == 2
    assert why in done.err
    assert not path.exists()


def test_others_do_not_take_its_options(case):
    done = case.strata("export", "chrome", "-r", case.result, "-o", "x.json", "-metadata", "a=b")
    assert (done.status, "export chrome does not take -metadata" in done.err) == (2, True)


@pytest.fixture(scope="module")
def package(build_dir):
    folder = build_dir / "python"
    sys.path.insert(0, str(folder))
    import strata

    yield strata
    sys.path.remove(str(folder))


def test_from_python(case, package):
    """The library writes the very file that the command writes."""
    path = case.strata.folder / "ours" / "ours.json"
    path.parent.mkdir()
    with package.open(case.result) as result:
        result.export("kineto", path)
        assert strict_json(path.read_bytes()) == {**case.ours, "traceName": str(path)}
        with pytest.raises(package.UsageError, match="unknown export format 'kinetic'"):
            result.export("kinetic", path)
        with pytest.raises(package.UsageError, match="-result-dir cannot be given"):
            result.export("kineto", path, str(case.result))
        with pytest.raises(package.Error, match="no/such/folder"):
            result.export("kineto", case.strata.folder / "no/such/folder/x.json")
        result.export("kineto", path, metadata={"a": "1", "b": '"2"'}, parts=["shapes", "memory"])
    assert {key: strict_json(path.read_bytes())[key] for key in "ab"} == {"a": 1, "b": "2"}


def test_trace_of_a_window(case, package):
    from strata.exports import export_chrome_trace

    step = next(row for row in case.table if row["name"] == "ProfilerStep#3")
    options = {"record_shapes": True, "with_flops": True, "profile_memory": False}
    part = SimpleNamespace(
        folder=case.result, begin_ns=step["begin_ns"], end_ns=step["begin_ns"] + step["dur"], options=options,
        pid=step["pid"],
    )  # fmt: skip
    path = case.strata.folder / "window.json.gz"
    with pytest.warns(UserWarning, match="'traceName' cannot be a key"):
        export_chrome_trace(part, path, {"note": '"hello"', "traceName": "1"})
    trace = strict_json(gzip.decompress(path.read_bytes()))
    assert complete(trace)[0]["name"] == "ProfilerStep#3"
    assert (trace["note"], trace["record_shapes"], trace["with_flops"]) == ("hello", 1, 1)
    assert not {"profile_memory", "with_modules", "with_stack"} & set(trace)


def test_trace_of_a_profile(case, package):
    """A profile brings its window, its result and what was added to it."""
    from strata.exports import export_chrome_trace

    options = SimpleNamespace(shapes=True, memory=True, modules=False, stacks=False, flops=False)
    part = SimpleNamespace(folder=None, begin_ns=0, end_ns=None, options=options, pid=0)
    path = case.strata.folder / "profile.json"
    with package.open(case.result) as result:
        profile = SimpleNamespace(
            windows=[part], window=part, result=result, metadata={"record_shapes": "1", "mine": "[1]"},
            get_trace_id=lambda: "A" * 32,
        )  # fmt: skip
        export_chrome_trace(profile, path)
    trace = strict_json(path.read_bytes())
    assert (trace["trace_id"], trace["mine"], trace["record_shapes"]) == ("A" * 32, [1], 1)
    assert len(complete(trace)) == len(case.table) and not complete(trace, "python_function")


def held(case):
    """(ns since 1970, bytes held after it) by the table."""
    total, points = 0, []
    for row in rows_of(case.strata, case.result, "SELECT time_ns, allocated, freed FROM memory ORDER BY rowid"):
        total += row["allocated"] - row["freed"]
        points.append((row["time_ns"], total))
    return points


def test_memory_timeline(case, package):
    """The forms that torch's export_memory_timeline writes; all of it is of no known category."""
    from strata.exports import export_memory_timeline

    part = SimpleNamespace(folder=case.result, begin_ns=None, end_ns=None, options={"profile_memory": True})
    path = case.strata.folder / "memory"
    for suffix in (".json", ".json.gz", ".raw.json.gz", ".html"):
        export_memory_timeline(part, f"{path}{suffix}", "cpu")
    times, sizes = strict_json((path.parent / "memory.json").read_bytes())
    assert [times, sizes] == strict_json(gzip.decompress((path.parent / "memory.json.gz").read_bytes()))
    events = strict_json(gzip.decompress((path.parent / "memory.raw.json.gz").read_bytes()))
    assert times == sorted(set(times)) and len(times) == len(sizes) > 100
    assert {(len(row), sum(row[:-1])) for row in sizes} == {(9, 0)}
    assert {event[3] for event in events} == {7} and {event[1] for event in events} == {2, 4}
    assert all((event[2] > 0) == (event[1] == 2) for event in events)
    told = held(case)
    start = events[0][0] - told[0][0]
    assert sum(event[2] for event in events) == sizes[-1][-1] == told[-1][1]
    # At the end of every moment the sum is the table's.
    after, total = {}, 0
    for event in events:
        total += event[2]
        after[event[0] - start] = total
    assert all(after[time] == total for time, total in dict(told).items())
    assert times[0] == events[0][0] // 1000 and times[-1] == events[-1][0] // 1000
    page = (path.parent / "memory.html").read_text()
    assert "<svg" in page and "peak" in page
    with pytest.raises(ValueError, match="profile_memory=True required"):
        export_memory_timeline(SimpleNamespace(**{**vars(part), "options": {}}), path)
    with pytest.warns(UserWarning, match="no memory of cuda:0 was recorded"):
        export_memory_timeline(part, f"{path}.json", "cuda:0")
    assert strict_json((path.parent / "memory.json").read_bytes()) == [[], []]


def test_memory_timeline_of_a_window(case):
    """What was held before stands in front."""
    told = held(case)
    begin, before = told[len(told) // 2]
    path = case.strata.folder / "late.raw.json"
    words = f"{(begin + 1) / 1e9:.9f}:"
    done = case.strata("export", "memory-timeline", "-r", case.result, "-o", path, "-time-filter", words)
    assert done.status == 0, done.err
    events = strict_json(path.read_bytes())
    assert events[0] == [-1, 1, before, 7]
    assert sum(event[2] for event in events) == told[-1][1]


def test_handler_names_files_as_torch_does(case, package, tmp_path):
    asked = []
    profile = SimpleNamespace(export_chrome_trace=asked.append)
    package.tensorboard_trace_handler(str(tmp_path / "a"), "worker")(profile)
    package.tensorboard_trace_handler(str(tmp_path / "a"), use_gzip=True)(profile)
    assert re.fullmatch(r".*/a/worker\.\d{19}\.pt\.trace\.json", asked[0])
    assert re.fullmatch(r".*/a/[^/]+_\d+\.\d{19}\.pt\.trace\.json\.gz", asked[1])
    (tmp_path / "b").write_text("in the way")
    with pytest.raises(RuntimeError, match="Can't create directory"):
        package.tensorboard_trace_handler(str(tmp_path / "b" / "c"))(profile)
