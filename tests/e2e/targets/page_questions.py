# SPDX-License-Identifier: Apache-2.0
"""A training script about which seven questions are asked on the page.

Its batches are made of Python lists, which is slow (line BATCH); a second thread sorts meanwhile, as a loader would.
With "better" as its argument batches are made by torch.
"""

import random
import sys
import threading

import torch

STEPS = 12


def make_batch(better):
    if better:
        return torch.randn(128, 1024)
    return torch.tensor([[random.random() for _ in range(1024)] for _ in range(128)])  # BATCH


def sort_ahead(stop):
    values = torch.randn(200_000)
    while not stop.is_set():
        values.sort()


def train(better):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    labels = torch.randint(0, 10, (128,))
    for step in range(STEPS):
        with torch.profiler.record_function(f"iteration_{step}"):
            batch = make_batch(better)
            with torch.profiler.record_function("forward"):
                loss = torch.nn.functional.cross_entropy(model(batch), labels)
            with torch.profiler.record_function("backward"):
                optimizer.zero_grad()
                loss.backward()
            optimizer.step()


def main():
    torch.set_num_threads(1)
    stop = threading.Event()
    loader = threading.Thread(target=sort_ahead, args=(stop,), name="loader")
    loader.start()
    train("better" in sys.argv)
    stop.set()
    loader.join()


main()
