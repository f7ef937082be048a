# SPDX-License-Identifier: Apache-2.0
"""Runs a load with the unwind probe in it and prints what it found, as JSON.

usage: unwind_scores.py PROBE_LIBRARY torch|python SECONDS CODE_BYTES

CODE_BYTES: rules are read off the code of modules up to this size.
"""

import ctypes
import json
import random
import sys
import time


class Score(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("right", "wrong", "none")]


class Result(ctypes.Structure):
    """struct probe_result of unwind_probe.h."""

    _fields_ = (
        [(name, ctypes.c_uint64) for name in ("samples", "complete", "recovered", "truncated", "frames")]
        + [(name, Score) for name in ("libunwind", "anonymous_leaf", "leaf", "middle", "derived", "derived_leaf")]
        + [(name, ctypes.c_uint64) for name in ("unflagged", "walk_ns")]
    )


def torch_load():
    """A training step: convolutions, batch norm, Adam."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 30 * 30, 10),
    )
    optimizer = torch.optim.Adam(model.parameters())
    images, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


class Key:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value


def fib(number):
    return number if number < 2 else fib(number - 1) + fib(number - 2)


def python_load():
    """Recursion, comparisons called from C, and C code that builds strings."""

    def step():
        fib(14)
        sorted(Key(random.random()) for _ in range(200))
        json.dumps([{str(i): i} for i in range(300)])

    return step


def main():
    library, load, seconds, most_code = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    step = {"torch": torch_load, "python": python_load}[load]()
    step()
    probe = ctypes.CDLL(library)
    if probe.probe_start(1000, ctypes.c_uint64(most_code)):
        sys.exit("the probe did not start")
    end = time.thread_time() + seconds  # as the probe counts
    while time.thread_time() < end:
        step()
    result = Result()
    probe.probe_stop(ctypes.byref(result))
    plain = {}
    for name, _ in Result._fields_:
        value = getattr(result, name)
        plain[name] = value if isinstance(value, int) else {key: getattr(value, key) for key, _ in Score._fields_}
    print(json.dumps(plain))


main()
