# SPDX-License-Identifier: Apache-2.0
"""Begins tasks from all kinds of places and prints which line each one began at: name, file:line.

usage: task_lines.py itt|ittapi|torch. Tasks are named by running numbers.
"""

import contextlib
import functools
import itertools
import sys
import threading

numbers = itertools.count()
lock = threading.Lock()


def told(frame, line=None):
    """A name for the task that begins at this frame's line (or the given one); prints both."""
    with lock:
        name = f"task {next(numbers)}"
        print(f"{name}\t{frame.f_code.co_filename}:{line or frame.f_lineno}")
    return name


def places(begin, end):
    """Calls begin(name) here and there."""

    def recurse(depth):
        begin(told(sys._getframe()))
        if depth:
            recurse(depth - 1)
        end()

    def generate():
        for _ in range(2):
            begin(told(sys._getframe()))
            yield

            end()

    def decorate(function):
        @functools.wraps(function)
        def wrapper():
            begin(told(sys._getframe()))
            function()
            end()

        return wrapper

    @decorate
    @decorate
    def decorated():
        begin(told(sys._getframe()))
        end()

    recurse(5)
    for _ in generate():
        pass
    decorated()
    (lambda: (begin(told(sys._getframe())), end()))()
    # The call's line is the one where it starts, whatever its arguments' are.
    name = told(sys._getframe(), sys._getframe().f_lineno + 1)
    begin(
        name,
    )
    end()
    with contextlib.ExitStack() as stack:
        stack.callback(end)
        begin(told(sys._getframe()))


def by_itt():
    import itt

    domain = itt.domain_create("lines")
    # partial is C: no Python frame comes between.
    places(functools.partial(itt.task_begin, domain), functools.partial(itt.task_end, domain))
    for _ in range(50):
        itt.task_begin(domain, told(sys._getframe()))
        itt.task_end(domain)


def by_ittapi():
    import ittapi
    from ittapi import compat

    @ittapi.task("decorated by ittapi")
    def decorated():
        pass

    for _ in range(40):
        with ittapi.task(told(sys._getframe())):
            pass
        one = ittapi.nested_task(told(sys._getframe(), sys._getframe().f_lineno + 1))
        one.begin()
        one.end()
        compat.task_begin(ittapi.domain("d"), told(sys._getframe()))
        compat.task_end(ittapi.domain("d"))
    print(f"decorated by ittapi\t{__file__}:{sys._getframe().f_lineno + 1}")
    decorated()


def by_torch():
    import torch
    from torch.profiler import itt

    for _ in range(40):
        itt.range_push(told(sys._getframe()))
        itt.range_pop()
        with itt.range(told(sys._getframe())):
            pass
        itt.mark(told(sys._getframe()))
    with torch.autograd.profiler.emit_itt(), torch.no_grad():
        with torch.profiler.record_function(told(sys._getframe())):
            pass
        one = torch.ones(3)
        print(f"aten::add\t{__file__}:{sys._getframe().f_lineno + 1}")
        one + one


def main():
    which = sys.argv[1]
    if which == "ittapi":

        by_ittapi()
    elif which == "torch":
        by_torch()
    else:
        by_itt()
        threads = [threading.Thread(target=by_itt) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


main()
