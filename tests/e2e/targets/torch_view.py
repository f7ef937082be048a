# SPDX-License-Identifier: Apache-2.0
"""Runs a small training under torch's profiler, in phases, and writes what the profiler gives its users.

The ranges "begin NAME" and "end NAME" stand right before and behind each phase: a recorder that sees ranges finds the
phase between them.
"""

import json
import sys
import threading

import torch
from torch.profiler import ProfilerActivity, profile, record_function

torch.set_num_threads(1)
torch.manual_seed(7)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.first = torch.nn.Linear(8 * 8 * 8, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        with record_function("LABEL: a name that is too long for the column that torch gives to names"):
            return self.first(x.flatten(1))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)


def step(batch):
    data = torch.randn(batch, 3, 16, 16)
    loss = torch.nn.functional.cross_entropy(net(data), torch.randint(0, 10, (batch,)))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return torch.cat([data.sum().reshape(1), torch.bmm(data[:, 0], data[:, 1]).sum().reshape(1)]) * 2.0


def nested():
    """An operator inside of its own name, and one that is freed inside of a range."""
    with record_function("outer"), record_function("outer"):
        a = torch.ones(3, 4, dtype=torch.float64)
        a = torch.baddbmm(torch.zeros(2, 3, 3), torch.ones(2, 3, 4), torch.ones(2, 4, 3)) + a.sum()
    return torch.einsum("bij,bjk->bik", torch.ones(2, 3, 4), torch.ones(2, 4, 5)).to(torch.float16)


def event(evt, ids):
    return {
        "name": evt.name,
        "trace_name": evt.trace_name,
        "input_shapes": evt.input_shapes,
        "structured_input_shapes": evt.structured_input_shapes,
        "input_dtypes": evt.input_dtypes,
        "flops": evt.flops or 0,
        "cpu_memory_usage": evt.cpu_memory_usage,
        "self_cpu_memory_usage": evt.self_cpu_memory_usage,
        "scope": evt.scope,
        "sequence_nr": evt.sequence_nr,
        "has_forward": evt.fwd_thread != 0,
        "is_user_annotation": evt.is_user_annotation,
        "thread": evt.thread,
        "parent": ids.get(id(evt.cpu_parent)),
        "cpu_time_total": evt.cpu_time_total,
        "start": evt.time_range.start,
        "is_async": evt.is_async,
    }


def average(avg):
    return {
        "key": avg.key,
        "count": avg.count,
        "input_shapes": str(avg.input_shapes),
        "cpu_memory_usage": avg.cpu_memory_usage,
        "self_cpu_memory_usage": avg.self_cpu_memory_usage,
        "flops": avg.flops,
        "scope": avg.scope,
        "is_user_annotation": avg.is_user_annotation,
        "cpu_time_total": avg.cpu_time_total,
        "self_cpu_time_total": avg.self_cpu_time_total,
    }


def run(name, work, **options):
    with record_function(f"begin {name}"):
        pass
    prof = profile(activities=[ProfilerActivity.CPU], **options)
    prof.start()
    work()
    prof.stop()
    with record_function(f"end {name}"):
        pass
    events = prof.events()
    ids = {id(evt): place for place, evt in enumerate(events)}
    return {
        "events": [event(evt, ids) for evt in events],
        "averages": [average(avg) for avg in prof.key_averages()],
        "by_shape": [average(avg) for avg in prof.key_averages(group_by_input_shape=True)],
        "table": prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10),
        "total": average(events.total_average()),
    }


def stacked():
    """Python stacks of operators: torch has them only when told so twice."""
    with record_function("begin stacks"):
        pass
    verbose = torch._C._profiler._ExperimentalConfig(verbose=True)
    prof = profile(activities=[ProfilerActivity.CPU], with_stack=True, experimental_config=verbose)
    prof.start()
    step(2)
    prof.stop()
    with record_function("end stacks"):
        pass
    return [[evt.name, evt.stack] for evt in prof.events() if not evt.is_python_function]


def trained():
    kept = []
    for number in range(2):
        with record_function(f"ProfilerStep#{number}"):
            kept.append(step(4 + number))
    kept.append(nested())
    del kept[0]


def threaded():
    """Operators of another thread are seen by a profiler of all threads."""
    step(2)
    other = threading.Thread(target=step, args=(3,))
    other.start()
    other.join()


step(4)  # whatever is only done once
with record_function("around everything"):
    found = {
        "plain": run("plain", trained),
        "full": run("full", trained, record_shapes=True, profile_memory=True, with_flops=True),
        "threads": run(
            "threads",
            threaded,
            record_shapes=True,
            experimental_config=torch._C._profiler._ExperimentalConfig(profile_all_threads=True),
        ),
        "stacks": stacked(),
    }
with open(sys.argv[1], "w") as out:
    json.dump(found, out)
