# SPDX-License-Identifier: Apache-2.0
"""What compilers of PyTorch make of a model: graphs and their breaks, a trace, a symbolic trace."""

import json

import torch
import torch._dynamo
import torch.fx
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(8, 8))

    def forward(self, data):
        return self.rest(self.first(data))


class Broken(Net):
    def forward(self, data):
        data = self.first(data)
        torch._dynamo.graph_break()
        return self.rest(data)


def compiled(net):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    fast = torch.compile(net, backend="eager")
    results = [fast(torch.ones(2, 8)).sum().item() for _ in range(3)]
    counters = torch._dynamo.utils.counters
    return results, {key: dict(counters[key]) for key in ("frames", "stats", "graph_break", "unimplemented")}


def main():
    torch.manual_seed(1)
    told = {"whole": compiled(Net()), "broken": compiled(Broken())}
    net = Net()
    told["trace"] = str(torch.jit.trace(net, torch.ones(2, 8)).graph)
    told["script"] = torch.jit.script(net).code
    symbolic = torch.fx.symbolic_trace(net)
    told["symbolic"] = symbolic.code
    for _ in range(2):
        symbolic(torch.ones(2, 8))
    net(torch.ones(2, 8))  # symbolic tracing has replaced nn.Module.__call__ for a while
    print(json.dumps(told))


main()
