# SPDX-License-Identifier: Apache-2.0
"""Programs that are hard on a profile with_stack=True; each says what a test compares. Without PyTorch."""

import ctypes
import gc
import json
import sys
import threading
import time
import types
import warnings

import strata


def nothing():
    pass


def count(prof, name):
    return sum(one.count for one in prof.key_averages() if one.key.endswith(name))


def interpreters():
    """Others, which since 3.12 have a lock of their own, come, run and go while profiles begin."""
    try:
        import _interpreters as others
    except ImportError:
        import _xxsubinterpreters as others
    run = getattr(others, "exec", None) or others.run_string
    code = "def g(n):\n  return n and g(n - 1)\nfor k in range(4000):\n  g(k % 60)\n  list(x for x in [k])\n"
    enough = threading.Event()

    def work():
        while not enough.is_set():
            one = others.create()
            run(one, code)
            others.destroy(one)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for one in threads:
        one.start()
    found, profiles = 0, 0
    while profiles < 60:
        with strata.profile(with_stack=True) as prof:
            nothing()
        profiles += 1
        found += count(prof, ": nothing") if profiles < 4 else 0
    enough.set()
    for one in threads:
        one.join()
    return {"profiles": profiles, "found": found}


def module():
    """The code of nn.Module.__call__ goes within a profile, and other functions have its address."""
    fake = types.ModuleType("torch.nn.modules.module")
    exec("class Module:\n    def __call__(self):\n        return 1\n", fake.__dict__)
    sys.modules[fake.__name__] = fake
    code = fake.Module.__call__.__code__
    before = sys.getrefcount(code)
    with strata.profile(with_stack=True):
        fake.Module()()
    left = sys.getrefcount(code) - before
    del code
    with strata.profile(with_stack=True) as prof:
        fake.Module()()
        del fake.Module.__call__
        gc.collect()
        for at in range(1000):
            names = {}
            exec(compile(f"def g{at}():\n    return 1\n", "<x>", "exec"), names)
            bytes(1 << 20)
            names[f"g{at}"]()
    rows = prof.key_averages()
    modules = [[one.key, one.count] for one in rows if "nn.Module" in one.key]
    return {"left": left, "modules": modules, "others": sum(one.count for one in rows if "): g" in one.key)}


def size_kib():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmData"))


def coming():
    """Threads that start within a profile and end: nothing is kept for them."""

    def start(number):
        for _ in range(number):
            one = threading.Thread(target=nothing)
            one.start()
            one.join()

    start(50)
    with strata.profile(with_stack=True):
        start(50)
    before = size_kib()
    with strata.profile(with_stack=True) as prof:
        start(400)
        inside = size_kib()
    return {"inside": inside - before, "after": size_kib() - before, "found": count(prof, ": nothing")}


def hooked():
    """Whether the state of this thread has a function of the collector in it."""
    ask = ctypes.pythonapi.PyThreadState_Get
    ask.restype = ctypes.c_void_p
    with open("/proc/self/maps") as file:
        ranges = [line.split()[0].split("-") for line in file if "libstrata" in line and " r-xp " in line]
    assert ranges
    words = (ctypes.c_uint64 * 32).from_address(ask())
    return any(int(low, 16) <= word < int(high, 16) for word in words for low, high in ranges)


def many():
    """More threads than a table of a fixed size has."""
    threads, left, at = 1100, [], [0]
    lock, go, finish = threading.Lock(), threading.Event(), threading.Event()

    def work():
        go.wait()
        for _ in range(3):
            nothing()
        with lock:
            at[0] += 1
        finish.wait()
        with lock:
            left.append(hooked())

    threading.stack_size(256 << 10)
    started = [threading.Thread(target=work) for _ in range(threads)]
    for one in started:
        one.start()
    with strata.profile(with_stack=True) as prof:
        is_hooked = hooked()
        go.set()
        while at[0] < threads:
            time.sleep(0.005)
    finish.set()
    for one in started:
        one.join()
    said = {"hooked": is_hooked, "left": sum(left), "found": count(prof, ": nothing"), "expected": 3 * threads}
    return said


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[1]]()))
