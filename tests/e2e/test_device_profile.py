# SPDX-License-Identifier: Apache-2.0
"""strata.profile with devices: the scripts of torch.profiler's users with one import changed. Devices of Level Zero are
doubles (tests/programs/ze); on a machine without any device the same scripts end in order."""

import json
import os
import sys
from collections import Counter

import pytest
from harness import ROOT, TARGETS

pytestmark = pytest.mark.torch

KERNEL_US, COPY_US = 300, 100


@pytest.fixture(scope="module")
def xpu_env(programs, build_dir):
    double = programs / "ze" / "libze_double.so"
    if not double.exists():
        pytest.skip("built without Level Zero's headers (Debian: libze-dev)")
    return {"ZE_ENABLE_ALT_DRIVERS": str(double), "PYTHONPATH": str(build_dir / "python")}


@pytest.fixture(scope="module", params=["alone", "recorded"])
def on_xpu(request, shared_strata, python, programs, xpu_env):
    """What the script says, and the folder with its traces: run by Python alone, and by strata."""
    folder = shared_strata.folder / f"traces-{request.param}"
    folder.mkdir()
    command = [python, TARGETS / "on_xpu.py", programs / "ze" / "libze_work.so", folder]
    if request.param == "alone":
        done = shared_strata.run(command, env=xpu_env)
    else:
        result = shared_strata.folder / "xpu"
        done = shared_strata("-collect", "operators", "-q", "-r", result, "--", *command, env=xpu_env)
    assert done.status == 0, done.err
    return json.loads(done.out.splitlines()[-1]), folder


def events_of(path):
    return json.loads(path.read_bytes())["traceEvents"]


def test_the_table(on_xpu):
    """Kernels and the operator that launched them, in XPU's words."""
    said, _ = on_xpu
    assert {key: (row[0], *row[2:]) for key, row in said["found"].items()} == {
        "double::forward": (4, "DeviceType.CPU", "xpu"), "first_kernel": (4, "DeviceType.XPU", "xpu"),
    }  # fmt: skip
    for row in said["found"].values():
        assert row[1] == pytest.approx(4 * KERNEL_US, rel=0.01)
    lines = said["table"].splitlines()
    titles = [title.strip() for title in lines[1].split("  ") if "XPU" in title]
    assert titles == ["Self XPU", "Self XPU %", "XPU total", "XPU time avg"]
    # Sorted by what was asked for: those with time on the device come first.
    assert {line.split()[0] for line in lines[3:5]} == {"double::forward", "first_kernel"}
    assert all("100.00%" in line for line in lines[3:5])
    assert any(line.startswith("Self XPU time total: 1.2") for line in lines)
    assert not [text for text in said["warned"] if "XPU" in text]


def test_a_list_that_was_made_before(on_xpu):
    """Its commands were appended before the first profile began; each execution in the profile counts."""
    said, _ = on_xpu
    copy = "Memcpy DtoH (Device -> Host)"
    assert {key: count for key, (count, _) in said["again"].items()} == {"first_kernel": 3, copy: 3}
    assert said["again"]["first_kernel"][1] == pytest.approx(3 * KERNEL_US, rel=0.01)
    assert said["again"][copy][1] == pytest.approx(3 * COPY_US, rel=0.01)


def test_only_the_cpu(on_xpu):
    """A profile that does not ask for the device does not have it in its table."""
    said, _ = on_xpu
    assert "double::forward" in said["on_cpu"]
    assert "first_kernel" not in said["on_cpu"]


def test_a_trace_for_each_recorded_step(on_xpu):
    """Of six steps a schedule records two; each has the kernels of its own."""
    said, folder = on_xpu
    assert said["steps"] == [[3, 3], [6, 6]]
    for step, kernels in said["steps"]:
        counts = Counter(event.get("cat") for event in events_of(folder / f"step_{step}.json"))
        assert (counts["kernel"], counts["xpu_driver"] >= kernels) == (kernels, True)


def test_a_trace_of_two_devices(on_xpu):
    said, folder = on_xpu
    assert said["devices"] == 2
    events = events_of(folder / "devices.json")
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert Counter(event["pid"] for event in kernels) == {0: 1, 1: 2}
    calls = {event["args"]["correlation"]: event for event in events if event.get("cat") == "xpu_driver"}
    for event in kernels:
        assert event["args"]["device"] == event["pid"]
        assert calls[event["args"]["correlation"]]["name"] == "zeCommandListAppendLaunchKernel"
    labels = {e["pid"]: e["args"]["labels"] for e in events if e.get("name") == "process_labels"}
    assert (labels[0], labels[1]) == ("GPU 0", "GPU 1")


SCRIPT = """
import ctypes, json, os, signal, sys, warnings
import torch
{before}
import strata
{after}
torch.version.xpu = "20250302"
torch.xpu.is_available = torch.xpu.is_initialized = lambda: True
torch.xpu.synchronize = lambda: work.ze_work_wait()

def profiled(what):
    with strata.profile(activities=[strata.ProfilerActivity.CPU, strata.ProfilerActivity.XPU]) as prof:
        what()
    return {{one.key: [one.count, one.self_device_time_total] for one in prof.key_averages() if one.is_on_device}}

with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    {body}
print(json.dumps({{"found": found, "warned": [str(one.message) for one in warned]}}))
"""
LOAD = "work = ctypes.CDLL(sys.argv[1])"  # the library with the calls: binds them
LOAD_AND_START = f"{LOAD}; work.ze_work_start()"
TWICE = "found = [profiled(lambda: work.ze_work_launch(0)) for _ in range(2)]"


@pytest.fixture
def script(strata, python, programs, xpu_env):
    """What one with these parts says."""

    def run(body, before="", after="", **env):
        text = SCRIPT.format(before=before, after=after, body=body)
        done = strata.run([python, "-c", text, programs / "ze" / "libze_work.so"], env={**xpu_env, **env})
        assert done.status == 0, done.err
        return json.loads(done.out.splitlines()[-1])

    return run


def test_a_script_that_imports_strata(script):
    """By its name alone, whose parts are loaded when they are used; the device is first used in the profile, too."""
    for after, body in ((LOAD_AND_START, TWICE), (LOAD, f"profiled(work.ze_work_start)\n    {TWICE}")):
        said = script(body, after=after)
        assert [list(one) for one in said["found"]] == [["first_kernel"]] * 2
        for one in said["found"]:
            assert one["first_kernel"] == [1, pytest.approx(KERNEL_US, rel=0.01)]
        assert not said["warned"]


def test_strata_comes_too_late(script):
    """One warning, which says what to do; the program's work is done all the same."""
    said = script(TWICE, before=LOAD_AND_START)
    assert said["found"] == [{}, {}]
    (warning,) = said["warned"]
    assert "too late" in warning and "nothing of it is recorded" in warning
    assert "import strata before the device is first used" in warning and "strata -collect operators" in warning


def test_strata_comes_late(script):
    """The user has switched the tracing layer on: what was made before is not known, what is made then is."""
    body = "found = [profiled(lambda: work.ze_work_launch(0)), profiled(work.ze_work_start)]"
    body += "\n    found += [profiled(lambda: work.ze_work_launch(0))]"
    said = script(body, before=LOAD_AND_START, ZE_ENABLE_TRACING_LAYER="1")
    assert [list(one) for one in said["found"]] == [[], [], ["first_kernel"]]
    late, *lost = said["warned"]
    assert "too late to see all that XPU does" in late and "import strata before" in late
    assert any("lost 1" in text or "1 event" in text for text in lost), lost


def test_a_library_that_came_before(script):
    """It has the loader's functions, not ours: what it begins with is noticed when the profile ends."""
    body = "found = [profiled(lambda: (work.ze_work_start(), work.ze_work_launch(0)))]"
    said = script(body, before=LOAD)
    assert said["found"] == [{}]
    (warning,) = said["warned"]
    assert "too late" in warning


def test_the_user_switched_it_off(script):
    for name in ("ZE_ENABLE_TRACING_LAYER", "IPEX_ZE_TRACING"):
        said = script(TWICE, after=LOAD_AND_START, **{name: "0"})
        assert said["found"] == [{}, {}]
        (warning,) = said["warned"]
        assert f"{name}=0" in warning and "too late" not in warning


def test_another_strata_records_later(script):
    """The first is killed; names and devices are told to the second as well."""
    body = """if True:
        from strata import _session
        def launch():
            work.ze_work_run_list()
            work.ze_work_launch(0)
        def kill():
            base = os.fsencode(_session._engine.writer.base)
            for name in filter(str.isdecimal, os.listdir("/proc")):
                try:
                    if base in open(f"/proc/{name}/cmdline", "rb").read().split(b"\\0"):
                        os.kill(int(name), signal.SIGKILL)
                except FileNotFoundError:
                    pass
        found = [profiled(launch)]
        with strata.profile():
            kill()
        found.append(profiled(launch))
    """
    said = script(body, after=LOAD_AND_START)
    assert any("strata ended before the profile" in text for text in said["warned"])
    first, second = said["found"]
    assert first.keys() == second.keys() == {"first_kernel", "Memcpy DtoH (Device -> Host)"}
    for one in said["found"]:
        assert one["first_kernel"] == [2, pytest.approx(2 * KERNEL_US, rel=0.01)]


def test_a_child_of_a_script(script):
    """It is forked when Level Zero is in use, and ends as without us; its parent goes on."""
    body = """if True:
        pid = os.fork()
        if pid == 0:
            with strata.profile() as prof:
                torch.ones(2).add_(1)
            os._exit(len(prof.key_averages()))
        children = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        found = [profiled(lambda: work.ze_work_launch(0)), children]
    """
    said = script(body, after=LOAD_AND_START)
    assert said["found"][0]["first_kernel"] == [1, pytest.approx(KERNEL_US, rel=0.01)]
    assert said["found"][1] > 0
    assert not [text for text in said["warned"] if "XPU" in text]


IMPORT = """
import builtins, os, sys
{before}
import strata
print("ZE_ENABLE_TRACING_LAYER" in os.environ, "ctypes" in sys.modules)
maps = open("/proc/self/maps").read()
print(*(name in maps for name in ("ze_loader", "strata_ze.so", "collector")))
"""
NO_LOADER = """
exists, opens = os.path.exists, open
os.path.exists = lambda path: "libze_loader" not in path and exists(path)
builtins.open = lambda path, *words, **more: opens("/dev/null" if path == "/etc/ld.so.cache" else path, *words, **more)
"""


def test_an_import_loads_nothing(strata, xpu_env):
    """No loader of Level Zero's, and nothing of ours but the entry; without a loader, not even that."""
    off = {"IPEX_ZE_TRACING": "0"}
    for before, env, wanted in (("", {}, "True True"), (NO_LOADER, {}, "False False"), ("", off, "False False")):
        done = strata.run([sys.executable, "-c", IMPORT.format(before=before)], env={**xpu_env, **env})
        assert done.out.splitlines() == [wanted, "False False False"], done.err


WARNED = """
import json, warnings
import torch
from {module} import ProfilerActivity, profile
if {there}:
    torch.xpu.is_available = lambda: True
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for _ in range(2):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.{activity}]) as prof:
            torch.ones(64).add_(1)
    tables = [prof.key_averages().table(sort_by=name, row_limit=-1)
              for name in ("self_{activity}_time_total".lower(), "self_cpu_time_total")]
print(json.dumps({{"table": tables[0], "by_cpu": tables[1], "warned": [str(one.message) for one in warned]}}))
"""


@pytest.mark.parametrize("activity", ["CUDA", "XPU"])
def test_without_a_device(strata, python, build_dir, activity):
    """As torch does: one warning, a table of what the CPU did, all rows in the order in which they came."""
    env = {"PYTHONPATH": str(build_dir / "python")}
    said = {}
    for module in ("strata", "torch.profiler"):
        done = strata.run([python, "-c", WARNED.format(activity=activity, there=False, module=module)], env=env)
        assert done.status == 0, done.err
        said[module] = json.loads(done.out.splitlines()[-1])
    ours, theirs = said.values()
    words = f"{activity} is not available, disabling {activity} profiling"
    assert ours["warned"] == [f"strata.profile: {words}"]
    assert words in theirs["warned"]
    assert activity not in ours["table"]
    names, wanted = ([line.split()[0] for line in one["table"].splitlines()[3:-2]] for one in (ours, theirs))
    assert names == wanted and names[0] == "aten::ones"
    assert sorted(ours["by_cpu"].splitlines()) == sorted(ours["table"].splitlines())


def test_the_example(strata, python, build_dir):
    """examples/device_training.py runs anywhere; here without a device."""
    env = {"PYTHONPATH": str(build_dir / "python")}
    words = [python, ROOT / "examples" / "device_training.py"]
    folder = strata.folder / "out"
    done = strata.run([*words, folder], env=env)
    assert done.status == 0, done.err
    assert done.err.count("is not available") == 1
    assert "Self CPU time total" in done.out
    assert sorted(os.listdir(folder)) == ["trace_4.json", "trace_8.json"]
    alone = strata.run([*words, "--plain"], env=env)
    assert alone.status == 0, alone.err
    losses = [line for line in done.out.splitlines() if line.startswith("loss")]
    assert losses == [line for line in alone.out.splitlines() if line.startswith("loss")] and len(losses) == 8
