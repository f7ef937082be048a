#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one command and prints its wall and CPU seconds and peak resident bytes as JSON, last on stderr."""

import json
import os
import sys
import time


def main():
    start = time.perf_counter()
    pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "rss_bytes": usage.ru_maxrss * 1024}), file=sys.stderr)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
