# SPDX-License-Identifier: Apache-2.0
"""Pushes every label of a JSON list once through torch, with unbalanced pops and marks around them.

usage: labels.py LABELS.json
"""

import json
import sys

import torch

itt = torch.profiler.itt
with open(sys.argv[1], encoding="utf-8") as file:
    labels = json.load(file)
for _ in range(3):
    itt.range_pop()
for label in labels:
    itt.range_push(label)
    itt.range_pop()
for _ in range(2):
    itt.range_pop()
for number in range(4):
    itt.mark(f"mark {number}")
itt.range_push("outer")
itt.mark("inside outer")
itt.range_pop()
print(len(labels))
