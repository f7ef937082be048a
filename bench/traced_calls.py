# SPDX-License-Identifier: Apache-2.0
"""What profile(with_stack=True) adds to a call of Python, and to an operator with the calls around it: strata's and
torch's in turn, in one process. Thread time while it records; starting and stopping are not in it.
Words: rounds=N.
"""

import importlib
import json
import random
import sys
import time

import torch

LAYERS, TURNS, CALLS = 20, 10, 4000
OPERATORS = 10 * LAYERS  # of a Linear on the CPU: 10
rounds = next((int(word[7:]) for word in sys.argv[1:] if word.startswith("rounds=")), 20)


def inner(value):
    return abs(value)


def calls():
    for value in range(CALLS):
        inner(value)


layers = [torch.nn.Linear(4, 4) for _ in range(LAYERS)]
data = torch.randn(2, 4)


def operators():
    value = data
    for _ in range(TURNS):
        for layer in layers:
            value = layer(value)


def timed(work):
    began = time.thread_time_ns()
    work()
    return time.thread_time_ns() - began


def main():
    torch.set_num_threads(1)
    loops = {"call": (calls, 2 * CALLS), "operator": (operators, TURNS * OPERATORS)}
    modules = {"strata": importlib.import_module("strata"), "torch": importlib.import_module("torch.profiler")}
    found = {name: {way: [] for way in ("none", *modules)} for name in loops}
    draw, order = random.Random(0), ["none", *modules]
    with torch.no_grad():
        for _ in range(rounds):
            draw.shuffle(order)
            for way in order:
                for name, (work, count) in loops.items():
                    if way == "none":
                        ns = timed(work)
                    else:
                        with modules[way].profile(activities=[modules[way].ProfilerActivity.CPU], with_stack=True):
                            ns = timed(work)
                    found[name][way].append(ns / count)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
