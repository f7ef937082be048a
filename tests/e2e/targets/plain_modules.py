# SPDX-License-Identifier: Apache-2.0
"""Calls modules in every way that Python has, with the nn.Module that the first argument has a folder of."""

import functools
import gc
import importlib
import sys

sys.path.insert(0, sys.argv[1])
from torch.nn.modules.module import Early, Module  # noqa: E402

importlib.import_module("wave")  # whichever: nn.Module is looked for when another module is imported


class Late(Module):
    def __init__(self):
        super().__init__()
        self.one = Early()
        self.two = Early()

    def forward(self, number):
        applied = functools.partial(self.one, more=1)(number)
        return self.one(number, more=2) + applied + sum(map(self.two, [1, 2]))


class Fails(Module):
    def forward(self):
        raise KeyError("expected")


late = Late()
for _ in range(10):
    assert late(3) == 5 + 4 + 3
try:
    Fails()()
except KeyError as error:
    assert error.args == ("expected",)
for _ in range(300):
    Early()(1)
    gc.collect(0)
Module.__call__ = Module.__call__  # undoes what is known of it, until a class is made
late(3)


class Later(Late):
    pass


Later()(3)
