# SPDX-License-Identifier: Apache-2.0
"""The profiler scripts of XPU's users with one import changed, on devices that are not there (tests/programs/ze): a
table, one for each step that a schedule records, a list that was made before and runs again, and a trace with work on
two devices.

usage: on_xpu.py LIBRARY FOLDER
"""

import ctypes
import json
import sys
import warnings
from pathlib import Path

import torch
from strata import ProfilerActivity, profile, schedule

folder = Path(sys.argv[2])
work = ctypes.CDLL(sys.argv[1])
count = work.ze_work_start()
# What torch says where there are some.
torch.version.xpu = "20250302"
torch.xpu.is_available = torch.xpu.is_initialized = lambda: True
torch.xpu.synchronize = lambda: work.ze_work_wait()  # noqa: PLW0108 (PyTorch asks for its hash)


@torch.library.custom_op("double::forward", mutates_args=())
def forward(x: torch.Tensor, device: int) -> torch.Tensor:
    work.ze_work_launch(device)
    return x * 2


def figures(prof):
    return {
        one.key: [one.count, one.self_device_time_total, str(one.device_type), one.use_device]
        for one in prof.key_averages() if one.device_time_total
    }  # fmt: skip


x = torch.ones(8)
both = [ProfilerActivity.CPU, ProfilerActivity.XPU]
steps = []
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    forward(x, 0)
    with profile(activities=both) as prof:
        for _ in range(4):
            forward(x, 0)
    found = figures(prof)
    table = prof.key_averages().table(sort_by="self_xpu_time_total", row_limit=-1)

    def ready(prof):
        steps.append([prof.step_num, figures(prof)["first_kernel"][0]])
        prof.export_chrome_trace(str(folder / f"step_{prof.step_num}.json"))

    with profile(
        activities=both, schedule=schedule(wait=1, warmup=1, active=1, repeat=2), on_trace_ready=ready
    ) as prof:
        for step in range(6):
            for _ in range(step + 1):
                forward(x, 0)
            torch.xpu.synchronize()
            prof.step()
    with profile(activities=both) as prof:
        for _ in range(3):
            work.ze_work_run_list()
    again = {one.key: [one.count, one.self_device_time_total] for one in prof.key_averages() if one.is_on_device}
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        forward(x, 0)
        torch.xpu.synchronize()
    on_cpu = [one.key for one in prof.key_averages()]
    with profile(activities=both) as prof:
        for device in range(count):
            for _ in range(device + 1):
                forward(x, device)
    prof.export_chrome_trace(str(folder / "devices.json"))
print(json.dumps({
    "found": found, "table": table, "steps": steps, "warned": [str(one.message) for one in warned], "devices": count,
    "again": again, "on_cpu": on_cpu,
}))  # fmt: skip
