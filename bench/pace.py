# SPDX-License-Identifier: Apache-2.0
"""Figures of a machine that does not change its speed meanwhile.

Whatever else uses the cores of a virtual machine slows it down by half, for milliseconds or for minutes; what is
compared would be measured at two speeds. So the same small task is done right before and right after each piece.
Pieces are told apart by what that took beside the best of it, never by what they took themselves, and only those of
one speed are compared: full speed, where there are enough.
"""

import random
import sys
import time

FULL, SLOW = 1.15, 1.3  # up to and from so many times the best
WARM_PROBES = 500
TEXTS = [str(number) for number in range(600)]


class Pace:
    def __init__(self):
        """The word best=NS: the best of processes before."""
        known = [int(word[5:]) for word in sys.argv if word.startswith("best=")]
        self.best = min([self.probe() for _ in range(WARM_PROBES)] + known)

    def probe(self):
        """About 20 us, in two calls, so that it costs no more where calls are recorded."""
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

    def gather(self, ways, count, enough, most, patient=False):
        """ways: how to do some pieces, which gives triples as timed() does. They are done in random order, again and
        again, `most` times or until each has enough pieces of one speed, if patient of full speed. Gives for each what
        its pieces took, divided by count, their speed, and the best probe."""
        draw, order = random.Random(0), list(ways)
        pieces = {name: [] for name in ways}
        for turn in range(1, most + 1):
            draw.shuffle(order)
            for name in order:
                pieces[name] += ways[name]()
            if turn % 8 == 0:
                full, slow = self.least(pieces, self.is_full), self.least(pieces, self.is_slow)
                if full >= enough or (not patient and turn >= most / 4 and slow >= enough):
                    break
        speed, counts = "mixed", lambda before, after: True
        if self.least(pieces, self.is_full) >= enough / 4:
            speed, counts = "full", self.is_full
        elif self.least(pieces, self.is_slow) >= enough / 4:
            speed, counts = "slow", self.is_slow
        found = {name: [took / count for took, *probes in some if counts(*probes)] for name, some in pieces.items()}
        return {**found, "speed": speed, "best": self.best}

    def is_full(self, before, after):
        return max(before, after) <= FULL * self.best

    def is_slow(self, before, after):
        return min(before, after) >= SLOW * self.best

    def least(self, pieces, counts):
        return min(sum(counts(*probes) for _, *probes in some) for some in pieces.values())
