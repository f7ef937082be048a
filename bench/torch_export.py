# SPDX-License-Identifier: Apache-2.0
"""torch_export.py STEPS TRACE: trains a small model under torch.profiler with shapes, and lets that write its trace.

Prints how long the writing took and what it wrote as JSON. Run under `strata -collect operators`, which records the
same operators.
"""

import json
import os
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


def main():
    steps, path = int(sys.argv[1]), sys.argv[2]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10)
    )
    optimizer = torch.optim.Adam(model.parameters())
    data, target = torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        for _ in range(steps):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data), target).backward()
            optimizer.step()
    begin = time.perf_counter()
    prof.export_chrome_trace(path)
    seconds = time.perf_counter() - begin
    with open(path, encoding="utf-8") as trace:
        events = sum('"cat": "cpu_op"' in line or '"cat": "user_annotation"' in line for line in trace)
    print(json.dumps({"export_s": seconds, "trace_bytes": os.path.getsize(path), "operators": events}))


if __name__ == "__main__":
    main()
