# SPDX-License-Identifier: Apache-2.0
"""Calls of nn.Module of every kind. `module_calls.py hooks` counts them by hooks of torch itself and prints, for each
thread, [depth, path] of every call; without the word it only makes them, and prints what it computed."""

import copy
import io
import json
import pickle
import sys
import threading

import torch
from torch import nn

calls = {}  # thread -> [[depth, path], …]
depths = {}
paths = {}  # id -> path; everything in it is kept alive
kept = []


def know(root):
    """Paths as named_modules gives them, behind the class of the root."""
    kept.append(root)
    top = type(root).__name__
    for name, module in root.named_modules():
        paths.setdefault(id(module), f"{top}.{name}" if name else top)
    return root


def before(module, _):
    thread = threading.current_thread().name
    depth = depths.get(thread, 0)
    calls.setdefault(thread, []).append([depth, paths[id(module)]])
    depths[thread] = depth + 1


def after(*_):
    depths[threading.current_thread().name] -= 1


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.line = nn.Linear(width, width)

    def forward(self, data, *, scale=1.0):
        return data + scale * torch.relu(self.line(self.norm(data)))


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(3))
        self.named = nn.ModuleDict({"first": nn.Linear(width, width), "second": nn.Tanh()})
        self.head = nn.Sequential(nn.Linear(width, width), nn.Sequential(nn.ReLU(), nn.Linear(width, 2)))
        self.head_again = self.head  # one module, two names: the first one counts

    def forward(self, data):
        for block in self.blocks:
            data = block(data, scale=0.5)
        for part in self.named.values():
            data = part(data)
        return self.head_again(data)


class Refuses(nn.Module):
    def forward(self, data):
        raise ValueError("refused")


class Guard(nn.Module):
    """Goes on after an exception inside of it."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Identity(), Refuses(), nn.Identity())
        self.spare = nn.Identity()

    def forward(self, data):
        try:
            return self.inner(data)
        except ValueError:
            return self.spare(data)


class Counts(nn.Module):
    """Calls itself."""

    def forward(self, data, left):
        return self(data + 1, left - 1) if left else data


class Grows(nn.Module):
    """Has a part more from its second call on."""

    def forward(self, data):
        if hasattr(self, "ready") and not hasattr(self, "added"):
            self.added = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            for name, module in self.named_modules():
                paths[id(module)] = f"Grows.{name}" if name else "Grows"
        self.ready = True
        return self.added(data) if hasattr(self, "added") else data


class Tagged:
    def __init_subclass__(cls, tag=None, **more):
        super().__init_subclass__(**more)
        cls.tag = tag


def late_class():
    """Made while the program runs, with a base that wants to know of its subclasses, too."""

    class Late(nn.Module, Tagged, tag="late"):
        def forward(self, data):
            return data * 2

    assert Late.tag == "late"
    try:
        type("Wrong", (nn.Module,), {}, nothing=1)
    except TypeError as error:
        assert "Wrong.__init_subclass__() takes no keyword arguments" in str(error), error
    return Late()


def train(net, steps):
    best = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        best.zero_grad()
        loss = net(torch.ones(4, 8)).square().sum()
        loss.backward()
        best.step()
    return loss.item()


def work():
    told = {"loss": train(know(Net()), 5)}
    know(Guard())(torch.ones(1))
    told["counted"] = know(Counts())(torch.zeros(1), 20).item()
    grows = know(Grows())
    for _ in range(3):
        grows(torch.ones(1, 4))
    told["late"] = know(late_class())(torch.ones(1)).item()
    told["copied"] = know(copy.deepcopy(Net(8)))(torch.ones(1, 8)).shape
    stored = io.BytesIO()
    torch.save(kept[0], stored)
    stored.seek(0)
    know(torch.load(stored, weights_only=False))(torch.ones(1, 8))
    know(pickle.loads(pickle.dumps(nn.Linear(3, 3))))(torch.ones(1, 3))
    for _ in range(200):  # one address after the other is another module's
        know_briefly(nn.Identity(), 1)
        know_briefly(nn.Flatten(), torch.ones(1, 2))
    threads = [threading.Thread(target=train, args=(know(Net()), 3), name=f"worker {i}") for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def know_briefly(module, data):
    paths[id(module)] = type(module).__name__
    module(data)
    del paths[id(module)]


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    if sys.argv[1:] == ["hooks"]:
        nn.modules.module.register_module_forward_pre_hook(before)
        nn.modules.module.register_module_forward_hook(after, always_call=True)
    told = {"told": work(), "calls": calls}
    told |= {"public": sorted(vars(nn.Linear)), "call": nn.Module.__call__.__qualname__}
    print(json.dumps(told))


main()
