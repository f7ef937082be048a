# SPDX-License-Identifier: Apache-2.0
"""A module with two labelled parts, and three versions of it.

    python masking_module.py double   the mask through NumPy, everything in double precision
    python masking_module.py single   the same in single precision: half of the bytes
    python masking_module.py torch    the mask found by torch: no copy to NumPy and back

The first table shows where the time of each goes, the labels by name, with memory; the second one from which lines.
`--plain` behind it: no profile.
"""

import contextlib
import sys

import numpy as np
import torch
from torch import nn

if "--plain" in sys.argv:
    from torch.profiler import profile, record_function
else:
    from strata import profile, record_function

SIDE = 160


class MyModule(nn.Module):
    def __init__(self, inputs, outputs, in_torch):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.in_torch = in_torch

    def forward(self, values, mask):
        with record_function("LABEL1: linear pass"):
            out = self.linear(values)
        with record_function("LABEL2: masking"):
            threshold = out.mean().sigmoid()
            if self.in_torch:
                places = torch.nonzero(mask > threshold)
            else:
                places = np.argwhere(mask.cpu().numpy() > threshold.item())
                places = torch.from_numpy(places)
        return out, places


def main():
    version = sys.argv[1] if len(sys.argv) > 1 else "double"
    plain = "--plain" in sys.argv
    kind = torch.double if version == "double" else torch.float
    torch.manual_seed(0)
    module = MyModule(256, 64, version == "torch").to(kind)
    values = torch.rand(512, 256, dtype=kind)
    mask = torch.rand(SIDE, SIDE, SIDE, dtype=kind)
    with torch.no_grad():
        module(values, mask[:2])  # the first run prepares more than it computes
        with contextlib.nullcontext() if plain else profile(profile_memory=True, with_stack=True) as prof:
            out, places = module(values, mask)
    if not plain:
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=15))
        print(prof.key_averages(group_by_stack_n=5).table(sort_by="self_cpu_time_total", row_limit=3))
    print(f"{version}: {len(places)} places, sum of the outputs {out.sum().item().hex()}")


if __name__ == "__main__":
    main()
