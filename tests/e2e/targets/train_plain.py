# SPDX-License-Identifier: Apache-2.0
"""train_plain.py SECONDS THREADS: a training loop as in the facts (convolutions, batch norm, Adam), without a word
about profiling. Prints what the loop took. train.py has the same loop recorded."""

import json
import sys
import time

import torch
from torch import nn

seconds, threads = float(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1),
    nn.BatchNorm2d(64),
    nn.ReLU(),
    nn.Conv2d(64, 128, 3, padding=1),
    nn.BatchNorm2d(128),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(4),
    nn.Flatten(),
    nn.Linear(2048, 10),
)
optimizer = torch.optim.Adam(model.parameters())
# Large enough that operators are nearly all of it: between them workers spin, in nobody's name.
images, labels = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))


def step():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()


def loop():
    steps, began = 0, time.process_time()
    while time.process_time() - began < seconds:
        step()
        steps += 1
    return {"steps": steps, "cpu_s": time.process_time() - began}


if __name__ == "__main__":
    print(json.dumps(loop()))
