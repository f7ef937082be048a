# SPDX-License-Identifier: Apache-2.0
"""A training loop whose operators launch on a device that is not there (tests/programs/cuda). Its backward pass runs
on a thread of its own, as with a real one: every step waits for it with nothing open. Memory of the device is told as
c10's allocator of a device tells it, by a function that is looked up as libc10_cuda.so does.

usage: on_device.py LIBRARY [STEPS]
"""

import ctypes
import sys
import threading

import torch

device = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 4
forward_kernel, backward_kernel = ctypes.c_char_p(b"_Z7forwardPf"), ctypes.c_char_p(b"_Z8backwardPf")


class Place(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int8), ("index", ctypes.c_int8)]


REPORT = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
everything = ctypes.CDLL(None)
report = getattr(everything if hasattr(everything, REPORT) else ctypes.CDLL("libc10.so"), REPORT)
report.restype, report.argtypes = None, (ctypes.c_void_p, *[ctypes.c_int64] * 3, Place)


def allocate(block, size, number=0):
    report(block, size, 0, 0, Place(1, number))


@torch.library.custom_op("double::forward", mutates_args=())
def forward(x: torch.Tensor) -> torch.Tensor:
    allocate(0x7F0000000000, 4096)
    device.double_launch(forward_kernel, 0, 7, 200, 0)
    device.double_launch(forward_kernel, 0, 7, 100, 1)
    return x * 2


@torch.library.custom_op("double::backward", mutates_args=())
def backward(x: torch.Tensor) -> torch.Tensor:
    allocate(0x7F0000100000, 1024, 1)
    allocate(0x7F0000100000, -1000, 1)
    device.double_launch(backward_kernel, 0, 7, 300, 0)
    return x * 2


def pass_back(x):
    with torch.autograd.profiler.record_function("autograd::engine::evaluate_function: double"):
        for _ in range(20):
            backward(x)


x = torch.ones(8)
parameter = torch.nn.Parameter(torch.ones(8))
parameter.grad = torch.ones(8)
optimizer = torch.optim.SGD([parameter], lr=0.1)
for _ in range(steps):
    device.double_copy(0, 7, 32, 10)
    forward(x)
    thread = threading.Thread(target=pass_back, args=(x,))
    thread.start()
    thread.join()
    device.double_wait()
    allocate(0x7F0000000000, -4096)
    optimizer.step()
print("done")
