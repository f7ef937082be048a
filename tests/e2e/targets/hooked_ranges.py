# SPDX-License-Identifier: Apache-2.0
"""Ranges that hooks end, inside of a module and of an operator that they began before; one that outlives its profile.

Under torch.profiler and under strata.profile(), as JSON: events with their parents, and milliseconds.
"""

import json
import time
from collections import Counter

import strata
import strata.itt
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


def in_two_by_hook(make):
    """The same, ended by a hook: nothing of its kind is open there, but an operator and a task are."""
    domain = strata.itt.domain_create("theirs")
    out = torch.ones(4, requires_grad=True).relu()
    with make():
        first = begun("first")
        out.add(1)

    def hook(gradient):
        end(first)
        time.sleep(SLEEP)
        return gradient * 2

    out.register_hook(hook)
    with make() as profiler:
        strata.itt.task_begin(domain, "task")
        out.sum().backward()
        strata.itt.task_end(domain)
    rows = {row.key: row.cpu_time_total / 1e3 for row in profiler.key_averages()}
    return rows["autograd::engine::evaluate_function: ReluBackward0"]


def surplus_ends():
    """More ends of tasks than there are tasks, while ranges are open: what comes then is still recorded."""
    domain = strata.itt.domain_create("theirs")
    with strata.profile() as profiler:
        outer, inner = begun("outer"), begun("inner")
        for _ in range(3):
            strata.itt.task_end(domain)
        end(outer)
        end(inner)
        for _ in range(100):
            torch.ones(2)
    return next(row.count for row in profiler.key_averages() if row.key == "aten::ones")


def main():
    work()  # what is slow the first time
    theirs = said(profile(activities=[ProfilerActivity.CPU]))
    ours = {"ours": said(strata.profile()), "two": in_two(strata.profile)}
    ours |= {"two by hook": in_two_by_hook(strata.profile), "surplus": surplus_ends()}
    print(json.dumps({"theirs": theirs, **ours}))


main()
