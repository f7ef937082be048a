# SPDX-License-Identifier: Apache-2.0
"""A small training, and what PyTorch's own profiler says of a part of it.

operators.py MODE FILE: writes what it knows as JSON to FILE.
  train   with torch.profiler around three steps; operators in a second thread before it
  memory  the same with profile_memory
  fork    three operators in a forked child
  pause   operators while paused, around a resume, after a detach
  raise   operators that fail, and a range that an exception leaves
"""

import json
import os
import sys
import threading

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

mode, path = sys.argv[1:]
torch.manual_seed(7)
torch.set_num_threads(1)
torch.ones(2, 3)  # the first operator of the program
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 5))
optimizer = torch.optim.Adam(model.parameters())


def train(steps):
    losses = []
    for step in range(steps):
        with record_function(f"step {step}"):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(torch.randn(2, 3, 8, 8)), torch.tensor([1, 3]))
            loss.backward()
            optimizer.step()
            losses.append(loss.item().hex())
    return losses


def other():
    torch.ones(7, 5).double().mm(torch.ones(5, 3, dtype=torch.double))


def mark():
    torch.ones(17)


def raw(events):
    """Of Kineto's own records, in order of time: name, sizes, types, sequence number."""
    operators = [event for event in events if event.name() != "[memory]"]
    operators.sort(key=lambda event: event.start_ns())
    return [[event.name(), event.shapes(), event.dtypes(), event.sequence_nr()] for event in operators]


def fail():
    for _ in range(3):
        try:
            with record_function("left"):
                torch.ones(2, 3).mm(torch.ones(2, 3))
        except RuntimeError:
            pass
    torch.ones(17)


def pause():
    import itt  # offered by strata where none is installed

    itt.pause()
    torch.ones(3)
    with record_function("outlives the pause"):
        torch.ones(4)
        itt.resume()
        torch.ones(5)
    torch.ones(6)
    itt.detach()
    torch.ones(7)


said = {}
if mode == "fork":
    with record_function("around the fork"):
        child = os.fork()
        if not child:
            torch.ones(11, 13).mm(torch.ones(13, 2))
    if child:
        os.waitpid(child, 0)
    else:
        os._exit(0)
elif mode == "raise":
    fail()
elif mode == "pause":
    pause()
else:
    train(1)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    # PyTorch knows the size of a block that is freed only if it was asked to remember it when it was allocated.
    optimizer.zero_grad()
    for _ in range(3):
        torch.cat([torch.ones(3, 4), torch.ones(5, 4)])
    mark()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=mode == "memory") as prof:
        said["losses"] = train(3)
    said["events"] = raw(prof.profiler.kineto_results.events())
    said["memory"] = sorted([row.key, row.count, row.self_cpu_memory_usage] for row in prof.key_averages())
    mark()
with open(path, "w", encoding="utf-8") as file:
    json.dump(said, file)
