# SPDX-License-Identifier: Apache-2.0
"""torch_tables.py FILE: tables of torch's own code over rows of ours.

FILE is JSON: [{"rows": rows of torch-averages, "profile": {...}, "table": {...}}]; prints a JSON list of texts.
"""

import json
import sys

from torch.autograd.profiler_util import EventList, FunctionEventAvg


def average(row):
    avg = FunctionEventAvg()
    for name, value in row.items():
        if name in ("cpu_time", "id", "children", "cpu_parent", "stack", "input_shapes"):
            continue
        setattr(avg, name, value)
    avg.node_id = -1
    avg.cpu_parent = row.get("cpu_parent")
    avg.stack = row["stack"].split("\n") if row["stack"] else []
    avg.input_shapes = json.loads(row["input_shapes"]) if row["input_shapes"] else ""
    return avg


with open(sys.argv[1]) as asked:
    cases = json.load(asked)
texts = []
for case in cases:
    rows = EventList([average(row) for row in case["rows"]], **case["profile"])
    texts.append(rows.table(**case["table"]))
json.dump(texts, sys.stdout)
