# SPDX-License-Identifier: Apache-2.0
"""A small training loop, plain, under emit_itt or under torch.profiler; prints its figures as JSON."""

import argparse
import contextlib
import json
import statistics
import time

import torch


def main():
    parser = argparse.ArgumentParser()
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--itt", action="store_true")
    mode.add_argument("--profiler", metavar="TRACE")
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, stride=2),
        torch.nn.BatchNorm2d(32),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 10),
    )
    optimizer = torch.optim.Adam(model.parameters())
    data = torch.randn(8, 3, 32, 32)
    target = torch.randint(0, 10, (8,))
    seconds = []

    def step(index):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()

    for index in range(10):
        step(index)
    profile = None
    if args.profiler:
        profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    around = profile or (torch.autograd.profiler.emit_itt() if args.itt else contextlib.nullcontext())
    with around:
        for index in range(args.steps):
            start = time.perf_counter()
            if args.itt:
                with torch.profiler.itt.range(f"step_{index}"):
                    step(index)
            else:
                step(index)
            seconds.append(time.perf_counter() - start)
    figures = {"step_ms": statistics.median(seconds) * 1e3}
    if profile:
        profile.export_chrome_trace(args.profiler)
        with open(args.profiler, encoding="utf-8") as trace:
            figures["events"] = sum(1 for e in json.load(trace)["traceEvents"] if e.get("cat") == "cpu_op")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
