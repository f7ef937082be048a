# SPDX-License-Identifier: Apache-2.0
"""Burns CPU time in two lines, 60 to 40, and prints what each line took by the thread's own clock.

python_burn.py SECONDS. The pieces are of many lengths, so that no rhythm of theirs can be that of the samples.
Runs in every CPython from 3.8 on.
"""

import json
import random
import sys
import time


def burn(seconds):
    clock = time.thread_time
    first = second = 0.0
    pieces = random.Random(1)
    while first + second < seconds:
        count = pieces.randrange(1000, 60000)
        start = clock()
        if first <= 0.6 * (first + second):
            for i in range(count): first_result = i * i  # fmt: skip # noqa: E701, F841, LINE FIRST
            first += clock() - start
        else:
            for i in range(count): second_result = i + i  # fmt: skip # noqa: E701, F841, LINE SECOND
            second += clock() - start
    return {"FIRST": first, "SECOND": second}


def main():
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    took = burn(float(sys.argv[1]))
    where = {name: 1 + next(i for i, line in enumerate(lines) if line.endswith("LINE " + name)) for name in took}
    print(json.dumps({where[name]: seconds for name, seconds in took.items()}))


main()
