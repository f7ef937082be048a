# SPDX-License-Identifier: Apache-2.0
"""churn.py SECONDS [ROUNDS]: creates threads and churns frames all the time, then says what it did as one line of JSON.

With ROUNDS it does so many rounds a second, each with more work, so that as much happens on a busy machine as on an
idle one. What it is late is made up for, but not what a machine that stood still has missed: that is another pace.

Recursion that crosses the chunks of the frame stack, generators, exceptions, callbacks out of C, code objects that
come and go: whatever reads frames from a signal handler is in trouble here first.
"""

import ctypes
import json
import os
import sys
import threading
import time

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)
PACED_WORK = 16
LATE_SECONDS = 2


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def down(depth):
    return down(depth - 1) + 1 if depth else 0


def generate(depth):
    if depth:
        yield from generate(depth - 1)
    yield depth


def raise_from(depth):
    if not depth:
        raise KeyError(depth)
    raise_from(depth - 1)


def compare(a, b):
    return a[0] - b[0]


def sort_in_c():
    values = (ctypes.c_int * 64)(*((i * 37) % 64 for i in range(64)))
    libc.qsort(values, 64, ctypes.sizeof(ctypes.c_int), CALLBACK(compare))
    return list(values) == list(range(64))


def made_code(number):
    """A code object of its own, gone after the call."""
    scope, name = {}, f"made_{number % 7}"
    exec(compile(f"def {name}(n):\n    return sum(i * i for i in range(n))\n", name, "exec"), scope)
    return scope[name](50)


def work(number, good):
    ok = down(400 + number % 900) == 400 + number % 900
    ok = ok and sum(generate(60)) == 60 * 61 // 2
    try:
        raise_from(50)
    except KeyError:
        ok = ok and sort_in_c()
    ok = ok and made_code(number) == sum(i * i for i in range(50))
    if ok:
        good.append(number)


def wait_for_round(last, a_second):
    """Until its time has come, which is given back; one that is late begins at once."""
    now = time.monotonic()
    due = max(last + 1 / a_second, now - LATE_SECONDS)
    time.sleep(max(0.0, due - now))
    return due


def main():
    seconds = float(sys.argv[1])
    a_second = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    sys.setrecursionlimit(5000)
    threading.stack_size(16 << 20)
    began = last = time.monotonic()
    threads, good, early, late = 0, 0, 0, 0  # nothing here may grow with time
    while time.monotonic() - began < seconds:
        if a_second:
            last = wait_for_round(last, a_second)
        done = []
        some = [threading.Thread(target=work, args=(threads + i, done)) for i in range(4)]
        threads += len(some)
        for thread in some:
            thread.start()
        own = PACED_WORK if a_second else 1
        for i in range(own):
            work(threads + i, done)
        for thread in some:
            thread.join()
        good += len(done) == len(some) + own
        part = (time.monotonic() - began) / seconds
        if threads % 40 == 0 and 0.25 < part < 0.5:
            early = max(early, resident_bytes())
        elif threads % 40 == 0 and part > 0.75:
            late = max(late, resident_bytes())
    rounds = threads // 4
    print(json.dumps({"threads": threads, "rounds": rounds, "good": good, "early": early, "late": late}))


main()
