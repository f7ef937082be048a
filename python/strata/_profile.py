# SPDX-License-Identifier: Apache-2.0
"""strata.profile and what belongs to it: the surface of torch.profiler, so that a script changes one import line.

Nothing is computed here: recording is strata._session's, events and tables are strata.events', files strata.exports'.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import json
import os
import sys
import uuid
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from strata._library import Error
from strata._session import Options, Session, Window, hold, offer, prepare, release

if TYPE_CHECKING:
    from strata.result import Result

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities"]  # and record_function


class ProfilerAction(enum.Enum):
    """What a schedule says of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


class ProfilerActivity(enum.Enum):
    """What may be recorded."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


_RECORDED = {ProfilerActivity.CPU, ProfilerActivity.CUDA, ProfilerActivity.XPU}

_told: set[str] = set()


def _warn_once(text: str, category: type[Warning] = UserWarning) -> None:
    if text in _told:
        return
    _told.add(text)
    level, frame = 1, sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("strata."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A schedule: after `skip_first` steps, cycles of `wait` steps without, `warmup` steps before and `active` steps of
    recording; `repeat` cycles, 0 without end. With `skip_first_wait` the first cycle does not wait.
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first - (wait if skip_first_wait != 0 else 0)
        at = step % cycle
        if (repeat and step >= repeat * cycle) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action_of


def _always(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded in this process."""
    version = getattr(sys.modules.get("torch"), "version", None)
    found = {ProfilerActivity.CPU}
    if getattr(version, "cuda", None) is not None:
        found.add(ProfilerActivity.CUDA)
    if getattr(version, "xpu", None) is not None:
        found.add(ProfilerActivity.XPU)
    return found


def _torch() -> Any:
    """PyTorch, imported if it is installed; None if it is not."""
    if "torch" in sys.modules:
        return sys.modules["torch"]
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


class _Range:
    """record_function where there is no PyTorch: a task of strata.itt."""

    def __init__(self, name: str, args: str | None = None) -> None:
        from strata import itt

        self.name, self.args = name, args
        self._task = itt.task(name)

    def __enter__(self) -> _Range:
        self._task.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._task.__exit__()

    def __call__(self, function: Callable) -> Callable:
        return self._task(function)


def __getattr__(name: str) -> Any:
    if name == "record_function":  # PyTorch's own: what it marks are ranges of PyTorch
        torch = _torch()
        return torch.autograd.profiler.record_function if torch else _Range
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _action(value: Any) -> ProfilerAction:
    """Schedules may be PyTorch's, whose actions have the same names."""
    action = value if isinstance(value, ProfilerAction) else ProfilerAction[value.name]
    if action is ProfilerAction.DEVICE_STOPPED:
        raise ValueError(
            "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
            "user-provided schedule"
        )
    return action


def _activity(value: Any) -> ProfilerActivity:
    if isinstance(value, ProfilerActivity):
        return value
    try:
        return ProfilerActivity[value.name]
    except (AttributeError, KeyError):
        raise TypeError(f"Expected ProfilerActivity or dict, got {type(value)}") from None


def _parse_activities(items: Iterable[Any]) -> tuple[set[ProfilerActivity], bool]:
    """The activities, and whether only parts of them are wanted."""
    found: set[ProfilerActivity] = set()
    filtered = False
    for item in items:
        filtered = filtered or isinstance(item, dict)
        for one in item if isinstance(item, dict) else [item]:
            activity = _activity(one)
            if activity in found:
                raise ValueError(f"Activity {activity} specified more than once")
            found.add(activity)
    return found, filtered


def _device_is_there(activity: ProfilerActivity) -> bool:
    module = getattr(_torch(), activity.name.lower(), None)
    return bool(module and getattr(module, "is_available", bool)())


# Settings of torch's _ExperimentalConfig, which shows them only to pickle, in an order of its own: one at a time set
# and looked for. Those that are done here, or that have no meaning here (stacks are never left out).
_SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("profiler_metrics", "performance_events"), ["other"]), "custom_profiler_config": "other",
    **dict.fromkeys((
        "profiler_measure_per_kernel", "verbose", "enable_cuda_sync_events", "adjust_profiler_step",
        "disable_external_correlation", "profile_all_threads", "capture_overload_names", "record_python_gc_info",
        "expose_kineto_event_metadata", "adjust_timestamps", "trace_only",
    ), True),
}  # fmt: skip
_EXPERIMENTAL = {"profile_all_threads", "verbose"}


def _settings(config: Any) -> set[str]:
    """What is set in an experimental_config, by name."""
    if config is None:
        return set()
    try:
        make = type(config)
        default, state = make().__getstate__(), config.__getstate__()
        changed = {place for place, pair in enumerate(zip(default, state)) if pair[0] != pair[1]}
        found = set()
        for name, value in _SETTINGS.items():
            with contextlib.suppress(TypeError):  # another version
                other = make(**{name: value}).__getstate__()
                places = {place for place, pair in enumerate(zip(default, other)) if pair[0] != pair[1]}
                if places and places <= changed:
                    found.add(name)
                    changed -= places
    except Exception:  # it may be anything
        return {"all of it"}
    return found | ({"an unknown setting"} if changed else set())


# From one action to the next (None: stop()): what is done. A warning comes first.
_NONE, _WARMUP, _RECORD, _SAVE = list(ProfilerAction)[:4]
_TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], tuple[str, ...]] = {
    (_NONE, _WARMUP): ("prepare",),
    (_NONE, _RECORD): ("prepare", "start"),
    (_NONE, _SAVE): ("prepare", "start"),
    (_WARMUP, _NONE): ("Incorrect schedule: WARMUP followed by NONE", "start", "stop"),
    (_WARMUP, _RECORD): ("start",),
    (_WARMUP, _SAVE): ("start",),
    (_RECORD, _NONE): ("Incorrect schedule: RECORD followed by NONE", "stop"),
    (_RECORD, _WARMUP): ("Incorrect schedule: RECORD followed by WARMUP", "stop"),
    (_SAVE, _NONE): ("stop", "ready"),
    (_SAVE, _WARMUP): ("stop", "ready", "prepare"),
    (_SAVE, _RECORD): ("stop", "ready", "prepare", "start"),
    (_SAVE, _SAVE): ("stop", "ready", "prepare", "start"),
    (_WARMUP, None): ("start", "stop"),
    (_RECORD, None): ("stop", "ready"),
    (_SAVE, None): ("stop", "ready"),
}


class profile:
    """Records the operators of PyTorch while it is on: `with strata.profile() as prof:`.

    Arguments and methods are those of torch.profiler.profile. One without effect says so once, and in the result. A
    profile inside of another one sees its part of it. Operators are those of the thread that started it, and of what
    PyTorch does for it on threads of its own; `experimental_config` with `profile_all_threads` has those of all.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.on_trace_ready = on_trace_ready
        self.preset_metadata: dict[str, str] = {}
        self.metadata: dict[str, str] = {}  # of the latest cycle, values in JSON
        self.windows: list[Window] = []  # of the latest cycle; of all with acc_events
        self._without_effect: list[str] = []
        self._cycles = 0
        self._session: Session | None = None
        self._opened: tuple[str, Result] | None = None
        self._trace_id: str | None = None
        self._pid = os.getpid()
        self.activities = self._choose(activities, use_cuda)
        self._list_without_effect(activities)
        self.schedule = schedule or _always
        self.record_steps = schedule is not None  # steps are ranges then, as in tables of PyTorch
        self.step_num = 0
        self.step_rec_fn: Any = None
        self.current_action = _action(self.schedule(0))
        with contextlib.suppress(Error):  # start() says it
            prepare()

    def _choose(self, activities: Iterable[Any] | None, use_cuda: bool | None) -> set[ProfilerActivity]:
        if activities is None:
            chosen, self._filtered = supported_activities(), False
        else:
            chosen, self._filtered = _parse_activities(activities)
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=4)
            (chosen.add if use_cuda else chosen.discard)(ProfilerActivity.CUDA)
        if not chosen:
            raise AssertionError("No valid profiler activities found")
        return chosen

    def _no_effect(self, text: str) -> None:
        self._without_effect.append(text)
        _warn_once(f"strata.profile: {text}")

    def _list_without_effect(self, activities: Iterable[Any] | None) -> None:
        asked = self.activities if activities is not None else set()
        for activity in sorted(asked - {ProfilerActivity.CPU}, key=lambda one: one.value):
            name = activity.name
            if not _device_is_there(activity):
                self._no_effect(f"{name} is not available, disabling {name} profiling")
                self.activities = self.activities - {activity}
            elif activity not in _RECORDED:
                self._no_effect(f"what {name} devices do is not recorded")
        if self._filtered:
            self._no_effect("activities: parts of an activity cannot be selected; all of it is recorded")
        self._experimental = _settings(self.experimental_config)
        for name in sorted(self._experimental - _EXPERIMENTAL):
            self._no_effect(f"experimental_config: {name} has no effect")
        for name in ("execution_trace_observer", "post_processing_timeout_s"):
            if getattr(self, name) is not None:
                self._no_effect(f"{name} has no effect")

    # Start and stop ---------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._pid = os.getpid()
        try:
            self._go(ProfilerAction.NONE, self.current_action)
            self._begin_step()
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        """Ctrl-C, mostly, where no __exit__ will follow: nothing may stay on."""
        session = self._session
        if session is not None and session.is_on:
            session.stop()
        self._session = None
        if self.acc_events and self._pid == os.getpid():
            release(self)
        self._end_step()

    def stop(self) -> None:
        try:
            self._end_step()
            if self._session is not None:
                self._session.hush()
            self._go(self.current_action, None)
            if self.acc_events and self._pid == os.getpid():
                release(self)
        except BaseException:
            self._give_up()
            raise

    def step(self) -> None:
        """The next step begins."""
        self._end_step()
        before, action = self.current_action, _action(self.schedule(self.step_num + 1))
        self.step_num += 1
        self.current_action = action
        try:
            self._go(before, action)
            self._begin_step()
        except BaseException:
            self._give_up()
            self.current_action = ProfilerAction.NONE
            raise

    def _begin_step(self) -> None:
        if self.record_steps:
            marker = __getattr__("record_function")
            self.step_rec_fn = marker(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            ended, self.step_rec_fn = self.step_rec_fn, None
            ended.__exit__(None, None, None)

    def _go(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        if self._pid != os.getpid():
            return  # a forked child leaves the block of its parent, whose profile this is
        for what in _TRANSITIONS.get((before, after), ()):
            if " " in what:
                warnings.warn(what, stacklevel=3)
            else:
                getattr(self, f"_{what}")()

    def _prepare(self) -> None:
        if self._cycles and not self.acc_events:
            _warn_once(
                "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                "reported. To keep events across cycles, set acc_events=True."
            )
        self._cycles += 1
        self._trace_id = (self.custom_trace_id_callback or _new_trace_id)()

    def _start(self) -> None:
        options = Options(
            shapes=self.record_shapes or self.with_flops,
            memory=self.profile_memory,
            modules=self.with_modules,
            stacks=self.with_stack,
            flops=self.with_flops,
            cuda=ProfilerActivity.CUDA in self.activities,
            xpu=ProfilerActivity.XPU in self.activities,
        )
        torch = _torch()
        session = Session(options)
        session.all_threads = "profile_all_threads" in self._experimental
        session.notes += self._without_effect
        if torch is None:
            session.notes.append("PyTorch is not installed: only tasks are recorded, no operators")
            _warn_once("strata.profile: PyTorch is not installed: only tasks are recorded, no operators")
        if self.acc_events:
            hold(self)
        if self._session is not None:  # started twice: what was recorded until now is dropped, as by torch's
            self._session.stop()
        self._session = session
        session.start()
        self.metadata = dict(self.preset_metadata)
        for name in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, name):
                self.metadata[name] = "1"
        self._say_notes(session)
        session.trace()

    def _say_notes(self, session: Session) -> None:
        for note in session.notes[len(self._without_effect) :] if _torch() else ():
            if not note.startswith("oneDNN"):  # no operator is missing
                _warn_once(f"strata.profile: {note}", RuntimeWarning)

    def _stop(self) -> None:
        session = self._session
        if session is None:
            if not self.windows:
                raise AssertionError("Profiler must be initialized before stopping trace")
            warnings.warn("strata.profile: this profile is already stopped", RuntimeWarning, stacklevel=5)
            return
        try:
            session.hush()
            self._wait_for_devices()
        finally:
            window = session.stop()
        self._say_notes(session)
        self._session = None
        self._opened = None  # lists of events that somebody kept go on asking it
        self.windows = [*self.windows, window] if self.acc_events else [window]

    def _wait_for_devices(self) -> None:
        """What was launched in the profile belongs to it, as with torch's."""
        for activity in self.activities & {ProfilerActivity.CUDA, ProfilerActivity.XPU}:
            module = getattr(_torch(), activity.name.lower(), None)
            if module is not None and module.is_initialized():
                module.synchronize()

    def _ready(self) -> None:
        if self.on_trace_ready:
            self.on_trace_ready(self)

    # What was recorded ------------------------------------------------------------------------------

    @property
    def window(self) -> Window:
        """The latest cycle: a folder, and times in it."""
        if not self.windows:
            if self._pid != os.getpid():
                raise Error("this profile was started by the parent process before the fork: start a new one here")
            raise AssertionError("Profiler must be initialized before accessing events")
        return self.windows[-1]

    @property
    def result(self) -> Result:
        """The result that the latest cycle is in, open for questions. Unless `strata -collect` writes it, its folder
        goes with the profile: `save` keeps it.
        """
        from strata.result import Result

        folder = self.window.folder
        if self._opened is None or self._opened[0] != folder:
            self._opened = folder, Result(folder)
        return self._opened[1]

    def save(self, path: str | os.PathLike[str]) -> str:
        """Copies the result of the latest cycle to a new folder, for `strata report` and the like."""
        import shutil

        return os.fspath(shutil.copytree(self.window.folder, path, ignore=shutil.ignore_patterns("control")))

    def events(self) -> Any:
        """The operators and ranges of the latest cycle, one by one (of all cycles with acc_events)."""
        from strata.events import EventList

        window, first = self.window, self.windows[0]  # in one folder
        threads = {tid for one in self.windows for tid in one.threads} if window.threads else ()
        found = EventList.of(
            self.result, first.begin_ns, window.end_ns, window.options, pid=window.pid, threads=sorted(threads)
        )
        found.hold(window.keep)
        return found

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> Any:
        """The same by name, and if wanted by inputs, stack, overload."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        from strata import exports

        self.events().say_lost()
        exports.export_chrome_trace(self, path)

    def export(self, path: str) -> None:
        """The older spelling of export_chrome_trace."""
        self.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.events().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        from strata import exports

        exports.export_memory_timeline(self, path, device)

    # Words to go with it ----------------------------------------------------------------------------

    def add_metadata(self, key: str, value: str) -> None:
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        self.metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Added to every cycle that begins later."""
        self.preset_metadata[key] = value

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        self._no_effect("toggle_collection_dynamic has no effect")
        if self._session is not None:
            self._session.notes.append(self._without_effect.pop())

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        return self._trace_id


offer()


def _new_trace_id() -> str:
    return f"{uuid.uuid4().int:032X}"
