# SPDX-License-Identifier: Apache-2.0
"""The Python twin of tests/programs/obedient.c, through the ittapi package."""

import os
import sys

import ittapi


def record(name, count):
    for _ in range(count):
        with ittapi.task(name, domain="obedient"):
            pass


def in_child(name, count):
    child = os.fork()
    if not child:
        record(name, count)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


opened = []
for line in sys.stdin:
    verb, *rest = line.split()
    if verb == "begin":
        opened.append(ittapi.task(rest[0], domain="obedient"))
        opened[-1].begin()
    elif verb == "end":
        opened.pop().end()
    elif verb == "record":
        record(rest[0], int(rest[1]))
    elif verb == "pause":
        ittapi.pause()
    elif verb == "resume":
        ittapi.resume()
    elif verb == "fork":
        in_child(rest[0], int(rest[1]))
    else:
        sys.exit(8)
    print("ok", flush=True)
sys.exit(7)
