# SPDX-License-Identifier: Apache-2.0
"""phases.py COUNT SECONDS: one thread after the other burns CPU time, each in a function of its own, phase_0 first."""

import sys
import threading
import time

SOURCE = """
def phase_{number}(until):
    while time.thread_time() < until:
        sum(range(200))
"""


def main():
    for number in range(int(sys.argv[1])):
        scope = {"time": time}
        exec(compile(SOURCE.format(number=number), f"phase_{number}.py", "exec"), scope)
        thread = threading.Thread(target=scope[f"phase_{number}"], args=(float(sys.argv[2]),))
        thread.start()
        thread.join()


main()
