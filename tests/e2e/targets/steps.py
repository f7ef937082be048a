# SPDX-License-Identifier: Apache-2.0
"""Steps of a tiny model, labelled step_0, step_1 …, with progress like the C target's: a file of 16-byte
records {u64 steps closed, u64 CLOCK_MONOTONIC_RAW ns}, record 0 the latest, then one per step.

It ends when the file END exists, or after SECONDS.

usage: steps.py PROGRESS SECONDS END
"""

import mmap
import os
import struct
import sys
import time

import torch

SIZE = 1 << 20


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def main():
    path, seconds, told_to_end = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(file, SIZE)
    progress = mmap.mmap(file, SIZE)
    layer = torch.nn.Linear(16, 16)
    data = torch.randn(4, 16)
    end = now() + int(seconds * 1e9)
    step = 0
    with torch.autograd.profiler.emit_itt():
        while now() < end and not os.path.exists(told_to_end):
            torch.profiler.itt.range_push(f"step_{step}")
            layer(data)
            torch.profiler.itt.range_pop()
            step += 1
            record = struct.pack("<QQ", step, now())
            if (step + 1) * 16 <= SIZE:
                progress[step * 16 : step * 16 + 16] = record
            progress[0:16] = record
            time.sleep(0.001)
    print(f"steps {step}", flush=True)


main()
