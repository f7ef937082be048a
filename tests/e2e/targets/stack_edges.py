# SPDX-License-Identifier: Apache-2.0
"""Operators whose Python lines are hard to tell while calls are recorded: profiled into the folder of argv.

What must be found at a line is said in its last word: the innermost line of that operator, as often as it was called.
"""

import random
import sys
import threading
import time

import strata
import torch
from strata import itt
from torch.utils._python_dispatch import TorchDispatchMode

torch.set_num_threads(1)
small = torch.ones(4, 4)
large = torch.rand(200000)
mask = large > 0.5
drawn = torch._C._profiler._RecordFunctionFast("drawn in C")


class Called(torch.nn.Module):
    __call__ = staticmethod(torch.relu)


class Module(torch.nn.Module):
    def forward(self, value):
        return value.exp()  # aten::exp


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


called, module = Called(), Module()


def range_of_c():
    """Opened and closed without a call that Python tells of; it is only there for who looks at ranges."""
    with torch.autograd.profiler.profile():
        with drawn:
            small + small  # aten::add
            small * small  # aten::mul


def module_of_c():
    small - small  # aten::sub
    called(small)  # aten::relu


def helper():
    return small / small  # aten::div


def debugger(frame, event, argument):
    """Nobody is told of what a trace function calls."""
    if event == "call" and frame.f_code.co_name == "stopped":
        module(small)
        helper()
        helper()
        with Mode():
            small * small  # PythonDispatchMode
    return None


def stopped():
    pass


def debugged():
    sys.settrace(debugger)
    stopped()
    sys.settrace(None)


def paused():
    """By another thread, also inside of operators."""
    draw, done = random.Random(1), threading.Event()

    def toggle():
        while not done.is_set():
            itt.pause()
            time.sleep(draw.random() * 0.002)
            itt.resume()
            time.sleep(draw.random() * 0.002)

    other = threading.Thread(target=toggle)
    other.start()
    for _ in range(300):
        small % small  # aten::remainder
        large[mask]  # aten::select
        small.sin()  # aten::sin
        large[mask] = 1.0  # aten::masked_fill_
    done.set()
    other.join()
    itt.resume()


for work in (range_of_c, module_of_c, debugged, paused):
    with strata.profile(activities=[strata.ProfilerActivity.CPU], with_stack=True, with_modules=True) as prof:
        work()
    prof.save(f"{sys.argv[1]}/{work.__name__}")
