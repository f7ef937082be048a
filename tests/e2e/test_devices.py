# SPDX-License-Identifier: Apache-2.0
"""What CUDA devices do, recorded through CUPTI. The device and its libcupti are doubles (tests/programs/cuda), so that
all that happened is known; a result of a real one is kept in tests/data/devices."""

import gzip
import json
import os
import re
import shutil
import signal
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from harness import ROOT, TARGETS, preloadable, strict_json
from test_chrome import hta_frame

# What one step of the program makes: counts, and nanoseconds that each lasts.
STEP = {
    "vector_add(float*, float*, int)": (2, 150_000),
    "gemm_kernel": (1, 200_000),
    "graph_node": (3, 60_000),
    "Memcpy HtoD (Pageable -> Device)": (1, 30_000),
    "Memset (Device)": (1, 10_000),
}
CALLS = {
    "cudaMemcpyAsync": 1, "cudaLaunchKernel": 2, "cuLaunchKernel": 1, "cudaMemsetAsync": 1, "cudaGraphLaunch": 1,
    "cudaStreamSynchronize": 1,
}  # fmt: skip


@pytest.fixture
def device(programs):
    return programs / "cuda" / "cuda_target"


def check_steps(rows, steps):
    for name, (count, ns) in STEP.items():
        assert rows[name]["count"] == steps * count, name
        # Times are ticks that the double computes, by the rate of its two clocks.
        assert rows[name]["wall_total_ns"] == pytest.approx(steps * ns, abs=50 * steps * count), name
    for name, count in CALLS.items():
        assert rows[name]["count"] == steps * count, name


def slices(strata, result, what="*"):
    done = strata("query", "-r", result, f"SELECT {what} FROM slices ORDER BY row", "-format", "json")
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def test_everything_is_there(strata, device):
    done = strata.collect(device, "plain")
    assert done.stdout == b"subscriptions: 0\n"
    rows = strata.types(done.result)
    check_steps(rows, 5)
    # Calls that tell nothing are left out, and nothing else is there.
    assert set(rows) == set(STEP) | set(CALLS) | {"step"}
    threads = {row["thread"] for row in strata.report(done.result, "tasks", "-group-by", "thread")["rows"]}
    assert {"device 0 stream 7 (7)", "device 0 stream 13 (13)", "device 1 stream 14 (14)"} < threads
    assert b"lost 0" in done.stderr
    assert b"DEVICE  device 0 (Double of an H200 (0)) busy" in done.stderr
    assert b"device 1 (Double of an H200 (1)) busy" in done.stderr


def test_calls_lie_in_what_made_them(strata, device):
    """The thread recorded its task long before the device told of the calls."""
    done = strata.collect(device, "plain")
    all_rows = slices(strata, done.result)
    (step,) = [row for row in all_rows if row["task_type"] == "step"]
    calls = [row for row in all_rows if row["task_type"] in CALLS]
    assert len(calls) == 5 * sum(CALLS.values())
    assert {row["parent"] for row in calls} == {step["row"]}
    assert step["self_ns"] == step["wall_ns"] - sum(row["wall_ns"] for row in calls)


def test_all_calls_when_asked(strata, device):
    done = strata.collect(device, "plain", options=["-knob", "device=api"])
    assert strata.types(done.result)["cudaGetDevice"]["count"] == 5


def collect(strata, kind, *command, options=(), env=None):
    result = strata.folder / f"result{len(strata.history)}"
    done = strata("-collect", kind, *options, "-r", result, "--", *command, env=env)
    assert done.status == 0, done.err
    return done, result


@pytest.mark.parametrize("kind", ["tasks", "hotspots", "threading", "operators"])
def test_off(strata, device, kind):
    done, result = collect(strata, kind, device, "plain", options=["-knob", "device=off"])
    assert set(strata.types(result)) == {"step"}
    assert "DEVICE" not in done.err


@pytest.mark.parametrize("kind", ["hotspots", "threading"])
def test_beside_samples(strata, device, kind):
    """Nothing unless asked: it would cost more than the samples. What ran, and of all calls only those that wait."""
    done, result = collect(strata, kind, device, "plain")
    assert set(strata.types(result)) == {"step"} and "DEVICE" not in done.err
    done, result = collect(strata, kind, device, "plain", options=["-knob", "device=light"])
    rows = strata.types(result)
    assert set(rows) == set(STEP) | {"cudaStreamSynchronize", "step"}
    for name, (count, ns) in STEP.items():
        assert rows[name]["count"] == 5 * count, name
        assert rows[name]["wall_total_ns"] == pytest.approx(5 * ns, abs=250 * count), name
    assert "DEVICE  device 0 (Double of an H200 (0)) busy" in done.err
    assert "without the call" not in done.err
    # All of it when asked.
    _, result = collect(strata, kind, device, "plain", options=["-knob", "device=on"])
    check_steps(strata.types(result), 5)


def test_what_is_told_beside(strata, device):
    """Loading of functions and memory are there, each on a row of its own, and a wait says what for."""
    done, result = collect(strata, "tasks", device, "devices", options=["-knob", "device=memory"])
    all_rows = slices(strata, result)
    (loading,) = [row for row in all_rows if row["task_type"] == "Lazy Function Loading"]
    assert loading["wall_ns"] >= 295_000  # by another clock
    moments = [row["task_type"] for row in all_rows if row["task_type"].endswith("ed (Device)")]
    assert moments == ["Allocated (Device)", "Allocated (Device)", "Released (Device)", "Allocated (Device)"]
    threads = {row["thread"] for row in strata.report(result, "tasks", "-group-by", "thread")["rows"]}
    assert {"device 0 memory", "device 1 memory", "device overhead"} <= {name.split(" (")[0] for name in threads}
    waits = strata.types(result)
    assert waits["cudaStreamSynchronize"]["count"] == 3
    assert waits["cudaDeviceSynchronize"]["count"] == 1


def test_kernels_by_launch_and_device(strata, device):
    """Three devices, told apart, with their names; communication is known by its kernels."""
    _, result = collect(strata, "tasks", device, "devices")
    rows = strata.report(result, "kernels", "-group-by", "device,category")["rows"]
    names = [f"device {number} (Double of an H200 ({number}))" for number in (0, 1, 2)]
    assert sorted(row["device"] for row in rows) == names
    for row in rows:
        number = int(row["device"].split()[1])
        parts = {child["category"]: child for child in row["children"]}
        assert parts["communication"]["wall_total_ns"] == pytest.approx(500_000, abs=1000)
        wanted = (number + 1) * 1_000_000 + (4_000_000 if number == 2 else 0)
        assert parts["kernel"]["wall_total_ns"] == pytest.approx(wanted, abs=4000)
        assert parts["copy"]["moved_bytes"] == 1 << 20
    (shape, other) = strata.report(result, "kernels", "-group-by", "launch")["rows"]
    assert (shape["launch"], shape["count"]) == ("128 x 1 x 1 of 256 x 1 x 1", 7)
    # 128 blocks of 256 threads on 132 processors of 2,048.
    assert shape["occupancy_percent"] == round(100 * 128 / 132 * 256 / 2048)
    assert "occupancy_percent" not in other
    rows = strata.report(result, "kernels", "-group-by", "instance")["rows"]
    shares = [row["occupancy_ratio"] for row in rows if row["category"] != "copy"]
    assert shares == pytest.approx([128 / 132 / 8] * 7)


def test_gaps_are_explained(strata, device):
    """Every moment without a kernel has a reason, and they add up with the time of kernels."""
    _, result = collect(strata, "tasks", device, "gaps")
    (row,) = strata.report(result, "device-gaps")["rows"]
    reasons = {child["reason"]: child for child in row["children"]}
    all_rows = slices(strata, result)
    tasks = {one["task_type"]: one for one in reversed(all_rows)}
    first = tasks["vector_add(float*, float*, int)"]
    # After the wait the program computes for 3 ms; before the third kernel it computes without having waited. A machine
    # that let it wait too late, when the first kernel was over, makes that a late host as well.
    waited = tasks["cudaStreamSynchronize"]["start_ns"] <= first["start_ns"] + first["wall_ns"]
    reason = "host late after a wait" if waited else "host late"
    assert reasons[reason]["wall_total_ns"] >= tasks["after a wait"]["wall_ns"]
    assert reasons["host late"]["wall_total_ns"] >= tasks["late"]["wall_ns"] - 1_500_000
    assert reasons["copies only"]["wall_total_ns"] == pytest.approx(2_000_000, abs=10_000)
    (kernels,) = strata.report(result, "kernels", "-group-by", "category", "-filter", "category=kernel")["rows"]
    rows = strata.report(result, "kernels", "-group-by", "instance")["rows"]
    span = max(one["start_ns"] + one["wall_total_ns"] for one in rows) - min(one["start_ns"] for one in rows)
    assert kernels["wall_total_ns"] + row["wall_total_ns"] == pytest.approx(span, abs=1000)
    (shown,) = [one for one in strata.report(result, "summary")["rows"] if one["section"] == "device"]
    assert "host late" in shown["value"]


def test_gaps_without_launches(strata, device):
    """Calls that launch are not recorded: what is not known is said to be so."""
    _, result = collect(strata, "hotspots", device, "gaps", options=["-knob", "device=light"])
    (row,) = strata.report(result, "device-gaps")["rows"]
    reasons = {child["reason"] for child in row["children"]}
    assert "not known: launches are not recorded" in reasons
    assert "host late" not in reasons


def test_a_profiler_of_the_programs(strata, device):
    """Both have all of it: what the program's profiler counts is what it counts without strata."""
    alone = strata.run([device, "profiled"])
    done = strata.collect(device, "profiled")
    assert done.stdout == alone.stdout
    assert b"72 kernels, 12 copies, 12 fills" in done.stdout
    check_steps(strata.types(done.result), 2 + 3 * (4 + 1))
    assert "cudaGetDevice" not in strata.types(done.result)


def test_threads_that_record_nothing_else(strata, device):
    done = strata.collect(device, "threads")
    check_steps(strata.types(done.result), 4)
    rows = strata.report(done.result, "tasks", "-group-by", "thread")["rows"]
    assert sorted(row["count"] for row in rows if row["thread"].startswith("thread (")) == [14, 14]


def test_fork(strata, device):
    done = strata.collect(device, "fork")
    assert b"child: 0\n" in done.stdout
    check_steps(strata.types(done.result), 2)


def test_killed(strata, device):
    done = strata.collect(device, "killed", ok=False)
    assert done.status == -signal.SIGKILL
    check_steps(strata.types(done.result), 3)


def test_ends_while_a_kernel_runs(strata, device):
    done = strata.collect(device, "unfinished")
    (kernel,) = [row for row in slices(strata, done.result) if row["task_type"].startswith("vector_add")]
    assert kernel["wall_ns"] == 0
    assert b"1 task never ended" in done.stderr


def test_an_end_that_takes_long(strata, device):
    """CUPTI is taken down meanwhile: nobody asks it any more."""
    done = strata.collect(device, "plain", env={"CUPTI_DOUBLE": "slowend"})
    check_steps(strata.types(done.result), 5)


@pytest.mark.parametrize(
    ("how", "words"), [("taken", b"another tool"), ("refuse", b"CUPTI refused"), ("nodriver", b"CUPTI refused")]
)
def test_refused(strata, device, how, words):
    done = strata.collect(device, "plain", env={"CUPTI_DOUBLE": how})
    assert set(strata.types(done.result)) == {"step"}
    assert b"a program used CUDA" in done.stderr
    assert words in b" ".join(done.stderr.split())


def test_a_kind_that_is_refused(strata, device):
    """The others are recorded, and a note says that something is missing."""
    done = strata.collect(device, "plain", env={"CUPTI_DOUBLE": "nokind"})
    check_steps(strata.types(done.result), 5)
    assert b"or not all of it: CUPTI refused" in b" ".join(done.stderr.split())


def test_records_that_come_late(strata, device):
    """Each flush hands over what the one before should have; the last, forced one has all."""
    done = strata.collect(device, "plain", env={"CUPTI_DOUBLE": "late"})
    check_steps(strata.types(done.result), 5)


def test_another_tool_is_chained(strata, device, programs):
    """What the user has CUDA load is loaded, and strata beside it."""
    done = strata.collect(device, "plain", env={"CUDA_INJECTION64_PATH": str(programs / "cuda" / "libinjected.so")})
    assert done.stdout == b"injected\nsubscriptions: 0\n"
    check_steps(strata.types(done.result), 5)


@pytest.fixture(scope="module")
def trained(shared_strata, python, programs):
    result = shared_strata.folder / "trained"
    library = programs / "cuda" / "libcupti.so.13"
    done = shared_strata("-collect", "operators", "-r", result, "--", python, TARGETS / "on_device.py", library, "6")
    assert done.status == 0, done.err
    return result


def test_operators_that_launched(shared_strata, trained):
    rows = {row["operator"]: row for row in shared_strata.report(trained, "operators")["rows"]}
    forward, backward = rows["double::forward"], rows["double::backward"]
    assert forward["device_self_ns"] == pytest.approx(6 * 300_000, abs=600)
    assert forward["device_total_ns"] == forward["device_self_ns"]
    assert forward["device_avg_ns"] == pytest.approx(300_000, abs=100)
    assert backward["device_self_ns"] == pytest.approx(120 * 300_000, abs=6_000)
    assert backward["device_self_ratio"] == pytest.approx(36 / 37.8, abs=0.01)
    around = rows["autograd::engine::evaluate_function: double"]
    assert (around["device_self_ns"], around["device_total_ns"]) == (0, backward["device_self_ns"])


def test_without_a_device_no_columns(strata, target):
    done = strata.collect(target, "plain")
    report = strata.report(done.result, "operators")
    assert not [column["key"] for column in report["columns"] if "device" in column["key"]]


def test_backward_on_a_thread_of_its_own(shared_strata, trained):
    """While the other thread runs the backward pass, the one with the steps only waits: that is no time of Python's."""
    passes = [row for row in slices(shared_strata, trained) if row["task_type"].startswith("autograd::engine")]
    steps = shared_strata.report(trained, "steps")["rows"]
    assert (len(passes), len(steps)) == (6, 6)
    passes.sort(key=lambda row: row["start_ns"])
    for ran, step in zip(passes, steps, strict=True):
        assert step["backward_ns"] == pytest.approx(ran["wall_ns"], rel=0.01)


def test_waits_for_the_device(shared_strata, trained):
    """The host waits once a step: that is its own part of the step, and no time of Python's."""
    waits = [row for row in slices(shared_strata, trained) if row["task_type"] == "cudaStreamSynchronize"]
    steps = shared_strata.report(trained, "steps")["rows"]
    for wait, step in zip(waits, steps, strict=True):
        assert step["device_wait_ns"] == wait["wall_ns"]
    categories = shared_strata.report(trained, "tasks", "-group-by", "category")["rows"]
    (shown,) = [row for row in categories if row["category"] == "device-wait"]
    assert shown["count"] == len(steps)
    assert "waits for the device" in shared_strata("report", "summary", "-r", trained).out


def test_the_table_of_torch(shared_strata, trained):
    done = shared_strata("report", "torch-averages", "-r", trained, "-report-knob", "sort_by=self_cuda_time_total")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    titles = lines[1].split("  ")
    assert [title.strip() for title in titles if "CUDA" in title] == [
        "Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg",
    ]  # fmt: skip
    # A row of the kernel, and one of the operator that launched it, of the same time.
    assert {line.split()[0] for line in lines[3:5]} == {"double::backward", "backward(float*)"}
    assert any(line.startswith("Self CUDA time total: 37.8") for line in lines)
    rows = {row["key"]: row for row in shared_strata.report(trained, "torch-averages")["rows"]}
    assert rows["backward(float*)"]["self_cpu_time_total"] == 0
    assert rows["cudaLaunchKernel"]["count"] == 6 + 120
    assert rows["cudaLaunchKernel"]["self_device_time_total"] == 0


def test_memory_of_devices(shared_strata, trained):
    """What the allocator of a device gave out in each operator, and what it took back outside of all."""
    report = shared_strata.report(trained, "torch-averages", "-report-knob", "profile_memory=true")
    rows = {row["key"]: row for row in report["rows"]}
    usage = {
        key: (row["device_memory_usage"], row["self_device_memory_usage"])
        for key, row in rows.items() if row["device_memory_usage"]
    }  # fmt: skip
    around = "autograd::engine::evaluate_function: double"
    kept = 120 * 24
    assert usage == {
        "double::forward": (6 * 4096, 6 * 4096), "double::backward": (kept, kept), around: (kept, 0),
        "[memory]": (-6 * 4096, -6 * 4096),
    }  # fmt: skip
    assert report["totals"]["self_device_memory_usage"] == kept
    # Memory of the CPU is told apart.
    assert rows["double::forward"]["self_cpu_memory_usage"] == 0
    done = shared_strata("report", "torch-averages", "-r", trained, "-report-knob", "profile_memory=true")
    titles = [title.strip() for title in done.out.splitlines()[1].split("  ") if "Mem" in title]
    assert titles == ["CPU Mem", "Self CPU Mem", "CUDA Mem", "Self CUDA Mem"]
    query = (
        "SELECT device_type, device, count(*) AS records, sum(allocated) AS taken, sum(freed) AS given "
        "FROM device_memory GROUP BY 1, 2"
    )
    done = shared_strata("query", "-r", trained, query, "-format", "json")
    found = [tuple(list(row.values())[:5]) for row in strict_json(done.stdout)["rows"]]
    assert found == [("CUDA", 0, 12, 6 * 4096, 6 * 4096), ("CUDA", 1, 240, 120 * 1024, 120 * 1000)]
    # In Kineto's trace too, with what is held on each device.
    out = shared_strata.folder / "memory.json"
    assert shared_strata("export", "kineto", "-r", trained, "-o", out).status == 0
    records = [e["args"] for e in events_of(out) if e.get("name") == "[memory]" and e["args"]["Device Type"] == 1]
    assert len(records) == 12 + 240
    assert [args["Total Allocated"] for args in records if args["Device Id"] == 0] == [4096, 0] * 6
    assert [args["Total Allocated"] for args in records if args["Device Id"] == 1][-1] == kept


def test_memory_of_a_real_device(strata, python):
    """torch's own rule over torch's own trace: what was allocated and freed in the time of an event is the event's."""
    path = ROOT / "tests/data/torch/h200.pt.trace.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    told = [e for e in events if e.get("name") == "[memory]"]
    wanted, outside = Counter(), list(told)

    def is_in(one, event):
        return event["ts"] <= one["ts"] <= event["ts"] + event["dur"]

    shown = [e for e in events if e.get("cat") in ("cpu_op", "user_annotation", "cuda_runtime")]
    for event in shown:
        if any(other is not event and other["name"] == event["name"] and is_in(event, other) for other in shown):
            continue  # torch folds the only child into a parent of the same name
        inside = [one for one in told if is_in(one, event)]
        wanted[event["name"]] += sum(one["args"]["Bytes"] for one in inside if one["args"]["Device Type"] == 1)
        outside = [one for one in outside if one not in inside]
    wanted["[memory]"] = sum(one["args"]["Bytes"] for one in outside if one["args"]["Device Type"] == 1)
    result, asked = strata.folder / "h200", strata.folder / "tables.json"
    assert strata("import", path, "-r", result).status == 0
    report = strata.report(result, "torch-averages", "-report-knob", "profile_memory=true")
    found = {row["key"]: row["device_memory_usage"] for row in report["rows"] if not row["is_on_device"]}
    assert {key: size for key, size in found.items() if size} == {key: size for key, size in wanted.items() if size}
    on_device = [one["args"]["Bytes"] for one in told if one["args"]["Device Type"] == 1]
    assert report["totals"]["self_device_memory_usage"] == sum(on_device)
    # torch counted as many records outside of operators, of all devices.
    (memory,) = [row for row in report["rows"] if row["key"] == "[memory]"]
    averages = json.loads((ROOT / "tests/data/torch/h200.averages.json").read_text())
    assert memory["count"] == sum(row["count"] for row in averages if row["name"] == "[memory]") == len(outside)
    # And torch's own code lays the table out as we do.
    table = {"sort_by": "self_cuda_memory_usage", "row_limit": 12}
    profile = {"use_device": "cuda", "profile_memory": True}
    asked.write_text(json.dumps([{"rows": report["rows"], "profile": profile, "table": table}]))
    done = strata.run([python, TARGETS / "torch_tables.py", asked])
    assert done.status == 0, done.err
    knobs = [text for name, value in table.items() for text in ("-report-knob", f"{name}={value}")]
    ours = strata("report", "torch-averages", "-r", result, "-report-knob", "profile_memory=true", *knobs)
    assert [ours.out] == json.loads(done.out)
    assert "Self CUDA Mem" in ours.out
    # Exported and read again nothing is missing.
    out, again = strata.folder / "out.json", strata.folder / "again"
    assert strata("export", "kineto", "-r", result, "-o", out).status == 0
    assert strata("import", out, "-r", again).status == 0
    report = strata.report(again, "torch-averages", "-report-knob", "profile_memory=true")
    assert {row["key"]: row["device_memory_usage"] for row in report["rows"] if not row["is_on_device"]} == found


def test_memory_timeline_of_devices(shared_strata, trained):
    """Every block that a device's allocator gave out and took back, one device at a time."""
    held = {}
    for device in ("cuda:0", "cuda:1", "cuda"):
        out = shared_strata.folder / f"{device}.raw.json"
        done = shared_strata("export", "memory-timeline", "-r", trained, "-device", device, "-o", out)
        assert done.status == 0, done.err
        held[device] = [event[2] for event in strict_json(out.read_bytes())]
    assert held == {"cuda:0": [4096, -4096] * 6, "cuda:1": [1024, -1000] * 120, "cuda": held["cuda:0"]}
    page = shared_strata.folder / "cuda.html"
    assert shared_strata("export", "memory-timeline", "-r", trained, "-device", "cuda:0", "-o", page).status == 0
    assert "Memory of cuda:0: peak 4.1 kB" in page.read_text()
    # Nothing is recorded of others, and that is said; a name that is none is refused.
    out = shared_strata.folder / "none.raw.json"
    done = shared_strata("export", "memory-timeline", "-r", trained, "-device", "xpu:3", "-o", out)
    assert strict_json(out.read_bytes()) == [] and b"no memory of that device" in b" ".join(done.stderr.split())
    for name in ("gpu", "cuda:", "cuda:x", "cuda:256", "cpu:1"):
        done = shared_strata("export", "memory-timeline", "-r", trained, "-device", name, "-o", out)
        assert done.status == 2 and b"-device: invalid value" in done.stderr, name


@pytest.mark.torch
def test_memory_without_device_time(strata, python):
    """torch shows memory of a device if some was taken, also where nothing ran there; and not if it was not asked for
    devices."""
    path = ROOT / "tests/data/torch/h200.pt.trace.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()))
    kinds = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "cuda_runtime", "cuda_driver", "ac2g")
    document["traceEvents"] = [event for event in document["traceEvents"] if event.get("cat") not in kinds]
    trace, result, asked = (strata.folder / name for name in ("trace.json", "quiet", "tables.json"))
    trace.write_text(json.dumps(document))
    assert strata("import", trace, "-r", result).status == 0
    knobs = ["-report-knob", "profile_memory=true"]
    rows = strata.report(result, "torch-averages", *knobs)["rows"]
    assert not any(row["self_device_time_total"] for row in rows)
    table = {"sort_by": "self_cuda_memory_usage", "row_limit": 12}
    devices = {"true": "cuda", "false": None}
    profiles = [{"use_device": device, "profile_memory": True} for device in devices.values()]
    asked.write_text(json.dumps([{"rows": rows, "profile": profile, "table": table} for profile in profiles]))
    done = strata.run([python, TARGETS / "torch_tables.py", asked])
    assert done.status == 0, done.err
    knobs += [text for name, value in table.items() for text in ("-report-knob", f"{name}={value}")]
    ours = [
        strata("report", "torch-averages", "-r", result, "-report-knob", f"use_device={word}", *knobs).out
        for word in devices
    ]
    assert ours == json.loads(done.out)
    assert ["Self CUDA Mem" in text for text in ours] == [True, False]
    assert "CUDA time avg" not in ours[0]


def test_strata_profile_with_a_device(strata, python, programs, build_dir):
    """Tables of torch's form, from inside the program; what ran before, between and behind is not in them."""
    trace = strata.folder / "trace.json"
    library = programs / "cuda" / "libcupti.so.13"
    done = strata.run(
        [python, TARGETS / "profiled_device.py", library, trace], env={"PYTHONPATH": str(build_dir / "python")}
    )
    assert done.status == 0, done.err
    said = json.loads(done.out.splitlines()[-1])
    for count, found in zip((5, 10), said["found"], strict=True):
        assert found["forward(float*)"] == [count, pytest.approx(count * 200, rel=0.01)]
        assert found["double::forward"] == found["forward(float*)"]
    assert "Self CUDA %" in said["table"]
    assert not [text for text in said["warned"] if "CUDA" in text]
    # Stacks of what launched kernels, with their time, in torch's form.
    by_device, by_cpu, none = (
        Path(f"{trace}.{name}").read_text() for name in ("self_cuda_time_total", "self_cpu_time_total", "none")
    )
    times = defaultdict(list)
    for line in by_device.splitlines():
        frames, value = re.fullmatch(r"(\S+) (\d+)", line).groups()
        ours = [frame.rpartition(":_")[2] for frame in frames.split(";") if "profiled_device.py" in frame]
        times[tuple(ours)].append(int(value))
    # From where the operator was called; its own function is inside of it.
    inner, outer = ("<module>", "outer", "inner"), ("<module>", "outer")
    assert {stack: len(values) for stack, values in times.items()} == {inner: 3, outer: 1}, by_device
    assert all(value == pytest.approx(200, abs=3) for values in times.values() for value in values)
    assert len(by_cpu.splitlines()) > 4
    (warning,) = [text for text in said["warned"] if "self_cuda_time_total" in text]
    assert none == "" and "file is empty" in warning
    counts = Counter(event.get("cat") for event in events_of(trace))
    assert (counts["kernel"], counts["cuda_runtime"]) == (10, 11)


def test_strata_profile_again(strata, python, programs, build_dir):
    """What another profiler of the program's has recorded since does not put the second one into a pause."""
    names = ("libcupti.so.13", "libheld_watcher.so", "libkineto_double.so")
    libraries = [programs / "cuda" / name for name in names]
    env = {"PYTHONPATH": str(build_dir / "python"), "LD_PRELOAD": str(preloadable(libraries[1], strata.folder))}
    done = strata.run([python, TARGETS / "profiled_again.py", *libraries], env=env)
    assert (done.status, done.out) == (0, "5 3 5 5\n"), done.err


def events_of(path):
    return json.loads(path.read_bytes())["traceEvents"]


def check_links(events):
    """Each kernel has its launch, by number and by flow, and its operator."""
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    operators = {e["args"]["External id"]: e for e in events if e.get("cat") in ("cpu_op", "user_annotation")}
    flows = defaultdict(list)
    for event in events:
        if event.get("cat") == "ac2g":
            flows[event["id"]].append(event)
    sums = Counter()
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        call = calls[event["args"]["correlation"]]
        assert call["ts"] <= event["ts"]
        assert event["args"].get("External id") == call["args"].get("External id")
        assert [flow["ph"] for flow in flows[event["args"]["correlation"]]].count("s") == 1
        ends = [flow for flow in flows[event["args"]["correlation"]] if flow["ph"] == "f"]
        assert (event["ts"], event["pid"], event["tid"]) in {(e["ts"], e["pid"], e["tid"]) for e in ends}
        if "External id" in event["args"]:
            sums[operators[event["args"]["External id"]]["name"]] += event["dur"]
    return sums


def test_the_trace_of_torch(shared_strata, trained):
    out = shared_strata.folder / "trained.json"
    done = shared_strata("export", "kineto", "-r", trained, "-o", out)
    assert done.status == 0, done.err
    events = events_of(out)
    sums = check_links(events)
    assert sums["double::forward"] == pytest.approx(6 * 300, abs=1)
    assert sums["double::backward"] == pytest.approx(120 * 300, abs=6)
    counts = Counter(event.get("cat") for event in events)
    assert (counts["kernel"], counts["gpu_memcpy"], counts["cuda_driver"]) == (6 * 22, 6, 6)
    kernel = next(event for event in events if event.get("cat") == "kernel")
    assert kernel["pid"] == 0
    assert kernel["tid"] == 7
    assert kernel["args"]["grid"] == [128, 1, 1]
    assert kernel["args"]["block"] == [256, 1, 1]
    assert kernel["args"]["registers per thread"] == 32
    assert kernel["args"]["shared memory"] == 1536


def test_there_and_back(shared_strata, trained):
    """The exported trace, read as one of torch's, gives the same device time to every operator."""
    out, again = shared_strata.folder / "again.json", shared_strata.folder / "again"
    for command in (("export", "kineto", "-r", trained, "-o", out), ("import", out, "-r", again)):
        done = shared_strata(*command)
        assert done.status == 0, done.err
    times = [
        {row["operator"]: row["device_total_ns"] for row in shared_strata.report(result, "operators")["rows"]}
        for result in (trained, again)
    ]
    # Up to two nanoseconds each of 120 kernels: both times are rounded twice, out of the trace and into it.
    assert times[0] == pytest.approx(times[1], abs=240)


def test_a_trace_of_torch_on_a_device(strata):
    """Of a real one: torch's own numbers for operators are the sums over what is linked to them."""
    path = ROOT / "tests/data/torch/h200.pt.trace.json.gz"
    result, out = strata.folder / "h200", strata.folder / "h200.json"
    for command in (("import", path, "-r", result), ("export", "kineto", "-r", result, "-o", out)):
        done = strata(*command)
        assert done.status == 0, done.err
    sums = check_links(events_of(out))
    rows = {row["operator"]: row for row in strata.report(result, "operators")["rows"]}
    assert {name: row["device_self_ns"] for name, row in rows.items() if row["device_self_ns"]} == {
        name: pytest.approx(1000 * us, abs=10) for name, us in sums.items()
    }
    # The same in torch's table: its own numbers for the trace, rows of operators, calls and kernels alike.
    averages = json.loads((ROOT / "tests/data/torch/h200.averages.json").read_text())
    wanted = {(row["name"], row["device_type"].endswith("CUDA")): row for row in averages if row["name"] != "[memory]"}
    found = {(row["key"], row["is_on_device"]): row for row in strata.report(result, "torch-averages")["rows"]}
    compared = 0
    for key in set(wanted) & set(found):
        assert found[key]["count"] == wanted[key]["count"], key
        assert found[key]["self_device_time_total"] == pytest.approx(wanted[key]["self_device_us"], abs=0.05), key
        compared += wanted[key]["self_device_us"] > 0
    assert compared > 20
    # Ranges that torch repeats on the device are not repeated here.
    missing = {name for name, _ in set(wanted) - set(found)}
    assert not {name for name in missing if "::" in name or name.startswith("cuda")}, missing


def test_text_is_torchs_to_the_byte(strata, python):
    """torch's own code lays out our rows of a real device: the text must be ours."""
    result, asked = strata.folder / "h200", strata.folder / "tables.json"
    done = strata("import", ROOT / "tests/data/torch/h200.pt.trace.json.gz", "-r", result)
    assert done.status == 0, done.err
    rows = strata.report(result, "torch-averages")["rows"]
    tables = [{}, {"sort_by": "self_cuda_time_total", "row_limit": 10}, {"sort_by": "cuda_time", "time_unit": "us"}]
    profile = {"use_device": "cuda"}
    asked.write_text(json.dumps([{"rows": rows, "profile": profile, "table": table} for table in tables]))
    done = strata.run([python, TARGETS / "torch_tables.py", asked])
    assert done.status == 0, done.err
    for table, theirs in zip(tables, json.loads(done.out), strict=True):
        knobs = [text for name, value in table.items() for text in ("-report-knob", f"{name}={value}")]
        assert strata("report", "torch-averages", "-r", result, *knobs).out == theirs, table


# Results of an H200 (CUDA 13.0, torch 2.11), and torch's trace of a part of the first of them, from the same run. The
# script profiles itself by torch's profiler twice; "profiled1" is the range around its second time.
DEVICES = ROOT / "tests/data/devices"
WINDOW = "profiled1"


@pytest.fixture
def h200(strata):
    def copy(name):
        return shutil.copytree(DEVICES / name, strata.folder / name)

    return copy


def within(events):
    """What was launched in the range, and the calls that did it: those that strata records of all that torch has."""
    (window,) = [e for e in events if e.get("cat") == "user_annotation" and e["name"] == WINDOW]
    kinds = ("Launch", "Memcpy", "Memset", "Synchronize", "Malloc", "Free", "WaitEvent")
    calls = [
        e for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and any(kind in e["name"] for kind in kinds)
        and window["ts"] <= e["ts"] < window["ts"] + window["dur"]
    ]  # fmt: skip
    made = {e["args"]["correlation"] for e in calls}
    ran = [
        e for e in events
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"]["correlation"] in made
    ]  # fmt: skip
    named = [e for e in events if e.get("cat") in ("cpu_op", "user_annotation")]
    operators = {e["args"]["External id"]: e["name"] for e in named}
    sums = Counter()
    for event in ran:
        sums[operators[event["args"]["External id"]]] += event["dur"]
    return Counter(e["name"] for e in calls), Counter((e["cat"], e["name"]) for e in ran), sums


def test_as_many_as_torch_counts(strata, h200):
    """On a real device, in the same run: the same calls, kernels and copies, and 1 % at most in an operator's time."""
    result, out = h200("small"), strata.folder / "small.json"
    done = strata("export", "kineto", "-r", result, "-o", out)
    assert done.status == 0, done.err
    theirs = within(json.loads(gzip.decompress((DEVICES / "small_torch.json.gz").read_bytes()))["traceEvents"])
    ours = within(events_of(out))
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert sum(ours[1].values()) == 38
    assert ours[2] == pytest.approx(theirs[2], rel=0.01)
    check_links(events_of(out))


def test_a_graph_on_a_device(strata, h200):
    """Ten products and ten activations in a graph, replayed eight times: each kernel is that of its launch."""
    result, out = h200("graph"), strata.folder / "graph.json"
    done = strata("export", "kineto", "-r", result, "-o", out)
    assert done.status == 0, done.err
    events = events_of(out)
    check_links(events)
    launches = [e["args"]["correlation"] for e in events if e.get("name") == "cudaGraphLaunch"]
    nodes = [e["args"] for e in events if "graph node id" in e.get("args", {})]
    assert len(launches) == 8
    assert Counter(args["correlation"] for args in nodes) == {launch: 20 for launch in launches}
    assert len({args["graph node id"] for args in nodes}) == 20


def test_streams_of_a_device(strata, h200):
    result = h200("streams")
    rows = strata.report(result, "tasks", "-group-by", "thread")["rows"]
    streams = {row["thread"]: row["count"] for row in rows if row["thread"].startswith("device 0 stream ")}
    assert len(streams) == 4  # the default one, and three of the script's
    done = strata("report", "summary", "-r", result)
    assert "DEVICE  device 0 busy" in done.out
    assert "its clock fits within" in " ".join(done.out.split())


def test_the_rest_of_the_trace(strata, device):
    """Waits, overhead, ranges over what they launched, what the devices are: in Kineto's words."""
    _, result = collect(strata, "tasks", device, "devices")
    out = strata.folder / "devices.json"
    done = strata("export", "kineto", "-r", result, "-o", out)
    assert done.status == 0, done.err
    trace = json.loads(out.read_bytes())
    about = [(one["id"], one["numSms"], one["name"]) for one in trace["deviceProperties"]]
    assert sorted(about) == [(number, 132, f"Double of an H200 ({number})") for number in (0, 1, 2)]
    by_kind = defaultdict(list)
    for event in trace["traceEvents"]:
        by_kind[event.get("cat")].append(event)
    calls = {e["args"]["correlation"]: e for e in by_kind["cuda_runtime"]}
    waits = [(e["pid"], e["tid"], e["args"]["cuda_sync_kind"]) for e in by_kind["cuda_sync"]]
    assert waits == [(0, 7, "Stream Sync"), (1, 7, "Stream Sync"), (2, 7, "Stream Sync"), (2, -1, "Context Sync")]
    for event in by_kind["cuda_sync"]:
        assert calls[event["args"]["correlation"]]["ts"] == event["ts"]
    assert [e["name"] for e in by_kind["overhead"]] == ["Lazy Function Loading"]
    assert {e["pid"] for e in by_kind["kernel"]} == {0, 1, 2}
    assert {e["args"]["est. achieved occupancy %"] for e in by_kind["kernel"]} == {12}


def test_ranges_on_the_device(shared_strata, trained):
    """A range stands on the stream once more, from the first that was launched in it to the last."""
    out = shared_strata.folder / "ranges.json"
    done = shared_strata("export", "kineto", "-r", trained, "-o", out)
    assert done.status == 0, done.err
    events = events_of(out)
    ranges = [e for e in events if e.get("cat") == "gpu_user_annotation"]
    assert Counter(e["name"] for e in ranges) == {"autograd::engine::evaluate_function: double": 6}
    for one in ranges:
        inside = [e for e in events if e.get("cat") == "kernel" and e["name"] == "backward(float*)"
                  and one["ts"] <= e["ts"] and e["ts"] + e["dur"] <= one["ts"] + one["dur"]]  # fmt: skip
        assert len(inside) == 20


def hta_analysis(path):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    analysis = pytest.importorskip("hta.trace_analysis", reason="HolisticTraceAnalysis is not installed")
    return analysis.TraceAnalysis(trace_files={0: str(path)}, trace_dir="")


def hta_answers(path):
    """What it says of a trace: numbers by what they are of. Its critical path fails with pandas 3, also on torch's."""
    trace = hta_analysis(path)

    def numbers(frame, *keys):
        shown = frame.reset_index() if frame.index.names[0] else frame
        for row in shown.to_dict("records"):
            of = tuple(row[key] for key in keys)
            for name, value in row.items():
                if name not in keys and isinstance(value, (int, float)):
                    yield (*of, name), value

    kinds, kernels = trace.get_gpu_kernel_breakdown(visualize=False, num_kernels=50, include_memory_kernels=True)
    lengths = trace.get_queue_length_summary()
    moved = trace.get_memory_bw_summary()
    for frame in (lengths, moved):
        frame.columns = [name for _, name in frame.columns]
    return {
        "temporal": dict(numbers(trace.get_temporal_breakdown(visualize=False), "rank")),
        "kinds": dict(numbers(kinds, "kernel_type")),
        "kernels": dict(numbers(kernels, "name")),
        "idle": dict(numbers(trace.get_idle_time_breakdown(visualize=False)[0], "stream", "idle_category")),
        "launches": dict(numbers(trace.get_cuda_kernel_launch_stats(visualize=False)[0], "correlation")),
        "queue lengths": dict(numbers(lengths, "stream")),
        "bandwidth": dict(numbers(moved, "name")),
        "ranges": dict(numbers(trace.get_gpu_user_annotation_breakdown(visualize=False), "name")),
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_holistic_trace_analysis_says_the_same(strata, h200):
    """Of torch's trace of a part of a run on an H200, and of our export of the same part."""
    theirs, ours = strata.folder / "theirs.json", strata.folder / "ours.json"
    theirs.write_bytes(gzip.decompress((DEVICES / "small_torch.json.gz").read_bytes()))
    result = h200("small")
    (window,) = [row for row in slices(strata, result) if row["task_type"] == WINDOW]
    part = f"{window['start_ns'] / 1e9:.9f}:{(window['start_ns'] + window['wall_ns']) / 1e9:.9f}"
    done = strata("export", "kineto", "-r", result, "-time-filter", part, "-o", ours)
    assert done.status == 0, done.err
    found, wanted = hta_answers(ours), hta_answers(theirs)
    assert {name: len(answer) for name, answer in wanted.items()} == {
        "temporal": 7, "kinds": 4, "kernels": 15 * 6, "idle": 6, "launches": 38 * 3, "queue lengths": 9,
        "bandwidth": 18, "ranges": 12,
    }  # fmt: skip
    for name, answer in wanted.items():
        # Microseconds of the same records, rounded to nanoseconds in two ways. Bandwidth is rounded by torch before.
        assert found[name] == pytest.approx(answer, rel=0.01, abs=0.005, nan_ok=True), name


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_holistic_trace_analysis_answers(strata, device):
    """Its own questions about devices have answers that are known here."""
    _, result = collect(strata, "tasks", device, "devices")
    out = strata.folder / "devices.json"
    assert strata("export", "kineto", "-r", result, "-o", out).status == 0
    trace = hta_analysis(out)
    kinds, kernels = trace.get_gpu_kernel_breakdown(visualize=False, num_kernels=5)
    times = {row["name"]: row["sum (us)"] for _, row in kernels.iterrows()}
    assert times["vector_add(float*, float*, int)"] == pytest.approx(10_000, rel=0.01)
    assert {"COMPUTATION", "COMMUNICATION"} <= {
        word for text in kinds["kernel_type"] for word in text.split(" overlapping ")
    }


def test_holistic_trace_analysis_reads_it(strata, h200):
    """A call and what it launched have the same number there, and only the latter a stream."""
    out = strata.folder / "small.json"
    done = strata("export", "kineto", "-r", h200("small"), "-o", out)
    assert done.status == 0, done.err
    frame = hta_frame(out)
    events = [e for e in events_of(out) if "correlation" in e.get("args", {})]
    for on_device in (False, True):
        rows = frame[(frame["correlation"] >= 0) & ((frame["stream"] >= 0) == on_device)]
        wanted = Counter(e["args"]["correlation"] for e in events if ("stream" in e["args"]) == on_device)
        assert Counter(int(row) for row in rows["correlation"]) == wanted
