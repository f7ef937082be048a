# SPDX-License-Identifier: Apache-2.0
"""strata.profile(), then torch's profiler (its double), then strata.profile() again, all while nobody but the program
asks CUPTI (tests/programs/cuda/held_watcher.c), and once more when somebody does: prints how many kernels each saw.

usage: profiled_again.py LIBRARY HOLDER KINETO
"""

import ctypes
import sys
import time

import strata
import torch

device = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
holder, kineto = ctypes.CDLL(sys.argv[2]), ctypes.CDLL(sys.argv[3])
kernel = ctypes.c_char_p(b"_Z7forwardPf")
torch.version.cuda = "13.0"
torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
torch.cuda.synchronize = lambda: device.double_wait()  # noqa: PLW0108 (PyTorch asks for its hash)


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def launch(count):
    for _ in range(count):
        device.double_launch(kernel, 0, 7, 200, 0)


def record():
    with strata.profile(activities=[strata.ProfilerActivity.CPU, strata.ProfilerActivity.CUDA]) as prof:
        launch(5)
    return sum(one.count for one in prof.key_averages() if one.self_device_time_total)


found = [record()]
until(lambda: holder.held_count() == 1)
kineto.kineto_start()
launch(3)
device.double_wait()
kineto.kineto_stop()
found += [kineto.kineto_count(10), record()]
holder.held_release()
until(lambda: holder.held_count() > 1)
print(*found, record())
