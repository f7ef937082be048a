# SPDX-License-Identifier: Apache-2.0
"""Calls of known numbers. Imports nothing before it is told what to do, so that nobody else calls anything."""


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def numbers(count):
    for number in range(count):
        yield number + 1


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def fails():
    raise ValueError("on purpose")


def tries():
    try:
        fails()
    except ValueError:
        return len("caught")
    return 0


class Shape:
    def __init__(self, side):
        self.side = side

    @property
    def area(self):
        return abs(self.side) ** 2

    def __enter__(self):
        return self

    def __exit__(self, *why):
        return False


def closes_early():
    count = 0
    for number in numbers(1000):
        count += number
        if number == 11:
            break
    return count


def echo():
    value = None
    while True:
        try:
            value = yield value
        except KeyError:
            value = "thrown"


def work():
    fib(18)
    sum(numbers(500))
    even(40)
    for _ in range(30):
        tries()
    shapes = [Shape(side) for side in range(100)]
    sorted(shapes, key=lambda shape: -shape.area)
    with Shape(2) as shape:
        isinstance(shape, Shape)
    closes_early()
    speaker = echo()
    next(speaker)
    for word in ("a", "b"):
        speaker.send(word)
    speaker.throw(KeyError())
    speaker.close()
    names = []
    for word in "one two three".split():
        names.append(word.upper())
    try:
        int("none")
    except ValueError:
        pass
    return ",".join(names)


def spin(clock, seconds):
    end = clock() + seconds
    while clock() < end:
        pass


def times():
    import time

    marks = [time.monotonic_ns()]
    for seconds in (0.12, None, 0.06):
        if seconds:
            spin(time.perf_counter, seconds)
        else:
            time.sleep(0.05)
        marks.append(time.monotonic_ns())
    return [end - begin for begin, end in zip(marks, marks[1:])]


def threads():
    import threading

    workers = [threading.Thread(target=fib, args=(15,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def bare_thread():
    """One that threading does not know of."""
    import _thread

    done = _thread.allocate_lock()
    done.acquire()

    def run():
        fib(15)
        done.release()

    _thread.start_new_thread(run, ())
    done.acquire()


def forks():
    import os

    fib(5)
    child = os.fork()
    if not child:
        fib(12)
        os._exit(7)
    status = os.waitpid(child, 0)[1]
    fib(5)
    print("child", os.WEXITSTATUS(status), flush=True)


def killed():
    import os
    import time

    for _ in range(8):
        tries()
        time.sleep(0.1)
    os.system(f"kill -9 {os.getpid()}")
    time.sleep(10)


def profiled():
    """A profile function of its own: what it is told, and that it is there."""
    import sys

    told = []

    def hook(frame, event, argument):
        told.append((event, frame.f_code.co_name))

    tries()
    sys.setprofile(None)
    tries()
    before = sys.getprofile()
    sys.setprofile(hook)
    during = sys.getprofile()
    tries()
    sys.setprofile(None)
    tries()
    print(before, during is hook, sys.getprofile(), told)


def cprofiled():
    import cProfile

    tries()
    profiler = cProfile.Profile()
    profiler.enable()
    fib(10)
    profiler.disable()
    tries()
    profiler.create_stats()
    print(sorted((key[0][-16:], key[1:], value[:2]) for key, value in profiler.stats.items()))


def pure():
    """The profiler in Python is strict about what it is told."""
    import profile

    tries()
    profiler = profile.Profile()
    profiler.runcall(fib, 10)
    tries()
    profiler.create_stats()
    print(sorted((key[1:], value[:2]) for key, value in profiler.stats.items() if key[0] == __file__))


def traced():
    import sys

    lines = []

    def trace(frame, event, argument):
        lines.append((event, frame.f_lineno))
        return trace

    sys.settrace(trace)
    tries()
    sys.settrace(None)
    print(lines)


def deep():
    import sys

    def down(n):
        try:
            return down(n + 1)
        except RecursionError:
            return n

    print(down(0), sys.getrecursionlimit())
    raise SystemExit(3)


def many():
    made = {}
    for number in range(66000):
        exec(f"def f{number}(): pass", made)
        made[f"f{number}"]()


if __name__ == "__main__":
    from sys import argv

    print(globals()[argv[1]]())
