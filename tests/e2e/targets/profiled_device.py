# SPDX-License-Identifier: Apache-2.0
"""strata.profile() with a device that is not there (tests/programs/cuda): prints its tables and what it warned about.

usage: profiled_device.py LIBRARY TRACE
"""

import ctypes
import json
import sys
import warnings

import strata
import torch

device = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
kernel = ctypes.c_char_p(b"_Z7forwardPf")
# What torch says where there is one.
torch.version.cuda = "13.0"
torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
torch.cuda.synchronize = lambda: device.double_wait()  # noqa: PLW0108 (PyTorch asks for its hash)


@torch.library.custom_op("double::forward", mutates_args=())
def forward(x: torch.Tensor) -> torch.Tensor:
    device.double_launch(kernel, 0, 7, 200, 0)
    return x * 2


def figures(prof):
    return {one.key: [one.count, one.self_device_time_total] for one in prof.key_averages() if one.device_time_total}


x = torch.ones(8)
found = []
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    forward(x)
    for turn in (1, 2):
        with strata.profile(activities=[strata.ProfilerActivity.CPU, strata.ProfilerActivity.CUDA]) as prof:
            for _ in range(5 * turn):
                forward(x)
        found.append(figures(prof))
        forward(x)
    table = prof.key_averages().table(sort_by="self_cuda_time_total", row_limit=2)
    prof.export_chrome_trace(sys.argv[2])

    def inner(count):
        for _ in range(count):
            forward(x)

    def outer():
        inner(3)
        forward(x)

    with strata.profile(
        activities=[strata.ProfilerActivity.CPU, strata.ProfilerActivity.CUDA], with_stack=True
    ) as prof:
        outer()
        x.add_(1)
    for metric in ("self_cuda_time_total", "self_cpu_time_total"):
        prof.export_stacks(f"{sys.argv[2]}.{metric}", metric)
    with strata.profile(with_stack=True) as prof:
        x.add_(1)
    prof.export_stacks(f"{sys.argv[2]}.none", "self_cuda_time_total")
print(json.dumps({"found": found, "table": table, "warned": [str(one.message) for one in warned]}))
