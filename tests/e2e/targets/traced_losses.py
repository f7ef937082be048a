# SPDX-License-Identifier: Apache-2.0
"""Says as JSON what a profile with_stack=True has, and what it says is missing. "many": of very many calls."""

import cProfile
import inspect
import json
import sys
import threading
import time
import warnings

import strata
from strata import _session

BEFORE, INSIDE, AFTER = 100, 10, 1000


def leaf():
    pass


def many(count):
    for _ in range(count):
        leaf()


def asked(prof):
    """Counts by name, and the warnings that come with them; asked twice, said once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prof.key_averages().table()
        counts = {row.key.split("): ")[-1]: row.count for row in prof.key_averages()}
    return {"leaf": counts.get("leaf", 0), "counts": counts, "said": [str(one.message) for one in caught]}


def plain():
    with strata.profile(with_stack=True) as prof:
        many(3)
    return asked(prof)


def own_function():
    with strata.profile(with_stack=True) as prof:
        sys.setprofile(lambda *_: None)
        many(INSIDE)
        sys.setprofile(None)
    return asked(prof)


def profiled():
    many(BEFORE)
    profiler = cProfile.Profile()
    profiler.enable()
    many(INSIDE)
    profiler.disable()
    many(AFTER)


def own_profiler():
    with strata.profile(with_stack=True) as prof:
        profiled()
    return asked(prof)


def thread_profiler():
    go, done = threading.Event(), threading.Event()

    def body():
        go.wait()
        profiled()
        done.set()

    thread = threading.Thread(target=body)
    thread.start()
    with strata.profile(with_stack=True) as prof:
        go.set()
        done.wait()
    thread.join()
    return asked(prof)


def stopped_elsewhere():
    prof = strata.profile(with_stack=True)
    prof.start()
    many(3)
    thread = threading.Thread(target=prof.stop)
    thread.start()
    thread.join()
    return asked(prof)


class Interrupt(Exception):
    pass


def interrupted():
    """By a signal handler that raises, at every line of what ends the recording of calls."""
    lines, first = inspect.getsourcelines(_session.Session.hush)
    raised = 0
    for at in range(first, first + len(lines)):

        def raise_there(frame, event, _, at=at):
            if frame.f_code.co_name == "hush" and event == "line" and frame.f_lineno == at:
                sys.settrace(None)
                raise Interrupt
            return raise_there

        try:
            with strata.profile(with_stack=True):
                leaf()
                sys.settrace(raise_there)
        except Interrupt:
            raised += 1
        sys.settrace(None)
    return {"raised": raised, "traced": len(_session._engine.traced), "on": len(_session._engine.sessions), **plain()}


def renamed():
    """Code objects with another name, one after the other at one address."""
    names = ["alpha", "beta", "gamma", "delta"]
    with strata.profile(with_stack=True) as prof:
        for name in names:
            type(leaf)(leaf.__code__.replace(co_name=name), {})()
    return [name for name in names if asked(prof)["counts"].get(name) != 1]


def functions(prefix, count):
    space = {}
    text = "".join(f"def {prefix}{number}(): pass\n" for number in range(count))
    exec(compile(text, "made.py", "exec"), space)
    return [space[f"{prefix}{number}"] for number in range(count)]


def made(prefix, count):
    called = functions(prefix, count)
    with strata.profile(with_stack=True) as prof:
        for number, one in enumerate(called):
            one()
            one()
            if number % 2000 == 0:
                time.sleep(0.02)  # their records are more than a ring holds
    found = asked(prof)
    found["own"] = sum(found["counts"].get(f"{prefix}{number}", 0) for number in range(count))
    found["all"] = sum(value for key, value in found["counts"].items() if key.startswith(prefix))
    return found


def descend(depth):
    return depth and descend(depth - 1)


def callers(depth):
    """A profile that begins with so many callers around it."""
    return callers(depth - 1) if depth else plain()


def deep():
    sys.setrecursionlimit(60000)
    threading.stack_size(512 << 20)
    found = {}

    def body():
        with strata.profile(with_stack=True) as prof:
            descend(20000)
        found.update(asked(prof))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return found


def report():
    plain()
    if sys.argv[1:] == ["many"]:
        found = {"callers": callers(800), "deep": deep(), "known": made("a", 36000), "unknown": made("b", 36000)}
        return {**found, "later": plain()}
    return {
        "minor": sys.version_info[1],
        "function": own_function(),
        "later": plain(),
        "profiler": own_profiler(),
        "thread": thread_profiler(),
        "elsewhere": stopped_elsewhere(),
        "interrupted": interrupted(),
        "renamed": renamed(),
        "last": plain(),
    }


if __name__ == "__main__":
    said = report()
    for one in said.values():
        if isinstance(one, dict):
            one.pop("counts", None)
    print(json.dumps(said))
