# SPDX-License-Identifier: Apache-2.0
"""Memory of which the caller knows who holds how much: operator_memory.py STEPS LEAK_KIB."""

import sys

import torch
from torch import nn

MIB = 1 << 20


class Holder(nn.Module):
    """Takes so many MiB when it is called."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self):
        return torch.zeros(self.size * MIB, dtype=torch.uint8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.large = Holder(24)
        self.small = Holder(4)
        self.brief = Holder(8)

    def forward(self):
        kept = [self.large(), self.small()]
        self.brief()  # gone at once
        kept.append(self.small())
        return kept


net, leaked = Net(), []
before = torch.empty(3 * MIB, dtype=torch.uint8)
for number in range(int(sys.argv[1])):
    with torch.profiler.record_function(f"step {number}"):
        held = net()
        if int(sys.argv[2]):
            leaked.append(torch.empty(int(sys.argv[2]) << 10, dtype=torch.uint8))
        del held
