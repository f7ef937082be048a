# SPDX-License-Identifier: Apache-2.0
"""One task that burns half a second of CPU time in a function of its own."""

import time

import itt


def burn():
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        sum(range(1000))


domain = itt.domain_create("page")
itt.task_begin(domain, "burning")
burn()
itt.task_end(domain)
