# SPDX-License-Identifier: Apache-2.0
"""Calls as sys.setprofile is told of them, and as strata.profile(with_stack=True) has them; both at once; cProfile
within. Runs without PyTorch, in any CPython.
"""

import cProfile
import gc
import json
import os
import pstats
import re
import sys
import warnings

import strata


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
    if len([depth]) > depth:
        raise ValueError(depth)
    fails(depth - 1)


def fibonacci(number):
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def negative(value):
    return -value


def wrapped(function):
    def inner(*args):
        return function(*args)

    return inner


@wrapped
def decorated(value):
    return value


class Point:
    def __init__(self, x):
        self.x = x

    @property
    def twice(self):
        return 2 * self.x


def work():
    for _ in numbers(3):
        pass
    some = numbers(5)
    next(some)
    next(some)
    some.close()
    thrown = patient()
    next(thrown)
    thrown.throw(KeyError())
    thrown.close()
    for broken in (lambda: fails(2), lambda: len(5)):
        try:
            broken()
        except (ValueError, TypeError):
            pass
    fibonacci(4)
    sorted([3, 1, 2], key=negative)
    decorated(Point(1).twice)
    "a".upper(), [].append(1), {}.get(1)
    max([1, 2], key=lambda value: -value)


def masked(name):
    return re.sub(r"0x[0-9a-f]+", "0x", name)


class Tool:
    """Whatever a program may set as its own profile function."""

    def __init__(self):
        self.depth, self.seen = 0, []

    def __call__(self, frame, what, argument):
        if what not in ("call", "c_call"):
            self.depth -= 1
            return
        name = masked(repr(argument))
        if what == "call":
            code = frame.f_code
            name = f"{os.path.basename(code.co_filename)}({frame.f_lineno}): {code.co_name}"
        self.seen.append([self.depth, name])
        self.depth += 1

    def run(self):
        sys.setprofile(self)
        try:
            work()
        finally:
            sys.setprofile(None)
        return [one for one in self.seen if "setprofile" not in one[1]]


def recorded(prof):
    """The calls inside of work(), in order, each with its depth."""
    found, depths = [], {}
    for event in prof.events():
        if event.name.endswith(": work"):
            depths[id(event)] = 0
        elif id(event.cpu_parent) in depths:
            depths[id(event)] = depths[id(event.cpu_parent)] + 1
        if id(event) in depths:
            found.append([depths[id(event)], masked(event.name)])
    return found


def counts():
    profiler = cProfile.Profile()
    profiler.enable()
    work()
    profiler.disable()
    stats = pstats.Stats(profiler).stats
    return sorted([key[1], key[2], value[0], value[1]] for key, value in stats.items() if "disable" not in key[2])


def profiled():
    with strata.profile(with_stack=True) as prof:
        work()
    return prof


def main():
    work()
    said = {"minor": sys.version_info[1], "told": Tool().run(), "recorded": recorded(profiled())}
    profiled()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(10):
        profiled()
    gc.collect()
    said["grown"] = len(gc.get_objects()) - before
    tools = getattr(sys, "monitoring", None)
    said["left"] = [sys.getprofile(), (tools.get_tool(3) or tools.get_tool(4)) if tools else None]
    alone = counts()
    with strata.profile(with_stack=True):
        said["profiled"] = {"own": Tool().run(), "stats": counts(), "alone": alone}
    tool = Tool()
    sys.setprofile(tool)
    with strata.profile(with_stack=True) as prof:
        is_there = sys.getprofile() is tool
    sys.setprofile(None)
    said["refused"] = any("Python function calls" in note for note in prof.window.notes)
    said["kept"] = is_there
    print(json.dumps(said))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
