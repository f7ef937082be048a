# SPDX-License-Identifier: Apache-2.0
"""strata.profile() with CUDA, without, and with it again (tests/programs/cuda): prints how many kernels those with CUDA
saw, and the kinds of records that CUPTI was asked for while there was the one without, and after all.

usage: profiled_cpu.py LIBRARY HOLDER
"""

import ctypes
import sys
import time

import strata
import torch

device = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
device.double_kinds.restype = ctypes.c_uint64
holder = ctypes.CDLL(sys.argv[2])
kernel = ctypes.c_char_p(b"_Z7forwardPf")
torch.version.cuda = "13.0"
torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
torch.cuda.synchronize = lambda: device.double_wait()  # noqa: PLW0108 (PyTorch asks for its hash)
CPU, CUDA = strata.ProfilerActivity.CPU, strata.ProfilerActivity.CUDA


def look_twice():
    """Until strata's thread has looked at least once from beginning to end."""
    seen, end = holder.held_count(), time.monotonic() + 60
    while holder.held_count() < seen + 3:
        assert time.monotonic() < end
        time.sleep(0.001)


def record():
    with strata.profile(activities=[CPU, CUDA]) as prof:
        for _ in range(5):
            device.double_launch(kernel, 0, 7, 200, 0)
    return sum(one.count for one in prof.key_averages() if one.self_device_time_total)


holder.held_release()
found = [record()]
with strata.profile(activities=[CPU]):
    look_twice()
    kinds = device.double_kinds()
with strata.profile(activities=[CPU]):
    found.append(record())  # a part of another
    look_twice()
    kinds |= device.double_kinds()
print(*found, record(), kinds | device.double_kinds())
