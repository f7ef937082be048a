# SPDX-License-Identifier: Apache-2.0
# Two threads that burn CPU in functions of their own; prints each thread's own CPU clock at the end.
import json
import sys
import threading
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 0.6


def spin_numbers():
    total = 0
    for i in range(2000):
        total += i * i
    return total


def sort_words():
    return sorted(str(i * 7919 % 1000) for i in range(400))


def work(burn, told):
    began = time.thread_time()
    while time.thread_time() - began < SECONDS:
        burn()
    told[burn.__name__] = time.thread_time() - began


def main():
    told = {}
    other = threading.Thread(target=work, args=(sort_words, told), name="sorter")
    other.start()
    work(spin_numbers, told)
    other.join()
    print(json.dumps(told))


main()
