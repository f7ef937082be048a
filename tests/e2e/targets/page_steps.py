# SPDX-License-Identifier: Apache-2.0
"""A training loop with something to see on a page: a range around each step, operators, and Python that computes.

A pause in the middle leaves a time in which nothing happens.
"""

import time

import torch

STEPS = 12


def compute(count):
    total = 0
    for number in range(count):
        total += number * number
    return total


def main():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(96, 192), torch.nn.ReLU(), torch.nn.Linear(192, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, labels = torch.randn(64, 96), torch.randint(0, 8, (64,))
    for step in range(STEPS):
        if step == STEPS // 2:
            time.sleep(0.5)
        with torch.profiler.record_function(f"iteration_{step}"):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            compute(400_000)


main()
