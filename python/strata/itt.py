# SPDX-License-Identifier: Apache-2.0
"""Marks what a program does for the profiler that records it: tasks, markers, counters, pauses.

The interface is ITT's: whatever collector INTEL_LIBITTNOTIFY64 names gets the calls, `strata -collect` above all. Where
nothing records, every call does nothing; no program has to ask first.

    from strata import itt

    with itt.task("load"):
        ...

    @itt.task
    def train_step(): ...

    itt.marker("epoch 3")
    loss = itt.counter("loss")
    loss.set(0.25)
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "Counter",
    "Domain",
    "counter",
    "detach",
    "domain_create",
    "is_recording",
    "marker",
    "pause",
    "paused",
    "pt_region",
    "pt_region_begin",
    "pt_region_create",
    "pt_region_end",
    "resume",
    "resumed",
    "task",
    "task_begin",
    "task_end",
]

DEFAULT_DOMAIN = "python"
HANDLES_MAX = 1 << 16  # names kept; a program that makes new ones for ever starts over

_Function = TypeVar("_Function", bound="Callable[..., Any]")


# The structures of the interface: public layouts of ittnotify.h. Only the heads of those that the collector makes.
class _Id(ctypes.Structure):
    _fields_ = (("d1", ctypes.c_ulonglong), ("d2", ctypes.c_ulonglong), ("d3", ctypes.c_ulonglong))


class _DomainHead(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_int), ("name", ctypes.c_char_p))


class _Entry(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),  # where the pointer goes
        ("init", ctypes.c_void_p),
        ("null", ctypes.c_void_p),
        ("group", ctypes.c_int),
    )


class _Global(ctypes.Structure):
    _fields_ = (
        ("magic", ctypes.c_ubyte * 8),
        ("version_major", ctypes.c_ulong),
        ("version_minor", ctypes.c_ulong),
        ("version_build", ctypes.c_ulong),
        ("private", ctypes.c_ubyte * 88),
        ("entries", ctypes.c_void_p),
        ("rest", ctypes.c_ubyte * 128),  # lists, all empty; as large as any generation's
    )


_MAGIC = (0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30)
_CONTROL, _MARK, _COUNTER, _STRUCTURE = 0x2 | 0x1, 0x8 | 0x1, 0x100, 0x1000
_TYPES = {float: (8, ctypes.c_double), int: (2, ctypes.c_longlong)}
_SCOPES = {"global": 1, "process": 2, "thread": 3, "task": 4}

_P, _S, _I = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
# Name: group, result, arguments. The calls never block, so they keep Python's lock.
_CALLS: dict[str, tuple[int, Any, tuple[Any, ...]]] = {
    "domain_create": (_STRUCTURE, _P, (_S,)),
    "string_handle_create": (_STRUCTURE, _P, (_S,)),
    "task_begin": (_STRUCTURE, None, (_P, _Id, _Id, _P)),
    "task_end": (_STRUCTURE, None, (_P,)),
    "marker": (_STRUCTURE, None, (_P, _Id, _P, _I)),
    "pause": (_CONTROL, None, ()),
    "resume": (_CONTROL, None, ()),
    "detach": (_CONTROL, None, ()),
    "pt_region_create": (_STRUCTURE, ctypes.c_ubyte, (_S,)),
    "event_create": (_MARK, _I, (_S, _I)),
    "event_start": (_MARK, _I, (_I,)),
    "event_end": (_MARK, _I, (_I,)),
    "counter_create_typed": (_COUNTER, _P, (_S, _S, _I)),
    "counter_set_value": (_COUNTER, None, (_P, _P)),
    "counter_inc_delta": (_COUNTER, None, (_P, ctypes.c_ulonglong)),
    "counter_dec_delta": (_COUNTER, None, (_P, ctypes.c_ulonglong)),
}


class _Part:
    """This module's own static part: pointers that a collector fills; they stay where they are for good."""

    def __init__(self) -> None:
        self.calls: dict[str, Any] = {}
        self._pointers = (ctypes.c_void_p * len(_CALLS))()
        self._entries = (_Entry * (len(_CALLS) + 1))()
        self._global = _Global(magic=(ctypes.c_ubyte * 8)(*_MAGIC), version_major=3)

    def bind(self) -> None:
        init = _collector_init()
        if init is None:
            return
        size = ctypes.sizeof(ctypes.c_void_p)
        for at, (name, (group, _, _)) in enumerate(_CALLS.items()):
            entry = self._entries[at]
            entry.name, entry.group = b"__itt_" + name.encode(), group
            entry.function = ctypes.addressof(self._pointers) + at * size
        self._global.entries = ctypes.addressof(self._entries)
        init(ctypes.byref(self._global), 0)
        for at, (name, (_, result, arguments)) in enumerate(_CALLS.items()):
            if self._pointers[at]:
                self.calls[name] = ctypes.PYFUNCTYPE(result, *arguments)(self._pointers[at])


def _collector_init() -> Any:
    """The one function that every collector has, of the one that this process shall use; None: nothing records."""
    global _state  # noqa: PLW0603
    session = sys.modules.get("strata._session")
    path = os.environ.get("INTEL_LIBITTNOTIFY64") or getattr(session, "collector_path", None)
    if not path:
        return None
    try:
        library = ctypes.PyDLL(path)
        init = library["__itt_api_init"]
    except (OSError, AttributeError):
        return None
    init.restype, init.argtypes = None, (ctypes.c_void_p, ctypes.c_int)
    _state = getattr(library, "strata_profile_state", None)
    if _state is not None:
        _state.restype, _state.argtypes = ctypes.c_uint, []
    return init


_state: Any = None  # of strata's own collector: whether anybody reads what it records
_part = _Part()
_part.bind()
# The names of this module never end up in the collector's memory: it makes copies.
_null = _Id(0, 0, 0)
_calls = _part.calls
_task_begin = _calls.get("task_begin")
_task_end = _calls.get("task_end")
_string_handle = _calls.get("string_handle_create")
_event_start, _event_end = _calls.get("event_start"), _calls.get("event_end")
_handles: dict[str, int] = {}
_domains: dict[str, Domain] = {}


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", errors="backslashreplace")


def _handle(name: str) -> int:
    handle = _handles.get(name)
    if handle is None:
        if len(_handles) >= HANDLES_MAX:
            _handles.clear()
        handle = _handles[name] = cast("Callable[[bytes], int]", _string_handle)(_bytes(name))
    return handle


def is_recording() -> bool:
    """Whether a collector takes the calls of this process. It may be paused."""
    return bool(_calls) and (_state is None or _state() != 0)


def _attach() -> None:
    """A collector has come into the process (strata.profile): what was made before is its own from now on."""
    global _task_begin, _task_end, _string_handle, _event_start, _event_end  # noqa: PLW0603
    _part.bind()
    _task_begin, _task_end = _calls.get("task_begin"), _calls.get("task_end")
    _string_handle = _calls.get("string_handle_create")
    _event_start, _event_end = _calls.get("event_start"), _calls.get("event_end")
    create = _calls.get("domain_create")
    for name, domain in _domains.items() if create else ():
        domain.__init__(name, create(_bytes(name)))  # type: ignore[misc]


# Control --------------------------------------------------------------------------------------------


def _control(name: str) -> None:
    call = _calls.get(name)
    if call:
        call()


def pause() -> None:
    """Pause the collection in this process."""
    _control("pause")


def resume() -> None:
    """Resume the collection in this process; begins one that was started paused."""
    _control("resume")


def detach() -> None:
    """End the collection in this process for good."""
    _control("detach")


class _Switch:
    """Context manager and decorator around a pair of calls."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        raise NotImplementedError

    def __call__(self, function: _Function) -> _Function:
        return _wrap(self, function)


def _wrap(manager: Any, function: _Function) -> _Function:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"{function.__qualname__} is a coroutine, but the tasks of a thread must nest: mark the parts "
            "between its awaits"
        )
    if inspect.isgeneratorfunction(function):
        raise TypeError(f"{function.__qualname__} is a generator: mark the parts between its yields")

    @functools.wraps(function)
    def inner(*args: Any, **more: Any) -> Any:
        with manager:
            return function(*args, **more)

    return cast("_Function", inner)


class paused(_Switch):
    """`with itt.paused():` or `@itt.paused()`: not recorded."""

    def __enter__(self) -> None:
        pause()

    def __exit__(self, *_: object) -> None:
        resume()


class resumed(_Switch):
    """The other way round, for a collection that was started paused (`strata -collect … -start-paused`)."""

    def __enter__(self) -> None:
        resume()

    def __exit__(self, *_: object) -> None:
        pause()


# Domains, tasks, markers ----------------------------------------------------------------------------


class Domain:
    """Made by domain_create. Tasks of a domain that the user does not want recorded cost next to nothing."""

    __slots__ = ("_head", "address", "name")

    def __init__(self, name: str, address: int | None) -> None:
        self.name = name
        self.address = address
        self._head = _DomainHead.from_address(address) if address else _DomainHead()

    @property
    def is_on(self) -> bool:
        return bool(self._head.flags)

    def __repr__(self) -> str:
        return f"<strata.itt.Domain {self.name!r}>"


def domain_create(name: str) -> Domain:
    """The domain of that name; the same one for the same name."""
    domain = _domains.get(name)
    if domain is None:
        create = _calls.get("domain_create")
        domain = _domains[name] = Domain(name, create(_bytes(name)) if create else None)
    return domain


def _domain(domain: Domain | str | None) -> Domain:
    return domain if isinstance(domain, Domain) else domain_create(domain or DEFAULT_DOMAIN)


def task_begin(domain: Domain, name: str) -> None:
    """Begins a task of this thread; tasks nest."""
    if domain._head.flags and _task_begin and _string_handle:
        _task_begin(domain.address, _null, _null, _handle(name))


def task_end(domain: Domain) -> None:
    """Ends the innermost task of the domain in this thread."""
    if domain._head.flags and _task_end:
        _task_end(domain.address)


class _Task(_Switch):
    def __init__(self, name: str, domain: Domain) -> None:
        self._name, self._domain = name, domain

    def __enter__(self) -> _Task:
        task_begin(self._domain, self._name)
        return self

    def __exit__(self, *_: object) -> None:
        task_end(self._domain)

    def __repr__(self) -> str:
        return f"<strata.itt.task {self._name!r} of {self._domain.name!r}>"


def task(name: Any = None, domain: Domain | str | None = None) -> Any:
    """`with itt.task("load"):`, `@itt.task`, `@itt.task("step", domain="train")`.

    As a plain decorator the task has the qualified name of the function.
    """
    if callable(name):
        return _wrap(_Task(name.__qualname__, _domain(domain)), name)
    if name is None:
        return lambda function: _wrap(_Task(function.__qualname__, _domain(domain)), function)
    return _Task(name, _domain(domain))


def marker(name: str, domain: Domain | str | None = None, scope: str = "process") -> None:
    """An instant. scope: "global", "process", "thread" or "task"."""
    if scope not in _SCOPES:
        raise ValueError(f"scope {scope!r} is not one of {', '.join(_SCOPES)}")
    call, of = _calls.get("marker"), _domain(domain)
    if call and of.is_on:
        call(of.address, _null, _handle(name), _SCOPES[scope])


# Counters -------------------------------------------------------------------------------------------


class Counter:
    """Made by counter(). Values belong to the process."""

    __slots__ = ("_address", "_class", "name")

    def __init__(self, name: str, domain: str, type_: type) -> None:
        number, self._class = _TYPES[type_]
        create = _calls.get("counter_create_typed")
        self.name = name
        self._address = create(_bytes(name), _bytes(domain), number) if create else None

    def set(self, value: float) -> None:
        call = _calls.get("counter_set_value")
        if call and self._address:
            call(self._address, ctypes.addressof(self._class(value)))

    def inc(self, delta: int = 1) -> None:
        """Of a counter of whole numbers."""
        self._add("counter_inc_delta", delta)

    def dec(self, delta: int = 1) -> None:
        self._add("counter_dec_delta", delta)

    def _add(self, name: str, delta: int) -> None:
        if self._class is not ctypes.c_longlong:
            raise TypeError(f"counter {self.name!r} has floating-point values: use set(), or create it with type=int")
        call = _calls.get(name)
        if call and self._address:
            call(self._address, delta)

    def __repr__(self) -> str:
        return f"<strata.itt.Counter {self.name!r}>"


def counter(name: str, domain: str = DEFAULT_DOMAIN, type: type = float) -> Counter:
    """A counter whose values are numbers with fractions (type=float) or whole (type=int)."""
    if type not in _TYPES:
        raise TypeError("a counter must be float or int")
    return Counter(name, domain, type)


# Regions of processor trace -------------------------------------------------------------------------


def pt_region_create(name: str) -> int:
    """A number for pt_region_begin and pt_region_end. Strata records the region as a user event of that name."""
    create, event = _calls.get("pt_region_create"), _calls.get("event_create")
    if create:
        create(_bytes(name))
    return event(_bytes(name), len(_bytes(name))) if event else 0


def pt_region_begin(region: int) -> None:
    if region and _event_start:
        _event_start(region)


def pt_region_end(region: int) -> None:
    if region and _event_end:
        _event_end(region)


class pt_region(_Switch):
    """`with itt.pt_region("hot loop"):`, `@itt.pt_region("hot loop")`."""

    def __init__(self, name: str) -> None:
        self._region = pt_region_create(name)

    def __enter__(self) -> int:
        pt_region_begin(self._region)
        return self._region

    def __exit__(self, *_: object) -> None:
        pt_region_end(self._region)
