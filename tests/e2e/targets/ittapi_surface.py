# SPDX-License-Identifier: Apache-2.0
"""Uses everything that the package ittapi 1.2.2 offers, a known number of times each (test_python_itt.py).

But for the decorator with empty brackets, which begins a task when it decorates and never ends that one.
"""

import threading

import ittapi
from ittapi import compat

own = ittapi.domain("own")


@ittapi.task
def decorated():
    pass


@ittapi.task("named decorator", domain="own")
def decorated_by_name():
    pass


class Worker:
    @ittapi.task
    def method(self):
        pass

    @ittapi.event
    def fires(self):
        pass


def tasks():
    for _ in range(3):
        with ittapi.task("context"):
            with ittapi.task("inner", domain=own):
                decorated()
    decorated_by_name()
    Worker().method()
    one = ittapi.nested_task("object")
    for _ in range(2):
        one.begin()
        one.end()
    with ittapi.task():  # named by this file and line
        pass
    with ittapi.nested_task("parent", own) as _, ittapi.nested_task("child", own, parent=one.id()):
        pass
    ittapi.task_begin(own, ittapi.string_handle("low level"))
    ittapi.task_end(own)


def overlapped():
    first = ittapi.overlapped_task("first", own)
    second = ittapi.task("second", own, overlapped=True, parent=first.id())
    first.begin()
    second.begin()
    first.end()
    second.end()
    with ittapi.overlapped_task("third", own):
        pass
    given = ittapi.id(own)
    ittapi.task_begin_overlapped(own, ittapi.string_handle("low overlapped"), given)
    ittapi.task_end_overlapped(own, given)
    with ittapi.overlapped_task("crossing", own, id=given):
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()


def events():
    for _ in range(4):
        with ittapi.event("event"):
            pass
    Worker().fires()
    two = ittapi.event("two")
    two.begin()
    two.end()


def regions():
    with ittapi.pt_region("pt context"):
        pass
    region = ittapi.pt_region("pt object")
    region.begin()
    region.end()


def control():
    ittapi.pause()
    with ittapi.task("unseen"):
        pass
    ittapi.resume()
    with ittapi.paused_region():
        with ittapi.task("unseen"):
            pass
    with ittapi.task("between"):
        pass
    with ittapi.active_region(activator=lambda: False):
        with ittapi.task("not switched"):
            pass
    with ittapi.active_region():
        with ittapi.task("active"):
            pass
    # active_region has paused when it ended
    with ittapi.task("unseen"):
        pass
    ittapi.resume()


def thread_names():
    def work():
        ittapi.thread_set_name("worker \xfc")
        with ittapi.task("in thread"):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    ittapi.thread_set_name("the main one")


def old_names():
    domain = compat.domain_create("compat")
    for _ in range(5):
        compat.task_begin(domain, "compat task")
        compat.task_end(domain)
    region = compat.pt_region_create("compat region")
    compat.pt_region_begin(region)
    compat.pt_region_end(region)
    compat.pause()
    compat.task_begin(domain, "unseen")
    compat.task_end(domain)
    compat.resume()


tasks()
overlapped()
events()
regions()
control()
thread_names()
old_names()
with ittapi.task("last"):
    pass
compat.detach()
with ittapi.task("unseen"):
    pass
