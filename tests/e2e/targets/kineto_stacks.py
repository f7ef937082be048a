# SPDX-License-Identifier: Apache-2.0
"""kineto_stacks.py TRACE: operators from known functions, in modules and ranges, under torch's profiler with stacks."""

import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

torch.manual_seed(1)
torch.set_num_threads(1)


def helper(x):
    return x.sin().cos()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 5), nn.Linear(5, 5)

    def forward(self, x):
        return helper(self.second(torch.relu(self.first(x))))


model = nn.Sequential(Block(), Block(), nn.Linear(5, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    with record_function("a range"):
        optimizer.zero_grad()
        model(torch.randn(3, 5)).sum().backward()
        optimizer.step()
    helper(torch.ones(3))


step()
with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
    for _ in range(3):
        step()
prof.export_chrome_trace(sys.argv[1])
