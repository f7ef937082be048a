# SPDX-License-Identifier: Apache-2.0
"""python -m strata.bottleneck script.py …: the command `strata bottleneck`, with this Python.

Prints on one page, after the script has ended, what slows it down. Options of the command may stand before the script.
"""

from __future__ import annotations

import os
import sys

from strata._command import find


def main() -> None:
    try:
        path = os.fspath(find())
    except FileNotFoundError as why:
        sys.exit(f"strata: error: {why}")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, [path, "bottleneck", "-interpreter", sys.executable, *sys.argv[1:]])


if __name__ == "__main__":
    main()
