# SPDX-License-Identifier: Apache-2.0
"""A DataLoader with two workers, each labelling the items it makes; the main process labels batches.

usage: loader.py fork|spawn|forkserver ITEMS BATCH
"""

import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Items(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        torch.profiler.itt.range_push(f"item_{index}")
        torch.profiler.itt.range_push("work")
        value = torch.full((4,), float(index))
        torch.profiler.itt.range_pop()
        torch.profiler.itt.range_pop()
        return torch.cat([value, torch.tensor([float(os.getpid())], dtype=torch.float64).float()])


def main():
    context, count, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    loader = DataLoader(Items(count), batch_size=batch, num_workers=2, multiprocessing_context=context)
    total = 0.0
    for number, values in enumerate(loader):
        with torch.profiler.itt.range(f"batch_{number}"):
            total += float(values[:, 0].sum())
    print(f"total {total}", flush=True)


if __name__ == "__main__":
    main()
