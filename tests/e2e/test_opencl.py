# SPDX-License-Identifier: Apache-2.0
"""What OpenCL devices do, recorded by a layer of OpenCL's loader. The device is PoCL's, which runs on the CPU; what it
says itself of its commands is what strata must say."""

import ctypes.util
import json
import signal
from collections import Counter, defaultdict

import pytest
from harness import TARGETS, strict_json

# What one step of the program makes (tests/programs/opencl/opencl_target.c).
STEP = {
    "Memcpy HtoD (Host -> Device)": 1, "add_one": 2, "grind": 1, "Memcpy DtoD (Device -> Device)": 1,
    "Memset (Device)": 1, "Memcpy DtoH (map)": 1, "Memcpy HtoD (unmap)": 1, "Memcpy DtoH (Device -> Host)": 1,
}  # fmt: skip
CALLS = {
    "clEnqueueWriteBuffer": 1, "clEnqueueNDRangeKernel": 3, "clEnqueueCopyBuffer": 1, "clEnqueueFillBuffer": 1,
    "clEnqueueMapBuffer": 1, "clEnqueueUnmapMemObject": 1, "clEnqueueReadBuffer": 1, "clFinish": 1,
}  # fmt: skip
SET_UP = {"clBuildProgram": 1, "clCreateBuffer": 2}


@pytest.fixture(scope="module", autouse=True)
def loader():
    if not ctypes.util.find_library("OpenCL"):
        pytest.skip("no OpenCL loader on this machine (Debian: ocl-icd-libopencl1, pocl-opencl-icd)")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What PoCL compiles is compiled once."""
    return tmp_path_factory.mktemp("pocl")


@pytest.fixture
def run(strata, programs, cache):
    """Runs the program with strata, or without."""

    def collect(*words, devices="pthread", plain=False, env=None, **more):
        env = {"POCL_CACHE_DIR": str(cache), "POCL_DEVICES": devices, **(env or {})}
        command = [programs / "opencl" / "opencl_target", *words]
        return strata.run(command, env=env, **more) if plain else strata.collect(*command, env=env, **more)

    return collect


def slices(strata, result):
    done = strata("query", "-r", result, "SELECT * FROM slices ORDER BY start_ns", "-format", "json")
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def check_steps(strata, result, steps, set_ups=1):
    """All of it and nothing else."""
    wanted = Counter({name: steps * count for name, count in (STEP | CALLS).items()})
    wanted.update({name: set_ups * count for name, count in SET_UP.items()})
    assert {name: row["count"] for name, row in strata.types(result).items()} == wanted


def told(out):
    """The commands as the program prints them: name -> [(begin, end, bytes)]."""
    commands = defaultdict(list)
    for line in out.splitlines():
        name, *numbers = line.split("|")
        commands[name].append(tuple(int(number) for number in numbers))
    return commands


def test_times_are_the_drivers(strata, run):
    """Durations of all commands, and when they were, as PoCL itself tells them."""
    done = run("plain", "4")
    commands = told(done.out)
    rows = slices(strata, done.result)
    check_steps(strata, done.result, 4)
    first = min(begin for times in commands.values() for begin, _, _ in times)
    ours_first = min(row["start_ns"] for row in rows if row["task_type"] in commands)
    for name, times in commands.items():
        ours = [row for row in rows if row["task_type"] == name]
        assert len(ours) == len(times) == 4 * STEP[name]
        for row, (begin, end, _) in zip(ours, sorted(times), strict=True):
            assert row["wall_ns"] == pytest.approx(end - begin, rel=0.01, abs=20), name
            assert row["start_ns"] - ours_first == pytest.approx(begin - first, rel=0.001, abs=2000), name
    assert b"lost 0" in done.stderr


def test_without_events_or_profiling(strata, run):
    """The program asks for nothing, and gets nothing more than it has without strata."""
    done = run("silent", "3")
    assert done.stdout == b""
    check_steps(strata, done.result, 3)


def test_calls_and_what_they_launched(strata, run):
    done = run("silent", "2")
    rows = slices(strata, done.result)
    calls = [row for row in rows if row["task_type"].startswith("clEnqueue")]
    on_device = [row for row in rows if row["task_type"] in STEP]
    assert {row["thread"].split(",")[0] for row in on_device} == {"device 0 queue 1"}
    assert len(calls) == len(on_device) == 2 * 9
    # The queue is in order, so commands run in the order of the calls, and none before its call.
    calls.sort(key=lambda row: row["start_ns"])
    for call, row in zip(calls, on_device, strict=True):
        assert row["start_ns"] >= call["start_ns"] - 2000, (call, row)


def test_two_devices(strata, run):
    done = run("devices", devices="pthread pthread")
    names = [line.split(" ", 2)[2] for line in done.out.splitlines()]
    assert len(names) == 2
    rows = strata.report(done.result, "tasks", "-group-by", "thread")["rows"]
    tracks = {row["thread"]: row["count"] for row in rows if row["thread"].startswith("device ")}
    assert tracks == {f"device {i} queue {i + 1}, {name} ({i + 1})": 9 for i, name in enumerate(names)}
    words = b" ".join(done.stderr.split())
    for i, name in enumerate(names):
        assert f"device {i} ({name}) busy".encode() in words
    check_steps(strata, done.result, 2, set_ups=2)


def test_every_answer_is_the_same(run):
    """What a program may ask about its queues and events, and what it is told when it is wrong."""
    assert run("answers").stdout == run("answers", plain=True).stdout


def test_other_commands(strata, run):
    done = run("more")
    assert done.stdout == run("more", plain=True).stdout == b"1\n"
    counts = {name: row["count"] for name, row in strata.types(done.result).items() if not name.startswith("cl")}
    assert counts == {
        "Memcpy DtoH (Device -> Host)": 1, "Memcpy (migrate)": 1, "Memset (SVM)": 1, "Memcpy (SVM)": 1,
    }  # fmt: skip


def test_bytes_and_sizes_in_the_trace(strata, run):
    done = run("plain", "1")
    out = strata.folder / "trace.json"
    assert strata("export", "kineto", "-r", done.result, "-o", out).status == 0
    events = json.loads(out.read_bytes())["traceEvents"]
    (add_one, _) = [event for event in events if event.get("name") == "add_one"]
    assert (add_one["args"]["grid"], add_one["args"]["block"]) == ([4096, 1, 1], [64, 1, 1])
    for name, times in told(done.out).items():
        if name.startswith("Mem"):
            (event,) = [event for event in events if event.get("name") == name]
            assert event["args"]["bytes"] == times[0][2], name
    by_number = defaultdict(set)
    for event in events:
        if "correlation" in event.get("args", {}):
            by_number[event["args"]["correlation"]].add(event["cat"])
    assert Counter(tuple(sorted(cats)) for cats in by_number.values() if len(cats) > 1) == {
        ("kernel", "xpu_runtime"): 3, ("gpu_memcpy", "xpu_runtime"): 5, ("gpu_memset", "xpu_runtime"): 1,
    }  # fmt: skip
    assert not [event for event in events if event.get("cat", "").startswith("cuda")]


def test_threads(strata, run):
    done = run("threads")
    check_steps(strata, done.result, 2, set_ups=2)
    rows = strata.report(done.result, "tasks", "-group-by", "thread")["rows"]
    assert sorted(row["count"] for row in rows if row["thread"].startswith("device 0 queue ")) == [9, 9]


@pytest.mark.parametrize("how", ["fork", "forked"])
def test_fork(strata, run, how):
    done = run(how)
    assert done.stdout == b"child: 0\n"
    check_steps(strata, done.result, 1)


def test_ends_while_a_command_waits(strata, run):
    done = run("unfinished")
    assert done.stdout == b"ends\n"
    assert b"1 task never ended" in done.stderr
    grinds = [row for row in slices(strata, done.result) if row["task_type"] == "grind"]
    assert [row["wall_ns"] > 0 for row in grinds] == [True, False]


def test_killed(strata, run):
    done = run("killed", ok=False)
    assert done.status == -signal.SIGKILL
    counts = {name: row["count"] for name, row in strata.types(done.result).items()}
    # Fills behind the step may not have been handed over.
    assert counts.pop("Memset (Device)") in range(1, 5)
    assert counts == {name: n for name, n in (STEP | CALLS | SET_UP).items() if name != "Memset (Device)"} | {
        "clEnqueueFillBuffer": 4, "clFinish": 2,
    }  # fmt: skip


def test_pause(strata, run):
    done = run("paused")
    check_steps(strata, done.result, 2)


def test_detach(strata, run):
    """All that was before it is told, what is not over then as unfinished, and nothing of the program's is kept."""
    references = run("detached", "0", plain=True).out.split()[0]
    done = run("detached", references)
    assert done.out == f"{references} references\n"
    counts = {name: row["count"] for name, row in strata.types(done.result).items()}
    assert counts == STEP | CALLS | SET_UP | {"grind": 2, "clEnqueueNDRangeKernel": 4}
    assert b"1 task never ended" in done.stderr


def test_many(strata, run):
    """Faster than they are looked at: nothing is lost, or it is counted."""
    done = run("many", "40000")
    assert done.stdout == b"40000 kernels\n"
    counts = strata.types(done.result)
    assert counts["clEnqueueNDRangeKernel"]["count"] == 40000
    assert counts["add_one"]["count"] == 40000
    assert b"lost 0" in done.stderr


def test_a_part_of_a_device(strata, run, programs):
    """The program releases it: its clock is asked for later, and events of its commands are let go of."""
    done = run("parts", env={"OPENCL_LAYERS": str(programs / "opencl" / "libtimer_layer.so")})
    if done.out == "no parts\n":
        pytest.skip("PoCL's device has no parts: a machine of one processor")
    check_steps(strata, done.result, int(done.out.split()[0]) + 1, set_ups=2)
    threads = {row["thread"] for row in slices(strata, done.result) if row["task_type"] == "grind"}
    assert {name.split(",")[0] for name in threads} == {"device 1 queue 1", "device 0 queue 2"}


def test_another_layer_is_kept(strata, run):
    """One that cannot be loaded is the loader's to complain about; ours is there beside it."""
    done = run("silent", "1", env={"OPENCL_LAYERS": "/nonexistent/liblayer.so"})
    check_steps(strata, done.result, 1)


def test_not_recorded(strata, run):
    done = run("silent", "1", options=["-knob", "device=off"])
    assert strata.types(done.result) == {}


def test_beside_samples(strata, programs, cache):
    """What runs on devices, and of the calls only those that wait for them."""
    env, result = {"POCL_CACHE_DIR": str(cache), "POCL_DEVICES": "pthread"}, strata.folder / "result"
    command = [programs / "opencl" / "opencl_target", "silent", "2"]
    done = strata("-collect", "hotspots", "-knob", "device=light", "-r", result, "--", *command, env=env)
    assert done.status == 0, done.err
    counts = {name: row["count"] for name, row in strata.types(result).items()}
    assert counts == {name: 2 * count for name, count in STEP.items()} | {"clFinish": 2}


def test_operators_that_launched(strata, python, cache):
    """Under torch's word for devices that are not CUDA's."""
    env, result = {"POCL_CACHE_DIR": str(cache), "POCL_DEVICES": "pthread"}, strata.folder / "result"
    done = strata("-collect", "operators", "-r", result, "--", python, TARGETS / "on_opencl.py", "3", env=env)
    assert done.status == 0, done.err
    kernels = strata.types(result)["twice"]
    assert kernels["count"] == 6
    report = strata.report(result, "operators")
    (row,) = [row for row in report["rows"] if row["operator"] == "opencl::twice"]
    assert row["device_self_ns"] == row["device_total_ns"] == kernels["wall_total_ns"]
    titles = {column["title"] for column in report["columns"]}
    assert {"Self XPU", "Self XPU %", "XPU Total", "XPU Average"} < titles
    done = strata("report", "torch-averages", "-r", result, "-report-knob", "sort_by=self_xpu_time_total")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    assert "Self XPU" in lines[1] and "XPU time avg" in lines[1]
    assert {line.split()[0] for line in lines[3:5]} == {"opencl::twice", "twice"}
    assert any(line.startswith("Self XPU time total: ") for line in lines)
    assert "CUDA" not in done.out
