# SPDX-License-Identifier: Apache-2.0
"""STEPS CPU_MS SLEEP_MS: steps that use that CPU time by the thread's own clock, and sleep; prints the CPU time."""

import sys
import time

import itt

steps, cpu_ms, sleep_ms = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
domain = itt.domain_create("train")


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


for _ in range(steps):
    itt.task_begin(domain, "step")
    burn(cpu_ms / 1e3)
    time.sleep(sleep_ms / 1e3)
    itt.task_end(domain)
print(time.process_time())
