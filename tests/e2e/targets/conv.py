# SPDX-License-Identifier: Apache-2.0
"""Convolutions in PyTorch, which oneDNN computes; prints how many calls it made and what came out.

usage: conv.py CALLS THREADS
"""

import sys

import torch

calls, threads = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(1)
torch.set_num_threads(threads)
image, weights = torch.randn(8, 16, 64, 64), torch.randn(32, 16, 3, 3)
with torch.no_grad():
    for _ in range(calls):
        answer = torch.nn.functional.conv2d(image, weights)
print(calls, f"{answer.double().sum().item():.2f}")
