# SPDX-License-Identifier: Apache-2.0
"""Parts that modules get while they are called, where the list of what is open does not say in which call that is:
behind the end of a range that began outside, below more calls than are kept, and in a child."""

import os
import sys

import torch
from torch import nn
from torch.profiler import record_function


class Part(nn.Module):
    def forward(self, data):
        return data


class EndsRange(nn.Module):
    def forward(self, data):
        open_range.__exit__(None, None, None)
        if not hasattr(self, "late"):
            self.late = Part()
        return self.late(data)


class Below(nn.Module):
    def forward(self, data):
        if not hasattr(self, "late"):
            self.late = Part()
        return self.late(data)


class Deep(nn.Module):
    def __init__(self, below):
        super().__init__()
        self.below = [below]  # none of its modules

    def forward(self, data, left):
        return self(data, left - 1) if left else self.below[0](data)


class Forks(nn.Module):
    def forward(self, data):
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            return data
        self.late = Part()
        self.late(data)
        return self.late(data)


data = torch.zeros(1)
ends_range = EndsRange()
for _ in range(3):
    open_range = record_function("ends inside of a module")
    open_range.__enter__()
    ends_range(data)
sys.setrecursionlimit(10000)
below = Below()
Deep(below)(data, 300)
for _ in range(3):
    below(data)
Forks()(data)
