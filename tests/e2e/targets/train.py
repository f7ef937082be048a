# SPDX-License-Identifier: Apache-2.0
"""train.py SECONDS THREADS: the loop of train_plain.py, recorded from its fourth step on. Prints what the loop took."""

import json

import itt
import torch
from train_plain import loop, step

for _ in range(3):
    step()
itt.resume()
with torch.autograd.profiler.emit_itt():
    took = loop()
itt.pause()
print(json.dumps(took))
