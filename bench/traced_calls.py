# SPDX-License-Identifier: Apache-2.0
"""What profile(with_stack=True) adds to a call of Python, and to an operator with the calls around it: strata's and
torch's in turn, in one process. Thread time while it records; starting and stopping are not in it.
Words: rounds=N, profiles of each at most.
"""

import importlib
import json
import sys

import torch
from pace import Pace

LAYERS, TURNS, CALLS, PIECES = 20, 3, 1000, 8
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


def main():
    torch.set_num_threads(1)
    pace = Pace()
    modules = {"strata": importlib.import_module("strata"), "torch": importlib.import_module("torch.profiler")}

    def pieces(work):
        work()
        return [pace.timed(work) for _ in range(PIECES)]

    def profiled(way, work):
        with modules[way].profile(activities=[modules[way].ProfilerActivity.CPU], with_stack=True):
            return pieces(work)

    found = {}
    with torch.no_grad():
        for name, work, count in (("call", calls, 2 * CALLS), ("operator", operators, TURNS * OPERATORS)):
            ways = {way: lambda way=way, work=work: profiled(way, work) for way in modules}
            ways["none"] = lambda work=work: pieces(work)
            found[name] = pace.gather(ways, count, 4 * PIECES, rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
