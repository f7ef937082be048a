# SPDX-License-Identifier: Apache-2.0
"""A few steps of a small model under emit_itt. usage: model.py STEPS"""

import sys

import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.Flatten(), torch.nn.Linear(5 * 30 * 30, 10))
data = torch.randn(4, 3, 32, 32)
with torch.autograd.profiler.emit_itt():
    for step in range(int(sys.argv[1])):
        torch.profiler.itt.range_push(f"step_{step}")
        model(data).sum().backward()
        torch.profiler.itt.range_pop()
