# SPDX-License-Identifier: Apache-2.0
"""What tables say of devices must not contradict each other: results and a trace of an H200 (tests/data), where nothing
is known beforehand but that every table is of the same run."""

import json
import re
import shutil
from collections import Counter, defaultdict

import pytest
from harness import ROOT, strict_json

DATA = ROOT / "tests/data"
ON_DEVICE = ("kernel", "copy", "communication")
UNITS_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


@pytest.fixture(scope="module", params=["small", "graph", "streams", "trace of torch"])
def result(request, shared_strata):
    folder = shared_strata.folder / request.param
    if request.param != "trace of torch":
        return shutil.copytree(DATA / "devices" / request.param, folder)
    done = shared_strata("import", DATA / "torch/h200.pt.trace.json.gz", "-r", folder)
    assert done.status == 0, done.err
    return folder


def query(strata, result, text):
    done = strata("query", "-r", result, text, "-format", "json")
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def exported(strata, result):
    out = strata.folder / f"{result.name}.json"
    done = strata("export", "kineto", "-r", result, "-o", out)
    assert done.status == 0, done.err
    return json.loads(out.read_bytes())["traceEvents"]


def by_operator(strata, result):
    """Device time of each operator, and "[no operator]", by the kernels."""
    rows = strata.report(result, "kernels", "-group-by", "operator")["rows"]
    return {row["operator"]: row["wall_total_ns"] for row in rows}


def test_all_have_the_same_sum(shared_strata, result):
    """By category, stream, device, launch and operator; in tasks, SQL, torch's table and Kineto's trace."""
    whole = shared_strata.report(result, "kernels")["totals"]
    assert whole["count"] > 40
    for grouping in ("category", "thread", "device", "launch", "operator", "device,thread,category"):
        rows = shared_strata.report(result, "kernels", "-group-by", grouping)["rows"]
        assert sum(row["wall_total_ns"] for row in rows) == whole["wall_total_ns"], grouping
        assert sum(row["count"] for row in rows) == whole["count"], grouping
    tasks = shared_strata.report(result, "tasks", "-group-by", "category")["rows"]
    on_device = [row for row in tasks if row["category"] in ON_DEVICE]
    assert sum(row["count"] for row in on_device) == whole["count"]
    # Tasks count a stream that runs two at once only once.
    assert sum(row["wall_total_ns"] for row in on_device) <= whole["wall_total_ns"]
    (row,) = query(shared_strata, result, "SELECT count(*) AS n, sum(wall_ns) AS ns FROM kernels")
    assert (row["n"], row["ns"]) == (whole["count"], whole["wall_total_ns"])
    averages = [row for row in shared_strata.report(result, "torch-averages")["rows"] if row["is_on_device"]]
    assert sum(row["count"] for row in averages) == whole["count"]
    assert sum(row["self_device_time_total"] for row in averages) == pytest.approx(whole["wall_total_ns"] / 1000)
    events = [e for e in exported(shared_strata, result) if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    assert len(events) == whole["count"]
    assert sum(e["dur"] for e in events) == pytest.approx(whole["wall_total_ns"] / 1000)


def test_operators_and_the_rest_make_all_of_it(shared_strata, result):
    """What each launched is the same in the table of kernels, of operators, of torch, and in the trace."""
    whole = shared_strata.report(result, "kernels")["totals"]["wall_total_ns"]
    kernels = by_operator(shared_strata, result)
    outside = kernels.pop("[no operator]", 0)
    report = shared_strata.report(result, "operators")
    operators = {row["operator"]: row["device_self_ns"] for row in report["rows"] if row["device_self_ns"]}
    assert operators == kernels
    assert sum(operators.values()) + outside == whole
    told = [note for note in report["quality"]["notes"] if "outside operators" in note]
    assert len(told) == (outside > 0)
    for note in told:
        assert float(note.split()[0]) == pytest.approx(outside / 1e6, abs=0.0005)
    # The outermost operators hold all that lies in them.
    assert report["totals"]["device_total_ns"] == sum(operators.values())
    averages = shared_strata.report(result, "torch-averages")["rows"]
    torchs = {row["key"]: row["self_device_time_total"] for row in averages
              if not row["is_on_device"] and row["self_device_time_total"]}  # fmt: skip
    assert torchs == pytest.approx({name: ns / 1000 for name, ns in operators.items()})
    events = exported(shared_strata, result)
    names = {e["args"]["External id"]: e["name"] for e in events if e.get("cat") in ("cpu_op", "user_annotation")}
    sums = Counter()
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            sums[names.get(event["args"].get("External id"))] += event["dur"]
    assert sums.pop(None, 0) == pytest.approx(outside / 1000)
    assert sums == pytest.approx(torchs)


def test_percentages_add_up(shared_strata, result):
    """To all that ran on devices, with what was launched outside operators; in both tables alike."""
    whole = shared_strata.report(result, "kernels")["totals"]["wall_total_ns"]
    outside = by_operator(shared_strata, result).get("[no operator]", 0)
    report = shared_strata.report(result, "operators")
    shares = {row["operator"]: row["device_self_ratio"] for row in report["rows"]}
    assert sum(shares.values()) + outside / whole == pytest.approx(1)
    assert report["totals"]["device_self_ratio"] == pytest.approx(1 - outside / whole)
    for row in report["rows"]:
        assert row["device_self_ratio"] == pytest.approx(row["device_self_ns"] / whole)
    words = ("-report-knob", "row_limit=-1", "-report-knob", "max-name-column-width=none")
    lines = shared_strata("report", "torch-averages", "-r", result, *words).out.splitlines()
    place = re.split(r"\s{2,}", lines[1].strip()).index("Self CUDA %")
    shown = {}
    for line in lines[3:]:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) > place and cells[place].endswith("%"):
            shown[cells[0]] = float(cells[place].rstrip("%"))
    for name, share in shares.items():
        if share:
            assert shown[name] == pytest.approx(100 * share, abs=0.006), name
    kernels = {row["key"] for row in shared_strata.report(result, "torch-averages")["rows"] if row["is_on_device"]}
    assert sum(shown[name] for name in kernels) == pytest.approx(100, abs=0.006 * len(kernels))


def covered(spans):
    total, until = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def test_busy_and_idle(shared_strata, result):
    """From the first to the last activity of a device a kernel runs, or a gap says why none does."""
    rows = query(shared_strata, result, "SELECT * FROM kernels")
    kernels, all_of_it = defaultdict(list), defaultdict(list)
    for row in rows:
        span = (row["start_ns"], row["start_ns"] + row["wall_ns"])
        all_of_it[row["device"]].append(span)
        if row["category"] != "copy":
            kernels[row["device"]].append(span)
    gaps = shared_strata.report(result, "device-gaps")["rows"]
    assert {row["device"] for row in gaps} == set(all_of_it)
    for row in gaps:
        spans = all_of_it[row["device"]]
        length = max(end for _, end in spans) - min(begin for begin, _ in spans)
        assert row["wall_total_ns"] + covered(kernels[row["device"]]) == pytest.approx(length, abs=2)
        assert sum(child["wall_total_ns"] for child in row["children"]) == row["wall_total_ns"]
    (shown,) = [row for row in shared_strata.report(result, "summary")["rows"] if row["section"] == "device"]
    times = Counter()
    for row in rows:
        times[row["category"]] += row["wall_ns"]
    counts = Counter(row["category"] for row in rows)
    for category, word in (("kernel", "kernels"), ("copy", "copies and fills")):
        count, number, unit = re.search(rf"(\d+) {word} ([\d.]+) (ns|us|ms|s)\b", shown["value"]).groups()
        assert int(count) == counts[category]
        assert float(number) * UNITS_NS[unit] == pytest.approx(times[category], rel=0.006)


@pytest.mark.parametrize("result", ["small", "streams", "trace of torch"], indirect=True)
def test_rates_are_by_device_time(shared_strata, result):
    """An operator that only launches is done long before its work: its own time says nothing of it."""
    rated = 0
    for row in shared_strata.report(result, "operators", "-group-by", "operator,input-shapes")["rows"]:
        for child in row["children"]:
            for work, rate in (("flops", "gflops_per_s"), ("moved_bytes", "gbytes_per_s")):
                if not child.get(work) or not child["device_total_ns"]:
                    continue
                assert child[rate] == pytest.approx(child[work] / child["device_total_ns"])
                rated += 1
    assert rated >= 3


def test_a_captured_operator_has_no_rate(shared_strata):
    """Of thirteen products three ran, ten were captured into a graph, whose replays no operator launched."""
    result = shutil.copytree(DATA / "devices/graph", shared_strata.folder / "captured")
    rows = {row["operator"]: row for row in shared_strata.report(result, "operators")["rows"]}
    product = rows["aten::mm"]
    assert product["count"] == 13
    assert product["gflops_per_s"] == pytest.approx(product["flops"] / 13 * 3 / product["device_total_ns"])
    assert rows["aten::matmul"]["gflops_per_s"] == pytest.approx(product["gflops_per_s"])


@pytest.mark.parametrize("result", ["small", "trace of torch"], indirect=True)
def test_backward_is_backward(shared_strata, result):
    """It runs on autograd's thread for the device, while the thread with the steps waits for it in nothing at all."""
    steps = shared_strata.report(result, "steps")["rows"]
    nodes = query(shared_strata, result, "SELECT * FROM slices WHERE task_type LIKE 'autograd::engine::evaluate_%'")
    parts = ("data_wait_ns", "forward_ns", "backward_ns", "optimizer_ns", "device_wait_ns", "other_ns")
    assert len(steps) > 1
    for step in steps:
        begin, end = step["start_ns"], step["start_ns"] + step["wall_total_ns"]
        spans = [(row["start_ns"], row["start_ns"] + row["wall_ns"]) for row in nodes if begin <= row["start_ns"] < end]
        length = max(end for _, end in spans) - min(begin for begin, _ in spans)
        assert covered(spans) <= step["backward_ns"] <= length
        assert sum(step[part] for part in parts) == step["wall_total_ns"]
