# SPDX-License-Identifier: Apache-2.0
"""Answers COUNT requests with a small model, BATCH of them at a time.

usage: batched_requests.py COUNT BATCH
"""

import sys

import torch

count, batch = map(int, sys.argv[1:])
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).eval()
items = torch.randn(count, 256)
with torch.inference_mode():
    for first in range(0, count, batch):
        model(items[first : first + batch]).argmax(dim=1)
