# SPDX-License-Identifier: Apache-2.0
"""Operators before, in and after a pause, in which it forks; says how many there were outside of the pause.

argv: "bound" or "deep". Deep: PyTorch's libraries take the functions of the C library from there, and not those that
somebody has preloaded in front of them.
"""

import os
import sys
import time

if sys.argv[1] == "deep":
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)

import itt
import torch


def operate(seconds):
    calls, until = 0, time.thread_time() + seconds
    while time.thread_time() < until:
        for _ in range(100):
            torch.ones(3)
        calls += 100
    return calls


torch.set_num_threads(1)
made = operate(1)
itt.pause()
operate(0.1)
pid = os.fork()
if not pid:
    operate(0.01)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
itt.resume()
print(made + operate(1))
