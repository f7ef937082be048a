# SPDX-License-Identifier: Apache-2.0
"""Files that torch.profiler's users know. libstrata.so writes them; here it is only said what goes into them.

What is exported is a profile, or a window: `folder`, `begin_ns`, `end_ns` (since the start of its collection; None:
from the beginning, to the end), `options` (by torch's names or those of a session), `pid` (0: any), `threads`
((): all).
"""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from strata.result import Result

__all__ = ["export_chrome_trace", "export_memory_timeline", "export_stacks", "tensorboard_trace_handler"]

# What was asked for, by torch's name: that of a session, and the parts of a trace.
_PARTS = {
    "record_shapes": ("shapes", ["shapes"]),
    "profile_memory": ("memory", ["memory"]),
    "with_stack": ("stacks", ["stacks", "modules"]),
    "with_modules": ("modules", ["modules"]),
}
# Keys that the file has already, without a word and with one.
_OWN = {"record_shapes", "profile_memory", "with_stack", "with_modules"}
_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]
_REFUSED = {
    "schemaVersion", "deviceProperties", "host_name", "displayTimeUnit", "baseTimeNanoseconds", "traceEvents",
    "traceName",
}  # fmt: skip


def _window_of(what: Any) -> Any:
    return what.window if hasattr(what, "windows") else what


def _asked(window: Any, *names: str) -> bool:
    options = window.options
    if isinstance(options, Mapping):
        return any(options.get(name) for name in names)
    return any(getattr(options, name, False) for name in names)


def _seconds(ns: int | None) -> str:
    return "" if ns is None or ns < 0 else f"{ns // 10**9}.{ns % 10**9:09d}"


def _place(window: Any) -> list[str]:
    """What the window is, in words of `strata export`."""
    words = []
    begin, end = _seconds(window.begin_ns), _seconds(window.end_ns)
    if begin or end:
        words.append(f"-time-filter={begin}:{end}")
    if getattr(window, "pid", 0):
        words.append(f"-filter=process={window.pid}")
    words += [f"-filter=thread={tid}" for tid in getattr(window, "threads", ())]
    return words


def _metadata(window: Any, metadata: Mapping[str, str]) -> list[str]:
    """Values are JSON, or else texts."""
    given = dict(metadata)
    if _asked(window, "with_flops", "flops"):
        given.setdefault("with_flops", "1")
    words = []
    for key, value in given.items():
        if key in _REFUSED or not key or "=" in key:
            warnings.warn(f"{key!r} cannot be a key of the trace: omitted", stacklevel=4)
        elif key not in _OWN:
            words.append(f"-metadata={key}={value}")
    return words


def _write(what: Any, form: str, path: Any, words: list[str], result: Result | None) -> None:
    if result is None and hasattr(what, "windows"):
        result = what.result
    if result is not None:
        result.export(form, path, *words)
        return
    with Result(_window_of(what).folder) as opened:
        opened.export(form, path, *words)


def export_chrome_trace(
    what: Any,
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    *,
    result: Result | None = None,
) -> None:
    """The trace that torch.profiler writes. metadata: JSON by key; a profile has its own."""
    window = _window_of(what)
    given = dict(getattr(what, "metadata", None) or {}) if metadata is None else dict(metadata)
    trace_id = getattr(what, "get_trace_id", lambda: None)()
    if trace_id:
        given.setdefault("trace_id", f'"{trace_id}"')
    parts = [part for name, (own, some) in _PARTS.items() if _asked(window, name, own) for part in some]
    words = [f"-parts={','.join(parts or ['none'])}", *_place(window), *_metadata(window, given)]
    _write(what, "kineto", path, words, result)


def export_stacks(
    what: Any, path: str | os.PathLike[str], metric: str = "self_cpu_time_total", *, result: Result | None = None
) -> None:
    """A line for each operator: its Python stack, outermost first, and the microseconds that it took by itself."""
    if metric not in _METRICS:
        raise ValueError(f"metric should be one of: {_METRICS}")
    if metric != "self_cpu_time_total":
        warnings.warn(f"{metric}: no such device was recorded; the file is empty", stacklevel=3)
        with open(path, "w", encoding="utf-8"):
            return
    _write(what, "torch-stacks", path, _place(_window_of(what)), result)


def export_memory_timeline(
    what: Any, path: str | os.PathLike[str], device: str | None = None, *, result: Result | None = None
) -> None:
    """Memory of the CPU allocator over time: .html a page, .raw.json.gz every event, else points (.json, .json.gz)."""
    window = _window_of(what)
    if device is not None and device.split(":")[0] != "cpu":
        warnings.warn(f"memory of {device} is not recorded: the timeline shows the CPU", stacklevel=3)
    if not _asked(window, "profile_memory", "memory"):
        raise ValueError("profile_memory=True required for memory profiling.")
    _write(what, "memory-timeline", path, _place(window), result)


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
