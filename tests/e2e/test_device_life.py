# SPDX-License-Identifier: Apache-2.0
"""How recording of CUDA devices begins, pauses and ends, and who else has CUPTI meanwhile. The device and its libcupti
are doubles (tests/programs/cuda)."""

import json
import subprocess

import pytest
from harness import TARGETS, preloadable, strict_json, until
from test_devices import STEP, check_steps, collect, slices


@pytest.fixture
def device(programs):
    return programs / "cuda" / "cuda_target"


def test_a_profiler_that_stops_meanwhile(strata, device):
    """While strata's thread is busy with a buffer: what is in it is the profiler's as well."""
    done = strata.collect(device, "profiled_held")
    steps, missing = done.out.splitlines()[0].split(" steps, missing: ")
    assert missing == "0 kernels, 0 copies, 0 calls"
    check_steps(strata.types(done.result), int(steps))


def test_ends_while_the_profiler_runs(strata, device):
    """At the program's end it is destroyed before the last records come: its buffers are no longer touched."""
    done = strata.collect(device, "profiled_end")
    assert done.status == 0
    check_steps(strata.types(done.result), 2)


def test_pause(strata, device):
    """What ran in the pause is not there, however late the device tells of it."""
    done = strata.collect(device, "paused")
    check_steps(strata.types(done.result), 2)
    assert {"before", "after"} < set(strata.types(done.result))
    # Nor is it called a gap of the device that has a reason.
    query = strata("query", "-r", done.result, "-format", "json", "SELECT end_ns - start_ns AS ns FROM pauses")
    (pause,) = strict_json(query.stdout)["rows"]
    devices = strata.report(done.result, "device-gaps")["rows"]
    for row in devices:
        (silent,) = (child for child in row["children"] if child["reason"] == "not known: not recorded then")
        assert silent["wall_total_ns"] == pytest.approx(pause["ns"], rel=0.02)
    assert len(devices) == 2
    shown = [row for row in strata.report(done.result, "summary")["rows"] if row["section"] == "device"]
    for row in shown:
        assert "not recorded for" in row["value"]
        assert row["wall_self_ns"] / row["wall_total_ns"] == pytest.approx(row["share_ratio"])


def test_detach(strata, device):
    """All that was before it, however late the device tells of it, and nothing else."""
    done = strata.collect(device, "detached")
    check_steps(strata.types(done.result), 2)


def check_stop(strata, device, options, stop):
    """A program that works until it is told: of all steps made before the stop the device's part is there too."""
    result = strata.folder / "stopped"
    command = [strata.binary, "-collect", "tasks", "-r", result, *options, "--", device, "stopped"]
    process = strata.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stop(process, result)
    process.stdin.close()
    assert process.wait(60) == 0
    all_rows = slices(strata, result)
    done = strata("query", "-r", result, "-format", "json", "SELECT start_ns FROM pauses")
    (end,) = [row["start_ns"] for row in strict_json(done.stdout)["rows"]]
    steps = [row for row in all_rows if row["task_type"] == "step"]
    ended = sum(row["start_ns"] + row["wall_ns"] < end for row in steps)
    assert ended > 10
    rows = strata.types(result)
    for name, (count, _) in STEP.items():
        assert rows[name]["count"] >= ended * count, name
    # And nothing that began behind it.
    for row in all_rows:
        assert row["start_ns"] < end, row


def test_stop_by_time(strata, device):
    def stop(process, _):
        for line in process.stderr:
            if b"collection stopped" in line:
                return

    check_stop(strata, device, ["-duration", "0.7"], stop)


@pytest.mark.alone
def test_stop_by_command(strata, device):
    """The result is complete at once, and has what the device told since."""

    def stop(_, result):
        def steps():
            done = strata("-command", "status", "-format=json", "-r", result)
            return strict_json(done.stdout)["tasks"] > 1000 if done.status == 0 else 0

        until(steps)
        assert strata("-command", "stop", "-r", result).status == 0

    check_stop(strata, device, [], stop)


def check_graphs(rows, steps):
    """One row for each launch, and none for its kernels."""
    assert "graph_node" not in rows
    assert rows["CUDA graph 3"]["count"] == steps
    assert rows["CUDA graph 3"]["wall_total_ns"] == pytest.approx(steps * 60_000, abs=50 * steps)
    assert rows["gemm_kernel"]["count"] == steps


def test_graphs_as_a_whole(strata, device):
    done = strata.collect(device, "plain", options=["-knob", "device=graph"])
    check_graphs(strata.types(done.result), 5)


def test_graphs_in_a_pause(strata, device):
    """Their kind is on before the first is made and stays on: to switch it on later would bring the program down."""
    graphs = ["-knob", "device=graph"]
    done = strata.collect(device, "paused", options=graphs)
    check_graphs(strata.types(done.result), 2)
    done = strata.collect(device, "resumed", options=[*graphs, "-start-paused"])
    check_graphs(strata.types(done.result), 2)


def test_graphs_of_a_late_start(strata, python, programs, build_dir):
    """Where CUDA may have been in use before, they are recorded by their kernels, and a note says so."""
    env = {"PYTHONPATH": str(build_dir / "python")}
    script = [python, TARGETS / "late_graphs.py", programs / "cuda" / "libcupti.so.13"]
    done, result = collect(strata, "operators", *script, options=["-knob", "device=graph"], env=env)
    assert strata.types(result)["graph_node"]["count"] == 2 * 3
    assert "CUDA graphs are recorded kernel by kernel in spite of -knob device=graph" in " ".join(done.err.split())


def test_strata_profile_without_the_device(strata, python, programs, build_dir):
    """Once a profile has had it, those that do not ask for it cost nothing of it."""
    libraries = [programs / "cuda" / name for name in ("libcupti.so.13", "libheld_watcher.so")]
    env = {"PYTHONPATH": str(build_dir / "python"), "LD_PRELOAD": str(preloadable(libraries[1], strata.folder))}
    done = strata.run([python, TARGETS / "profiled_cpu.py", *libraries], env=env)
    assert (done.status, done.out) == (0, "5 5 5 0\n"), done.err


def test_strata_profile_beside_torchs(strata, python, programs, build_dir):
    """torch's profiler has CUPTI when strata is first asked for devices: it keeps it, and strata says so. The next
    profile has them."""
    libraries = [programs / "cuda" / name for name in ("libcupti.so.13", "libkineto_double.so")]
    done = strata.run(
        [python, TARGETS / "profiled_beside.py", *libraries], env={"PYTHONPATH": str(build_dir / "python")}
    )
    assert done.status == 0, done.err
    said = json.loads(done.out.splitlines()[-1])
    assert (said["theirs"], said["unknown"], said["found"]) == (4, 0, [0, 4])
    (warning,) = [text for text in said["warned"] if "CUDA" in text]
    assert "torch.profiler was running when strata was first asked for it" in warning


def test_a_buffer_of_somebody_else(strata, python, programs, build_dir):
    """Where nobody says that CUPTI is in use, it hands us a buffer of who had it before: it is not ours to fill."""
    libraries = [programs / "cuda" / name for name in ("libcupti.so.13", "libkineto_double.so")]
    env = {"PYTHONPATH": str(build_dir / "python"), "CUPTI_DOUBLE": "keep"}
    done = strata.run([python, TARGETS / "profiled_beside.py", *libraries, "silent"], env=env)
    assert done.status == 0, done.err
    assert json.loads(done.out.splitlines()[-1])["found"][1] == 1000
