# SPDX-License-Identifier: Apache-2.0
"""A tree of calls through everything that calls Python functions, each with a leaf of its own.

python_tree.py SECONDS: each leaf burns CPU time for so long, and what stands above it is printed, as the
interpreter sees it: {leaf: [names from the outermost function inwards]}. Runs in every CPython from 3.8 on.
"""

import asyncio
import ctypes
import functools
import json
import sys
import threading
import time

sys.setrecursionlimit(20000)
threading.stack_size(512 << 20)  # up to 3.10 every Python frame is a native one

SECONDS = float(sys.argv[1])
DEEP = 5000
seen = {}


def note():
    frame = sys._getframe(1)
    leaf, names = frame.f_code.co_name, []
    while frame and len(names) < 300:
        code = frame.f_code
        names.append(getattr(code, "co_qualname", code.co_name))
        frame = frame.f_back
    seen[leaf] = names[::-1]


def leaf_plain():
    note()
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        for i in range(2000): i * i  # fmt: skip # noqa: E701, B018


def twin(name):
    """The same function under another name."""
    code = leaf_plain.__code__.replace(co_name=name)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=name)
    return type(leaf_plain)(code, globals(), name)


leaf_sort, leaf_callback, leaf_generator, leaf_async, leaf_except, leaf_deep, leaf_method, leaf_map = map(
    twin,
    "leaf_sort leaf_callback leaf_generator leaf_async leaf_except leaf_deep leaf_method leaf_map".split(),
)


def by_sort():
    sorted([1], key=lambda x: leaf_sort() or x)


def by_callback():
    ctypes.CFUNCTYPE(ctypes.c_int)(lambda: leaf_callback() or 0)()


def generator(count):
    if count:
        yield from generator(count - 1)
    leaf_generator()
    yield 1


def by_generator():
    next(generator(3))


async def coroutine(count):
    await asyncio.sleep(0)
    if count:
        await coroutine(count - 1)
    else:
        leaf_async()


def by_async():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(coroutine(3))
    loop.close()


def by_except():
    try:
        raise ValueError
    except ValueError:
        try:
            {}["no"]
        except KeyError:
            leaf_except()


class Thing:
    def __init__(self):
        self.got = self.value

    @property
    def value(self):
        return leaf_method()


def by_method():
    functools.reduce(lambda a, b: Thing(), [1, 2])


def by_map():
    list(map(lambda x: list(filter(lambda y: leaf_map() or y, [x])), [1]))


def deep(count):
    if count:
        deep(count - 1)
    else:
        leaf_deep()


def top():
    leaf_plain()
    by_sort()
    by_callback()
    by_generator()
    by_async()
    by_except()
    by_method()
    by_map()
    deep(DEEP)


thread = threading.Thread(target=top)
thread.start()
thread.join()
print(json.dumps(seen))
