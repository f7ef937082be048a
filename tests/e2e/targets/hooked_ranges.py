# SPDX-License-Identifier: Apache-2.0
"""Ranges that hooks end, inside of a module and of an operator that they began before; one that outlives its profile.

Under torch.profiler and under strata.profile(), as JSON: events with their parents, and milliseconds.
"""

import json
import time
from collections import Counter

import strata
import torch
from torch.profiler import ProfilerActivity, profile, record_function

SLEEP = 0.02


class Slow(torch.nn.Module):
    def forward(self, data):
        time.sleep(SLEEP)
        return data.relu()


def begun(name):
    one = record_function(name)
    one.__enter__()
    return one


def end(one):
    one.__exit__(None, None, None)


def work():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), Slow())
    loading = begun("loading")
    model.register_forward_pre_hook(lambda *_: end(loading))
    out = model(torch.ones(2, 8))
    waiting = begun("waiting")

    def hook(gradient):
        end(waiting)
        time.sleep(SLEEP)
        return gradient * 2

    out.register_hook(hook)
    out.sum().backward()


def said(profiler):
    with profiler:
        work()
    pairs = Counter((event.name, event.cpu_parent.name if event.cpu_parent else "") for event in profiler.events())
    took = {event.name: event.time_range.elapsed_us() / 1e3 for event in profiler.events()}
    return {"parents": sorted([*pair, count] for pair, count in pairs.items()), "took": took}


def in_two(make):
    """A range that begins in one profile and ends in the next, while another one is open there."""
    data = torch.ones(4)
    with make():
        first = begun("first")
        data.add(1)
    with make() as profiler:
        second = begun("second")
        entered = time.perf_counter()
        end(first)
        data.add(1)
        time.sleep(SLEEP)
        inside = 1e3 * (time.perf_counter() - entered)
        end(second)
    return inside, {row.key: row.cpu_time_total / 1e3 for row in profiler.key_averages()}


def main():
    work()  # what is slow the first time
    theirs = said(profile(activities=[ProfilerActivity.CPU]))
    print(json.dumps({"theirs": theirs, "ours": said(strata.profile()), "two": in_two(strata.profile)}))


main()
