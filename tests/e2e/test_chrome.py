# SPDX-License-Identifier: Apache-2.0
"""The Chrome export, read back by a strict parser and by an independent reader, against the report."""

import gzip
import math
import os
from collections import Counter, defaultdict

import pytest
from harness import TARGETS, strict_json


@pytest.fixture(scope="module", params=["nested", "torch"])
def case(request, shared_strata, programs, target):
    """A C run with nesting, threads and forks, and a PyTorch run."""
    if request.param == "nested":
        done = shared_strata.collect(
            target,
            "--threads",
            "3",
            "--pairs",
            "900",
            "--depth",
            "4",
            "--labels",
            "11",
            "--fork",
            "2",
            "--burst",
            "300",
            result=shared_strata.folder / "nested",
        )
    else:
        python = request.getfixturevalue("python")
        done = shared_strata.collect(
            python,
            TARGETS / "model.py",
            "3",
            # Its ITT tasks alone: with the operators themselves they are twins, and not drawn.
            options=("-knob", "collect-operators=false"),
            result=shared_strata.folder / "torch",
            timeout=120,
        )
    path = shared_strata.folder / f"{request.param}.json"
    trace = shared_strata.chrome(done.result, path)
    return shared_strata, done.result, path, trace


def complete(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def to_ns(microseconds):
    """Times are microseconds with three decimals: whole nanoseconds."""
    value = microseconds * 1000
    assert abs(value - round(value)) < 0.26, f"{microseconds} µs is not a whole number of ns"
    return round(value)


def test_well_formed(case):
    _, _, _, trace = case
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} <= {"X", "M", "i", "b", "e", "C", "s", "f"}
    for event in complete(trace):
        assert {"name", "cat", "ts", "dur", "pid", "tid"} <= event.keys(), event
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert event["ts"] >= 0 and event["dur"] >= 0
        assert math.isfinite(event["ts"] + event["dur"])
    meta = {(event["name"], event["pid"]) for event in events if event["ph"] == "M"}
    for pid in {event["pid"] for event in complete(trace)}:
        assert ("process_name", pid) in meta and ("thread_name", pid) in meta


def test_rows_equal_the_report(case):
    """Row count, and for every single task its name and duration."""
    strata, result, _, trace = case
    slices = strata.slices(result)
    events = complete(trace)
    assert len(events) == len(slices)
    calls = [event for event in events if "copy" not in event["args"].get("flags", "")]
    assert len(calls) == strata.total(result)
    ours = Counter((one.name, one.begin_ns, one.total_ns) for one in slices)
    theirs = Counter((event["name"], to_ns(event["ts"]), to_ns(event["dur"])) for event in events)
    assert ours == theirs


def stack_parents(rows):
    """rows: (begin, end, name) of one thread in file order; parent name of each by a stack."""
    found = []
    stack = []
    for begin, end, name in rows:
        while stack and not (stack[-1][0] <= begin and end <= stack[-1][1]):
            stack.pop()
        found.append((name, stack[-1][2] if stack else None))
        stack.append((begin, end, name))
    return Counter(found)


def test_parents_equal_the_report(case):
    """Nesting by times alone, as every viewer draws it, gives the parents the report names."""
    strata, result, _, trace = case
    threads = defaultdict(list)
    for event in complete(trace):
        begin = to_ns(event["ts"])
        threads[event["pid"], event["tid"]].append((begin, begin + to_ns(event["dur"]), event["name"]))
    drawn = sum((stack_parents(rows) for rows in threads.values()), Counter())
    told = Counter((one.name, one.parent.name if one.parent else None) for one in strata.slices(result))
    assert drawn == told


def test_threads_equal_the_report(case):
    strata, result, _, trace = case
    told = Counter(Counter((one.process, one.thread) for one in strata.slices(result)).values())
    drawn = Counter(Counter((event["pid"], event["tid"]) for event in complete(trace)).values())
    assert drawn == told


def test_compressed_by_suffix(case):
    strata, result, path, trace = case
    packed = path.with_suffix(".json.gz")
    done = strata("export", "chrome", "-r", result, "-o", packed)
    assert done.status == 0, done.err
    assert packed.read_bytes()[:2] == b"\x1f\x8b"
    assert strict_json(gzip.decompress(packed.read_bytes())) == trace
    assert packed.stat().st_size < path.stat().st_size / 3


def test_to_stdout(case):
    strata, result, path, _ = case
    done = strata("export", "chrome", "-r", result, "-o", "-")
    assert done.status == 0
    assert done.stdout == path.read_bytes()


def hta_frame(path):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    parser = pytest.importorskip("hta.common.trace_parser", reason="HolisticTraceAnalysis is not installed")
    config = pytest.importorskip("hta.configs.parser_config")
    _, frame, symbols = parser.parse_trace_dataframe(str(path), config.ParserConfig.get_default_cfg())
    names = symbols.get_sym_table()
    frame["label"] = [names[index] for index in frame["name"]]
    return frame


@pytest.mark.parametrize("packed", [False, True], ids=["json", "gz"])
def test_holistic_trace_analysis_reads_it(case, packed):
    """PyPI's HolisticTraceAnalysis: rows, names, durations, and parents by its own call stacks."""
    strata, result, path, _ = case
    if packed:
        path = path.with_suffix(".hta.json.gz")
        assert strata("export", "chrome", "-r", result, "-o", path).status == 0
    frame = hta_frame(path)
    slices = strata.slices(result)
    assert len(frame) == len(slices)
    told = Counter((one.name, one.total_ns) for one in slices)
    assert Counter((row.label, to_ns(row.dur)) for row in frame.itertuples()) == told


def test_holistic_trace_analysis_call_stacks(case):
    strata, result, path, _ = case
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
    # Its stacks are built from times alone: tasks of no measurable length may swap with a neighbour.
    zero = {one.name for one in strata.slices(result) if one.total_ns == 0}
    told = Counter((one.name, one.parent.name if one.parent else None) for one in strata.slices(result))
    if zero:
        drawn = Counter({key: n for key, n in drawn.items() if not zero & set(key)})
        told = Counter({key: n for key, n in told.items() if not zero & set(key)})
    assert drawn == told
