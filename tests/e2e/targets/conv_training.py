# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network: trained on what a DataLoader's worker makes, or only called.

usage: conv_training.py train|infer STEPS
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image = torch.randn(3, 64, 64)
        for _ in range(20):
            image = torch.sort(image, dim=2).values.flip(2)
        return image, index % 10


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1, groups=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(512, 10),
    )


def train(steps):
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters())
    for images, labels in DataLoader(Images(16 * steps), batch_size=16, num_workers=1):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()


@torch.no_grad()
def infer(steps):
    model = make_model().eval()
    images = torch.randn(16, 3, 64, 64)
    for _ in range(steps):
        model(images)


if __name__ == "__main__":
    torch.set_num_threads(2)
    {"train": train, "infer": infer}[sys.argv[1]](int(sys.argv[2]))
