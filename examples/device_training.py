# SPDX-License-Identifier: Apache-2.0
"""A training loop on whatever device there is (CUDA, XPU, else the CPU), profiled as with torch.profiler.

A schedule records two of every four steps; for each group of them a handler prints the operators and kernels by their
time on the device, and writes a trace for chrome://tracing or ui.perfetto.dev into the folder given as an argument.
On a machine without a device the script says so once and shows what the CPU did. `--plain`: the same, not recorded.
What an XPU does is recorded where strata starts the script: strata -collect operators -- python3 device_training.py
"""

import contextlib
import sys
from pathlib import Path

import torch
from torch import nn

if "--plain" in sys.argv:
    from torch.profiler import ProfilerActivity, profile, schedule
else:
    from strata import ProfilerActivity, profile, schedule


def choose_device():
    for name in ("cuda", "xpu"):
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            return name
    return "cpu"


def handler(folder, device):
    folder.mkdir(parents=True, exist_ok=True)

    def ready(prof):
        print(prof.key_averages().table(sort_by=f"self_{device}_time_total", row_limit=8))
        prof.export_chrome_trace(str(folder / f"trace_{prof.step_num}.json"))

    return ready


def main():
    words = [word for word in sys.argv[1:] if word != "--plain"]
    device = choose_device()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = [(torch.randn(32, 64).to(device), torch.randint(10, (32,)).to(device)) for _ in range(8)]
    recorder = contextlib.nullcontext()
    if "--plain" not in sys.argv:
        recorder = profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.XPU if device == "xpu" else ProfilerActivity.CUDA],
            schedule=schedule(wait=1, warmup=1, active=2),
            on_trace_ready=handler(Path(words[0] if words else "."), "cuda" if device == "cpu" else device),
        )
    with recorder as prof:
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            print("loss", loss.item().hex())
            if prof:
                prof.step()


if __name__ == "__main__":
    main()
