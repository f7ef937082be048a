# SPDX-License-Identifier: Apache-2.0
"""Where the command of this installation is."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

DISTRIBUTION = "strata-profiler"


def _places() -> Iterator[Path]:
    package = Path(__file__).resolve().parent
    if package.parent.name == "python":  # a build tree
        yield package.parents[1] / "bin" / "strata"
    from importlib import metadata

    try:
        files = metadata.distribution(DISTRIBUTION).files or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "strata" and file.parent.name == "bin":
            yield Path(str(file.locate())).resolve()
    scripts = sysconfig.get_path("scripts")
    if scripts:
        yield Path(scripts) / "strata"
    found = shutil.which("strata")
    if found:
        yield Path(found)


def find() -> Path:
    """The executable that came with this package, else the one on the PATH."""
    for place in _places():
        if place.is_file() and os.access(place, os.X_OK):
            return place
    raise FileNotFoundError("the strata command is neither where pip installs it nor on the PATH: reinstall strata")
