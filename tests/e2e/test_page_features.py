# SPDX-License-Identifier: Apache-2.0
"""What the page offers beside its tables, in a real browser: samples, imports, projects, the log, search, durations.

The first walk begins with an empty folder and lives on the samples that are part of strata; the second has a result
that was collected in the same run. Each case of tests/web/page_features.js is a test here.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import TARGETS
from served import Server, is_built  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
BROWSER = ROOT / "tests/web/page_features.js"
SAMPLE = ROOT / "examples/samples/training-before.pt.trace.json.gz"
CASES = re.findall(r"^\tasync ([a-z_]+_[a-z_0-9]+)\(", BROWSER.read_text(), re.MULTILINE)


def walk(strata, folder, context, cases, tmp_path):
    """The outcome of each case, in one browser over one server."""
    given = tmp_path / "context.json"
    given.write_text(json.dumps(context))
    with Server(strata, folder, env={"STRATA_CACHE_DIR": str(tmp_path / "cache")}) as server:
        done = subprocess.run(
            ["node", BROWSER, server.url, given, *cases], capture_output=True, text=True, timeout=600, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def answer(strata, command, *words, of):
    done = strata.run([strata.binary, command, *words, "-r", of, "-format", "json"])
    assert done.status == 0, done.err
    return json.loads(done.stdout)


def rows(*words, **more):
    return answer(*words, **more)["rows"]


def said(strata, result, imported):
    """What the command line says about the result and about the sample."""
    assert strata("import", SAMPLE, "-r", imported).status == 0
    steps = rows(strata, "report", "operators", "-group-by", "step", "-filter", "operator=aten::mm", of=imported)
    calls = "SELECT row FROM slices WHERE task_type = 'aten::mm' ORDER BY wall_ns DESC, row"
    lines = "SELECT DISTINCT source, line FROM stack_frames WHERE source LIKE '%hot_parts.c' AND line > 0"
    line = rows(strata, "query", lines, of=result)[0]
    stacks = rows(strata, "report", "tasks", "-group-by", "task-stack", of=imported)
    tasks = rows(strata, "report", "tasks", "-filter", "task-type=aten::mm", of=imported)
    operators = answer(strata, "report", "operators", of=imported)
    hotspots = answer(strata, "report", "hotspots", "-group-by", "function", of=result)
    return {
        "function": hotspots["rows"][0]["function"],
        "sampler": rows(strata, "query", "SELECT rung FROM samplers", of=result)[0],
        "thread": rows(strata, "query", "SELECT thread FROM threads", of=result)[0]["thread"],
        "line": f"{Path(line['source']).name}:{line['line']}",
        "calls": rows(strata, "query", calls, of=imported),
        "by_step": [one["wall_self_ns"] for one in sorted(steps, key=lambda one: int(one["step"].split()[-1]))],
        "task_ns": sum(one["wall_total_ns"] for one in stacks),
        "mm_self_ns": tasks[0]["wall_self_ns"],
        "allocated_bytes": operators["totals"]["self_allocated_bytes"],
        "cpu_ns": hotspots["totals"]["cpu_self_ns"],
    }


def said_of_task(strata, result):
    """The task of page_lines.py, and the line of its function in which most of its time was spent."""
    (task,) = rows(strata, "query", "SELECT row, task_type AS name FROM slices WHERE task_type = 'burning'", of=result)
    by_line = rows(strata, "report", "hotspots", "-group-by", "python-line", "-filter", "task-type=burning", of=result)
    place = max((one for one in by_line if ".py:" in one["python_line"]), key=lambda one: one["cpu_self_ns"])
    return {"task": {**task, "place": place["python_line"]}}


def said_of_waits(strata, result):
    levels = ("-group-by", "sync-type,sync-object,waker")
    time = [row for row in rows(strata, "report", "summary", of=result) if row["section"] == "thread_time"]
    return {
        "waits": answer(strata, "report", "waits", *levels, of=result),
        "wait_classes": answer(strata, "report", "waits", "-group-by", "wait-class,sync-type", of=result),
        "objects": answer(strata, "report", "sync-objects", "-group-by", "sync-object,waker", of=result),
        "waiting_in": answer(strata, "report", "threading", "-group-by", "function,callstack", of=result),
        "thread_time": [{"name": row["name"], "wall_total_ns": row["wall_total_ns"]} for row in time[1:]],
    }


def said_of_blocks(strata, result):
    name = "hot_seventy"
    words = ("-group-by", "basic-block", "-source-object", f"function={name}")
    blocks = rows(strata, "report", "disassembly", *words, of=result)
    shown = [{key: row.get(key) for key in ("address", "instruction", "cpu_total_ns")} for row in blocks[:8]]
    return {"blocks": {"function": name, "count": len(blocks), "rows": shown}}


def said_of_device(strata, result):
    threads = rows(strata, "query", "SELECT thread FROM threads WHERE thread LIKE 'device%'", of=result)
    kernels = "SELECT task_type AS name, start_ns FROM slices WHERE thread LIKE 'device%' ORDER BY start_ns LIMIT 1"
    (kernel,) = rows(strata, "query", kernels, of=result)
    return {"device": {"streams": [row["thread"] for row in threads], "kernel": kernel}}


@pytest.fixture(scope="module")
def walked(shared_strata, programs, python, tmp_path_factory):
    place = tmp_path_factory.mktemp("features")
    data = place / "data"
    data.mkdir()
    outcome = walk(shared_strata, data, {}, CASES[:1], place)
    result = data / "r000hs"
    done = shared_strata("collect", "hotspots", "-q", "-r", result, "--", programs / "hot_parts")
    assert done.status == 0, done.err
    lines = data / "r001hs"
    done = shared_strata("collect", "hotspots", "-q", "-r", lines, "--", python, TARGETS / "page_lines.py")
    assert done.status == 0, done.err
    waits = data / "r002tr"
    done = shared_strata("collect", "threading", "-q", "-r", waits, "--", programs / "wait_truth")
    assert done.status == 0, done.err
    device = shutil.copytree(ROOT / "tests/data/devices/streams", data / "r003op")
    steps = shutil.copytree(ROOT / "tests/data/devices/small", data / "r004op")
    results = {"hs": "r000hs", "py": "r001hs", "tr": "r002tr", "gpu": "r003op", "stepped": "r004op"}
    context = {"names": results, "log": (result / "log.txt").read_text()}
    context |= said_of_waits(shared_strata, waits) | said_of_blocks(shared_strata, result)
    context |= said_of_device(shared_strata, device)
    context["steps"] = [row["wall_total_ns"] for row in rows(shared_strata, "report", "steps", of=steps)]
    context |= said(shared_strata, result, place / "imported") | said_of_task(shared_strata, lines)
    return {**outcome, **walk(shared_strata, data, context, CASES[1:], place)}


@pytest.mark.parametrize("case", CASES)
def test_page_features(walked, case):
    assert walked[case] == "ok", walked[case]
