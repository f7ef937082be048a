# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch that launch kernels on an OpenCL device.

usage: on_opencl.py [STEPS]
"""

import ctypes
import sys

import torch

ITEMS = 1 << 16
SOURCE = b"kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
cl = ctypes.CDLL("libOpenCL.so.1")
handle, error = ctypes.c_void_p, ctypes.c_int()
for name in (
    "clCreateContext",
    "clCreateCommandQueue",
    "clCreateBuffer",
    "clCreateProgramWithSource",
    "clCreateKernel",
):
    getattr(cl, name).restype = handle


def made(what):
    assert error.value == 0, error.value
    return handle(what)


platform, device = handle(), handle()
assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None) == 0
context = made(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
queue = made(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(error)))
size = ctypes.c_size_t(4 * ITEMS)
buffer = made(cl.clCreateBuffer(context, ctypes.c_uint64(1), size, None, ctypes.byref(error)))
text = ctypes.c_char_p(SOURCE)
program = made(cl.clCreateProgramWithSource(context, 1, ctypes.byref(text), None, ctypes.byref(error)))
assert cl.clBuildProgram(program, 1, ctypes.byref(device), b"", None, None) == 0
kernel = made(cl.clCreateKernel(program, b"twice", ctypes.byref(error)))
assert cl.clSetKernelArg(kernel, 0, ctypes.c_size_t(8), ctypes.byref(buffer)) == 0
items = ctypes.c_size_t(ITEMS)


@torch.library.custom_op("opencl::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    assert cl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(items), None, 0, None, None) == 0
    return x * 2


x = torch.ones(8)
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 4):
    twice(x)
    twice(x)
    assert cl.clFinish(queue) == 0
print("done")
