# SPDX-License-Identifier: Apache-2.0
"""Convolutions in PyTorch, which oneDNN computes; prints how many calls it made and what came out.

usage: conv.py CALLS THREADS [CALLERS]

With CALLERS, so many threads make the calls at the same time, each with THREADS of its own.
"""

import sys
import threading

import torch

calls, threads = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(1)
torch.set_num_threads(threads)
image, weights = torch.randn(8, 16, 64, 64), torch.randn(32, 16, 3, 3)


def call():
    with torch.no_grad():
        for _ in range(calls):
            answer = torch.nn.functional.conv2d(image, weights)
    return answer


def call_with_others(barrier):
    torch.set_num_threads(threads)
    barrier.wait()
    call()


if len(sys.argv) > 3:
    callers = int(sys.argv[3])
    barrier = threading.Barrier(callers)
    started = [threading.Thread(target=call_with_others, args=[barrier]) for _ in range(callers)]
    for one in started:
        one.start()
    for one in started:
        one.join()
    print(calls * callers)
else:
    print(calls, f"{call().double().sum().item():.2f}")
