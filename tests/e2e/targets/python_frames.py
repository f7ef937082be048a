# SPDX-License-Identifier: Apache-2.0
"""Asks the sampler's reader of Python frames where this program is, and compares with what CPython says.

python_frames.py PROBE exact          at known places of every kind: every frame, position and mark
python_frames.py PROBE any SECONDS    at any instant of a busy program: every stack must be one that can be

Runs in every CPython from 3.8 on, so nothing newer is used here.
"""

import asyncio
import ctypes
import functools
import json
import os
import sys
import threading
import time

CUT, TOP_UNKNOWN, HOLDS_GIL = 8, 16, 128
ENTRY, EMPTY = 1, 2
MINOR = sys.version_info[1]
HERE = os.path.abspath(__file__)
sys.setrecursionlimit(20000)
threading.stack_size(512 << 20)  # up to 3.10 every Python frame is a native one

THEN = ctypes.CFUNCTYPE(None)
lib = ctypes.CDLL(sys.argv[1])
lib.probe_now.argtypes = [THEN]
words = (ctypes.c_uint64 * 4096)()
flags = ctypes.c_uint32()
ns = ctypes.c_uint32()


@functools.lru_cache(None)
def code(number):
    """(file, name, first line, line table)"""
    head = (ctypes.c_uint64 * 3)()
    texts = ctypes.create_string_buffer(1 << 16)
    assert lib.probe_code(number, head, texts) >= 0, f"code {number} was never described"
    sizes = [head[1] & 0xFFFFFFFF, head[1] >> 32, head[2] & 0xFFFFFFFF]
    assert head[2] >> 32 == 0, "cut"
    parts, at = [], 0
    for size in sizes:
        parts.append(texts.raw[at : at + size])
        at += size
    return os.fsdecode(parts[0]), parts[1].decode(), head[0] >> 32, parts[2]


def sample(index):
    """[(code id, position, marks)], flags, ns; innermost first"""
    count = lib.probe_sample(index, words, ctypes.byref(flags), ctypes.byref(ns))
    frames = [(w & 0xFFFFFFFF, w >> 32 & 0xFFFFFF, w >> 56) for w in words[:count]]
    return frames, flags.value, ns.value


def described(frame):
    """What the probe must say about a frame of CPython's."""
    made = frame.f_code
    table = made.co_linetable if MINOR >= 10 else made.co_lnotab
    name = made.co_qualname if MINOR >= 11 else made.co_name
    position = frame.f_lasti // 2 if MINOR >= 10 else frame.f_lasti
    return (made.co_filename, name, made.co_firstlineno, table), position


checked = 0
groups = []  # of the latest check: frames in each, innermost group first


def check():
    """Called at every place: the probe's frames are those of sys._getframe, mark for mark."""
    global checked  # noqa: PLW0603
    truth = []

    @THEN
    def look():
        frame = sys._getframe(1)
        while frame:
            truth.append(described(frame))
            frame = frame.f_back

    index = lib.probe_now(look)
    frames, mark, _ = sample(index)
    shown = [f for f in frames if not f[2] & EMPTY]
    found = [(code(number), position) for number, position, _ in shown]
    assert found == truth, "\n".join(
        f"{a == b} {(a, b)}" for a, b in zip(found + [None] * 9, truth + [None] * 9) if a != b
    )
    assert not mark & (CUT | TOP_UNKNOWN), mark
    assert not mark & HOLDS_GIL  # ctypes gives the lock away
    assert not any(f[2] & EMPTY for f in frames)
    assert frames[-1][2] & ENTRY
    if MINOR <= 10:
        assert all(f[2] & ENTRY for f in frames)
    groups[:] = [1]
    for _, _, marks in frames:
        groups[-1] += 1
        if marks & ENTRY:
            groups.append(1)
    groups[:] = [g - 1 for g in groups[:-1]]
    checked += 1


def recurse(count):
    if count:
        recurse(count - 1)
    else:
        check()


def generator(count):
    for i in range(count):  # noqa: UP028
        check()
        yield i
    yield from generator(count - 1) if count else ()


async def coroutine(count):
    check()
    await asyncio.sleep(0)
    check()
    if count:
        await coroutine(count - 1)


class Thing:
    def __init__(self):
        check()

    @property
    def value(self):
        check()
        return 1

    def __lt__(self, other):
        check()
        return False

    def __del__(self):
        check()


def with_exception():
    try:
        raise ValueError
    except ValueError:
        check()
    finally:
        check()


def through_c():
    assert sorted([3, 1], key=lambda x: check() or x) == [1, 3]
    inner = len(groups)
    assert MINOR <= 10 or groups[0] == 2, groups  # the lambda and check: one evaluation frame
    list(map(lambda x: check(), [1]))
    assert len(groups) == inner
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: check() or 1)
    assert callback() == 1
    functools.reduce(lambda a, b: check(), [1, 2])
    sorted([Thing(), Thing()])
    exec(compile("check()", "<made up ünï文>", "exec"), globals())
    return Thing().value


def exact():
    recurse(0)
    before = len(groups)
    recurse(12)
    # From 3.11 on a call between Python functions needs no native frame.
    assert len(groups) == before + (12 if MINOR <= 10 else 0), groups
    through_c()
    list(generator(4))
    with_exception()
    asyncio.new_event_loop().run_until_complete(coroutine(3))
    [check() for _ in range(2)]
    recurse(1000)  # several chunks of the frame stack
    recurse(999)
    for i in range(300):  # more code objects than a thread remembers
        exec(compile("\n" * i + "check()", f"file{i}", "exec"), globals())


def limits():
    held = ctypes.PyDLL(sys.argv[1])  # keeps the interpreter's lock
    held.probe_now.argtypes = [THEN]
    assert sample(held.probe_now(THEN(0)))[1] & HOLDS_GIL
    lib.probe_depth(50)

    def cut(count):
        if count:
            cut(count - 1)
        else:
            index = lib.probe_now(THEN(0))
            frames, mark, _ = sample(index)
            assert len(frames) == 50 and mark & CUT, (len(frames), mark)
            assert {code(f[0])[1] for f in frames} <= {"cut", "limits.<locals>.cut"}

    cut(60)
    lib.probe_depth(4095)
    # No room for a definition: it comes with the next sample.
    source = compile("index = lib.probe_now(THEN(0))", "no room", "exec")
    space = {"lib": lib, "THEN": THEN}
    lib.probe_refuse(1)
    exec(source, space)
    number = sample(space["index"])[0][0][0]
    assert lib.probe_code(number, (ctypes.c_uint64 * 3)(), None) == -1
    exec(source, space)
    assert sample(space["index"])[0][0][0] == number
    assert code(number)[0] == "no room"


# A busy program whose stacks are known: who may be called by whom. Other names are the standard library's.
EDGES = {
    "busy": {"plain", "by_sort", "numbers", "deep", "by_async", "by_raise", "by_call", "by_del", "<genexpr>"},
    "by_sort": {"key", "<lambda>"},
    "numbers": {"numbers"},
    "<genexpr>": {"numbers"},
    "key": {"plain"},
    "deep": {"deep", "plain"},
    "by_raise": {"thrower"},
    "thrower": {"thrower"},
    "by_call": {"called"},
    "called": {"plain", "by_sort"},
    "by_del": {"__init__", "__del__"},
    "__init__": set(),
    "__del__": {"plain"},
    "awaits": {"awaits", "plain"},
    "plain": set(),
    "<lambda>": set(),
}


def plain():
    total = 0
    for i in range(40):
        total += i * i
    return total


def key(x):
    return plain() + x


def by_sort():
    sorted(range(20), key=key)
    sorted(range(20), key=lambda x: -x)


def numbers(count):
    for i in range(count):  # noqa: UP028
        yield i
    if count:
        yield from numbers(count - 1)


def deep(count):
    return deep(count - 1) if count else plain()


async def awaits(count):
    plain()
    await asyncio.sleep(0)
    if count:
        await awaits(count - 1)


def by_async(loop):
    loop.run_until_complete(awaits(5))


def thrower(count):
    if not count:
        raise KeyError(count)
    thrower(count - 1)


def by_raise():
    for _ in range(5):
        try:
            thrower(10)
        except KeyError:
            pass


@ctypes.CFUNCTYPE(ctypes.c_int)
def called():
    plain()
    by_sort()
    return 0


def by_call():
    called()


class Short:
    def __init__(self):
        self.x = 1

    def __del__(self):
        plain()


def by_del():
    for _ in range(10):
        Short()


def busy(seconds, depth):
    loop = asyncio.new_event_loop()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        plain()
        by_sort()
        list(numbers(8))
        sum(x for x in numbers(3))
        deep(depth)
        by_async(loop)
        by_raise()
        by_call()
        by_del()
    loop.close()


def possible(stack):
    """stack: names and files from the outermost frame inwards; None: it can be, else why not"""
    for (file, name), (inner_file, inner) in zip(stack, stack[1:]):
        if file != HERE or inner_file != HERE or name not in EDGES:
            continue
        if inner not in EDGES[name]:
            return f"{name} called {inner}"
    return None


def any_instant(seconds):
    begin = lib.probe_samples()
    lib.probe_start(250000)
    busy(seconds, 300)
    lib.probe_stop()
    result = {"samples": 0, "wrong": [], "cut": 0, "top_unknown": 0, "empty": 0}
    times = []
    for index in range(begin + 1, lib.probe_samples() - 1):
        frames, mark, took = sample(index)
        result["samples"] += 1
        result["cut"] += bool(mark & CUT)
        result["top_unknown"] += bool(mark & TOP_UNKNOWN)
        result["empty"] += any(f[2] & EMPTY for f in frames)
        times.append(took)
        stack = []
        for number, _, marks in reversed(frames):
            if not marks & EMPTY:
                file, name = code(number)[:2]
                stack.append((file, name.split(".")[-1]))
        if mark & CUT:
            continue
        outer = [name for file, name in stack if file == HERE][:2]
        # What is known are outer frames; a C frame that is not filled in yet may lead past several. The native stack
        # tells how many there are, and merging both counts the stack as one that does not fit.
        if mark & TOP_UNKNOWN and not outer:
            continue
        if outer not in (["target", "busy"], ["target", "any_instant"]) and len(result["wrong"]) < 5:
            if outer[:1] != ["target"]:
                result["wrong"].append(f"outermost {stack[:4]}, flags {mark}")
        why = possible(stack)
        if why and len(result["wrong"]) < 5:
            result["wrong"].append(f"{why}, flags {mark}")
    result["median_ns"] = sorted(times)[len(times) // 2]
    result["codes_defined_twice"] = lib.probe_count(b"twice")
    return result


def main():
    assert lib.probe_init() == 0
    answer = []

    def target():
        if sys.argv[2] == "exact":
            exact()
            limits()
            assert lib.probe_count(b"runtimes") == 1
            assert lib.probe_count(b"twice") == 0
            words_of = (ctypes.c_uint64 * 5)()
            lib.probe_runtime(words_of)
            assert words_of[0] >> 8 == sys.hexversion >> 8, hex(words_of[0])
            assert words_of[2] - words_of[1] > 1000
            answer.append({"checked": checked})
        else:
            answer.append(any_instant(float(sys.argv[3])))

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    print(json.dumps(answer[0]))


main()
