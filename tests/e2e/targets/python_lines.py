# SPDX-License-Identifier: Apache-2.0
"""Calls the reader of Python frames from every kind of place and compares it with what Python itself says.

usage: python_lines.py PROBE_LIBRARY; prints the number of comparisons. Runs on CPython 3.8 and later.
"""

import contextlib
import ctypes
import functools
import sys
import threading

probe = ctypes.CDLL(sys.argv[1]).probe_line
callback = ctypes.CFUNCTYPE(None)
probe.argtypes = [ctypes.c_char_p, ctypes.c_uint, callback]
compared = threading.Semaphore(0)
local = threading.local()


@callback
def look_back():
    frame = sys._getframe(1)
    local.seen = f"{frame.f_code.co_filename}:{frame.f_lineno}"


def check(buffer, length):
    told = buffer.raw[:length].decode("utf-8", "surrogateescape") if length > 0 else length
    assert told == local.seen, (told, local.seen)
    compared.release()


def recurse(depth):
    text = ctypes.create_string_buffer(4096)
    if depth:
        recurse(depth - 1)
    length = probe(text, 4096, look_back)
    check(text, length)


def multi_line():
    text = ctypes.create_string_buffer(4096)
    length = probe(
        text,

        4096,
        look_back,
    )
    check(text, length)
    length = (
        0
        + probe(text, 4096, look_back)
        + 0
    )
    check(text, length)


def generate(text):
    for _ in range(3):
        yield probe(text, 4096, look_back)

        yield (
            probe(text, 4096, look_back))


def generators():
    text = ctypes.create_string_buffer(4096)
    for length in generate(text):
        check(text, length)
    check(text, next(probe(text, 4096, look_back) for _ in range(1)))
    check(text, [probe(text, 4096, look_back) for _ in range(1)][0])
    check(text, (lambda: probe(text, 4096, look_back))())


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        text = ctypes.create_string_buffer(4096)
        check(text, probe(text, 4096, look_back))
        result = function(*args)
        check(text, probe(text, 4096, look_back))
        return result

    return wrapper


@decorate
@decorate
def decorated(text):
    check(text, probe(text, 4096, look_back))


class Holder:
    text = ctypes.create_string_buffer(4096)
    check(text, probe(text, 4096, look_back))

    def __init__(self):
        self.text = ctypes.create_string_buffer(4096)

    def __getattr__(self, name):
        return probe(self.text, 4096, look_back)

    def __enter__(self):
        check(self.text, probe(self.text, 4096, look_back))
        return self

    def __exit__(self, *args):
        check(self.text, probe(self.text, 4096, look_back))


@contextlib.contextmanager
def manager(text):
    check(text, probe(text, 4096, look_back))
    yield
    check(text, probe(text, 4096, look_back))


def contexts():
    text = ctypes.create_string_buffer(4096)
    with Holder() as holder, manager(text):
        length = holder.missing
        check(holder.text, length)
    try:
        raise ValueError
    except ValueError:
        check(text, probe(text, 4096, look_back))
    finally:
        check(text, probe(text, 4096, look_back))


async def coroutine(text):
    check(text, probe(text, 4096, look_back))


def traced():
    text = ctypes.create_string_buffer(4096)
    sys.settrace(lambda frame, event, arg: None)
    check(text, probe(text, 4096, look_back))
    sys.settrace(None)
    check(text, probe(text, 4096, look_back))


def far_lines(name, count):
    """Lines that need every form of a line table: long gaps, steps back, a large first line."""
    source = ["def far(text, probe, look_back, check):"]
    for i in range(count):
        source += [""] * (i * 37 % 400) + [f"    x{i} = [{i},", "", "     probe(text, 4096, look_back)]"]
        source += [f"    check(text, x{i}[1])"]
    code = compile("\n" * 70000 + "\n".join(source), name, "exec")
    space = {}
    exec(code, space)
    space["far"](ctypes.create_string_buffer(4096), probe, look_back, check)


def everything():
    text = ctypes.create_string_buffer(4096)
    recurse(40)
    multi_line()
    generators()
    decorated(text)
    contexts()
    try:
        coroutine(text).send(None)
    except StopIteration:
        pass
    traced()
    for name in ("plain.py", "l\xe4tin.py", "\u0141\u20ac.py", "\U0001f40d/\U0001f40d.py", "raw\udcff\udc80.py", ""):
        far_lines(name, 60)
    for _ in range(100):  # beyond the trials: read directly
        check(text, probe(text, 4096, look_back))


everything()
threads = [threading.Thread(target=everything) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
count = 0
while compared.acquire(blocking=False):
    count += 1
print(count)
