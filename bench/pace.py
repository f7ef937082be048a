# SPDX-License-Identifier: Apache-2.0
"""Figures of a machine that does not change its speed meanwhile.

Whatever else uses the cores of a virtual machine slows it down by half, for milliseconds or for minutes; what is
compared would be measured at two speeds. So the same small task is done right before and right after each piece.
Pieces are chosen by what that took beside the best of it, never by what they took themselves: those of full speed,
unless there are too few.
"""

import random
import sys
import time

FULL = 1.15  # up to so many times the best
WARM_PROBES = 500
TEXTS = [str(number) for number in range(600)]


class Pace:
    def __init__(self):
        """The word best=NS: the best of processes before."""
        known = [int(word[5:]) for word in sys.argv if word.startswith("best=")]
        self.best = min([self.probe() for _ in range(WARM_PROBES)] + known)

    def probe(self):
        """Two calls, so that it costs no more where calls are recorded, of about 20 us; the second time, when what it
        needs is in the caches again."""
        ",".join(TEXTS).split(",")
        began = time.perf_counter_ns()
        ",".join(TEXTS).split(",")
        return time.perf_counter_ns() - began

    def timed(self, work):
        """Thread time of a piece of work, and the probes around it."""
        before = self.probe()
        began = time.thread_time_ns()
        work()
        took = time.thread_time_ns() - began
        after = self.probe()
        self.best = min(self.best, before, after)
        return took, before, after

    def gather(self, ways, count, enough, most):
        """ways: how to do some pieces, which gives triples as timed() does. They are done in random order, again and
        again, until each has enough pieces of full speed, or `most` times. Gives for each what its pieces took, divided
        by count; their speed, "full" or "mixed"; and the best probe."""
        draw, order = random.Random(0), list(ways)
        pieces = {name: [] for name in ways}
        for turn in range(1, most + 1):
            draw.shuffle(order)
            for name in order:
                pieces[name] += ways[name]()
            if turn % 8 == 0 and self.least(pieces) >= enough:
                break
        full = self.least(pieces) >= enough / 4
        found = {
            name: [took / count for took, *probes in some if not full or self.is_full(*probes)]
            for name, some in pieces.items()
        }
        return {**found, "speed": "full" if full else "mixed", "best": self.best}

    def is_full(self, before, after):
        return max(before, after) <= FULL * self.best

    def least(self, pieces):
        """Of the way with the fewest: how many pieces ran at full speed."""
        return min(sum(self.is_full(*probes) for _, *probes in some) for some in pieces.values())
