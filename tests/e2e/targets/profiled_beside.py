# SPDX-License-Identifier: Apache-2.0
"""strata.profile() while another profiler has CUPTI, the double of torch's, and again when it has ended
(tests/programs/cuda): prints what each saw. "silent": torch does not say that it profiles.

usage: profiled_beside.py LIBRARY KINETO [silent]
"""

import contextlib
import ctypes
import json
import sys
import warnings

import strata
import torch

device = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
kineto = ctypes.CDLL(sys.argv[2])
silent = len(sys.argv) > 3
kernel = ctypes.c_char_p(b"_Z7forwardPf")
torch.version.cuda = "13.0"
torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
torch.cuda.synchronize = lambda: device.double_wait()  # noqa: PLW0108 (PyTorch asks for its hash)


def record(count):
    with strata.profile(activities=[strata.ProfilerActivity.CPU, strata.ProfilerActivity.CUDA]) as prof:
        for _ in range(count):
            device.double_launch(kernel, 0, 7, 20, 0)
    return sum(one.count for one in prof.key_averages() if one.self_device_time_total)


with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    around = contextlib.nullcontext() if silent else torch.profiler.profile()
    with around:
        kineto.kineto_start()
        if silent:
            device.double_launch(kernel, 0, 7, 50_000, 0)
        found = [record(4)]
        device.double_wait()
        kineto.kineto_stop()
    found.append(record(1000 if silent else 4))
print(
    json.dumps(
        {
            "found": found, "theirs": kineto.kineto_count(10), "unknown": kineto.kineto_count(-1),
            "warned": [str(one.message) for one in warned],
        }
    )
)  # fmt: skip
