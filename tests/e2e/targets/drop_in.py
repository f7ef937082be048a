# SPDX-License-Identifier: Apache-2.0
"""One program under torch.profiler and, with one import changed, under strata: what its user gets from each, as JSON.

drop_in.py FOLDER
"""

import contextlib
import importlib
import json
import os
import sys
import threading
import warnings

import torch
import torch.autograd.profiler
import torch.profiler

torch.set_num_threads(1)
torch.set_num_interop_threads(1)
torch.manual_seed(3)

MODULES = {"torch": ("torch.profiler", "torch.autograd.profiler"), "strata": ("strata", "strata.profiler")}
VERBOSE = torch._C._profiler._ExperimentalConfig(verbose=True)
EVERYWHERE = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 6, 3)
        self.last = torch.nn.Linear(6 * 14 * 14, 10)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        with torch.profiler.record_function("LABEL: the last layer"):
            return self.last(x.flatten(1))


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
images, targets = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))


def train():
    loss = torch.nn.functional.cross_entropy(model(images), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.jit.script
def forked(a):
    return torch.jit.wait(torch.jit.fork(torch.mm, a, a))


def lines(text):
    """A table as its lines of cells; the first row is the header."""
    rows = text.splitlines()
    rules = [at for at, row in enumerate(rows) if row.startswith("----")]
    widths = [len(part) for part in rows[rules[0]].split("  ") if part]
    cut = []
    for row in rows[rules[0] + 1 : rules[1]] + rows[rules[1] + 1 : rules[2]]:
        at, cells = 0, []
        for width in widths:
            cells.append(row[at : at + width].strip())
            at += width + 2
        cut.append(cells)
    return {"above": rows[: rules[0]], "rules": [rows[at] for at in rules], "cells": cut, "below": rows[rules[2] + 1 :]}


def facts(of):
    """What is the same in every run."""
    return [of.key, of.count, str(of.input_shapes), of.cpu_memory_usage, of.self_cpu_memory_usage, of.flops, of.scope,
            of.is_user_annotation, of.overload_name, of.use_device, of.is_async, of.is_remote, of.is_legacy,
            str(of.device_type), of.device_time_total, of.self_device_time_total, of.device_memory_usage]  # fmt: skip


def public(of):
    """Its attributes and their types; of what may be empty or not, only the name."""
    found = {}
    for name in dir(of):
        if not name.startswith("_"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = type(getattr(of, name, None)).__name__
    return found


def raised(what):
    try:
        what()
        return None
    except Exception as why:
        return type(why).__name__


def profiled(module, work=train, **options):
    optimizer.zero_grad()  # blocks from before a profile: torch may know the size of some, by chance
    with module.profile(activities=[module.ProfilerActivity.CPU], **options) as prof, module.record_function("whole"):
        work()
    return prof


def case_table(module, folder):
    averages = profiled(module).key_averages()
    return {
        "table": lines(averages.table(sort_by="cpu_time_total", row_limit=10)),
        "all": lines(averages.table(row_limit=-1)),
        "facts": [facts(one) for one in averages],
    }


def case_shapes(module, folder):
    averages = profiled(module, record_shapes=True).key_averages(group_by_input_shape=True)
    return {
        "table": lines(averages.table(sort_by="cpu_time_total", row_limit=10)),
        "all": lines(averages.table(row_limit=-1, max_shapes_column_width=50)),
        "facts": [facts(one) for one in averages],
    }


def case_memory(module, folder):
    prof = profiled(module, profile_memory=True, record_shapes=True)
    averages = prof.key_averages()
    return {
        "table": lines(averages.table(sort_by="self_cpu_memory_usage", row_limit=10)),
        "all": lines(averages.table(sort_by="cpu_memory_usage", row_limit=-1)),
        "by_shape": lines(prof.key_averages(True).table(sort_by="self_cpu_memory_usage", row_limit=15)),
        "facts": [facts(one) for one in averages],
    }


def case_flops(module, folder):
    averages = profiled(module, with_flops=True).key_averages()
    return {"all": lines(averages.table(sort_by="flops", row_limit=-1)), "facts": [facts(one) for one in averages]}


def case_stacks(module, folder):
    """torch has stacks of operators only when told so twice."""
    prof = profiled(module, with_stack=True, experimental_config=VERBOSE)
    found = {"plain": [facts(one) for one in prof.key_averages() if "(" not in one.key and "<" not in one.key]}
    for depth in (1, 5):
        averages = prof.key_averages(group_by_stack_n=depth)
        found[str(depth)] = [[one.key, one.count, one.stack] for one in averages]
        found[f"table {depth}"] = lines(averages.table(sort_by="self_cpu_time_total", row_limit=3))
    prof.export_stacks(os.path.join(folder, "stacks.txt"), "self_cpu_time_total")
    prof.export_chrome_trace(os.path.join(folder, "stacks.json"))
    return found


SORT_KEYS = [
    *(f"{own}{unit}_{what}" for own in ("", "self_") for unit in ("cpu", "cuda", "xpu", "privateuse1", "device")
      for what in ("time_total", "memory_usage")),
    "cpu_time", "cuda_time", "xpu_time", "device_time", "count", "flops", "key", "nonsense", None,
]  # fmt: skip


def case_sorted(module, folder):
    prof = profiled(module, profile_memory=True, with_flops=True)
    averages, events = prof.key_averages(), prof.events()
    found = {}
    for key in SORT_KEYS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[str(key)] = [raised(lambda of=of: of.table(sort_by=key)) for of in (averages, events)]  # noqa: B023
    determined = ("count", "flops", "self_cpu_memory_usage", "self_xpu_time_total", "cuda_memory_usage", "key")
    for key in determined:
        found[f"by {key}"] = [row[0] for row in lines(averages.table(sort_by=key, row_limit=-1))["cells"]]
    found["units"] = [
        [cell[-2:].strip("0123456789.") for cell in row[1:6]]
        for unit in ("s", "ms", "us")
        for row in lines(averages.table(time_unit=unit, row_limit=3))["cells"]
    ]
    found["header"] = lines(averages.table(header="The header", row_limit=2))["above"]
    found["top"] = [row[0] for row in lines(averages.table(top_level_events_only=True))["cells"]]
    found["narrow"] = [row[0] for row in lines(averages.table(max_name_column_width=20))["cells"]]
    return found


def case_events(module, folder):
    prof = profiled(module, record_shapes=True, profile_memory=True)
    events = prof.events()
    place = {id(one): at for at, one in enumerate(events)}
    total = events.total_average()
    return {
        "list": [
            [*facts(one), one.name, one.trace_name, place.get(id(one.cpu_parent)), len(one.cpu_children),
             one.structured_input_shapes, one.fwd_thread != 0, one.activity_type, one.sequence_nr >= 0,
             one.input_dtypes]
            for one in events
        ],
        "event": public(events[5]), "average": public(prof.key_averages()[0]),
        "methods": sorted(name for name in dir(events) if not name.startswith("_")),
        "range": sorted(name for name in dir(events[0].time_range) if not name.startswith("_")),
        "total": [total.key, total.count, total.flops, total.cpu_memory_usage, total.self_cpu_memory_usage],
        "sums": abs(events.self_cpu_time_total - sum(one.self_cpu_time_total for one in events)) < 1,
        "whole": [one.cpu_time_total > 0 for one in events if one.name == "whole"],
    }  # fmt: skip


def case_schedule(module, folder):
    """The tutorial's loop: a handler that prints and exports."""
    seen = []

    def ready(prof):
        table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=-1)
        prof.export_chrome_trace(os.path.join(folder, f"trace_{prof.step_num}.json"))
        counts = {one.key: one.count for one in prof.key_averages()}
        seen.append([prof.step_num, sorted(row[0] for row in lines(table)["cells"]), counts])

    plan = module.schedule(skip_first=10, wait=5, warmup=1, active=3, repeat=2)
    with module.profile(activities=[module.ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready) as prof:
        for _ in range(30):
            train()
            prof.step()
    return {"seen": seen, "files": sorted(name for name in os.listdir(folder) if name.startswith("trace_"))}


def case_board(module, folder):
    board = os.path.join(folder, "board")
    handler = module.tensorboard_trace_handler(board, worker_name="worker")
    plan = module.schedule(wait=0, warmup=1, active=3)
    with module.profile(schedule=plan, on_trace_ready=handler, record_shapes=True) as prof:
        for _ in range(8):
            train()
            prof.step()
    return [len(name.split(".")) for name in sorted(os.listdir(board)) if name.endswith(".pt.trace.json")]


def case_files(module, folder):
    optimizer.zero_grad()
    with module.profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
        train()
        prof.add_metadata("text", "some words")
        prof.add_metadata_json("json", '{"a": [1, 2]}')
    prof.export_chrome_trace(os.path.join(folder, "whole.json.gz"))  # torch writes a trace once
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for suffix in ("json", "json.gz", "raw.json.gz", "html"):
            with contextlib.suppress(ImportError):  # torch's page wants matplotlib
                prof.export_memory_timeline(os.path.join(folder, f"memory.{suffix}"), device="cpu")
    return sorted(name for name in os.listdir(folder) if name.startswith("whole"))


def case_threads(module, folder):
    """Work of a thread of Python's and of a thread of PyTorch's, of which the last may end after the profile."""
    square = torch.ones(8, 8)

    def work():
        other = threading.Thread(target=lambda: torch.cos(square))
        other.start()
        other.join()
        forked(square)
        forked(square).sin()

    found = {}
    for name, config in (("own", None), ("all", EVERYWHERE)):
        prof = profiled(module, work, experimental_config=config)
        found[name] = sorted({one.name for one in prof.events()})
        path = os.path.join(folder, f"threads_{name}.json")
        prof.export_chrome_trace(path)
        with open(path) as file:
            events = [one for one in json.load(file)["traceEvents"] if one.get("cat") == "cpu_op"]
        found[f"{name} in the trace"] = [sorted({one["name"] for one in events}), len({one["tid"] for one in events})]
    return found


def case_misuse(module, folder):
    def nested():
        prof = module.profile()
        prof.start()
        prof.stop()
        prof.stop()

    done = profiled(module)
    return {
        "before": [raised(module.profile().key_averages), raised(module.profile().events),
                   raised(lambda: module.profile().export_chrome_trace(os.path.join(folder, "none.json")))],
        "twice": raised(nested),
        "no stacks": raised(lambda: done.export_stacks(os.path.join(folder, "none.txt"))),
        "metric": raised(lambda: done.events().export_stacks(os.path.join(folder, "none.txt"), "nonsense")),
        "no memory": raised(lambda: done.export_memory_timeline(os.path.join(folder, "none.html"))),
        "again": raised(lambda: done.key_averages().key_averages()),
        "activities": [raised(lambda: module.profile(activities=[])),
                       raised(lambda: module.profile(activities=[module.ProfilerActivity.CPU] * 2))],
        "words": raised(lambda: module.profile(nonsense=1)), "position": raised(lambda: module.profile(True)),
        "empty": module_empty(module),
    }  # fmt: skip


def module_empty(module):
    with module.profile() as prof:
        pass
    return [prof.key_averages().table(), len(prof.events()), len(prof.key_averages())]


def case_legacy(module, folder):
    legacy = importlib.import_module(MODULES[module.__name__.partition(".")[0]][1])
    optimizer.zero_grad()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with legacy.profile(use_cuda=True, with_stack=False, profile_memory=True, record_shapes=True) as prof:
            with legacy.record_function("label"):
                train()
    with legacy.profile(enabled=False) as off:
        train()
    path = os.path.join(folder, "legacy.json")
    prof.export_chrome_trace(path)
    total = prof.total_average()
    return {
        "told": sorted({str(one.message).split(",")[0] for one in told if "USDT" not in str(one.message)}),
        "off": off is None,
        "averages": [facts(one) for one in prof.key_averages()],
        "events": len(prof.function_events),
        "table": lines(prof.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_memory_usage"))["cells"][0],
        "each": len(lines(prof.table(row_limit=1000))["cells"]),
        "total": [total.key, total.count], "time": prof.self_cpu_time_total > 0,
    }  # fmt: skip


if __name__ == "__main__":
    for _ in range(3):  # whatever is only done once
        train()
    forked(torch.ones(8, 8))
    said = {}
    for which, names in MODULES.items():
        one = importlib.import_module(names[0])
        place = os.path.join(sys.argv[1], which)
        os.makedirs(place)
        said[which] = {
            name.removeprefix("case_"): case(one, place)
            for name, case in list(globals().items())
            if name.startswith("case_")
        }
    with open(os.path.join(sys.argv[1], "said.json"), "w") as out:
        json.dump(said, out)
