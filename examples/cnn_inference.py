# SPDX-License-Identifier: Apache-2.0
"""Which operators does the inference of a small convolutional network spend its time and memory on?

One profile, three tables: by time, by time for each shape of the inputs, and by the memory that operators took.
`--plain` runs the same without a profile and prints the same output of the network.
"""

import contextlib
import sys

import torch
from torch import nn

if "--plain" in sys.argv:
    from torch.profiler import ProfilerActivity, profile, record_function
else:
    from strata import ProfilerActivity, profile, record_function


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
        )
        self.classifier = nn.Linear(32 * 4 * 4, 10)

    def forward(self, images):
        return self.classifier(self.features(images).flatten(1))


def main():
    plain = "--plain" in sys.argv[1:]
    torch.manual_seed(0)
    model = SmallNet().eval()
    images = torch.randn(5, 3, 64, 64)
    profiled = profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True)
    with torch.no_grad():
        model(images)  # the first run prepares more than it computes
        with contextlib.nullcontext() if plain else profiled as prof:
            with record_function("model_inference"):
                answers = model(images)
    if not plain:
        averages = prof.key_averages()
        print(averages.table(sort_by="cpu_time_total", row_limit=10))
        by_shape = prof.key_averages(group_by_input_shape=True)
        print(by_shape.table(sort_by="cpu_time_total", row_limit=10))
        print(averages.table(sort_by="self_cpu_memory_usage", row_limit=10))
    print("sum of the answers", answers.double().sum().item().hex())


if __name__ == "__main__":
    main()
