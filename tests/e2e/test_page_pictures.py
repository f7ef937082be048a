# SPDX-License-Identifier: Apache-2.0
"""How the page looks: screenshots of kept results in Chromium, compared with kept screenshots (tests/web/pictures.js).

After a wanted change, STRATA_TEST_RENEW_PICTURES=1 writes them anew, also the one that the README shows; look at them.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import strict_json
from served import Server, is_built  # noqa: F401

TESTS = Path(__file__).parents[1]
SCRIPT = TESTS / "web" / "pictures.js"
CASES = re.findall(r"^\t(?:async )?([a-z]+_[a-z_0-9]+): ", SCRIPT.read_text(), re.MULTILINE)
OPERATOR = "aten::convolution"


@pytest.fixture(scope="module")
def seen(shared_strata, tmp_path_factory):
    data = shared_strata.folder / "data"
    shutil.copytree(TESTS / "data" / "result_v1_5" / "operators", data / "earlier")
    done = shared_strata("import", "-q", "-r", data / "training", TESTS / "data" / "torch" / "h200.pt.trace.json.gz")
    assert done.status == 0, done.err
    sql = f"SELECT row, start_ns, end_ns FROM slices WHERE task_type = '{OPERATOR}' ORDER BY start_ns LIMIT 1"
    [event] = strict_json(shared_strata("query", "-r", data / "training", "-format", "json", sql).out)["rows"]
    context = {
        "names": {"trace": "training", "operators": "earlier"},
        "event": {"name": OPERATOR, "row": event["row"], "window": [0, 7_500_000]},
    }
    path = tmp_path_factory.mktemp("pictures") / "context.json"
    path.write_text(json.dumps(context))
    with Server(shared_strata, data) as server:
        done = subprocess.run(
            ["node", SCRIPT, server.url, path], capture_output=True, text=True, timeout=600, check=False, env=os.environ
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_picture(seen, case):
    assert seen[case] == "ok", seen[case]
