# SPDX-License-Identifier: Apache-2.0
"""Modules that are called when the program forks and when it ends; prints what a program without us would."""

import atexit
import importlib
import os
import sys
import threading

sys.path.insert(0, sys.argv[1])
from torch.nn.modules.module import Early, Module  # noqa: E402

importlib.import_module("wave")


class Last(Module):
    """Called once more when it dies, with the interpreter or before it."""

    def forward(self):
        return 1

    def __del__(self):
        self()
        os.write(1, b"gone ")


class Forks(Module):
    def __init__(self):
        super().__init__()
        self.part = Early()

    def forward(self):
        pid = os.fork()
        self.part(2)
        return pid


class Endless(Module):
    def __init__(self):
        super().__init__()
        self.part = Early()

    def forward(self):
        self.part(1)
        started.set()
        while True:
            self.part(1)


last = Last()
atexit.register(Last())
pid = Forks()()
if pid == 0:
    sys.exit(3)
assert os.waitpid(pid, 0)[1] == 3 << 8
started = threading.Event()
threading.Thread(target=Endless(), daemon=True).start()
started.wait()
