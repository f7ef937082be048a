# SPDX-License-Identifier: Apache-2.0
"""A training loop of which only some steps are recorded, by a schedule; a handler gets each group of them.

Of eight steps the first of four is skipped, the second warms up and two are recorded, twice. A handler prints a table
and writes a trace for chrome://tracing or ui.perfetto.dev into the folder given as an argument (the working folder).
`--plain`: the same training, not recorded. The losses are the same to the last bit.
"""

import contextlib
import sys
from pathlib import Path

import torch
from torch import nn

if "--plain" in sys.argv:
    from torch.profiler import profile, schedule
else:
    from strata import profile, schedule


def handler(folder):
    def ready(prof):
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=5))
        prof.export_chrome_trace(str(folder / f"trace_{prof.step_num}.json"))

    return ready


def main():
    words = [word for word in sys.argv[1:] if word != "--plain"]
    folder = Path(words[0] if words else ".")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    batches = [(torch.randn(32, 64), torch.randint(10, (32,))) for _ in range(8)]
    if "--plain" in sys.argv:
        recorder = contextlib.nullcontext()
    else:
        plan = schedule(wait=1, warmup=1, active=2, repeat=2)
        recorder = profile(schedule=plan, on_trace_ready=handler(folder))
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
