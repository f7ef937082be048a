# SPDX-License-Identifier: Apache-2.0
"""Runs examples one after the other in one process, an argument for each; prints what each printed, as JSON."""

import contextlib
import io
import json
import runpy
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def run(words):
    sys.argv = [str(EXAMPLES / words[0]), *words[1:]]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(sys.argv[0], run_name="__main__")
    return out.getvalue()


print(json.dumps({line: run(line.split()) for line in sys.argv[1:]}))
