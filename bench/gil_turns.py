# SPDX-License-Identifier: Apache-2.0
"""Two threads that compute, and so wait for the interpreter lock by turns; prints the CPU time, as JSON."""

import json
import threading
import time


def compute():
    total = 0
    for i in range(4_000_000):
        total += i & 7
    return total


def main():
    threads = [threading.Thread(target=compute) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"cpu_s": time.process_time()}))


main()
