# SPDX-License-Identifier: Apache-2.0
"""Seven questions that the page answers to somebody who has never seen it, each walked in Chromium by the words on the
page (tests/web/questions.js). The answers are compared with the command line's; pictures of them are in the folder
that the test prints, or in $STRATA_TEST_SHOTS."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import TARGETS, strict_json
from served import Server, is_built  # noqa: F401

pytestmark = pytest.mark.torch

WEB = Path(__file__).parents[1] / "web"
SCRIPT = TARGETS / "page_questions.py"
CASES = re.findall(r"^\tasync (question_\w+)\(", (WEB / "questions.js").read_text(), re.MULTILINE)
PARTS = {
    "data wait": "data_wait_ns",
    "forward": "forward_ns",
    "backward": "backward_ns",
    "optimizer": "optimizer_ns",
    "Python, other": "other_ns",
}
STEP = 3
SHOWN = 3  # rows that the page shows of a thread


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09d}"


def within(begin_ns, end_ns):
    return ("-time-filter", f"{seconds(begin_ns)}:{seconds(end_ns)}")


def query(strata, result, sql):
    done = strata("query", "-r", result, "-format", "json", sql)
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def line_of(strata, result):
    """The line with the most CPU time, by the summary and by the report of the file."""
    rows = strata.report(result, "summary")["rows"]
    first = next(row for row in rows if row["section"] == "own_line")
    steps = {row["name"]: row.get("value") for row in rows if row["section"] == "steady"}
    path, _, line = first["name"].rpartition(":")
    words = ("-source-object", f"source-file={path}", *within(steps["begin_ns"], steps["end_ns"]))
    lines = strata.report(result, "source", *words)["rows"]
    (same,) = [row for row in lines if row.get("line") == int(line)]
    assert same["cpu_total_ns"] == first["cpu_total_ns"]
    return {
        "file": Path(path).name,
        "line": int(line),
        "source": same["source"],
        "cpu_total_ns": first["cpu_total_ns"],
    }


def operator_of(strata, result):
    rows = strata.report(result, "summary")["rows"]
    name = next(row for row in rows if row["section"] == "operator")["name"]
    groups = ("-group-by", "operator,input-shapes,input-types", "-filter", f"operator={name}")
    (row,) = strata.report(result, "operators", *groups)["rows"]
    shapes = row["children"][0]
    return {"name": name, "shapes": shapes["input_shapes"], "count": shapes["children"][0]["count"]}


def step_of(strata, result):
    row = strata.report(result, "steps")["rows"][STEP]
    span = within(row["start_ns"], row["start_ns"] + row["wall_total_ns"])
    operators = strata.report(result, "operators", *span)["rows"]
    return {
        "index": STEP,
        "name": row["step"],
        "parts": {name: row[key] for name, key in PARTS.items()},
        "operators": [one["operator"] for one in operators],
    }


def backward_of(strata, result):
    """What all threads are in while the first event called backward lasts."""
    sql = "SELECT start_ns, end_ns FROM slices WHERE task_type LIKE '%backward%' AND copy = 0 ORDER BY start_ns LIMIT 1"
    (event,) = query(strata, result, sql)
    span = within(event["start_ns"], event["end_ns"])
    groups = ("-group-by", "thread,task-type", "-sort-desc", "wall_self_ns")
    threads = strata.report(result, "tasks", *groups, *span)["rows"]
    rows = []
    for thread in threads:
        rows += [thread["thread"], *(task["task_type"] for task in thread["children"][:SHOWN])]
    return {"threads": [thread["thread"] for thread in threads], "rows": rows}


def behind_addmm(strata, result):
    words = ("-group-by", "function", "-filter", "operator=aten::addmm")
    rows = strata.report(result, "hotspots", *words)["rows"]
    return [{key: row[key] for key in ("function", "cpu_self_ns")} for row in rows]


def changes_of(strata, before, after):
    done = strata("compare", "-r", before, "-against", after, "-format", "json")
    assert done.status == 0, done.err
    found = []
    for section in strict_json(done.stdout)["rows"]:
        for row in section["children"]:
            if row["name"] in ("elapsed time", "step"):
                found.append({key: row[key] for key in ("name", "first_ns", "second_ns", "difference_ns")})
    assert len(found) == 2
    return found


def missing_of(strata, result):
    program = strict_json((result / "result.json").read_bytes())["command"]
    words = program if isinstance(program, str) else " ".join(program)

    def command(options):
        return f"strata {options if options.startswith('-collect') else '-collect operators ' + options} -- {words}"

    rows = strata.report(result, "recorded")["rows"]
    missing = [row for row in rows if row.get("options")]
    assert {"CPU samples", "waits"} <= {row["data"] for row in missing}
    return [{"data": row["data"], "command": command(row["options"])} for row in missing]


@pytest.fixture(scope="module")
def walked(shared_strata, python, tmp_path_factory):
    """The outcome of each walk: one browser walks them all over one server."""
    strata, data = shared_strata, shared_strata.folder / "data"
    data.mkdir()
    sampled = ("hotspots", "-knob", "collect-operators=true", "-knob", "sampling-interval=1")
    for name, how, words in (
        ("before", sampled, []),
        ("after", sampled, ["better"]),
        ("plain", ("operators",), ["better"]),
    ):
        done = strata("-collect", *how, "-quiet", "-r", data / name, "--", python, SCRIPT, *words)
        assert done.status == 0, done.err
    context = {
        "line": line_of(strata, data / "before"),
        "operator": operator_of(strata, data / "before"),
        "step": step_of(strata, data / "before"),
        "backward": backward_of(strata, data / "before"),
        "behind": behind_addmm(strata, data / "before"),
        "changes": changes_of(strata, data / "before", data / "after"),
        "missing": missing_of(strata, data / "plain"),
    }
    shots = tmp_path_factory.mktemp("questions")
    path = shots / "context.json"
    path.write_text(json.dumps(context))
    env = {"STRATA_TEST_SHOTS": str(shots), **os.environ}
    print(f"pictures: {env['STRATA_TEST_SHOTS']}")
    with Server(strata, data) as server:
        done = subprocess.run(
            ["node", WEB / "questions.js", server.url, path],
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
            env=env,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_there_are_seven():
    assert [name[:10] for name in CASES] == [f"question_{number}" for number in range(1, 8)]


@pytest.mark.parametrize("case", CASES)
def test_question(walked, case):
    assert walked[case] == "ok", walked[case]
