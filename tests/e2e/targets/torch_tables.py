# SPDX-License-Identifier: Apache-2.0
"""torch_tables.py FILE: tables of torch's own code over rows of ours.

FILE is JSON: [{"rows": rows of torch-averages, "profile": {...}, "table": {...}}]; prints a JSON list of texts.
"""

import json
import sys

from torch.autograd import DeviceType
from torch.autograd.profiler_util import EventList, FunctionEventAvg


def average(row, device):
    avg = FunctionEventAvg()
    for name, value in row.items():
        if name in ("cpu_time", "device_time", "id", "children", "cpu_parent", "stack", "input_shapes", "is_on_device"):
            continue
        setattr(avg, name, value)
    avg.node_id = -1
    avg.use_device = device
    avg.device_type = DeviceType.CUDA if row["is_on_device"] else DeviceType.CPU
    avg.cpu_parent = row.get("cpu_parent")
    avg.stack = row["stack"].split("\n") if row["stack"] else []
    avg.input_shapes = json.loads(row["input_shapes"]) if row["input_shapes"] else ""
    return avg


with open(sys.argv[1]) as asked:
    cases = json.load(asked)
texts = []
for case in cases:
    device = case["profile"].get("use_device", "cuda")
    rows = EventList([average(row, device) for row in case["rows"]], **case["profile"])
    texts.append(rows.table(**case["table"]))
json.dump(texts, sys.stdout)
