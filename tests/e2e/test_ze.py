# SPDX-License-Identifier: Apache-2.0
"""What devices of Level Zero do, recorded through the tracing layer of its real loader. The driver is a double
(tests/programs/ze), so that all that ran, and when, is known."""

import json
import signal
from collections import Counter, defaultdict

import pytest
from harness import strict_json

NAMES = {
    "first_kernel": "first_kernel", "_ZTS6second": "second", "fill": "Memset (Device)",
    "copy": "Memcpy HtoD (Host -> Device)", "back": "Memcpy DtoH (Device -> Host)",
}  # fmt: skip
CALLS = {
    "zeCommandListAppendLaunchKernel": 2, "zeCommandListAppendMemoryCopy": 1, "zeCommandListAppendMemoryFill": 1,
    "zeEventHostSynchronize": 1,
}  # fmt: skip
SET_UP = {"zeModuleCreate": 1, "zeMemAllocDevice": 1, "zeMemAllocHost": 1}
# A tick of the double's devices, and what the two clocks of the host differ by.
TICK_NS, CLOCK_NS = 53, 3000


@pytest.fixture
def run(strata, programs):
    """Runs the program with strata, or without."""
    target = programs / "ze" / "ze_target"
    if not target.exists():
        pytest.skip("built without Level Zero's headers (Debian: libze-dev)")

    def collect(*words, double="", plain=False, env=None, **more):
        env = {"ZE_ENABLE_ALT_DRIVERS": str(target.parent / "libze_double.so"), "ZE_DOUBLE": double, **(env or {})}
        command = [target, *words]
        return strata.run(command, env=env, **more) if plain else strata.collect(*command, env=env, **more)

    return collect


def slices(strata, result):
    done = strata("query", "-r", result, "SELECT * FROM slices ORDER BY start_ns", "-format", "json")
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def told(out):
    """What the driver ran: (name, device) -> [(begin, end)]."""
    ran = defaultdict(list)
    for line in out.splitlines():
        if "|" in line:
            name, device, begin, end, _ = line.split("|")
            ran[name, int(device)].append((int(begin), int(end)))
    return ran


def check_times(strata, done, copy="copy"):
    """Each command once, of the right device, when the driver ran it and as long as it did."""
    ran = told(done.out)
    rows = [row for row in slices(strata, done.result) if row["thread"].startswith("device ")]
    assert len(rows) == sum(len(times) for times in ran.values())
    first = min(begin for times in ran.values() for begin, _ in times)
    ours_first = min(row["start_ns"] for row in rows)
    for (name, device), times in ran.items():
        shown = NAMES[copy if name == "copy" else name]
        ours = [row for row in rows if row["task_type"] == shown and row["thread"].startswith(f"device {device} ")]
        assert len(ours) == len(times), shown
        for row, (begin, end) in zip(ours, sorted(times), strict=True):
            assert row["wall_ns"] == pytest.approx(end - begin, rel=0.01, abs=2 * TICK_NS), shown
            assert row["start_ns"] - ours_first == pytest.approx(begin - first, rel=0.001, abs=CLOCK_NS), shown
    assert b"lost 0" in done.stderr
    return rows


def test_an_immediate_list(strata, run):
    """With events of the program's own and without."""
    done = run("immediate", "5")
    check_times(strata, done)
    counts = {name: row["count"] for name, row in strata.types(done.result).items() if name.startswith("ze")}
    assert counts == {name: 5 * count for name, count in CALLS.items()} | SET_UP
    rows = slices(strata, done.result)
    # The clock: nothing begins before its call, nothing that was waited for ends after the wait.
    for wait in (row for row in rows if row["task_type"] == "zeEventHostSynchronize"):
        ends = [row["start_ns"] + row["wall_ns"] for row in rows if row["thread"].startswith("device ")]
        assert any(abs(end - wait["start_ns"] - wait["wall_ns"]) < 50_000_000 for end in ends)
    launches = [row for row in rows if row["task_type"].startswith("zeCommandListAppend")]
    on_device = [row for row in rows if row["thread"].startswith("device ")]
    for launch, row in zip(launches, on_device, strict=True):
        assert row["start_ns"] >= launch["start_ns"] - CLOCK_NS


def test_a_list_that_runs_again(strata, run):
    """One row for each time, also with an event that still shows the time before."""
    done = run("regular", "4")
    check_times(strata, done, copy="back")
    out = strata.folder / "trace.json"
    assert strata("export", "kineto", "-r", done.result, "-o", out).status == 0
    events = json.loads(out.read_bytes())["traceEvents"]
    executions = {e["args"]["correlation"] for e in events if e.get("name") == "zeCommandQueueExecuteCommandLists"}
    ran = Counter(e["args"]["correlation"] for e in events if e.get("cat") in ("kernel", "gpu_memcpy"))
    assert ran == {number: 3 for number in executions}
    assert len(executions) == 4
    assert {e["cat"] for e in events if e.get("name", "").startswith("ze")} == {"xpu_driver"}
    (kernel, *_) = [e for e in events if e.get("name") == "first_kernel"]
    assert (kernel["args"]["grid"], kernel["args"]["block"]) == ([16, 2, 1], [32, 1, 1])


def test_a_list_that_runs_again_too_soon(strata, run):
    """The first time cannot be told from the second: it is counted, and the second is right."""
    done = run("hasty", double="long")
    rows = [row for row in slices(strata, done.result) if row["thread"].startswith("device ")]
    last = sorted(times[-1] for times in told(done.out).values())
    lost = 6 - len(rows)
    assert lost in (1, 2, 3)
    assert f"lost {lost}".encode() in done.stderr
    assert [row["wall_ns"] for row in rows[-3:]] == pytest.approx([end - begin for begin, end in last], rel=0.01)
    assert rows[-1]["start_ns"] - rows[-3]["start_ns"] == pytest.approx(last[2][0] - last[0][0], rel=0.01)


def test_a_list_that_is_overtaken(strata, run):
    """An execution that is asked for while the list still runs: none has the times of one before."""
    done = run("overtaken", double="long")
    out = strata.folder / "trace.json"
    assert strata("export", "kineto", "-r", done.result, "-o", out).status == 0
    events = json.loads(out.read_bytes())["traceEvents"]
    calls = {e["args"]["correlation"]: e["ts"] for e in events if "ExecuteCommandLists" in e.get("name", "")}
    kernels = [e for e in events if e.get("cat") == "kernel"]
    assert len(calls) == 4
    # The first is over already if this machine is busy.
    lost = 4 - len(kernels)
    assert lost in (0, 1)
    assert f"lost {lost}".encode() in done.stderr
    for kernel in kernels:
        assert kernel["ts"] >= calls[kernel["args"]["correlation"]] - CLOCK_NS / 1000


def test_a_list_that_ran_in_a_pause(strata, run):
    """What its event shows of that is not taken for the next time."""
    done = run("paused", double="long")
    before, _, after = told(done.out)["first_kernel", 0]
    rows = [row for row in slices(strata, done.result) if row["task_type"] == "first_kernel"]
    assert [row["wall_ns"] for row in rows] == pytest.approx([100_000_000] * 2, rel=0.01)
    assert rows[1]["start_ns"] - rows[0]["start_ns"] == pytest.approx(after[0] - before[0], rel=0.001)
    assert b"lost 0" in done.stderr


def test_events_that_are_signalled_late(strata, run):
    """Long after the program has waited for the queue; times are those of the device."""
    done = run("immediate", "2", double="late")
    check_times(strata, done)


def test_the_timer_comes_around(strata, run):
    """32 bits of it, within the run: 60 steps take longer than it lasts."""
    done = run("immediate", "60", double="wrap")
    ran = [begin for times in told(done.out).values() for begin, _ in times]
    assert max(ran) - min(ran) > 35_000_000
    check_times(strata, done)


def test_two_devices(strata, run):
    done = run("devices")
    rows = check_times(strata, done)
    assert {row["thread"] for row in rows} == {
        "device 0 queue 1, Double GPU 0 (1)", "device 1 queue 2, Double GPU 1 (2)",
    }  # fmt: skip
    words = b" ".join(done.stderr.split())
    assert b"device 0 (Double GPU 0) busy" in words and b"device 1 (Double GPU 1) busy" in words


def test_a_context_that_ends(strata, run):
    """All that has run in it is read before, also what nobody has looked at yet."""
    done = run("context", "16")
    check_times(strata, done)


def test_every_answer_is_the_same(strata, run):
    """Also of an event that cannot tell times: what it belongs to is counted as lost."""
    done = run("answers")
    alone = run("answers", plain=True)
    assert [line for line in done.out.splitlines() if "|" not in line] == [
        line for line in alone.out.splitlines() if "|" not in line
    ]
    assert b"lost 1" in done.stderr


def test_refused(strata, run):
    """The tracing layer is switched off by the user, in one way or the other; the program runs as before."""
    for env in ({"ZE_ENABLE_TRACING_LAYER": "0"}, {"IPEX_ZE_TRACING": "0"}):
        done = run("immediate", "1", env=env)
        assert strata.types(done.result) == {}
        assert len(told(done.out)) == 4
        assert b"a program used Level Zero, but what its devices did is not recorded" in b" ".join(done.stderr.split())
        assert b"tracing layer is off" in b" ".join(done.stderr.split())


def test_older_switch(strata, run):
    done = run("immediate", "1", env={"IPEX_ZE_TRACING": "1"})
    check_times(strata, done)


def test_fork(strata, run):
    done = run("fork")
    assert "child: 0" in done.out
    check_times(strata, done)


def test_ends_while_a_kernel_runs(strata, run):
    done = run("unfinished", double="slow")
    assert b"1 task never ended" in done.stderr
    (kernel,) = [row for row in slices(strata, done.result) if row["task_type"] == "first_kernel"]
    assert kernel["wall_ns"] == 0


def test_killed(strata, run):
    done = run("killed", ok=False)
    assert done.status == -signal.SIGKILL
    check_times(strata, done)


def test_beside_samples(strata, run, programs):
    """What runs on devices, and of the calls only those that wait for them."""
    env = {"ZE_ENABLE_ALT_DRIVERS": str(programs / "ze" / "libze_double.so")}
    result = strata.folder / "result"
    options = ["-collect", "hotspots", "-knob", "device=light", "-r", result]
    done = strata(*options, "--", programs / "ze" / "ze_target", "immediate", "2", env=env)
    assert done.status == 0, done.err
    assert {name for name in strata.types(result) if name.startswith("ze")} == {"zeEventHostSynchronize"}
    assert strata.types(result)["first_kernel"]["count"] == 2


def test_not_recorded(strata, run):
    """Then nothing of ours is in the way."""
    done = run("immediate", "1", options=["-knob", "device=off"])
    assert strata.types(done.result) == {}
    assert b"Level Zero" not in done.stderr
