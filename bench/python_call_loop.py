# SPDX-License-Identifier: Apache-2.0
"""A million calls, half of them of a built-in function; prints the ns of CPU time that one took."""

import time

CALLS = 1_000_000


def leaf(number):
    return number


def inner(count):
    total = 0
    for number in range(count):
        total += leaf(number) + abs(number)
    return total


def main():
    began = time.process_time_ns()
    for _ in range(100):
        inner(CALLS // 200)
    print((time.process_time_ns() - began) / CALLS)


main()
