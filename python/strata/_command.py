# SPDX-License-Identifier: Apache-2.0
"""Where the command of this installation is."""

from __future__ import annotations

import os
import shutil
import sys
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


def find_library(name: str) -> str | None:
    """A library that is loaded into programs, of the same installation; None if it is not there."""
    beside = os.path.join(sys.prefix, "lib", "strata", name)  # as pip puts it; to ask for metadata takes its time
    if __file__.startswith(sys.prefix + os.sep) and os.path.isfile(beside):
        return os.path.realpath(beside)
    try:
        command = find().resolve()
    except FileNotFoundError:
        return None
    for place in ("../lib/strata", "../lib64/strata"):
        path = command.parent / place / name
        if path.is_file():
            return os.fspath(path.resolve())
    return None


def backend() -> None:
    """strata-backend, VTune's name for strata serve: a wheel holds no links, so that this stands for one."""
    os.execv(find(), ["strata-backend", *sys.argv[1:]])
