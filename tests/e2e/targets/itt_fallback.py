# SPDX-License-Identifier: Apache-2.0
"""Trains a little, profiles itself, marks operators itself: what a program may do while ours is on."""

import torch

weight = torch.ones(32, 32, requires_grad=True)
losses = []
for _ in range(4):
    loss = torch.relu(weight @ weight).sum()
    loss.backward()
    losses.append(loss.item())
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
    torch.sigmoid(weight)
counts = {event.key: event.count for event in profile.key_averages()}
torch.tanh(weight)
with torch.autograd.profiler.emit_itt():
    torch.exp(weight)
print(losses, counts["aten::sigmoid"], "aten::tanh" in counts)
