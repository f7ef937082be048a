# SPDX-License-Identifier: Apache-2.0
# A training loop as in the facts: convolutions, batch norm, Adam, two threads. Prints what the loop took.
import json
import sys
import time

import itt
import torch
from torch import nn

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 2

torch.set_num_threads(THREADS)
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
    steps = 0
    began = time.process_time()
    while time.process_time() - began < SECONDS:
        step()
        steps += 1
    return steps, time.process_time() - began


for _ in range(3):
    step()
itt.resume()
with torch.autograd.profiler.emit_itt():
    steps, cpu = loop()
itt.pause()
print(json.dumps({"steps": steps, "cpu_s": cpu}))
