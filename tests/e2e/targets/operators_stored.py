# SPDX-License-Identifier: Apache-2.0
"""operators_stored.py twins | ring SECONDS: operators of which the caller knows how many there are."""

import os
import sys
import time

import torch

square = torch.ones(16, 16)
if sys.argv[1] == "twins":
    torch.mm(square, square)  # before: no ITT task
    with torch.autograd.profiler.emit_itt():
        for _ in range(5):
            torch.nn.functional.linear(square, square)
else:
    until = time.monotonic() + float(sys.argv[2])
    with torch.profiler.record_function("whole loop"):
        while time.monotonic() < until:
            torch.mm(square, square)
            time.sleep(0.001)
    os._exit(0)  # how long the interpreter takes to end is no part of what is kept
