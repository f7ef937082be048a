# SPDX-License-Identifier: Apache-2.0
"""A training loop that is slower than it needs to be, to be looked at with

    strata bottleneck examples/slow_training.py

It knows nothing about Strata. It computes in double precision, asks for the loss in every step, and prepares its
batches in Python, one value after the other. Steps may be given as an argument (100).
"""

import math
import sys

import torch
from torch import nn


def make_batch(step, rows, columns):
    values = [math.sin(step + 0.01 * i) for i in range(rows * columns)]
    return torch.tensor(values, dtype=torch.double).reshape(rows, columns)


def train_step(model, optimizer, batch):
    optimizer.zero_grad()
    loss = (model(batch) - batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 256), nn.Tanh(), nn.Linear(256, 128)).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        loss = train_step(model, optimizer, make_batch(step, 64, 128))
    print(f"loss {loss.hex()}")


if __name__ == "__main__":
    main()
