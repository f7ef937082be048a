# SPDX-License-Identifier: Apache-2.0
"""Strata from Python: ask a result, mark what a program does.

    import strata

    result = strata.open("r000hs")
    for row in result.query("SELECT thread, count(*) AS n FROM samples GROUP BY 1"):
        print(row["thread"], row["n"])
    print(result.report("hotspots", group_by="function", limit=10))

`strata.profile` is torch.profiler.profile of another make: it records the operators of PyTorch in this process.

`strata.itt` marks tasks, counters and so on while `strata -collect` records, and does nothing otherwise. Importing
this package starts nothing. Where the machine has a loader of Level Zero, it prepares for what a profile may ask of it
(strata._level_zero).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from strata import _level_zero

if TYPE_CHECKING:
    import os
    from typing import Any

    from strata.result import Result

__all__ = [
    "Error",
    "ProfilerAction",
    "ProfilerActivity",
    "Result",
    "Table",
    "UsageError",
    "itt",
    "open",
    "profile",
    "record_function",
    "schedule",
    "schema",
    "supported_activities",
    "tensorboard_trace_handler",
]

# Where a name is, so that a program that only marks tasks does not load what reads results.
_LATER = {
    "Error": "strata._library",
    "NotFoundError": "strata._library",
    "UsageError": "strata._library",
    "Result": "strata.result",
    "Table": "strata.result",
    "schema": "strata.result",
    "tensorboard_trace_handler": "strata.exports",
    "ProfilerAction": "strata._profile",
    "ProfilerActivity": "strata._profile",
    "profile": "strata._profile",
    "record_function": "strata._profile",
    "schedule": "strata._profile",
    "supported_activities": "strata._profile",
}


def open(path: str | os.PathLike[str] | None = None) -> Result:
    """A result folder, to be asked; without a path the newest of the working folder."""
    from strata.result import Result

    return Result(path)


def __getattr__(name: str) -> Any:
    if name in ("events", "itt", "profiler", "result"):
        return importlib.import_module(f"strata.{name}")
    if name == "__version__":
        return importlib.import_module("strata._build").VERSION
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'strata' has no attribute {name!r}")


_level_zero.offer()


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, "itt", "__version__"])
