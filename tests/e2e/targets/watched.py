# SPDX-License-Identifier: Apache-2.0
"""watched.py fake|mode|profiler: a first profile where others see or refuse every operator; what was seen, as JSON."""

import json
import sys
from collections import Counter

import strata
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names[func.__name__] += 1
        return func(*args, **(kwargs or {}))


def profiled(count):
    data = torch.ones(3, 5)
    with strata.profile(record_shapes=True) as ours:
        for _ in range(count):
            torch.relu(data.add(1))
    return ours


def main():
    theirs = {}
    if sys.argv[1] == "fake":
        with FakeTensorMode():
            ours = profiled(100)
    elif sys.argv[1] == "mode":
        with Count() as mode:
            ours = profiled(100)
        theirs = mode.names
    else:
        with profile(activities=[ProfilerActivity.CPU]) as other:
            ours = profiled(100)
        theirs = {event.key: event.count for event in other.key_averages()}
    rows = ours.key_averages(group_by_input_shape=True)
    found = {f"{event.key} {event.input_shapes}": event.count for event in rows}
    # And the next one, when nobody looks.
    later = {f"{e.key} {e.input_shapes}": e.count for e in profiled(3).key_averages(group_by_input_shape=True)}
    print(json.dumps({"ours": found, "theirs": theirs, "later": later}))


main()
