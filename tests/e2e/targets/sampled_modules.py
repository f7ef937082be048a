# SPDX-License-Identifier: Apache-2.0
"""Modules that burn CPU time in Python, in operators and in their backward; as JSON how much, by the thread's clock.

usage: sampled_modules.py ROUNDS
"""

import json
import sys
import time

import torch

torch.set_num_threads(1)
SPENT = {"Net.python": 0.0, "Net.operators": 0.0, "outside": 0.0}


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


class Timed(torch.nn.Module):
    def forward(self, data):
        began = time.thread_time()
        data = self.run(data)
        SPENT[self.key] += time.thread_time() - began
        return data


class Python(Timed):
    key = "Net.python"

    def run(self, data):
        burn(0.015)
        return data


class Operators(Timed):
    key = "Net.operators"

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(600, 600))

    def run(self, data):
        return data @ self.weight


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.python, self.operators = Python(), Operators()

    def forward(self, data):
        return self.operators(self.python(data))


def main():
    net, data = Net(), torch.rand(1200, 600, requires_grad=True)
    out = net(data)
    gradient = torch.ones_like(out)
    out.backward(gradient)
    for key in SPENT:
        SPENT[key] = 0.0
    for _ in range(int(sys.argv[1])):
        with torch.profiler.record_function("ProfilerStep#1"):
            out = net(data)
            net.zero_grad()  # what adds to a gradient belongs to no module
            data.grad = None
            began = time.thread_time()
            out.backward(gradient)
            SPENT["Net.operators"] += time.thread_time() - began
            began = time.thread_time()
            burn(0.01)
            SPENT["outside"] += time.thread_time() - began
    print(json.dumps(SPENT))


main()
