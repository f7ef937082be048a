# SPDX-License-Identifier: Apache-2.0
"""profile_cycle.py CYCLES: starts and stops strata.profile and torch.profiler in turn round the same few operators.

Prints milliseconds as one line of JSON; the first cycle of each, which loads what the others find loaded, by itself.
"""

import json
import sys
import time

import strata
import torch
from torch.profiler import ProfilerActivity, profile


def cycle(make, tensor):
    """What start() and stop() take; the operators between them are not counted."""
    began = time.perf_counter()
    one = make()
    one.start()
    started = time.perf_counter()
    for _ in range(10):
        tensor.add(1)
    ending = time.perf_counter()
    one.stop()
    return (started - began + time.perf_counter() - ending) * 1e3


def main():
    tensor = torch.zeros(16)
    ways = {
        "strata": lambda: strata.profile(activities=[strata.ProfilerActivity.CPU]),
        "torch": lambda: profile(activities=[ProfilerActivity.CPU]),
    }
    taken = {name: [] for name in ways}
    for _ in range(int(sys.argv[1])):
        for name, make in ways.items():
            taken[name].append(cycle(make, tensor))
    print(json.dumps({"first": {name: all_[0] for name, all_ in taken.items()},
                      "cycles": {name: all_[1:] for name, all_ in taken.items()}}))  # fmt: skip


main()
