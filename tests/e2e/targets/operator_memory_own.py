# SPDX-License-Identifier: Apache-2.0
"""A program that profiles its own memory: prints what torch.profiler tells it of each block."""

import json
import os
import sys
import tempfile

import torch
from torch.profiler import profile

KIB = 1 << 10
blocks = {number: torch.empty(number * KIB, dtype=torch.uint8) for number in range(1, 9)}  # nobody was told of these


def told(code):
    """Bytes, and the sum of all blocks behind it, in order of time."""
    with profile(profile_memory=True) as prof:
        code()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        prof.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = [event for event in json.load(file)["traceEvents"] if event.get("name") == "[memory]"]
    events.sort(key=lambda event: event["ts"])
    return [(event["args"]["Bytes"], event["args"]["Total Allocated"]) for event in events]


def make(*numbers):
    for number in numbers:
        blocks[number] = torch.empty(number * KIB, dtype=torch.uint8)


def free(*numbers):
    for number in numbers:
        del blocks[number]


def first():
    make(11, 12, 13)
    free(1, 2, 12)


def second():
    make(15)
    free(3, 11, 14, 15)


cycles = [told(first)]
make(14)
free(4)
cycles.append(told(second))
json.dump(cycles, sys.stdout)
