# SPDX-License-Identifier: Apache-2.0
"""Files that torch.profiler's users know. libstrata.so writes them; here it is only said what goes into them.

A window is a part of a result: `folder`, `begin_ns`, `end_ns` (since the start of its collection; None: from the
beginning, to the end) and `options`, which knows by torch's names what was asked for (`record_shapes` …).
"""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from strata.result import Result

__all__ = ["export_chrome_trace", "tensorboard_trace_handler"]

_PARTS = {
    "record_shapes": "shapes",
    "profile_memory": "memory",
    "with_stack": "stacks,modules",
    "with_modules": "modules",
}
# Keys that the file has already.
_OWN = {
    "schemaVersion", "deviceProperties", "trace_id", "record_shapes", "profile_memory", "with_stack", "with_modules",
    "host_name", "displayTimeUnit", "baseTimeNanoseconds", "traceEvents", "traceName",
}  # fmt: skip


def _seconds(ns: int | None) -> str:
    return "" if ns is None or ns < 0 else f"{ns // 10**9}.{ns % 10**9:09d}"


def _options(window: Any) -> list[str]:
    """What the window is, in words of `strata export`."""
    words = []
    begin, end = _seconds(window.begin_ns), _seconds(window.end_ns)
    if begin or end:
        words.append(f"-time-filter={begin}:{end}")
    pid = getattr(window, "pid", None)
    if pid is not None:
        words.append(f"-filter=process={pid}")
    return words


def _asked(window: Any, name: str) -> bool:
    options = window.options
    return bool(options.get(name) if isinstance(options, Mapping) else getattr(options, name, False))


def _metadata(window: Any, metadata: Mapping[str, str] | None) -> list[str]:
    """Values are JSON, or texts that are taken as they are."""
    given = dict(metadata or {})
    if _asked(window, "with_flops"):
        given.setdefault("with_flops", "1")
    words = []
    for key, value in given.items():
        if key in _OWN or not key or "=" in key:
            warnings.warn(f"{key!r} cannot be a key of the trace: left out", stacklevel=4)
            continue
        words.append(f"-metadata={key}={value}")
    return words


def export_chrome_trace(
    window: Any,
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    *,
    result: Result | None = None,
) -> None:
    """The trace that torch.profiler writes, of a window. metadata: JSON by key, as `add_metadata_json` takes it."""
    parts = [part for name, part in _PARTS.items() if _asked(window, name)]
    words = [f"-parts={','.join(parts or ['none'])}", *_options(window), *_metadata(window, metadata)]
    if result is not None:
        result.export("kineto", path, *words)
        return
    with Result(window.folder) as opened:
        opened.export("kineto", path, *words)


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """For on_trace_ready: each trace becomes a file of its own, "WORKER.TIME.pt.trace.json", where TensorBoard looks.
    use_python_export is accepted: there is one way to write the file.
    """

    def handler(profile: Any) -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as why:
            raise RuntimeError(f"Can't create directory: {dir_name}") from why
        suffix = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        profile.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{suffix}"))

    return handler


def as_metadata(value: str) -> str:
    """A text as JSON, as `add_metadata` takes it."""
    return json.dumps(str(value))
