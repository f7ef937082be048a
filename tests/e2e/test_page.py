# SPDX-License-Identifier: Apache-2.0
"""The table pages of strata serve in a real browser, on results of PyTorch that were collected in the same run.

Every number on the page is compared with what the command line prints for the same question; each case of
tests/web/page_tables.js is a test here. The fifteen interactions are in test_page_interactions.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples/slow_training.py"
BROWSER = ROOT / "tests/web/page_tables.js"
CASES = re.findall(r"^\t(?:async )?([a-z_]+_[a-z_0-9]+)(?:\(|:)", BROWSER.read_text(), re.MULTILINE)


def ask(strata, *words):
    sys.setrecursionlimit(20_000)
    done = strata.run([strata.binary, *words, "-format", "json"])
    assert done.status == 0, done.err
    return json.loads(done.stdout)


def expected(strata, hotspots, operators):
    """What the page must show: the command line's answers."""
    function = ["report", "hotspots", "-group-by", "function", "-r", hotspots]
    object_ = ["-source-object", f"source-file={SCRIPT}"]
    torch = strata.run(
        [strata.binary, "report", "torch-averages", "-report-knob", "sort-by=self_cpu_time_total", "-r", operators]
    )
    name, percent, time = torch.out.splitlines()[3].split()[:3]
    summary = ask(strata, "report", "summary", "-r", hotspots)
    elapsed = next(row["value"] for row in summary["rows"] if row["name"] == "elapsed_ns")
    half = [elapsed // 2, elapsed]
    return {
        "half": half,
        "script": str(SCRIPT),
        "torch_table": {"name": name, "self_percent": percent, "self_cpu": time},
        "reports": {
            "hotspots": ask(strata, *function),
            "operators": ask(strata, "report", "operators", "-group-by", "operator", "-r", operators),
            "summary": summary,
            "summary_half": ask(
                strata, "report", "summary", "-r", hotspots, "-time-filter", ":".join(f"{ns / 1e9:.9f}" for ns in half)
            ),
            "summary_thread": ask(strata, "report", "summary", "-r", hotspots, "-filter", "thread=main*"),
            "source": ask(strata, "report", "source", *object_, "-r", hotspots),
            "top_down": ask(strata, "report", "top-down", "-r", hotspots),
            "callers": ask(strata, "report", "gprof-cc", "-r", hotspots),
            "memory": ask(strata, "report", "memory", "-group-by", "operator", "-r", operators),
            "threads": ask(
                strata, "report", "hotspots", "-group-by", "process,thread,cpu-class,function", "-r", hotspots
            ),
            "utilization": ask(strata, "report", "utilization", "-r", hotspots),
            "quality": ask(strata, "report", "quality", "-r", hotspots),
            "info": ask(strata, "report", "info", "-r", hotspots),
            "compare": ask(strata, "compare", "operators", "-r", hotspots, "-against", operators),
        },
    }


@pytest.fixture(scope="module")
def walked(shared_strata, python, tmp_path_factory):
    """The outcome of each case: one browser walks them all over one server."""
    strata, folder = shared_strata, shared_strata.folder / "data"
    folder.mkdir()
    hotspots, operators = folder / "r000hs", folder / "r001op"
    for kind, result, more in (
        ("hotspots", hotspots, ["-knob", "collect-operators=true"]),
        ("operators", operators, []),
    ):
        done = strata("-collect", kind, "-r", result, *more, "--", python, SCRIPT, "40", timeout=300)
        assert done.status == 0, done.err
    context = tmp_path_factory.mktemp("page") / "context.json"
    context.write_text(json.dumps({**expected(strata, hotspots, operators), "names": {"hs": "r000hs", "op": "r001op"}}))
    server = strata.popen(
        [strata.binary, "serve", "--data-directory", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    address = server.stdout.readline().decode().strip()
    assert re.match(r"http://", address), address
    done = subprocess.run(["node", BROWSER, address, context], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_page(walked, case):
    assert walked[case] == "ok", walked[case]
