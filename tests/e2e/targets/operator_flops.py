# SPDX-License-Identifier: Apache-2.0
"""Training steps whose work others count too. With a FILE it writes there what torch.utils.flop_counter and
torch.profiler say of them; without one it runs them and nothing else."""

import json
import sys

import torch
from torch import nn
from torch.nn import functional


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Conv1d(6, 8, 5, stride=2, padding=3, dilation=2, groups=1)
        self.plane = nn.Conv2d(3, 12, (3, 5), stride=(2, 1), padding=(1, 2), bias=False)
        self.same = nn.Conv2d(12, 12, 3, padding="same")
        self.up = nn.ConvTranspose2d(12, 5, 4, stride=2, padding=1, output_padding=1)
        self.space = nn.Conv3d(2, 4, (2, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1))
        self.norm = nn.BatchNorm2d(12)
        self.head = nn.Linear(5, 7)

    def forward(self, line, plane, space):
        middle = functional.relu(self.norm(self.plane(plane)))
        picture = self.up(self.same(middle)).mean((2, 3))
        return self.head(picture).sum() + self.line(line).sum() + self.space(space).sum()


class Attention(nn.Module):
    def __init__(self, size=24, heads=3):
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, tokens):
        batch, length, size = tokens.shape
        parts = self.projection(self.norm(tokens)).view(batch, length, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        mixed = mixed.transpose(1, 2).reshape(batch, length, size)
        products = torch.einsum("bij,bkj->bik", mixed, mixed) @ tokens
        return (self.out(mixed) + tokens + products).sum()


def inner():
    """What runs inside: kernels of PyTorch's own for double precision, a recurrent layer, and what only moves bytes."""
    nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0)).double()(torch.ones(3, 4, 9, 8, dtype=torch.double))
    nn.LSTM(7, 8)(torch.ones(5, 3, 7))
    table = torch.ones(100, 16)
    torch.empty(100, 16, dtype=torch.double).copy_(table)
    functional.embedding(torch.zeros(6, 5, dtype=torch.int64), table)
    torch.cat([table, table[:10]])


def steps():
    torch.manual_seed(1)
    network, attention = Convolutions(), Attention()
    sgd = torch.optim.SGD([*network.parameters(), *attention.parameters()], lr=1e-4)
    for _ in range(2):
        sgd.zero_grad()
        loss = network(torch.randn(2, 6, 33), torch.randn(2, 3, 18, 20), torch.randn(2, 2, 5, 9, 10))
        loss = loss + attention(torch.randn(2, 11, 24))
        # Broadcast, of which torch counts the first factor only; and whole numbers.
        loss = loss + (torch.ones(3, 1) * torch.ones(1, 5)).sum() + (torch.ones(4, dtype=torch.int64) * 2).sum()
        # One gradient of three.
        weight, place = torch.randn(4, 1, 3, 3, requires_grad=True), torch.randn(1, 4, 8, 8)
        loss = loss + functional.conv2d(place, weight, groups=4).sum()
        loss.backward()
        sgd.step()
        with torch.no_grad():
            inner()


def counted():
    from torch.utils import flop_counter

    with flop_counter.FlopCounterMode(display=False) as counter:
        steps()
    found = {str(name): count for name, count in counter.get_flop_counts()["Global"].items()}
    # It has formulas for attention, but on CPU nothing calls them.
    heads = (2, 3, 11, 8)
    found["attention"] = flop_counter.sdpa_flop_count(heads, heads, heads)
    found["attention backward"] = flop_counter.sdpa_backward_flop_count(heads, heads, heads, heads)
    return found


def profiled():
    with torch.profiler.profile(record_shapes=True, with_flops=True) as profiler:
        steps()
    return {event.key: event.flops for event in profiler.key_averages()}


if len(sys.argv) > 1:
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"counter": counted(), "profiler": profiled()}, out)
else:
    steps()
