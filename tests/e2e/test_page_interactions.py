# SPDX-License-Identifier: Apache-2.0
"""The fifteen interactions in Chromium, each a test of its own (tests/web/interactions.js), and what else timeline and
flame graph do (timeline.js, flame.js), against a server that shows results of the same run. The figures that they
compare come from the command line."""

import gzip
import json
import os
import pathlib
import re
import subprocess

import pytest
from harness import TARGETS, strict_json

pytestmark = pytest.mark.torch

WEB = pathlib.Path(__file__).parents[1] / "web"
TRACE = pathlib.Path(__file__).parents[1] / "data" / "torch" / "h200.pt.trace.json.gz"
STEPS = TARGETS / "page_steps.py"
OTHER = TARGETS / "page_other.py"
EVENT = "iteration_3"
LAUNCH = "cudaLaunchKernel"
FORMS = ("csv", "text", "json")


def cases_of(script):
    return re.findall(r"^\t(?:async )?([a-z]+_[a-z_0-9]+)(?:\(|: )", (WEB / script).read_text(), re.MULTILINE)


INTERACTIONS = cases_of("interactions.js")
OTHERS = cases_of("timeline.js") + cases_of("flame.js")


def query(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return strict_json(done.out)["rows"]


def in_seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09d}"


def launched(strata, result):
    """A launch and its kernel, by the correlation numbers of the trace; rows are those of the imported result."""
    everything = json.loads(gzip.decompress(TRACE.read_bytes()))["traceEvents"]
    flows = [one for one in everything if one.get("cat") == "fwdbwd"]
    events = sorted((one for one in everything if one.get("ph") == "X"), key=lambda one: one["ts"])

    def row_of(event):
        alike = [one for one in events if one["name"] == event["name"]]
        text = event["name"].replace("'", "''")
        rows = query(strata, result, f"SELECT row FROM slices WHERE task_type = '{text}' ORDER BY start_ns")
        assert len(rows) == len(alike)
        return {"name": event["name"], "row": rows[alike.index(event)]["row"]}

    launch = [one for one in events if one["name"] == LAUNCH][3]
    correlation = launch["args"]["correlation"]
    kernel = next(one for one in events if one["cat"] == "kernel" and one["args"]["correlation"] == correlation)
    return {"launch": row_of(launch), "kernel": row_of(kernel), "shaped": shaped(flows, events, row_of)}


def shaped(flows, events, row_of):
    """An operator with shapes and its backward call, which an arrow of the trace joins."""
    begins = {(one["tid"], one["ts"]): one for one in events if one.get("cat") == "cpu_op"}
    for flow in flows:
        first = begins.get((flow["tid"], flow["ts"]))
        if flow["ph"] != "s" or not first or not any(first["args"].get("Input Dims", [])):
            continue
        last = next(one for one in flows if one["id"] == flow["id"] and one["ph"] == "f")
        backward = row_of(begins[last["tid"], last["ts"]])
        shapes = json.dumps(first["args"]["Input Dims"])
        return {**row_of(first), "shapes": shapes, "backward": backward, "frame": "_conv_forward"}
    raise AssertionError("the trace has no such operator")


def facts(strata, result):
    """What the command line says, for the cases to compare with."""
    event = query(
        strata,
        result,
        "SELECT task_type, start_ns, end_ns, wall_ns, self_ns, thread FROM slices "
        f"WHERE task_type = '{EVENT}' AND copy = 0 LIMIT 1",
    )[0]
    hits = query(
        strata,
        result,
        "SELECT count(*) AS n, min(start_ns) AS begin, min(end_ns) AS end FROM slices "
        "WHERE task_type LIKE '%AddmmBackward0%' AND copy = 0",
    )[0]
    last = query(strata, result, f"SELECT max(end_ns) AS ns FROM slices WHERE thread = '{event['thread']}'")[0]["ns"]
    alike = query(
        strata,
        result,
        "SELECT row, start_ns, end_ns FROM slices WHERE task_type = 'aten::linear' AND copy = 0 ORDER BY start_ns",
    )
    span = [event["start_ns"], event["end_ns"]]
    operators = strata.report(result, "operators", "-time-filter", ":".join(in_seconds(ns) for ns in span))["rows"]
    return {
        "event": {
            "name": event["task_type"],
            "begin_ns": event["start_ns"],
            **{key: event[key] for key in ("end_ns", "wall_ns", "self_ns")},
        },
        "thread": event["thread"],
        "search": {"text": "AddmmBackward0", "total": hits["n"], "window": [hits["begin"], hits["end"]]},
        "namesakes": {
            "name": "aten::linear",
            "rows": [one["row"] for one in alike],
            "window": [alike[0]["start_ns"] - 10_000, alike[1]["end_ns"] + 10_000],
        },
        "empty": [last + 1_000_000, last + 3_000_000],
        "range": span,
        "in_range": [{"name": row["operator"], "wall_total_ns": row["wall_total_ns"]} for row in operators],
        "python": "compute",  # a function of the program
        "event_lines": lines_of(strata, result),
        **reports(strata, result, span),
    }


def lines_of(strata, result):
    """Lines of the program with the most CPU time in the event: those of a stack have the same total."""
    rows = strata.report(result, "hotspots", "-group-by", "python-line", "-filter", f"task-type={EVENT}")["rows"]
    own = [row for row in rows if row["python_line"].startswith(f"{STEPS}:")]
    most = max(row["cpu_total_ns"] for row in own)
    return [int(row["python_line"].rpartition(":")[2]) for row in own if row["cpu_total_ns"] == most]


def reports(strata, result, span):
    function = ("hotspots", "-group-by", "function")
    words = ("-time-filter", ":".join(in_seconds(ns) for ns in span))
    hotspots = strata.report(result, *function)
    return {
        "total_ns": hotspots["totals"]["cpu_self_ns"],
        "texts": {form: strata("report", *function, "-r", result, "-format", form).out for form in FORMS},
        "reports": {
            "hotspots": hotspots,
            "hotspots_in_range": strata.report(result, *function, *words),
            "by_task": strata.report(result, "hotspots", "-group-by", "task-domain,task-type"),
            "operators": strata.report(result, "operators", "-group-by", "operator"),
        },
    }


def about_other(strata, result):
    hotspots = strata.report(result, "hotspots", "-group-by", "function")
    [task] = query(strata, result, "SELECT task_type, python_line FROM slices WHERE python_line IS NOT NULL")
    line = int(task["python_line"].rpartition(":")[2])
    return {
        "name": result.name,
        "total_ns": hotspots["totals"]["cpu_self_ns"],
        "task": {"name": task["task_type"], "line": line, "source": OTHER.read_text().splitlines()[line - 1].strip()},
    }


@pytest.fixture(scope="module")
def served(shared_strata, python, strata_binary):
    """Address of a server, with a result that was just collected, and what the command line says about it."""
    folder = shared_strata.folder / "results"
    folder.mkdir()
    result = folder / "r000hs"
    done = shared_strata("-collect", "hotspots", "-quiet", "-r", result, "--", python, STEPS)
    assert done.status == 0, done.err
    lines = ("-knob", "task-lines=true", "--", python, OTHER)
    other = shared_strata("-collect", "hotspots", "-quiet", "-r", folder / "r001hs", *lines)
    assert other.status == 0, other.err
    imported = shared_strata("import", "-quiet", "-r", folder / "r002op", TRACE)
    assert imported.status == 0, imported.err
    words = [strata_binary, "serve", "-data-directory", folder]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        address = ""
        while not address:
            line = server.stdout.readline()
            assert line, "the server ended"
            found = re.search(r"https?://\S+", line)
            address = found.group() if found else ""
        yield shared_strata, address, result
        server.terminate()


def outcomes(address, context, tmp):
    path = tmp / "context.json"
    path.write_text(json.dumps(context))
    done = subprocess.run(
        ["node", WEB / "walk.js", address, path],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "STRATA_TEST_SHOTS": str(tmp)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def seen(served, tmp_path_factory):
    """Outcome of every case; the token of the address is good once, so that both scripts share one log-in."""
    strata, address, result = served
    tmp = tmp_path_factory.mktemp("page")
    context = facts(strata, result)
    context["names"] = {"hs": "r000hs", "second": "r001hs", "gpu": "r002op"}
    other = result.with_name("r001hs")
    context["other"] = about_other(strata, other)
    context["trace"] = launched(strata, result.with_name("r002op"))
    return outcomes(address, context, tmp)


def test_there_are_fifteen():
    assert [name[:14] for name in INTERACTIONS] == [f"interaction_{number:02d}" for number in range(1, 16)]


@pytest.mark.parametrize("case", INTERACTIONS)
def test_interaction(seen, case):
    assert seen[case] == "ok", seen[case]


@pytest.mark.parametrize("case", OTHERS)
def test_page(seen, case):
    assert seen[case] == "ok", seen[case]
