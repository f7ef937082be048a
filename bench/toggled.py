# SPDX-License-Identifier: Apache-2.0
"""Pieces of identical work, one for each line on standard input; tells what each took, as JSON.

usage: toggled.py py|torch [pause | events | LIBRARY PERIOD_NS]
A line that begins with "on" has its piece done with sampling: by the empty handler of LIBRARY, or by the perf events
that were opened for this thread before it began (events); pause: with recording, which is paused otherwise. All are
switched by a call right before and after the piece: a profiler that is told from outside runs beside it, and leaves
cold caches behind.
"""

import ctypes
import json
import sys
import time

PR_TASK_PERF_EVENTS_DISABLE, PR_TASK_PERF_EVENTS_ENABLE = 31, 32


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Word:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value


def deep(n):
    return deep(n - 1) if n else python_unit()


def python_unit():
    table = {}
    for i in range(300):
        table[str(i)] = table.get(str(i - 1), 0) + i
    return fibonacci(9) + len(sorted(Word(i * 7919 % 211) for i in range(80))) + len(table)


def torch_unit():
    """A training step of the usual small network, one thread: stacks of some 43 native frames."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    optimizer = torch.optim.Adam(model.parameters())
    images, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


def main():
    kind = sys.argv[1]
    unit = torch_unit() if kind == "torch" else lambda: deep(12)
    switch = None
    if sys.argv[2:] == ["events"]:
        libc = ctypes.CDLL(None)

        def switch(on):
            libc.prctl(PR_TASK_PERF_EVENTS_ENABLE if on else PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0)

    elif sys.argv[2:] == ["pause"]:
        from strata import itt

        def switch(on):
            (itt.resume if on else itt.pause)()

    elif len(sys.argv) > 2:
        library = ctypes.CDLL(sys.argv[2])
        library.empty_open.argtypes = [ctypes.c_uint64]
        library.empty_count.restype = ctypes.c_uint64
        failed = library.empty_open(int(sys.argv[3]))
        if failed:
            sys.exit(f"no event: errno {failed}")
        switch = library.empty_enable
    if switch:
        switch(0)
    # As many units as take about 30 ms, found once: all pieces are the same work.
    for _ in range(20):
        unit()
    began, count = time.process_time(), 0
    while time.process_time() - began < 0.12:
        unit()
        count += 1
    units = max(1, count // 4)
    print(json.dumps({"units": units}), flush=True)
    for line in sys.stdin:
        if switch and line.startswith("on"):
            switch(1)
        began = time.process_time_ns()
        for _ in range(units):
            unit()
        took = time.process_time_ns() - began
        if switch:
            switch(0)
        print(json.dumps({"ns": took}), flush=True)


main()
