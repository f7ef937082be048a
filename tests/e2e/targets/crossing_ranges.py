# SPDX-License-Identifier: Apache-2.0
"""Ranges that cross and one that is open at the end, under torch.profiler and under strata.profile(), as JSON.

"took" has each round's ranges with the milliseconds between the inner and between the outer sides of their ends.
"""

import asyncio
import json
import time

import strata
import torch
from torch.profiler import ProfilerActivity, profile, record_function

DATA = torch.ones(64, 64)


class Timed:
    """A range, and the clock on both sides of its begin and of its end."""

    def __init__(self, name, took):
        self.range, self.name, self.took = record_function(name), name, took

    def __enter__(self):
        self.before = time.perf_counter()
        self.range.__enter__()
        self.entered = time.perf_counter()

    def __exit__(self, *raised):
        self.ends(lambda: self.range.__exit__(None, None, None))

    def ends(self, how):
        leaving = time.perf_counter()
        how()
        self.took[self.name] = [1e3 * (leaving - self.entered), 1e3 * (time.perf_counter() - self.before)]


async def part(name, seconds, took):
    with Timed(name, took):
        DATA.add(1)
        await asyncio.sleep(seconds)
        DATA.mul(2)


async def both(took):
    await asyncio.gather(part("first", 0.03, took), part("second", 0.09, took))


def crossing(took):
    """Each ends while the next one is open."""
    ranges = [Timed(name, took) for name in ("A", "B", "C")]
    ranges[0].__enter__()
    for last, following in zip(ranges, ranges[1:]):
        following.__enter__()
        last.__exit__(None, None, None)
        time.sleep(0.03)
        DATA.add(1)
    ranges[-1].__exit__(None, None, None)
    asyncio.run(both(took))
    still_open = Timed("open", took)
    still_open.__enter__()
    time.sleep(0.03)
    DATA.mul(2)
    return still_open


def said(profiler, took):
    profiler.start()
    still_open = crossing(took)
    still_open.ends(profiler.stop)
    still_open.range.__exit__(None, None, None)
    return [
        (event.name, event.cpu_parent.name if event.cpu_parent else None, event.time_range.elapsed_us())
        for event in sorted(profiler.events(), key=lambda event: event.time_range.start)
    ]


def main():
    took = [{}, {}, {}]
    crossing(took[0]).__exit__(None, None, None)  # what is slow the first time
    theirs = said(profile(activities=[ProfilerActivity.CPU]), took[1])
    print(json.dumps({"theirs": theirs, "ours": said(strata.profile(), took[2]), "took": took}))


main()
