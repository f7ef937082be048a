# SPDX-License-Identifier: Apache-2.0
"""What each way to watch operators adds to one, toggled inside of one process; printed as JSON.

usage, under strata -collect operators:
  operator_cost.py operators LIBEMPTY [shapes] [stack] [rounds=N]
      our callbacks, empty ones, torch.profiler's, and none, in random order: ns of CPU time per operator
  operator_cost.py modules [rounds=N]
      calls of nn.Module with our slot and with CPython's: ns per call; "new": before the ring was full once
  N times at most, best=NS is for pace.py
usage, alone:
  operator_cost.py loop N [table]
      N operators in a loop; with "table" under torch.profiler, whose table is made; prints the seconds of each
"""

import contextlib
import ctypes
import json
import os
import sys
import time

import torch
from pace import Pace

# A linear layer of this kind is ten operators.
LAYERS, OPERATORS = 20, 200
TURNS = 3  # of a piece: half a millisecond, in which the machine hardly ever changes its speed
MODULE_TURNS = 8 * TURNS
PIECES = 4
RING_BYTES, CALL_BYTES = 1 << 20, 16
words = sys.argv[2:]
rounds = next((int(word[7:]) for word in words if word.startswith("rounds=")), 100)
pace = None if sys.argv[1] == "loop" else Pace()
profiled = {"activities": [torch.profiler.ProfilerActivity.CPU]}


def library():
    return ctypes.CDLL(torch.__file__.replace("__init__.py", "lib/libtorch_cpu.so"))


class Switch:
    """Our callbacks: all that were registered before anything of this program was."""

    def __init__(self):
        self.torch = library()
        self.disable = self.torch._ZN2at15disableCallbackEm
        self.enable = self.torch._ZN2at16reenableCallbackEm
        self.disable.argtypes = self.enable.argtypes = [ctypes.c_uint64]

    def set(self, on):
        # Unknown handles are only warned of.
        for handle in range(1, 16):
            (self.enable if on else self.disable)(handle)


def work(layers, data, turns=TURNS):
    for _ in range(turns):
        for layer in layers:
            data = layer(data)


@contextlib.contextmanager
def empty(switch):
    add = ctypes.cast(switch.torch._ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, ctypes.c_void_p)
    watcher = ctypes.CDLL(words[0])
    watcher.empty_add.restype = ctypes.c_uint64
    handle = watcher.empty_add(add, "shapes" in words)
    remove = switch.torch._ZN2at14removeCallbackEm
    remove.argtypes = [ctypes.c_uint64]
    yield
    remove(handle)


@contextlib.contextmanager
def ours(switch):
    switch.set(True)
    yield
    switch.set(False)


def profiler(switch):
    return torch.profiler.profile(record_shapes="shapes" in words, with_stack="stack" in words, **profiled)


@contextlib.contextmanager
def nothing(switch):
    yield


def operators():
    layers = [torch.nn.Linear(4, 4) for _ in range(LAYERS)]
    data = torch.randn(2, 4)
    switch = Switch()
    switch.set(False)

    def pieces(way):
        with way(switch):
            work(layers, data)
            return [pace.timed(lambda: work(layers, data)) for _ in range(PIECES)]

    ways = {"none": nothing, "empty": empty, "ours": ours, "profiler": profiler}
    with torch.no_grad():
        return pace.gather(
            {name: lambda way=way: pieces(way) for name, way in ways.items()},
            TURNS * OPERATORS,
            20 * PIECES,
            rounds,
        )


def modules():
    """The slot is the word at 128 of a class; CPython's function is that of any class with a __call__."""

    class Plain:
        def __call__(self):
            pass

    def slot(kind):
        return ctypes.c_uint64.from_address(id(kind) + 128)

    net = torch.nn.Sequential(*(torch.nn.Identity() for _ in range(LAYERS - 1)))
    data = torch.randn(1)
    Switch().set(False)
    kinds = {type(module) for module in net.modules()}
    values = {"none": {kind: slot(Plain).value for kind in kinds}, "ours": {kind: slot(kind).value for kind in kinds}}
    if values["none"] == values["ours"]:
        sys.exit("modules are not recorded")

    def use(name):
        for kind in kinds:
            slot(kind).value = values[name][kind]

    def pieces(name):
        use(name)
        work([net], data)
        return [pace.timed(lambda: work([net], data, MODULE_TURNS)) for _ in range(PIECES)]

    def gathered():
        return pace.gather(
            {name: lambda name=name: pieces(name) for name in values},
            MODULE_TURNS * LAYERS,
            20 * PIECES,
            rounds,
        )

    # As long as the thread's ring is new, each of its pages comes with a fault.
    new = gathered()
    use("ours")
    work([net], data, RING_BYTES // CALL_BYTES // LAYERS)
    return {**gathered(), "new": new}


def loop():
    """As a user would do it: from before the first operator to the table."""
    count = int(words[0])
    layers = [torch.nn.Linear(4, 4) for _ in range(LAYERS)]
    data = torch.randn(2, 4)
    began = time.perf_counter()
    with torch.profiler.profile(**profiled) if "table" in words else contextlib.nullcontext() as profile:
        with torch.no_grad():
            for _ in range(count // (OPERATORS * TURNS) + 1):
                work(layers, data)
    recorded = time.perf_counter()
    if profile:
        averages = profile.key_averages()
        averages.table(sort_by="cpu_time_total")
    made = time.perf_counter()
    turns = (count // (OPERATORS * TURNS) + 1) * TURNS
    return {"count": turns * OPERATORS, "recorded_s": recorded - began, "table_s": made - recorded}


def main():
    torch.set_num_threads(1)
    if sys.argv[1] != "loop":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(json.dumps({"operators": operators, "modules": modules, "loop": loop}[sys.argv[1]]()))


main()
