# SPDX-License-Identifier: Apache-2.0
"""A training loop that makes its batches from Python lists; prints, by the thread's own clock, the CPU time of steps
and of their batches, and what the process used before the first.

usage: list_batches.py [range|plain|arrays]
"""

import contextlib
import json
import math
import random
import sys
import time

import torch
from torch import nn

LENGTH, BATCH, STEPS = 256, 64, 24


def sample():
    phase = random.random() * 2 * math.pi
    return [math.sin(0.1 * i + phase) + random.gauss(0, 0.3) for i in range(LENGTH)]


def next_batch():
    if "arrays" in sys.argv:
        return torch.sin(0.1 * torch.arange(LENGTH) + 2 * math.pi * torch.rand(BATCH, 1))
    return torch.tensor([sample() for _ in range(BATCH)])


def main():
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(LENGTH, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = steps = 0.0
    before = time.process_time()
    for _ in range(STEPS):
        began = time.thread_time()
        with torch.profiler.record_function("augment") if "range" in sys.argv else contextlib.nullcontext():
            inputs = next_batch()
        made = time.thread_time()
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
        batches += made - began
        steps += time.thread_time() - began
    print(json.dumps({"batches": batches, "steps": steps, "before": before}))


main()
