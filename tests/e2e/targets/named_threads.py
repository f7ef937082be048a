# SPDX-License-Identifier: Apache-2.0
"""Threads with names of every origin; each burns CPU time until it has used its share, then all end."""

import concurrent.futures
import ctypes
import sys
import threading
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 0.6


def burn():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        sum(range(500))


def renamed():
    """The name changes while the thread runs."""
    burn()
    threading.current_thread().name = "later name"
    for _ in range(4):
        burn()


def kernel_named():
    burn()
    ctypes.CDLL(None).prctl(15, b"kernel-name", 0, 0, 0)
    burn()


class Special(threading.Thread):
    def __init__(self):
        self.before = 1  # an attribute ahead of the base class's
        super().__init__(name="Träger")

    def run(self):
        burn()


if __name__ == "__main__":
    threads = [
        threading.Thread(target=burn, name="producer"),
        threading.Thread(target=burn),
        threading.Thread(target=renamed),
        Special(),
    ]
    native = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: kernel_named())
    handle = ctypes.c_ulong()
    libc = ctypes.CDLL(None)
    libc.pthread_create(ctypes.byref(handle), None, native, None)
    for thread in threads:
        thread.start()
    with concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="pool") as executor:
        list(executor.map(lambda _: burn(), range(2)))
    for thread in threads:
        thread.join()
    libc.pthread_join(handle, None)
