# SPDX-License-Identifier: Apache-2.0
"""profiled_by_torch.py FOLDER: a small training loop under torch.profiler, its trace and torch's own figures of it."""

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

folder = sys.argv[1]
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 30 * 30, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    with record_function("forward part"):
        loss = model(torch.randn(4, 3, 32, 32)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


WAYS = {
    "plain.pt.trace.json": {},
    "packed.pt.trace.json.gz": {"record_shapes": True},
    "whole.pt.trace.json": {
        "record_shapes": True,
        "with_stack": True,
        "with_modules": True,
        "profile_memory": True,
    },
}
figures = {}
for name, options in WAYS.items():
    with profile(activities=[ProfilerActivity.CPU], **options) as recorded:
        for _ in range(3):
            step()
            recorded.step()
    recorded.export_chrome_trace(f"{folder}/{name}")
    figures[name] = [
        {"name": event.name, "us": event.time_range.elapsed_us(), "shapes": event.input_shapes}
        for event in recorded.events()
        if not event.is_python_function
    ]
with open(f"{folder}/figures.json", "w") as out:
    json.dump(figures, out)
