#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three inferences of a small convolutional model, annotated for an ITT collector.

Nothing here knows about Strata: PyTorch itself emits one ITT task per operator under emit_itt(), and
the script names each iteration, as any program made for an ITT collector would.
"""

import argparse
import json
import os
import threading
import time

import torch
from torch.profiler import itt


class Recipe(torch.nn.Module):
    """One convolution, one fully connected layer as wide as the convolution's output."""

    def __init__(self, side: int) -> None:
        super().__init__()
        channels, kernel = 5, 3
        out = side - kernel + 1
        self.convolution = torch.nn.Conv2d(3, channels, kernel)
        self.linear = torch.nn.Linear(channels * out * out, 1000)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.flatten(self.convolution(images), start_dim=1))


def run_labelled(label: str, style: str, work) -> float:
    """Calls work() under an ITT task and returns the seconds that the script itself measured."""
    if style == "push":
        begin = time.perf_counter()
        itt.range_push(label)
        work()
        itt.range_pop()
        return time.perf_counter() - begin
    begin = time.perf_counter()
    with itt.range(label):
        work()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description="Three labelled inferences under emit_itt().")
    parser.add_argument("--size", choices=["full", "small"], default="full", help="small needs 30 MB, full 1.5 GB")
    parser.add_argument("--label-style", choices=["push", "range"], default="push")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--times-json", metavar="FILE", help="write the script's own timing here")
    options = parser.parse_args()

    torch.manual_seed(0)
    # Full size: 10 images of 3 x 244 x 244, so that the linear layer has 5 * 242 * 242 = 292,820 inputs.
    batch, side = (10, 244) if options.size == "full" else (4, 34)
    model = Recipe(side).eval()
    images = torch.rand(batch, 3, side, side)

    times = []
    with torch.no_grad(), torch.autograd.profiler.emit_itt():
        for number in range(options.iterations):
            label = f"iteration_{number}"
            seconds = run_labelled(label, options.label_style, lambda: model(images))
            times.append({"label": label, "seconds": seconds})
            print(f"{label}: {seconds * 1e3:.1f} ms")

    if options.times_json:
        record = {"pid": os.getpid(), "tid": threading.get_native_id(), "iterations": times}
        with open(options.times_json, "w", encoding="utf-8") as out:
            json.dump(record, out)


if __name__ == "__main__":
    main()
