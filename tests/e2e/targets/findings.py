# SPDX-License-Identifier: Apache-2.0
"""Training and inference loops with one thing worth changing each, and the same without it.

usage: findings.py RULE bad|good|both [STEPS]
both: the two take turns in one process; prints the median seconds of a step of each, as JSON.
"""

import json
import statistics
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.profiler import record_function

torch.set_num_threads(1)
torch.manual_seed(0)


def network(channels=16):
    return nn.Sequential(
        nn.Conv2d(3, channels, 3), nn.ReLU(), nn.Conv2d(channels, channels, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10),
    )  # fmt: skip


class Training:
    def __init__(self, dtype=torch.float32, batch=8, size=32):
        self.model = network().to(dtype).to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        images = torch.randn(batch, 3, size, size, dtype=dtype)
        self.images = images.to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 10, (batch,))

    def step(self):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(self.images), self.labels)
        loss.backward()
        self.optimizer.step()


def double_precision(bad):
    return Training(torch.float64 if bad else torch.float32).step


def scalar_reads(bad):
    """Sums numbers that it reads one by one."""
    training, values = Training(batch=2), torch.rand(6000)

    def step():
        training.step()
        total = 0.0
        if bad:
            for i in range(len(values)):
                total += values[i].item()
        else:
            total = sum(values.tolist())
        return total

    return step


def tiny_operators(bad):
    training, parts = Training(batch=2), [torch.rand(16) for _ in range(800)]
    together = torch.stack(parts)

    def step():
        training.step()
        if bad:
            for part in parts:
                torch.mul(torch.add(part, 1.0), 0.5)
        else:
            torch.mul(torch.add(together, 1.0), 0.5)

    return step


class Slow(torch.utils.data.Dataset):
    """Samples that take a while to make."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        end = time.perf_counter() + 0.001
        while time.perf_counter() < end:
            pass
        return torch.zeros(3, 32, 32), index % 10


def data_wait(bad):
    training = Training(batch=8)
    workers = {} if bad else {"num_workers": 1, "prefetch_factor": 4}
    batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=8, **workers))

    def step():
        training.images, training.labels = next(batches)
        for _ in range(2):
            training.step()

    return step


def work_in_range(bad):
    training, mask = Training(batch=2), torch.rand(1000, 1000) > 0.5

    def step():
        training.step()
        with record_function("LABEL2: masking"):
            if bad:
                np.argwhere(mask.numpy())
            else:
                mask.any()

    return step


def layout(bad):
    """Convolutions on data that oneDNN does not want in that order."""
    convolutions = nn.Sequential(*[nn.Conv2d(16, 16, 3, padding=1) for _ in range(6)])
    images = torch.randn(8, 16, 64, 64)
    if not bad:
        convolutions = convolutions.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)

    def step():
        with torch.no_grad():
            convolutions(images)

    return step


def spin(bad):
    """Many short parallel regions."""
    torch.set_num_threads(2 if bad else 1)
    values = torch.rand(40000)

    def step():
        for _ in range(200):
            values.mul(2.0)
            sum(range(400))

    return step


def oversubscription(bad):
    torch.set_num_threads(8 if bad else 1)
    left, right = torch.rand(400, 400), torch.rand(400, 400)

    def step():
        for _ in range(4):
            left @ right

    return step


def run(step, count):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        with record_function("step"):
            step()
        times.append(time.perf_counter() - began)
    return times


def main():
    make = globals()[sys.argv[1].replace("-", "_")]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    if sys.argv[2] != "both":
        run(make(sys.argv[2] == "bad"), count)
        return
    steps, times = {way: make(way == "bad") for way in ("bad", "good")}, {"bad": [], "good": []}
    for way in steps:
        run(steps[way], 5)
    for _ in range(count):
        for way, step in steps.items():
            times[way] += run(step, 1)
    print(json.dumps({way: statistics.median(values) for way, values in times.items()}))


if __name__ == "__main__":
    main()
