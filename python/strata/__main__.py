# SPDX-License-Identifier: Apache-2.0
"""python -m strata …: the command strata, with the same words."""

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
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
