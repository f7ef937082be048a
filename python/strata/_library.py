# SPDX-License-Identifier: Apache-2.0
"""libstrata.so: loads it, calls it, turns its words into exceptions. src/library/strata.h is the contract."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

ABI = 1

_LOOK_EVERY_S = 0.1
_USAGE, _MEMORY, _NOT_FOUND = 1, 2, 6


class Error(Exception):
    """Strata could not do what was asked; the text says why."""


class UsageError(Error, ValueError):
    """What was asked is wrong: an unknown report or option, an error in the SQL."""


class NotFoundError(Error, FileNotFoundError):
    """There is no such result."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


_KINDS = {_USAGE: UsageError, _NOT_FOUND: NotFoundError}

_lock = threading.Lock()
_loaded: ctypes.CDLL | None = None


def glibc_version() -> str | None:
    """The version of the C library of this process, "2.36"; None when it is another C library."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError, OSError):
        return None
    return version if name == "glibc" else None


def check_libc(floor: str) -> None:
    """Says it in words where the loader would speak of symbol versions."""
    here = glibc_version()
    if here is None:
        raise ImportError(f"strata requires glibc {floor} or later; this Python uses a different C library")

    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")[:2]]

    if numbers(here) < numbers(floor):
        raise ImportError(
            f"strata was built for glibc {floor} or later; this machine has {here}. Build it here (pip install . in "
            "its source tree; Debian 12 or later), or copy the result to a machine that has it"
        )


def _declare(library: ctypes.CDLL) -> None:
    text, texts = ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)
    handle, out = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    signatures = {
        "strata_version": (text, []),
        "strata_open": (ctypes.c_int, [text, out, out]),
        "strata_close": (None, [handle]),
        "strata_query_json": (ctypes.c_int, [handle, text, ctypes.c_uint, ctypes.POINTER(ctypes.c_int), out]),
        "strata_report_json": (ctypes.c_int, [handle, texts, ctypes.c_size_t, out]),
        "strata_report_text": (ctypes.c_int, [handle, texts, ctypes.c_size_t, out]),
        "strata_export": (ctypes.c_int, [handle, texts, ctypes.c_size_t, out]),
        "strata_schema": (ctypes.c_void_p, []),
        "strata_free": (None, [ctypes.c_void_p]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def load() -> ctypes.CDLL:
    """The library, loaded when it is first needed."""
    global _loaded  # noqa: PLW0603
    with _lock:
        if _loaded is not None:
            return _loaded
        path = Path(__file__).resolve().parent / "libstrata.so"
        try:
            from strata._build import GLIBC
        except ImportError:
            raise ImportError(
                f"{path.parent} is a source tree: install it (pip install . in the root of the tree)"
            ) from None
        check_libc(GLIBC)
        try:
            library = ctypes.CDLL(str(path))
        except OSError as why:
            raise ImportError(f"cannot load the strata library: {why}") from why
        library.strata_abi_version.restype = ctypes.c_uint
        library.strata_abi_version.argtypes = []
        if library.strata_abi_version() != ABI:
            raise ImportError(
                f"{path} has interface version {library.strata_abi_version()}, but this package requires {ABI}: "
                "reinstall strata"
            )
        _declare(library)
        _loaded = library
        return library


def encode(text: str, what: str) -> bytes:
    data = text.encode("utf-8", errors="surrogateescape")
    if b"\0" in data:
        raise UsageError(f"{what} contains a NUL character")
    return data


def _take(address: int | None) -> str | None:
    """A text that the library handed out, which is freed."""
    if not address:
        return None
    text = ctypes.string_at(address).decode("utf-8", errors="replace")
    load().strata_free(address)
    return text


def fail(status: int, text: str | None) -> Error:
    return _KINDS.get(status, Error)(text or "out of memory")


def _document(call: Callable[[object], int]) -> str:
    out = ctypes.c_void_p()
    status = call(ctypes.byref(out))
    text = _take(out.value)
    if status or text is None:
        raise fail(status or _MEMORY, text)
    return text


def open_result(path: bytes | None) -> int:
    handle, error = ctypes.c_void_p(), ctypes.c_void_p()
    status = load().strata_open(path, ctypes.byref(handle), ctypes.byref(error))
    if status or not handle.value:
        raise fail(status or _MEMORY, _take(error.value))
    return handle.value


def report(handle: int, words: Sequence[str], *, as_text: bool = False) -> str:
    library = load()
    array = (ctypes.c_char_p * len(words))(*(encode(word, "an argument of the report") for word in words))
    function = library.strata_report_text if as_text else library.strata_report_json
    return _document(lambda out: function(handle, array, len(words), out))


def export(handle: int, words: Sequence[str]) -> None:
    """By the words that follow `strata export`, the file among them."""
    array = (ctypes.c_char_p * len(words))(*(encode(word, "an argument of the export") for word in words))
    error = ctypes.c_void_p()
    status = load().strata_export(handle, array, len(words), ctypes.byref(error))
    if status:
        raise fail(status, _take(error.value))


def query(handle: int, sql: str, memory_mb: int) -> str:
    library, text, stop = load(), encode(sql, "the SQL"), ctypes.c_int(0)

    def ask() -> str:
        return _document(lambda out: library.strata_query_json(handle, text, memory_mb, ctypes.byref(stop), out))

    if threading.current_thread() is not threading.main_thread():
        return ask()
    return _beside(ask, stop)


def _beside(ask: Callable[[], str], stop: ctypes.c_int) -> str:
    """Asks in a thread of its own while the main thread waits: there Ctrl-C ends the wait, and then what was asked.

    Whatever interrupts us, wherever we are: nobody goes on asking when this has returned.
    """
    answer: list[str | BaseException] = []
    turn, done = threading.Lock(), threading.Lock()
    done.acquire()

    def run() -> None:
        if not turn.acquire(blocking=False):
            return  # called off before it began
        try:
            answer.append(ask())
        except BaseException as why:
            answer.append(why)
        done.release()

    try:
        _thread.start_new_thread(run, ())
        while not done.acquire(timeout=_LOOK_EVERY_S):
            pass  # a signal just before the wait does not end the wait
    except BaseException as why:
        stop.value = 1
        called_off = turn.acquire(blocking=False)
        while not called_off and not answer:
            with contextlib.suppress(BaseException):
                done.acquire()
        if called_off and isinstance(why, RuntimeError):  # no more threads, or the interpreter is about to end
            stop.value = 0
            return ask()
        raise
    if isinstance(answer[0], BaseException):
        raise answer[0]
    return answer[0]


def schema() -> str:
    text = _take(load().strata_schema())
    if text is None:
        raise fail(_MEMORY, None)
    return text
