# SPDX-License-Identifier: Apache-2.0
"""Forks while another thread runs operators; says "ok" after each order if all children could run one.

argv: slow_callback_lock.so, which is preloaded. Orders come line by line: "held" has the other thread keep PyTorch's
lock during a fork, "slow N" forks N times while whoever has it keeps it for a while, "pause" and "resume" switch
recording.
"""

import ctypes
import os
import queue
import select
import sys
import threading
from pathlib import Path

import itt
import torch

CHILD_SECONDS = 20  # a child needs some milliseconds
KEPT_NS = 3_000_000

torch.set_num_threads(1)
lock = ctypes.CDLL(sys.argv[1])
libtorch = ctypes.PyDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
assert ctypes.PyDLL(sys.argv[1]).callback_lock_learn(libtorch._ZN2at14removeCallbackEm)


def fork():
    """Whether the child could run an operator."""
    pid = os.fork()
    if not pid:
        torch.ones(3)
        os._exit(0)
    ended = select.poll()
    ended.register(os.pidfd_open(pid), select.POLLIN)
    if not ended.poll(CHILD_SECONDS * 1000):
        os.kill(pid, 9)
    return os.waitpid(pid, 0)[1] == 0


class Other:
    """Another thread, which does what it is told."""

    def __init__(self):
        self.orders, self.done = queue.SimpleQueue(), queue.SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()
        self.call(lambda: torch.ones(3))

    def run(self):
        while True:
            self.orders.get()()
            self.done.put(None)

    def call(self, what):
        self.orders.put(what)
        self.done.get()


def held(other):
    """The other thread is to have the lock with its next operator."""

    def operate():
        lock.callback_lock_keep()
        torch.ones(3)

    other.orders.put(operate)
    lock.callback_lock_await()
    well = fork()
    lock.callback_lock_release()
    other.done.get()
    return well


def slow(other, forks):
    """The other thread looks up whom to call after each switch, and keeps the lock for a while then."""
    over = threading.Event()

    def operate():
        while not over.is_set():
            torch.ones(3)

    other.orders.put(operate)
    lock.callback_lock_slow(ctypes.c_long(KEPT_NS))
    well = True
    for number in range(forks):
        itt.resume() if number % 2 else itt.pause()
        well = well and fork()
    lock.callback_lock_slow(ctypes.c_long(0))
    over.set()
    other.done.get()
    return well


def main():
    other = Other()
    print("ok", flush=True)
    for line in sys.stdin:
        order, *rest = line.split()
        if order in ("pause", "resume"):
            getattr(itt, order)()
            well = True
        else:
            well = held(other) if order == "held" else slow(other, int(rest[0]))
        print("ok" if well else "a child hung", flush=True)
    os._exit(7)


main()
