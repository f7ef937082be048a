# SPDX-License-Identifier: Apache-2.0
"""Runs until its standard input closes: two functions, a thread that also burns, and says when it goes."""

import sys
import threading


def mostly(count):
    total = 0
    for i in range(count):
        total += i * i
    return total


def seldom(count):
    return sum(i for i in range(count))


def work(stop):
    while not stop.is_set():
        mostly(30000)
        seldom(10000)


stop = threading.Event()
thread = threading.Thread(target=work, args=(stop,))
thread.start()
print("running", flush=True)
sys.stdin.read()
stop.set()
thread.join()
print("done", flush=True)
