# SPDX-License-Identifier: Apache-2.0
"""Computes inside of 300 generators that wait for each other, inside of 2,000 functions: frames on and off the frame
stack, as many as make each look at them long."""

import sys
import threading


def burn():
    return sum(number & 3 for number in range(2_000_000))


def chain(depth):
    if depth:
        yield from chain(depth - 1)
    else:
        yield burn()


def below(depth):
    return below(depth - 1) if depth else sum(chain(300))


def work():
    print(below(2000))


sys.setrecursionlimit(20000)
threading.stack_size(256 << 20)
thread = threading.Thread(target=work)
thread.start()
thread.join()
