# SPDX-License-Identifier: Apache-2.0
"""Files that torch.profiler's users know. libstrata.so writes them; here it is only said what goes into them.

What is exported is a profile, or a window: `folder`, `begin_ns`, `end_ns` (since the start of its collection; None:
from the beginning, to the end), `options` (by torch's names or those of a session), `pid` (0: any), `threads`
((): all).
"""

from __future__ import annotations

import contextlib
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
    if getattr(window, "threads", ()) and getattr(getattr(window, "options", None), "devices", False):
        words += ["-filter=thread=device *"]
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
    """A line for each operator: its Python stack, outermost first, and the microseconds that it took by itself, or that
    devices worked for it.
    """
    if metric not in _METRICS:
        raise ValueError(f"metric should be one of: {_METRICS}")
    _write(what, "torch-stacks", path, [f"-metric={metric}", *_place(_window_of(what))], result)
    if metric != "self_cpu_time_total" and os.path.getsize(path) == 0:
        warnings.warn(
            f"{metric}: no operator with a Python stack launched work on a device; the file is empty", stacklevel=3
        )


def _has_memory(result: Result, device: str) -> bool:
    kind, _, index = device.partition(":")
    if kind == "cpu":
        return True  # that of a profile without any operators is nobody's mistake
    found = result.query(
        f"SELECT count(*) AS n FROM device_memory WHERE device_type = '{kind.upper()}' AND device = {int(index or 0)}"
    )
    return next(iter(found))["n"] > 0


def export_memory_timeline(
    what: Any, path: str | os.PathLike[str], device: str | None = None, *, result: Result | None = None
) -> None:
    """Memory of an allocator over time: .html a page, .raw.json.gz every event, else points (.json, .json.gz). device:
    "cpu", "cuda:0" …; as with torch the first one that the profile was to look at, else the CPU.
    """
    window = _window_of(what)
    if device is None:
        device = next((f"{name}:0" for name in ("cuda", "xpu") if _asked(window, name)), "cpu")
    if not _asked(window, "profile_memory", "memory"):
        raise ValueError("profile_memory=True required for memory profiling.")
    words = [f"-device={device}", *_place(window)]
    if result is None and hasattr(what, "windows"):
        result = what.result
    with contextlib.ExitStack() as stack:
        if result is None:
            result = stack.enter_context(Result(window.folder))
        result.export("memory-timeline", path, *words)
        if not _has_memory(result, device):
            warnings.warn(f"no memory of {device} was recorded: the timeline is empty", stacklevel=3)


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
