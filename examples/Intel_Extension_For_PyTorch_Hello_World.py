# SPDX-License-Identifier: Apache-2.0
"""Trains a small image model on data in channels-last order, as one does for oneDNN on a CPU.

Operators become ITT tasks inside emit_itt(), the loop is a range of its own, and itt.resume() and itt.pause() say
what to record when collection starts paused. Steps to train may be given as an argument (60).
"""

import sys

import itt
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
        )
        self.out = nn.Linear(32, 10)

    def forward(self, images):
        return self.out(self.layers(images).mean(dim=(2, 3)))


def train(model, optimizer, images, labels, steps):
    loss_function = nn.CrossEntropyLoss()
    loss = None
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_function(model(images), labels)
        loss.backward()
        optimizer.step()
    return loss


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    torch.manual_seed(0)
    model = Model().to(memory_format=torch.channels_last)
    model.train()
    images = torch.randn(8, 3, 64, 64).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (8,))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    itt.resume()
    with torch.autograd.profiler.emit_itt():
        torch.profiler.itt.range_push("training")
        loss = train(model, optimizer, images, labels, steps)
        torch.profiler.itt.range_pop()
    itt.pause()
    print(f"loss after {steps} steps: {loss.item():.4f} ({loss.item().hex()})")


if __name__ == "__main__":
    main()
