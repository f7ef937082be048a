# SPDX-License-Identifier: Apache-2.0
"""operators_profiled.py FILE: trains a little under torch's own profiler, and writes what that counted as JSON."""

import json
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 6 * 6, 5)

    def forward(self, batch):
        return self.head(torch.relu(self.norm(self.conv(batch))).flatten(1))


with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as prof:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    batch, other = torch.randn(2, 3, 8, 8), torch.randn(2, 5)
    for _ in range(3):
        with record_function("iteration"):
            optimizer.zero_grad()
            loss = (net(batch) * other + other).sum()
            loss.backward()
            optimizer.step()
    torch.bmm(torch.randn(2, 3, 4), torch.randn(2, 4, 5))
    torch.cat([batch, batch])

by_name = [[item.key, item.count, item.flops] for item in prof.key_averages()]
by_shapes = [[item.key, str(item.input_shapes), item.count] for item in prof.key_averages(group_by_input_shape=True)]
with open(sys.argv[1], "w") as out:
    json.dump({"names": by_name, "shapes": by_shapes}, out)
