# SPDX-License-Identifier: Apache-2.0
"""Garbage collection while a module is imported, and none in the steps that follow.

usage: collects_early.py marked|plain SECONDS
"""

import contextlib
import gc
import sys
import tempfile
import time
from pathlib import Path

MODULE = """
import gc, time
objects = [[i] for i in range(100000)]
until = time.process_time() + {seconds}
while time.process_time() < until:
    gc.collect()
"""


@contextlib.contextmanager
def marked(name):
    import itt  # there is one under strata

    domain = itt.domain_create("loop")
    itt.task_begin(domain, name)
    yield
    itt.task_end(domain)


def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


gc.disable()
seconds = float(sys.argv[2])
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "early.py").write_text(MODULE.format(seconds=seconds), encoding="utf-8")
    sys.path.insert(0, folder)
    import early

early.objects.clear()
for _ in range(8):
    with marked("step") if sys.argv[1] == "marked" else contextlib.nullcontext():
        work(seconds / 8)
