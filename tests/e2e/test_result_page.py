# SPDX-License-Identifier: Apache-2.0
"""`strata export html`: one file that opens from disk in a real browser and says what the command line says."""

import json
import os
import re
import subprocess
import sys

import pytest
from harness import ROOT, TARGETS

WEB = ROOT / "tests" / "web"


def browse(path, picture):
    command = ["node", WEB / "result_page.js", os.fspath(path), os.fspath(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def export(strata, result):
    path = strata.folder / f"{result.name}.html"
    done = strata("export", "html", "-r", result, "-o", path)
    assert done.status == 0, done.err
    return path


def table_of(seen, column):
    return next(table for table in seen["tables"] if table["heads"][0] == column)


@pytest.fixture(scope="module")
def sampled(shared_strata):
    result = shared_strata.folder / "sampled"
    done = shared_strata(
        "-collect", "hotspots", "-knob", "sampling-interval=1", "-quiet", "-no-summary", "-r", result, "--",
        sys.executable, TARGETS / "flames.py",
    )  # fmt: skip
    assert done.status == 0, done.err
    return shared_strata, result


def test_page_of_samples(sampled):
    strata, result = sampled
    path = export(strata, result)
    assert path.stat().st_size < 20_000_000
    seen = browse(path, strata.folder / "result-page.png")
    assert seen["errors"] == [], "an error of the script, or a request to the outside"
    assert seen["requests"] == [f"file://{path}"], "nothing is loaded but the file"
    assert [name for name, _ in seen["light"]["sections"]] == [
        "summary", "findings", "timeline", "operators", "functions", "quality", "flame",
    ]  # fmt: skip
    assert all(length > 20 for name, length in seen["light"]["sections"] if name != "flame")
    assert not seen["light"]["overflows"], "the page is as wide as the window"
    assert seen["light"]["colours"] != seen["dark"]["colours"]
    assert seen["flames"] > 10, "the flame graph is drawn"
    ground, title, name = ([int(part) for part in re.findall(r"\d+", colour)] for colour in seen["dark_flames"])
    assert max(ground) < 60 < 200 < min(title), "in the dark: light text on dark ground"
    assert max(name) < 60, "and names in bright boxes stay dark"

    # The functions are those of the report, to the nanosecond.
    asked = json.loads(strata("report", "hotspots", "-r", result, "-format", "json").stdout)
    table = table_of(seen["light"], "Function")
    column = table["heads"].index("CPU Time")
    assert [(row[0], int(row[column])) for row in table["rows"]] == [
        (row["function"], row["cpu_self_ns"]) for row in asked["rows"][:500]
    ]
    missing = [text for text in seen["light"]["left"] if "operators" in text.lower() or "-collect" in text]
    assert missing, "what is not there is said, with the command that records it"


def test_page_of_operators(shared_strata, programs):
    result = shared_strata.folder / "made"
    shared_strata.run([programs / "make_result", result, "100000", "50", "300"])
    seen = browse(export(shared_strata, result), shared_strata.folder / "made-page.png")
    assert seen["errors"] == []
    asked = json.loads(shared_strata("report", "operators", "-r", result, "-format", "json").stdout)
    rows = table_of(seen["light"], "Operator")["rows"]
    assert [(row[0], int(row[1])) for row in rows] == [(row["operator"], row["count"]) for row in asked["rows"]]
    assert len(rows) == 300
    by_name = [row[0] for row in table_of(seen["sorted"], "Operator")["rows"]]
    assert by_name == sorted(by_name, reverse=True)
    # Each thread has a row up to the limit; the others are counted.
    drawn = [name for name in seen["light"]["names"] if re.match(r"(main|thread) \(", name)]
    left = next(int(text.split()[0]) for text in seen["light"]["left"] if "more rows" in text)
    assert len(drawn) + left == 50
    assert any("aten::operator_" in title for title in seen["light"]["boxes"])
    assert any("samples" in text for text in seen["light"]["left"]), "why there is no flame graph"
