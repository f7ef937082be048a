# SPDX-License-Identifier: Apache-2.0
"""Two threads with names for ever: one counts in Python, one compresses in zlib."""

import os
import threading
import zlib

data = os.urandom(1 << 16)


def count_up():
    number = 0
    while True:
        number += 1


def pack():
    while True:
        zlib.compress(data, 9)


threading.Thread(target=count_up, name="counting", daemon=True).start()
threading.Thread(target=pack, name="packing", daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
