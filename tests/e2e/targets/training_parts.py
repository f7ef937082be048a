# SPDX-License-Identifier: Apache-2.0
"""Three parts of a training loop until standard input closes; then each part's share of the thread's CPU time."""

import random
import sys
import threading
import time
import zlib

import torch

torch.set_num_threads(1)
model = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(6)])
inputs = torch.randn(64, 128)
# Of different lengths: steps that all take half an interval are sampled at the same two places each time.
data = [bytes(random.randrange(1 << 21)) for _ in range(64)]


def forward_part():
    return model(inputs).square().mean()


def backward_part(loss):
    loss.backward()


def crc_part():
    return zlib.crc32(random.choice(data))


stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set())).start()
spent = [0.0, 0.0, 0.0]
began = False
while not stop.is_set():
    t0 = time.thread_time()
    loss = forward_part()
    t1 = time.thread_time()
    backward_part(loss)
    t2 = time.thread_time()
    crc_part()
    t3 = time.thread_time()
    spent = [spent[0] + t1 - t0, spent[1] + t2 - t1, spent[2] + t3 - t2]
    if not began:
        print("running", flush=True)
        began = True
print(*(part / sum(spent) for part in spent))
