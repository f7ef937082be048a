# SPDX-License-Identifier: Apache-2.0
"""kineto.py FILE: trains under torch's own profiler, which writes its trace to FILE; an operator in a second thread."""

import sys
import threading

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

torch.manual_seed(1)
torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 5))
optimizer = torch.optim.Adam(model.parameters())


def step(name):
    with record_function(name):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(2, 3, 8, 8)), torch.tensor([1, 3]))
        loss.backward()
        optimizer.step()
        torch.cat([torch.ones(3), torch.ones(4)])


def other():
    torch.ones(7, 5).mm(torch.ones(5, 3))


step('a "range" \\ of ours')  # torch's own file would be broken by it
thread = threading.Thread(target=other)
thread.start()
thread.join()
plan = schedule(wait=0, warmup=1, active=3, repeat=1)
with profile(
    activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_modules=True, schedule=plan
) as prof:
    for _ in range(4):
        step("a range")
        prof.step()
prof.export_chrome_trace(sys.argv[1])
