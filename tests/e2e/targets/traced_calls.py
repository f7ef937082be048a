# SPDX-License-Identifier: Apache-2.0
"""The same deterministic work under torch.profiler or strata, with_stack=True, and what the user gets: argv is the name
of the module and a folder.
"""

import functools
import importlib
import json
import os
import queue
import sys
import threading
import time
import warnings

import torch

sys.setswitchinterval(
    10
)  # a thread that was started runs when this one waits for it: both profilers see the same calls

module = importlib.import_module(sys.argv[1])
folder = sys.argv[2]
VERBOSE = torch._C._profiler._ExperimentalConfig(verbose=True)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)

    def forward(self, value):
        return self.second(torch.relu(self.first(value)))


class Point:
    def __init__(self, x):
        self.x = x

    def __lt__(self, other):
        return self.x < other.x


def numbers(count):
    at = 0
    while at < count:
        yield at
        at += 1


def patient():
    try:
        yield 1
    except KeyError:
        yield 2


def fails(depth):
    if depth == 0:
        raise ValueError(depth)
    fails(depth - 1)


def factorial(number):
    return 1 if number < 2 else number * factorial(number - 1)


def negative(value):
    return -value


@functools.lru_cache
def cached(value):
    return value


def elsewhere(orders):
    orders.get()
    negative(torch.ones(2).sum())


GETS = elsewhere.__code__.co_firstlineno + 1


def python():
    for _ in numbers(3):
        pass
    some = numbers(5)
    next(some)
    next(some)
    some.close()
    thrown = patient()
    next(thrown)
    thrown.throw(KeyError())
    for broken in (lambda: fails(3), lambda: int("z"), lambda: len(5)):
        try:
            broken()
        except (ValueError, TypeError):
            pass
    factorial(5)
    sorted([3, 1, 2], key=negative)
    min(Point(1), Point(2))
    cached(1)
    cached(1)
    list(map(negative, [1, 2]))
    "a".upper(), "b".upper(), [].append(1)
    max([1, 2], key=lambda value: -value)


def tensors(net, data):
    net(data)
    data.sum()
    torch.add(data, data)
    with module.record_function("label"):
        torch.mul(data, data)
    leaf = data.clone().requires_grad_()
    (leaf * leaf).sum().backward()


def work(net, data, orders):
    python()
    tensors(net, data)
    thread = threading.Thread(target=negative, args=(1,))  # begun too late to be recorded
    thread.start()
    thread.join()
    orders.put(1)


def profiled(net, **options):
    data = torch.ones(2, 4)
    orders = queue.SimpleQueue()
    other = threading.Thread(target=elsewhere, args=(orders,))
    other.start()
    waits = 0
    while waits < 5:  # in get(), not on the way there
        frame = sys._current_frames().get(other.ident)
        waits = waits + 1 if frame is not None and frame.f_lineno == GETS else 0
        time.sleep(0.001)
    with module.profile(activities=[module.ProfilerActivity.CPU], with_stack=True, **options) as prof:
        work(net, data, orders)
        other.join()
    return prof


def facts(prof):
    events = prof.events()
    place = {id(one): at for at, one in enumerate(events)}
    return [
        {
            "name": one.name, "python": one.is_python_function, "parent": place.get(id(one.cpu_parent)),
            "children": len(one.cpu_children), "scope": one.scope, "user": one.is_user_annotation,
            "stack": one.stack, "thread": one.thread, "id": one.python_id, "above": one.python_parent_id,
            "module": one.python_module_id, "kind": one.activity_type, "shapes": one.input_shapes,
            "total": one.cpu_time_total, "self": one.self_cpu_time_total, "memory": one.cpu_memory_usage,
        }
        for one in events
    ]  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    net = Block()
    work(net, torch.ones(2, 4), queue.SimpleQueue())
    prof = profiled(net, experimental_config=VERBOSE)
    said = {"events": facts(prof)}
    said["averages"] = [[one.key, one.count] for one in prof.key_averages()]
    for depth in (1, 5):
        averages = prof.key_averages(group_by_stack_n=depth)
        said[f"by {depth}"] = [[one.key, one.count, one.stack] for one in averages]
        said[f"table {depth}"] = averages.table(sort_by="cpu_time_total", row_limit=-1)
    said["table"] = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10)
    prof.export_chrome_trace(os.path.join(folder, "trace.json"))
    prof = profiled(net, record_shapes=True, profile_memory=True, with_modules=True)
    said["shapes"] = [[one.key, one.count, one.input_shapes] for one in prof.key_averages(group_by_input_shape=True)]
    said["memory"] = facts(prof)
    said["plain"] = prof.key_averages().table(sort_by="cpu_time_total", row_limit=5)
    with open(os.path.join(folder, "said.json"), "w") as file:
        json.dump(said, file)
