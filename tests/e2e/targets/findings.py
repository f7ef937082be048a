# SPDX-License-Identifier: Apache-2.0
"""Training and inference loops with one thing worth changing each, and the same without it.

usage: findings.py PROGRAM bad|good|check [COUNT]
check: the two take turns in one process, COUNT times; prints the median seconds of a step of each, as JSON, with what
strata promises for steps of "bad" that are recorded in between (by strata.profile), so that all are measured on the
machine as it is then. The two themselves are not recorded: a program is made faster for the time when nobody watches.
"""

import json
import os
import statistics
import subprocess
import sys
import time

if len(sys.argv) > 2 and sys.argv[2] == "check":
    import strata.profiler  # before torch: oneDNN looks for a collector when it is loaded

import numpy as np
import torch
from torch import nn
from torch.profiler import record_function

torch.set_num_threads(1)
torch.manual_seed(0)

BLOCK = 8  # steps of one kind in a row


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
    """Most of a step are convolutions, on any machine."""
    return Training(torch.float64 if bad else torch.float32, batch=16).step


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
    """Samples that have to be waited for, as those on a disk."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        time.sleep(0.005)
        return torch.zeros(3, 32, 32), index % 10


def data_wait(bad, workers=4):
    """Making a batch takes some two times as long as using it; what a worker hands over takes a millisecond."""
    training = Training(batch=8)
    options = {} if bad else {"num_workers": workers}
    batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=8, **options))
    next(batches)
    for _ in range(40):  # workers begin
        training.step()

    def step():
        training.images, training.labels = next(batches)
        for _ in range(8):
            training.step()

    return step


def data_wait_one(bad):
    return data_wait(bad, 1)


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


def work_in_range_python(bad):
    training, values = Training(batch=2), torch.rand(200, 400)
    numbers = values.tolist()

    def step():
        training.step()
        with record_function("LABEL1: weights"):
            if bad:
                sum(x * x for row in numbers for x in row if x > 0.5)
            else:
                values.square().mul(values > 0.5).sum()

    return step


def layout(bad):
    """Convolutions of each channel on data that oneDNN does not want in that order."""
    torch.empty(7 << 20)  # 28 MiB: once that was freed, the C library keeps blocks that are smaller
    convolutions = nn.Sequential(*[nn.Conv2d(32, 32, 3, padding=1, groups=32) for _ in range(6)])
    images = torch.randn(2, 32, 64, 64)
    if not bad:
        convolutions = convolutions.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)

    def step():
        with torch.no_grad():
            convolutions(images)

    return step


def reorders(bad):
    """Between two primitives in oneDNN's own layout it goes back to that of torch, and forth."""
    images = torch.rand(16, 8, 64, 64).to_mkldnn()

    def step():
        with torch.no_grad():
            data = images
            for _ in range(8):
                data = torch.relu(data)
                if bad:
                    data = data.to_dense().to_mkldnn()

    return step


def shape_churn(bad):
    """Sentences of all lengths; and the same, padded. So few numbers that padding is cheap even where the processor has
    no instructions for them."""
    model = nn.Sequential(*[nn.Linear(32, 32) for _ in range(4)]).bfloat16()
    longest = torch.rand(256, 32).bfloat16()
    length = iter(range(1, 1 << 30))

    def step():
        count = next(length) % len(longest) + 1 if bad else len(longest)
        with torch.no_grad():
            model(longest[:count])

    return step


def allocation_churn(bad):
    left, right, out = torch.rand(10 << 20), torch.rand(10 << 20), torch.empty(10 << 20)

    def step():
        for _ in range(2):
            if bad:
                torch.add(left, right)
            else:
                torch.add(left, right, out=out)

    return step


CPUS = len(os.sched_getaffinity(0))


def spin(bad):
    """As many threads as CPUs, of which one is busy with something else: all wait for the thread that has none."""
    values = torch.rand(33000 * CPUS)
    code = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(1000))"
    subprocess.Popen([sys.executable, "-S", "-c", code, str(os.getpid())])

    def step():
        torch.set_num_threads(CPUS if bad else 1)
        for _ in range(1500):  # longer than a turn of the scheduler's
            values.mul(2.0)

    return step


def oversubscription(bad):
    """Parallel regions that all threads of many have to reach the end of."""
    values = torch.rand(33000 * 4 * CPUS)

    def step():
        torch.set_num_threads(4 * CPUS if bad else CPUS)
        for _ in range(200):
            values.mul(2.0)

    return step


def run(step, count):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        with record_function("step"):
            step()
        times.append(time.perf_counter() - began)
    return times


def check(make, rule, count):
    steps = {way: make(way == "bad") for way in ("bad", "good")}
    times, promised = {"bad": [], "good": []}, []
    for way in steps:
        run(steps[way], BLOCK)
    for _ in range(count):
        for way, step in steps.items():
            times[way] += run(step, BLOCK)
        with strata.profile(record_shapes=True, profile_memory=True, with_modules=True) as profile:
            run(steps["bad"], BLOCK + 2)
        promised += [(row["saving_low_ns"], row["saving_ns"]) for row in profile.result.findings if row["rule"] == rule]
    found = {way: statistics.median(values) for way, values in times.items()}
    if promised:
        found["low"], found["high"] = (statistics.median(values) / 1e9 for values in zip(*promised, strict=True))
    print(json.dumps(found))


def main():
    make = globals()[sys.argv[1].replace("-", "_")]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    if sys.argv[2] != "check":
        run(make(sys.argv[2] == "bad"), count)
        return
    rule = sys.argv[1].removesuffix("-one").removesuffix("-python")
    check(make, rule, count)


if __name__ == "__main__":
    main()
