# SPDX-License-Identifier: Apache-2.0
"""A DataLoader with two workers that burn CPU time, and products that keep the pools of PyTorch and NumPy busy."""

import time

import numpy
import torch
from torch.utils.data import DataLoader, Dataset


class Burning(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        return torch.zeros(4)


if __name__ == "__main__":
    torch.set_num_threads(2)
    matrix, tensor = numpy.random.rand(500, 500), torch.rand(500, 500)
    end = time.process_time() + 1
    while time.process_time() < end:
        matrix @ matrix  # noqa: B018
        (tensor @ tensor).exp()
    for _ in DataLoader(Burning(), batch_size=4, num_workers=2):
        pass
