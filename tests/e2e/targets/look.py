# SPDX-License-Identifier: Apache-2.0
"""A short training loop, as people write one."""

import torch
from torch import nn

torch.manual_seed(0)


def make_batch():
    images = torch.randn(16, 3, 32, 32)
    for _ in range(200):
        images[0, 0, 0, 0] += 1
    return images, torch.randint(0, 10, (16,))


def train(steps):
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(16384, 10)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(steps):
        images, labels = make_batch()
        loss = nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(30)
