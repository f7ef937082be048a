#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the sample traces that the results page of strata serve offers: one training loop, before and after mending.

    python tools/make_samples.py examples/samples

Both are real runs under torch.profiler, on CPU. The first computes in double precision, makes its batches in Python and
asks for the loss in every step; the second does none of that. Kept small: they are part of the program.
"""

import gzip
import json
import sys
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

STEPS, ROWS, COLUMNS = 6, 256, 512


def batch_from_python(step):
    values = [0.01 * ((i + step) % 97) for i in range(ROWS * COLUMNS)]
    return torch.tensor(values, dtype=torch.double).reshape(ROWS, COLUMNS)


def batch_from_torch(step):
    return ((torch.arange(ROWS * COLUMNS) + step) % 97).float().mul_(0.01).reshape(ROWS, COLUMNS)


def train_step(model, optimizer, batch, asks_for_loss):
    optimizer.zero_grad()
    loss = (model(batch) - batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item() if asks_for_loss else loss


def train(is_mended):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(COLUMNS, 1024), nn.Tanh(), nn.Linear(1024, COLUMNS))
    model = model.float() if is_mended else model.double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    make_batch = batch_from_torch if is_mended else batch_from_python
    train_step(model, optimizer, make_batch(0), True)  # the first step sets up what later ones find
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True, with_modules=True
    ) as recorded:
        for step in range(STEPS):
            train_step(model, optimizer, make_batch(step), not is_mended)
            recorded.step()
    return recorded


def write(recorded, path):
    """Without what differs from machine to machine and says nothing: the identifiers of the run."""
    plain = path.with_suffix("")
    recorded.export_chrome_trace(str(plain))
    trace = json.loads(plain.read_text())
    plain.unlink()
    for key in ("traceName", "trace_id", "host_name"):
        trace.pop(key, None)
    text = json.dumps(trace, separators=(",", ":")).encode()
    path.write_bytes(gzip.compress(text, 9, mtime=0))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, is_mended in (("training-before", False), ("training-after", True)):
        write(train(is_mended), folder / f"{name}.pt.trace.json.gz")


if __name__ == "__main__":
    main()
