# SPDX-License-Identifier: Apache-2.0
"""profile_exports.py FOLDER: a small training under strata.profile, and every file it can write, in FOLDER."""

import json
import sys
import warnings
from pathlib import Path

import strata
import torch
from torch import nn

folder = Path(sys.argv[1])
torch.manual_seed(1)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    with strata.record_function("a range"):
        optimizer.zero_grad()
        model(torch.randn(3, 5)).sum().backward()
        optimizer.step()


step()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    with strata.profile(
        activities=[strata.ProfilerActivity.CPU],
        schedule=strata.schedule(wait=0, warmup=1, active=3),
        on_trace_ready=strata.tensorboard_trace_handler(str(folder / "board"), "worker"),
        record_shapes=True,
    ) as prof:
        for _ in range(8):
            step()
            prof.step()

with strata.profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True) as prof:
    for _ in range(3):
        step()
prof.add_metadata("a text", 'with "quotes"')
prof.add_metadata_json("a list", "[1, 2]")
prof.export_chrome_trace(str(folder / "trace.json"))
prof.export_chrome_trace(str(folder / "trace.json.gz"))
prof.export_stacks(str(folder / "stacks.txt"), "self_cpu_time_total")
prof.export_memory_timeline(str(folder / "memory.html"))
prof.export_memory_timeline(str(folder / "memory.raw.json.gz"), device="cpu")
averages = {item.key: item.count for item in prof.key_averages()}
(folder / "said.json").write_text(json.dumps({"trace_id": prof.get_trace_id(), "averages": averages}))
