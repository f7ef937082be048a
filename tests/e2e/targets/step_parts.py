# SPDX-License-Identifier: Apache-2.0
"""step_parts.py KIND COUNT FILE: a loop whose parts take a known time, by sleeping; writes what its own clock says.

KIND is train (optimizer and DataLoader), workers (the same with two worker processes), profiler (torch.profiler's
steps), named (record_function around each step), infer (a model called without any of these) or plain (operators
alone).
"""

import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

MS = 0.001
DATA, FORWARD, BACKWARD, OPTIMIZER, OTHER = 6 * MS, 9 * MS, 12 * MS, 4 * MS, 8 * MS
kind, count, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
torch.manual_seed(0)


class Items(Dataset):
    def __len__(self):
        return 2 * count

    def __getitem__(self, index):
        time.sleep(DATA / 2)
        return torch.full((8,), float(index))


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        return value * 1.0

    @staticmethod
    def backward(context, gradient):
        time.sleep(BACKWARD)
        return gradient * 1.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, batch):
        time.sleep(FORWARD)
        return Slow.apply(torch.relu(self.linear(batch)))


class SlowSGD(torch.optim.SGD):
    def step(self, closure=None):
        time.sleep(OPTIMIZER)
        return super().step(closure)


net = Net()
optimizer = SlowSGD(net.parameters(), lr=0.01)
clock = {"step": [], "data": [], "forward": [], "backward": [], "optimizer": [], "other": []}
losses = []


def took(part, began):
    clock[part].append(time.perf_counter() - began)


def train(batch):
    began = time.perf_counter()
    optimizer.zero_grad()
    took("optimizer", began)
    began = time.perf_counter()
    loss = net(batch).sum()
    took("forward", began)
    began = time.perf_counter()
    loss.backward()
    took("backward", began)
    began = time.perf_counter()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    time.sleep(OTHER)
    losses.append(loss.item())
    took("other", began)
    began = time.perf_counter()
    optimizer.step()
    clock["optimizer"][-1] += time.perf_counter() - began


def loaded(workers):
    loader = DataLoader(Items(), batch_size=2, num_workers=workers)
    asked = time.perf_counter()
    for batch in loader:
        took("data", asked)
        train(batch)
        took("step", asked)
        asked = time.perf_counter()


def profiled():
    # Without a schedule it marks no steps.
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=count)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule) as profiler:
        began = time.perf_counter()
        for batch in DataLoader(Items(), batch_size=2):
            took("data", began)
            train(batch)
            profiler.step()
            took("step", began)
            began = time.perf_counter()


def named():
    for batch in [torch.randn(2, 8)] * count:
        with torch.profiler.record_function("train step"):
            began = time.perf_counter()
            train(batch)
            took("step", began)


def infer():
    batch = torch.randn(2, 8)
    with torch.no_grad():
        for _ in range(count):
            began = time.perf_counter()
            result = net(batch)
            took("forward", began)
            middle = time.perf_counter()
            time.sleep(OTHER)
            took("other", middle)
            took("step", began)
    return result


def plain():
    left, right = torch.randn(600, 600), torch.randn(600, 600)
    for _ in range(count):
        began = time.perf_counter()
        product = torch.mm(left, right)
        product = torch.relu(product)
        product = torch.mm(product, right)
        product.sum()
        took("forward", began)
        middle = time.perf_counter()
        time.sleep(OTHER)
        took("other", middle)
        took("step", began)


if __name__ == "__main__":
    if kind in ("train", "workers"):
        loaded(2 if kind == "workers" else 0)
    else:
        {"profiler": profiled, "named": named, "infer": infer, "plain": plain}[kind]()
    with open(out, "w") as file:
        json.dump(clock, file)
    print(f"loss {sum(losses)!r}")
