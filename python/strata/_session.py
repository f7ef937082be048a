# SPDX-License-Identifier: Apache-2.0
"""Recording the running process for a while: what strata.profile() stands on.

A session is a window over a result. Where `strata -collect` records the process already, it is a window of that result,
with what the session wants recorded besides. Else the process has a strata of its own: a process that nobody's wait()
or SIGCHLD ever sees, which writes what is recorded while any session is on into a folder, and sleeps in between.
Sessions that overlap share one folder.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import os
import select
import shutil
import site
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
import warnings
import weakref
from pathlib import Path
from typing import Any, NamedTuple

from strata import _level_zero
from strata._library import Error

__all__ = ["Options", "Session", "Window"]

# Bits of strata_profile_state() and strata_profile_switch() (collect/inproc/profile.c).
_RECORDED, _JOINED, _OPERATORS, _MEMORY, _MODULES, _STOPPED, _PAUSED, _STACKS, _CALLS = 1, 2, 4, 8, 16, 32, 64, 128, 256

_PROTOCOL = "strata.command/1"
_READY_S, _ANSWER_S = 20.0, 120.0
# Nothing else of the environment is the business of a strata that only reads shared memory.
_PASSED_ON = ("HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "STRATA_CACHE_DIR", "STRATA_LOG", "TMPDIR", "XDG_RUNTIME_DIR")


class Options(NamedTuple):
    """What is recorded of every operator besides its name and times."""

    shapes: bool = False
    memory: bool = False
    modules: bool = False
    stacks: bool = False
    flops: bool = False
    cuda: bool = False
    xpu: bool = False

    @property
    def devices(self) -> bool:
        return self.cuda or self.xpu

    def __or__(self, other: Options) -> Options:  # type: ignore[override]
        return Options(*(mine or theirs for mine, theirs in zip(self, other)))

    def config(self) -> bytes:
        """As in STRATA_CONFIG."""
        return (
            f"operators={2 if self.shapes else 1};operator_memory={self.memory:d};operator_modules={self.modules:d};"
            f"operator_stacks={self.stacks:d};operator_calls={self.stacks:d}"
        ).encode()


def _prefixes() -> bytes:
    """Folders that torch's profiler shows files without, one a line; of two that fit the longer comes first."""
    paths = [*site.getsitepackages(), *sys.path, site.getuserbase(), site.getusersitepackages()]
    if "torch" in sys.modules:
        paths.append(os.path.dirname(os.path.dirname(sys.modules["torch"].__file__ or "")))
    folders = sorted({os.path.abspath(path) for path in paths if isinstance(path, str)}, reverse=True)
    return b"\n".join(os.fsencode(folder + os.sep) for folder in folders)


class _Folder:
    """A result of this process' own strata; removed when nobody holds a window of it any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._remove = weakref.finalize(self, _remove, os.fspath(path), os.getpid())


def _remove(path: str, pid: int) -> None:
    if os.getpid() == pid:  # the copy of a forked child is not its own
        shutil.rmtree(path, ignore_errors=True)


class Window(NamedTuple):
    """What was recorded between two moments: a result folder, and times in it (ns since its beginning)."""

    folder: str
    begin_ns: int
    end_ns: int
    options: Options
    pid: int = 0
    tid: int = 0  # the thread that began it
    threads: tuple[int, ...] = ()  # whose operators it has: as torch's has them; () all
    notes: tuple[str, ...] = ()  # what was asked for and not recorded, in words
    keep: object = None  # holds the folder


# Threads of PyTorch's own, which work for the thread that gave them the work: backward on devices, torch.jit.fork.
_HELPERS = ("pt_autograd", "PTThreadPool")


def _helper_threads() -> tuple[int, ...]:
    """PyTorch hands its profiler on to these, and to no thread of Python's."""
    found = []
    for name in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{name}/comm") as file:
            if file.read().startswith(_HELPERS):
                found.append(int(name))
    return tuple(sorted(found))


def _now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


# The collector --------------------------------------------------------------------------------------


def _collector_path() -> str:
    named = os.environ.get("INTEL_LIBITTNOTIFY64", "")
    if "STRATA_SOCK" in os.environ and Path(named).name == "libstrata_collector.so":
        return named  # of the strata that records us: one library, one state
    from strata._command import find, find_library

    try:
        command = find()
    except FileNotFoundError as why:
        raise Error(str(why)) from None
    path = find_library("libstrata_collector.so")
    if path is not None:
        return path
    named = os.environ.get("STRATA_COLLECTOR", "")
    if Path(named).is_file():
        return named
    raise Error(f"libstrata_collector.so is not next to {command}: reinstall strata")


class _Collector:
    """The library that records, loaded into this process; it stays until the process ends."""

    def __init__(self) -> None:
        path = self.path = _collector_path()
        from strata._build import GLIBC
        from strata._library import check_libc

        check_libc(GLIBC)
        try:
            held, free = ctypes.PyDLL(path), ctypes.CDLL(path)
        except OSError as why:
            raise Error(f"cannot load the strata collector: {why}") from why
        text, texts = ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)
        try:
            self.state, self.switch, self.join = (
                held.strata_profile_state, held.strata_profile_switch, held.strata_profile_join,
            )  # fmt: skip
            self.trace = held.strata_profile_trace
            self.spawn = free.strata_profile_spawn
        except AttributeError:
            raise Error(f"{path} belongs to a different version of strata") from None
        self.state.restype, self.state.argtypes = ctypes.c_uint, []
        self.switch.restype, self.switch.argtypes = ctypes.c_uint, [text]
        self.join.restype, self.join.argtypes = ctypes.c_int, [text, text, text, text]
        self.trace.restype, self.trace.argtypes = ctypes.c_int, [text]
        self.spawn.restype, self.spawn.argtypes = ctypes.c_int, [text, texts, texts, ctypes.c_int]


class _Devices:
    """The library that records CUDA devices, beside the collector. CUDA's driver loads it where strata started the
    program; here it is loaded when a profile first asks for devices."""

    def __init__(self, collector: str) -> None:
        path = Path(collector).with_name("libstrata_cuda.so")
        try:
            library = ctypes.CDLL(os.fspath(path))
            self._enter, self.look = library.strata_cuda_enter, library.strata_cuda_look
            self.want = library.strata_cuda_profile
        except (OSError, AttributeError) as why:
            raise Error(f"cannot load {path}: {why}") from None
        self._enter.restype, self._enter.argtypes = ctypes.c_uint, [ctypes.c_uint]
        self.look.restype, self.look.argtypes = None, []
        self.want.restype, self.want.argtypes = None, [ctypes.c_uint]

    def start(self) -> str | None:
        """Once the collector records. What will be missing, in words."""
        if not self._enter(not _torch_profiles()):
            return _TORCH_CAME_FIRST
        self.look()
        return None


_TORCH_CAME_FIRST = (
    "what CUDA devices do is not recorded: torch.profiler was running when strata was first asked for it, and CUPTI is "
    "its until it stops"
)


def _torch_profiles() -> bool:
    """CUPTI has room for one, who shares it with those that come later, and takes it from those that came before."""
    if "torch" not in sys.modules:
        return False
    import torch

    with contextlib.suppress(AttributeError):  # of some versions
        if torch.autograd._profiler_enabled():
            return True
    return bool(getattr(torch.autograd.profiler, "_is_profiler_enabled", False))  # by any thread


_devices: _Devices | None = None
_collector: _Collector | None = None
collector_path: str | None = None  # once it is loaded; strata.itt looks here


def _load() -> _Collector:
    global _collector, collector_path  # noqa: PLW0603
    if _collector is None:
        _collector = _Collector()
        collector_path = _collector.path
    return _collector


def _start_devices(collector: _Collector) -> str | None:
    global _devices  # noqa: PLW0603
    if _devices is None:
        _devices = _Devices(collector.path)
    return _devices.start()


def offer() -> None:
    """Has PyTorch and oneDNN, which look for a collector when they are loaded, find ours: a variable, nothing more."""
    if "torch" not in sys.modules and "INTEL_LIBITTNOTIFY64" not in os.environ:
        with contextlib.suppress(Error):
            os.environ["INTEL_LIBITTNOTIFY64"] = _collector_path()


class _Ranges:
    """torch._C._itt as torch.profiler.itt calls it, where PyTorch was loaded before anybody offered it a collector."""

    def __init__(self, theirs: Any) -> None:
        from strata import itt

        self._theirs, self._itt = theirs, itt
        self._domain = itt.domain_create("PyTorch")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)

    def rangePush(self, text: str) -> Any:
        self._itt.task_begin(self._domain, text)
        return self._theirs.rangePush(text)

    def rangePop(self) -> Any:
        self._itt.task_end(self._domain)
        return self._theirs.rangePop()

    def mark(self, text: str) -> Any:
        self._itt.marker(text, self._domain)
        return self._theirs.mark(text)


def _wrap_ranges(on: bool) -> None:
    module = sys.modules.get("torch.profiler.itt")
    if module is None:
        return
    now = getattr(module, "_itt", None)
    if on and now is not None and not isinstance(now, _Ranges) and "INTEL_LIBITTNOTIFY64" not in os.environ:
        module._itt = _Ranges(now)  # type: ignore[attr-defined]
    elif not on and isinstance(now, _Ranges):
        module._itt = now._theirs  # type: ignore[attr-defined]


# Talking to a strata --------------------------------------------------------------------------------


def _ask(folder: Path, verb: str, text: str = "", abstract: str = "") -> str:
    """One request to the strata that serves the folder; its answer. OSError: nobody does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        about = os.fstat(descriptor)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
            link.settimeout(_ANSWER_S)
            try:
                link.connect(f"/proc/self/fd/{descriptor}/control")
            except FileNotFoundError:
                link.connect(f"\0strata-control-{abstract}")
            words = [_PROTOCOL, str(about.st_dev), str(about.st_ino), verb, *([text] if text else [])]
            link.send(" ".join(words).encode("utf-8", "surrogateescape"))
            answer = link.recv(1 << 16).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    kind, _, rest = answer.partition(" ")
    if kind != "ok":
        raise OSError(rest or "no answer")
    return rest


class _Outer:
    """The strata that records this process anyway (strata -collect), or did: only one can in a process' life."""

    own = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.abstract = ""
        self.start_ns = 0  # of one that is gone: all of its time is over when a profile begins
        with contextlib.suppress(OSError, ValueError):
            self.abstract = json.loads((folder / "result.json").read_text()).get("result_id", "")
        try:
            self.start_ns = int(_ask(folder, "flush", abstract=self.abstract))
            self.is_gone = False
        except OSError:
            self.is_gone = True

    def begin(self) -> _Folder | None:
        return None

    def flush(self) -> None:
        if not self.is_gone:
            _ask(self.folder, "flush", abstract=self.abstract)

    end = flush

    def note(self, text: str) -> None:
        if not self.is_gone:
            _ask(self.folder, "note", text, abstract=self.abstract)


class _Host:
    """A strata of this process' own."""

    own = True
    is_gone = False
    _made = 0

    def __init__(self, collector: _Collector) -> None:
        _Host._made += 1
        self.number = _Host._made
        self.base = Path(tempfile.mkdtemp(prefix="strata-profile-"))
        self.pid = os.getpid()
        self.start_ns = 0
        self.abstract = self._meeting = ""
        self._count = 0
        try:
            self._reader = self._start(collector)
        except BaseException:
            self.clear()
            raise

    def join(self, collector: _Collector) -> None:
        """Waits until it listens."""
        if self._reader < 0:
            return
        try:
            ready = _await_ready(self._reader)
            self.abstract, self.start_ns = ready["control"], ready["start_mono_raw_ns"]
            self._meeting = os.path.dirname(ready["socket"])
            words = (ready[key].encode() for key in ("socket", "abstract", "token", "config"))
            if collector.join(*words):
                raise Error("the collector cannot record in this process (STRATA_DISABLE?)")
            if "strata.itt" in sys.modules:
                sys.modules["strata.itt"]._attach()
        except BaseException:
            self.clear()
            raise
        finally:
            os.close(self._reader)
            self._reader = -1

    def _start(self, collector: _Collector) -> int:
        """Where its first word will come from."""
        from strata._command import find

        try:
            command = os.fsencode(find())
        except FileNotFoundError as why:
            raise Error(str(why)) from None
        reader, writer = os.pipe()
        try:
            words = [b"strata", b"-join", b"%d" % self.pid, b"%d" % writer, os.fsencode(self.base), None]
            environment = [os.fsencode(f"{key}={os.environ[key]}") for key in _PASSED_ON if key in os.environ]
            failed = collector.spawn(
                command,
                (ctypes.c_char_p * len(words))(*words),
                (ctypes.c_char_p * (len(environment) + 1))(*environment, None),
                writer,
            )
            descriptor, writer = writer, -1  # first: interrupted, it must not be closed again
            os.close(descriptor)
            if failed:
                raise Error(f"cannot start {os.fsdecode(command)}: {os.strerror(failed)}")
        except BaseException:
            os.close(reader)
            if writer >= 0:
                os.close(writer)
            raise
        return reader

    def begin(self) -> _Folder:
        path = self.base / f"p{self._count:03}op"
        self._count += 1
        _ask(self.base, "window", os.fspath(path), abstract=self.abstract)
        return _Folder(path)

    def flush(self) -> None:
        _ask(self.base, "flush", abstract=self.abstract)

    def end(self) -> None:
        _ask(self.base, "end", abstract=self.abstract)

    def note(self, text: str) -> None:
        _ask(self.base, "note", text, abstract=self.abstract)

    def quit(self) -> None:
        if self._reader >= 0:  # it never got to work
            os.close(self._reader)
            self._reader = -1
        with contextlib.suppress(OSError):
            _ask(self.base, "quit", abstract=self.abstract)
        self.clear()

    def clear(self) -> None:
        """What it does itself when it ends, unless it was killed."""
        for folder in filter(None, (os.fspath(self.base), self._meeting)):
            shutil.rmtree(folder, ignore_errors=True)


def _await_ready(reader: int) -> dict:
    text, until = b"", time.monotonic() + _READY_S
    while not text.endswith(b"\n"):
        if not select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
            raise Error("strata does not respond")
        part = os.read(reader, 1 << 16)
        if not part:
            raise Error(f"strata has ended: {text.decode('utf-8', 'replace') or 'no message'}")
        text += part
    return json.loads(text)


def _outer_folder() -> Path | None:
    """The result of the strata that started us, as it said."""
    for pair in os.environ.get("STRATA_CONFIG", "").split(";"):
        key, _, value = pair.partition("=")
        if key == "result":
            return Path(os.fsdecode(urllib.parse.unquote_to_bytes(value)))
    return None


# Sessions -------------------------------------------------------------------------------------------


class _Engine:
    """All sessions of the process, and who writes for them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.writer: _Host | _Outer | None = None
        self.folder: _Folder | None = None
        self.sessions: dict[int, Options] = {}
        self.traced: set[int] = set()  # sessions with calls of Python functions
        self.held: set[int] = set()  # who goes on in the same folder, later
        self._lost: list[_Host] = []  # killed; windows of them may still be read

    def _lose(self) -> None:
        if isinstance(self.writer, _Host):
            self._lost.append(self.writer)
        self.writer = self.folder = None

    def start(self, session: Session) -> None:
        with self.lock:
            collector = _load()
            if not self.sessions:
                self._open(collector)
            assert self.writer is not None
            session.writer, session.folder = self.writer, self.folder
            session.begin_ns = _now_ns() - self.writer.start_ns
            try:
                self.sessions[id(session)] = session.options
                session.got = collector.switch(self._wanted())
                if session.options.cuda:
                    self._follow_cuda()
                    note = _start_devices(collector)
                    session.notes += [note] if note else []
                self._follow_level_zero(session, collector)
                if self.writer.own:
                    _wrap_ranges(True)
            except BaseException:  # Ctrl-C
                self.stop(session)
                raise

    def _follow_cuda(self) -> None:
        """It is recorded for as long as a session asks for it. Where a strata is around, that does it."""
        if _devices is not None and self.writer is not None and self.writer.own:
            _devices.want(any(options.cuda for options in self.sessions.values()))

    def _follow_level_zero(self, session: Session, collector: _Collector) -> None:
        """It is recorded for as long as a session asks for it. Where a strata is around, that does it."""
        if not session.options.xpu or self.writer is None or not self.writer.own:
            return
        is_wanted = any(options.xpu for options in self.sessions.values())
        note = _level_zero.follow(collector.path, self.writer.number if is_wanted else 0)
        if note is not None and note not in session.notes:
            session.notes.append(note)

    def _wanted(self) -> bytes:
        wanted = Options()
        for options in self.sessions.values():
            wanted = wanted | options
        return wanted.config()

    def _open(self, collector: _Collector) -> None:
        if self.folder is not None:
            return  # somebody holds it
        state = collector.state()
        if state & _RECORDED:
            folder = _outer_folder()
            if folder is None:
                raise Error("a different version of strata is recording this process")
            if self.writer is None:
                self.writer = _Outer(folder)
            return
        if isinstance(self.writer, _Host):
            try:
                self.writer.join(collector)
                self.folder = self.writer.begin()
                return
            except (OSError, Error):
                self._lose()
        self.writer = _Host(collector)
        try:
            self.writer.join(collector)
            self.folder = self.writer.begin()
        except OSError as why:
            self._lose()
            raise Error(f"strata has ended: {why}") from None
        except Error:
            self.writer = None
            raise

    def prepare(self) -> None:
        """Starts what the first session will need, and does not wait for it."""
        with self.lock:
            if self.writer is None:
                collector = _load()
                if not collector.state() & _RECORDED:
                    self.writer = _Host(collector)

    def stop(self, session: Session) -> None:
        with self.lock:
            writer, collector = session.writer, _load()
            try:
                session.hush()
                self._look_at_devices(session, collector)
                if self.sessions.pop(id(session), None) is None:
                    return
                if self.sessions:
                    self._follow_cuda()
                    self._follow_level_zero(session, collector)
                    session.end_ns = _now_ns() - writer.start_ns
                    collector.switch(self._wanted())
                    self._say(writer, session.notes)
                    writer.flush()
                    return
                collector.switch(None)
                session.end_ns = _now_ns() - writer.start_ns
                self._look_at_devices(session, collector)
                self._follow_cuda()
                self._follow_level_zero(session, collector)
                _wrap_ranges(False)
                self._say(writer, session.notes)
                self._close(writer)
            except OSError as why:
                self._lose()
                warnings.warn(f"strata ended before the profile: {why}", RuntimeWarning, stacklevel=4)
            except BaseException:  # Ctrl-C: nothing may go on that nobody asked for
                session.hush()
                self.sessions.pop(id(session), None)
                self._follow_cuda()
                collector.switch(self._wanted() if self.sessions else None)
                _wrap_ranges(bool(self.sessions) and writer.own)
                raise

    def _look_at_devices(self, session: Session, collector: _Collector) -> None:
        """What they have done is handed over now."""
        if _devices is not None:
            _devices.look()
        if session.options.xpu:
            if id(session) in self.sessions:
                self._follow_level_zero(session, collector)  # it may have begun, and too early, since
            _level_zero.look(collector.path)

    def _close(self, writer: _Host | _Outer) -> None:
        if self.held:
            writer.flush()
            return
        self.folder = None
        writer.end()

    def hold(self, who: object) -> None:
        """What is recorded from now on goes into one folder, until release(who)."""
        with self.lock:
            self.held.add(id(who))

    def release(self, who: object) -> None:
        with self.lock:
            self.held.discard(id(who))
            if self.folder is not None and self.writer is not None and not self.sessions:
                with contextlib.suppress(OSError):
                    self._close(self.writer)

    @staticmethod
    def _say(writer: _Host | _Outer, notes: list[str]) -> None:
        told_notes.update(notes)
        for note in notes:
            writer.note(note)

    def close(self) -> None:
        with self.lock:
            if isinstance(self.writer, _Host) and self.writer.pid == os.getpid():
                if self.sessions and _collector:
                    _collector.switch(None)
                self.sessions.clear()
                self.writer.quit()
                self.writer = None
            while self._lost:
                host = self._lost.pop()
                if host.pid == os.getpid():
                    host.clear()


_engine = _Engine()
told_notes: set[str] = set()  # of this process' sessions, which said them when they began


def prepare() -> None:
    """A session will come."""
    _engine.prepare()


def hold(who: object) -> None:
    _engine.hold(who)


def release(who: object) -> None:
    _engine.release(who)


def _forked() -> None:
    """In a child: its parent's sessions are not its own, and nothing of them may cost it anything."""
    global _engine  # noqa: PLW0603
    was_on = bool(_engine.sessions)
    _engine = _Engine()
    if was_on and _collector:
        _collector.switch(None)
        _wrap_ranges(False)


def _at_exit() -> None:
    _engine.close()


os.register_at_fork(after_in_child=_forked)
atexit.register(_at_exit)


class Session:
    """Records from start() to stop()."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.notes: list[str] = []  # to be told in the result
        self.got = 0
        self.begin_ns = self.end_ns = 0
        self.writer: _Host | _Outer | None = None
        self.folder: _Folder | None = None
        self.all_threads = False
        self._pid = self._tid = 0

    @property
    def is_on(self) -> bool:
        return id(self) in _engine.sessions

    def start(self) -> None:
        self._pid, self._tid = os.getpid(), threading.get_native_id()
        _engine.start(self)
        options = self.options
        if self.got & _STOPPED:
            self.notes.append("the collection was stopped: this profile is empty")
        elif self.writer is not None and self.writer.is_gone:
            self.notes.append("strata has ended: this profile is empty")
        elif self.got & _PAUSED:
            self.notes.append("the collection is paused: this profile is empty until it is resumed")
        elif not self.got & _OPERATORS:
            self.notes.append("operators are not recorded: no supported PyTorch in this process")
        else:
            if self.writer is not None and self.writer.own and "INTEL_LIBITTNOTIFY64" not in os.environ:
                self.notes.append(
                    "oneDNN primitives are not recorded: PyTorch was loaded before strata (import strata.profiler "
                    "first, or use strata -collect)"
                )
            if options.memory and not self.got & _MEMORY:
                self.notes.append("memory is not recorded: PyTorch's allocator is not supported in this process")
            if options.modules and not self.got & _MODULES:
                self.notes.append("nn.Module calls are not recorded in this process")
            if options.stacks and not self.got & (_STACKS | _CALLS):
                self.notes.append("Python stacks of operators are not recorded in this process")
        if options.stacks and not self.got & (_CALLS | _STOPPED):
            self.notes.append(
                "Python function calls are not recorded: another profile function is set, or this Python is not one "
                "of 3.8 to 3.14 with the GIL"
            )

    def trace(self) -> None:
        """Calls of Python functions are recorded from now on, if that was asked for."""
        if self.options.stacks and self.got & _CALLS and _collector is not None:
            folders = _prefixes()
            _engine.traced.add(id(self))
            _collector.trace(folders)

    def hush(self) -> None:
        """And no more: what is done to stop is no part of the profile."""
        if not self.options.stacks or _collector is None:
            return
        try:
            _engine.traced.discard(id(self))
        finally:  # may come again after an interruption: nothing here counts
            if not _engine.traced:
                _collector.trace(None)

    def stop(self) -> Window:
        if self._pid != os.getpid():
            raise Error("this profile was started by the parent process before the fork: start a new one here")
        _engine.stop(self)
        assert self.writer is not None
        path = self.folder.path if self.folder else self.writer.folder  # type: ignore[union-attr]
        threads = () if self.all_threads else (self._tid, *_helper_threads())
        return Window(
            os.fspath(path), self.begin_ns, self.end_ns, self.options, self._pid, self._tid, threads,
            tuple(self.notes), self.folder,
        )  # fmt: skip
