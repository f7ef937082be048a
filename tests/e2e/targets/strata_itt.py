# SPDX-License-Identifier: Apache-2.0
"""Uses everything of strata.itt a known number of times (test_package.py); prints whether somebody records."""

import sys
import threading

import strata
from strata import itt

own = itt.domain_create("own")
assert itt.domain_create("own") is own


@itt.task
def decorated():
    return 7


@itt.task("named", domain="own")
def named():
    raise KeyError("on purpose")


@itt.pt_region("region")
def in_region():
    pass


for _ in range(3):
    with itt.task("outer"):
        assert decorated() == 7
for _ in range(2):
    itt.task_begin(own, "low level")
    itt.task_end(own)
try:
    named()
except KeyError:
    pass
thread = threading.Thread(target=decorated)
thread.start()
thread.join()
with itt.paused():
    decorated()
    itt.marker("not seen")
itt.marker("half way")
itt.marker("of a thread", domain=own, scope="thread")
loss = itt.counter("loss", "own")
for value in (0.5, 0.25):
    loss.set(value)
steps = itt.counter("steps", "own", type=int)
steps.set(40)
steps.inc(3)
steps.dec()
in_region()
with itt.pt_region("region"):
    pass
with itt.task("", domain="own"), itt.task("ümläut \udc80"):
    pass
if "--detach" in sys.argv:
    itt.detach()
    decorated()
print("recording" if itt.is_recording() else "alone")
with open("/proc/self/maps") as maps:
    assert "libstrata.so" not in maps.read(), "marking tasks must not load what reads results"
assert strata.__version__
