# SPDX-License-Identifier: Apache-2.0
"""What creating processes and threads costs under strata, in CPU time of the program and all it creates.

Beside the plain program stands the least that our way costs: a library without content that is preloaded by the same
kind of name, and one inherited perf event that counts nothing.
"""

import os
import subprocess

KINDS = (("commands", 2000, "process start (/bin/true)"), ("threads", 20000, "thread creation"))
PARTS = 10


def spent_s(command, **variables):
    """CPU seconds, as the program short_lives says at its end."""
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **variables},
        capture_output=True,
        check=True,
        timeout=600,
    )
    return float(done.stdout)


class Births:
    """A part of Bench."""

    def births(self):
        """Two rows, each with its floor: in parts by turns, so that a neighbour meets all of them."""
        preload = self.build / "lib/strata/not-libasan.so/../platform/$PLATFORM/libstrata_probe.so"
        for mode, count, title in KINDS:
            program = [self.programs / "short_lives", mode, str(count // PARTS)]
            plain, floor, ours = [], [], []
            for part in range(PARTS):
                result = self.scratch / f"births-{mode}-{part}"
                collect = [self.strata, "-collect", "hotspots", "-quiet", "-no-summary", "-r", result, "--"]
                plain.append(spent_s(program))
                if mode == "commands":
                    floor.append(spent_s(program, LD_PRELOAD=str(preload)))
                else:
                    floor.append(spent_s([self.build / "bench/empty_event", *program]))
                ours.append(spent_s([*collect, *program]))
            self.raw[f"births_{mode}"] = {"plain_s": plain, "floor_s": floor, "strata_s": ours}
            least = "an empty preload" if mode == "commands" else "an empty inherited event"
            self.add(f"CPU time of {title}", "s", ours, plain, "without strata", 1.1)
            self.add(f"CPU time of {title} with {least}", "s", floor, plain, "without it", 1.1)
