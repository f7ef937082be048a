# SPDX-License-Identifier: Apache-2.0
"""The build backend that pyproject.toml names: scikit-build-core's, with a platform tag that says which glibc it needs.

Without it a wheel is tagged linux_x86_64, which pip installs anywhere; with it, pip refuses where the C library is too
old. A machine that is too old to build on hears it before anything is compiled.
"""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from scikit_build_core import build as _build
from scikit_build_core.build import (  # noqa: F401
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[1]


def floor() -> tuple[int, int]:
    """Of cmake/StrataGlibc.cmake, which CMake looks at too."""
    text = (ROOT / "cmake" / "StrataGlibc.cmake").read_text(encoding="utf-8")
    major, minor = re.search(r"set\(ST_GLIBC_FLOOR (\d+)\.(\d+)\)", text).groups()
    return int(major), int(minor)


def glibc() -> tuple[int, int] | None:
    """Of this machine; None: it has another C library."""
    try:
        found = re.match(r"glibc (\d+)\.(\d+)", os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (AttributeError, ValueError, OSError):
        return None
    return (int(found[1]), int(found[2])) if found else None


def tag() -> str:
    """What is built here needs the C library of here, or a later one."""
    here, least = glibc(), floor()
    needs = "strata needs Linux with glibc {}.{} or later (Debian 12, Ubuntu 22.10, Fedora 37)".format(*least)
    if here is None:
        raise SystemExit(f"{needs}; this machine has another C library")
    if here < least:
        raise SystemExit(f"{needs}; this machine has {here[0]}.{here[1]}")
    return f"py3-none-manylinux_{here[0]}_{here[1]}_{platform.machine()}"


def with_tag(config_settings: dict | None) -> dict:
    return {"wheel.tags": tag(), **(config_settings or {})}


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return _build.prepare_metadata_for_build_wheel(metadata_directory, with_tag(config_settings))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _build.build_wheel(wheel_directory, with_tag(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    raise SystemExit(
        "strata cannot be installed as editable: build it and set PYTHONPATH=build/release/python, or pip install ."
    )
