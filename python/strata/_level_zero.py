# SPDX-License-Identifier: Apache-2.0
"""Devices of Level Zero (Intel's, XPU) in a profile that no `strata -collect` is around.

Level Zero's loader shows calls to tools only if it was told before its first use, and what a program has made before it
is watched stays unknown. So a machine that has the loader is prepared when the package is imported: a variable is set,
and a library of two functions is put in front of those by which programs begin with Level Zero. Neither does anything
until a program does. A machine that has no loader is left alone.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

_LOADER = "libze_loader.so.1"
_SWITCH, _OLDER = "ZE_ENABLE_TRACING_LAYER", "IPEX_ZE_TRACING"

# What strata_ze_profile() answers (collect/ze/ze.c).
_NOT_BEGUN, _IS_SEEN, _CAME_LATE, _CAME_TOO_LATE, _IS_REFUSED = range(5)
_REMEDY = "import strata before the device is first used, or run the script by strata -collect operators -- python3 …"
_WORDS = {
    _CAME_LATE: "strata was imported too late to see all that XPU does: work on queues made before is missing; "
    f"{_REMEDY}",
    _CAME_TOO_LATE: f"strata was imported too late to see what XPU does: nothing of it is recorded; {_REMEDY}",
    _IS_REFUSED: "what XPU does is not recorded: Level Zero's loader refuses to be traced",
}

_ONLY_IF_LOADED = getattr(os, "RTLD_NOLOAD", 4)
_library: Any = None


def _switched_off() -> str | None:
    """What the user has set against it."""
    for name in (_SWITCH, _OLDER):
        value = os.environ.get(name)
        if value == "0" or (name == _SWITCH and value not in (None, "1")):
            return f"{name}={value}"
    return None


def _has_loader() -> bool:
    """By files alone, as `strata -collect` does; nothing is loaded."""
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), "/lib64", "/usr/lib64", "/lib", "/usr/lib"]
    folders += [os.path.join(prefix, "lib") for prefix in (os.environ.get("CONDA_PREFIX"), sys.prefix) if prefix]
    if any(folder and os.path.exists(os.path.join(folder, _LOADER)) for folder in folders):
        return True
    try:
        with open("/etc/ld.so.cache", "rb") as file:
            return _LOADER.encode() in file.read()
    except OSError:
        return False


def offer() -> None:
    """Has Level Zero tell what it does, should the program ever begin with it. Never fails."""
    if "STRATA_CONFIG" in os.environ or _switched_off():
        return  # strata started the program, or the user does not want it
    if not _has_loader():
        return
    import ctypes

    from strata._command import find_library

    path = find_library("libstrata_ze_entry.so")
    if path is None:
        return
    try:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return  # a profile says what is missing
    os.environ[_SWITCH] = "1"


def _load(collector: str, mode: int = 0) -> Any:
    """libstrata_ze.so beside the collector."""
    global _library  # noqa: PLW0603
    if _library is None:
        import ctypes

        library = ctypes.CDLL(os.path.join(os.path.dirname(collector), "libstrata_ze.so"), mode=mode)
        library.strata_ze_profile.restype, library.strata_ze_profile.argtypes = ctypes.c_uint, [ctypes.c_uint]
        library.strata_ze_look.restype, library.strata_ze_look.argtypes = None, []
        _library = library
    return _library


def follow(collector: str, by: int) -> str | None:
    """A strata records now, by its number, or none does any more (0). What will be missing, in words."""
    if by == 0 and _library is None:
        return None
    try:
        library = _load(collector)
    except (OSError, AttributeError) as why:
        return f"what XPU does is not recorded: {why}"
    answer = library.strata_ze_profile(by)
    if answer in (_CAME_TOO_LATE, _IS_REFUSED) and _switched_off():
        return f"what XPU does is not recorded: Level Zero's tracing layer is off ({_switched_off()})"
    return _WORDS.get(answer)


def look(collector: str) -> None:
    """What devices have done is handed over now, also where `strata -collect` has it recorded."""
    with contextlib.suppress(OSError, AttributeError):
        _load(collector, _ONLY_IF_LOADED).strata_ze_look()
