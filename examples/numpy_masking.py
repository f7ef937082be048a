# SPDX-License-Identifier: Apache-2.0
"""Where does the time go: making the data, or looking for values in it?

Two labelled ranges on one big array. The second finds the places of large values with np.argwhere, which visits
every element: the place to look at. Rounds may be given as an argument (5).
"""

import contextlib
import sys

import itt
import numpy as np

domain = itt.domain_create("masking")


@contextlib.contextmanager
def label(name):
    itt.task_begin(domain, name)
    try:
        yield
    finally:
        itt.task_end(domain)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with label("LABEL1: data"):
        array = np.random.default_rng(0).random(20_000_000, dtype=np.float32)
    with label("LABEL2: masking"):
        for _ in range(rounds):
            places = np.argwhere(array > 0.9)
    print(f"{len(places)} of {array.size} values are large")


if __name__ == "__main__":
    main()
