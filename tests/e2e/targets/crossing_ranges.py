# SPDX-License-Identifier: Apache-2.0
"""Ranges that cross and one that is open at the end, under torch.profiler and under strata.profile(), as JSON."""

import asyncio
import json
import time

import strata
import torch
from torch.profiler import ProfilerActivity, profile, record_function

DATA = torch.ones(64, 64)


async def part(name, seconds):
    with record_function(name):
        DATA.add(1)
        await asyncio.sleep(seconds)
        DATA.mul(2)


async def both():
    await asyncio.gather(part("first", 0.03), part("second", 0.09))


def crossing():
    """Each ends while the next one is open."""
    ranges = [record_function(name) for name in ("A", "B", "C")]
    ranges[0].__enter__()
    for last, following in zip(ranges, ranges[1:]):
        following.__enter__()
        last.__exit__(None, None, None)
        time.sleep(0.03)
        DATA.add(1)
    ranges[-1].__exit__(None, None, None)
    asyncio.run(both())
    still_open = record_function("open")
    still_open.__enter__()
    time.sleep(0.03)
    DATA.mul(2)
    return still_open


def said(profiler):
    profiler.start()
    still_open = crossing()
    profiler.stop()
    still_open.__exit__(None, None, None)
    return [
        (event.name, event.cpu_parent.name if event.cpu_parent else None, event.time_range.elapsed_us())
        for event in sorted(profiler.events(), key=lambda event: event.time_range.start)
    ]


def main():
    crossing().__exit__(None, None, None)  # what is slow the first time
    theirs = said(profile(activities=[ProfilerActivity.CPU]))
    print(json.dumps({"theirs": theirs, "ours": said(strata.profile())}))


main()
