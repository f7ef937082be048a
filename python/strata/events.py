# SPDX-License-Identifier: Apache-2.0
"""Operators of a profile as torch.profiler gives them: EventList, FunctionEvent, FunctionEventAvg.

Names, attributes and tables are torch's. libstrata.so chooses, groups, adds up and lays out; here rows become objects,
and only when somebody looks at them: `key_averages().table()` makes none.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections import namedtuple
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from strata._library import UsageError

if TYPE_CHECKING:
    import pandas

    from strata.result import Result

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel"]

Kernel = namedtuple("Kernel", ["name", "device", "duration"])

# What a profile was told, by torch's name and by that of a session.
_OPTIONS = {
    "record_shapes": "shapes",
    "profile_memory": "memory",
    "with_flops": "flops",
    "with_stack": "stacks",
}

# What to do about a loss, by its name in a result's quality.
_REMEDIES = {
    "slices_dropped": "to avoid this, profile less at a time (schedule=), without with_stack, or with less recursion",
    "labels_unknown": "functions that are created repeatedly use up the space for names: profile them in a new process",
}


class _Cpu:
    """torch.autograd.DeviceType.CPU, for programs that have no torch."""

    name, value = "CPU", 0

    def __repr__(self) -> str:
        return "<DeviceType.CPU: 0>"

    def __str__(self) -> str:
        return "DeviceType.CPU"


_CPU = _Cpu()


def _device_type(device: str | None) -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        return _CPU
    return getattr(torch.autograd.DeviceType, device.upper() if device else "CPU")


def _device_word(columns: Sequence[Mapping[str, Any]]) -> str:
    """What the devices of a result are called: its titles say it."""
    title = next((one["title"] for one in columns if one["key"] == "self_device_time_total"), "Self CUDA")
    return title.split()[-1].lower()


def _time_text(time_us: float) -> str:
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if time_us >= scale:
            return f"{time_us / scale:.3f}{unit}"
    return f"{time_us:.3f}us"


def _renamed(old: str, new: str) -> property:
    def get(self: Any) -> Any:
        warnings.warn(f"`{old}` is deprecated, please use `{new}` instead.", FutureWarning, stacklevel=2)
        return getattr(self, new)

    return property(get)


class Interval:
    """Microseconds since the profile began."""

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        return self.end - self.start


class _Figures:
    """What events and averages share: constants of a CPU's profile, and times as texts."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    node_id = -1
    is_async = is_remote = is_legacy = False
    use_device: str | None = None
    device_time_total: float = 0
    self_device_time_total: float = 0
    device_memory_usage: int = 0
    self_device_memory_usage: int = 0
    is_on_device = False  # a kernel, copy or fill; what others have of a device is what they launched there
    device_type = property(lambda self: _device_type(self.use_device if self.is_on_device else None))

    cpu_time = property(lambda self: self.cpu_time_total / self.count if self.count else 0.0)
    device_time = property(lambda self: self.device_time_total / self.count if self.count else 0.0)
    cpu_time_str = property(lambda self: _time_text(self.cpu_time))
    cpu_time_total_str = property(lambda self: _time_text(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _time_text(self.self_cpu_time_total))
    device_time_str = property(lambda self: _time_text(self.device_time))
    device_time_total_str = property(lambda self: _time_text(self.device_time_total))
    self_device_time_total_str = property(lambda self: _time_text(self.self_device_time_total))

    cuda_time = _renamed("cuda_time", "device_time")
    cuda_time_total = _renamed("cuda_time_total", "device_time_total")
    self_cuda_time_total = _renamed("self_cuda_time_total", "self_device_time_total")
    self_cuda_memory_usage = _renamed("self_cuda_memory_usage", "self_device_memory_usage")

    def _take_device(self, row: Mapping[str, Any], device: str) -> None:
        self.device_memory_usage = row.get("device_memory_usage", 0)
        self.self_device_memory_usage = row.get("self_device_memory_usage", 0)
        if row.get("device_time_total") or row.get("is_on_device"):
            self.device_time_total = row["device_time_total"]
            self.self_device_time_total = row["self_device_time_total"]
            self.is_on_device = row["is_on_device"]
            self.use_device = device


class FunctionEvent(_Figures):
    """One operator or range, once. `thread` is the system's number of it, `id` the row of the result's slices."""

    count = 1
    metadata_json, event_metadata = "", None
    flow_id = flow_type = 0
    flow_start = False
    linked_correlation_id = 0
    self_cpu_percent = total_cpu_percent = total_device_percent = -1

    def __init__(self, row: Mapping[str, Any], lists: _Lists, device: str = "cuda") -> None:
        name = row["key"]
        self.id: int = row["id"]
        self.name: str = name
        self.overload_name: str = row["overload_name"]
        self.trace_name: str | None = row.get("trace_name", None if name == "[memory]" else name)
        self.time_range = Interval(row["start_us"], row["end_us"])
        self.thread: int = row["thread"]
        self.fwd_thread: int = row["fwd_thread"]
        self.device_index: int = row["process"]
        self.device_resource_id: int = row["thread"]
        self.cpu_time_total: float = row["cpu_time_total"]
        self.self_cpu_time_total: float = row["self_cpu_time_total"]
        self._take_device(row, device)
        self.cpu_memory_usage: int = row["cpu_memory_usage"]
        self.self_cpu_memory_usage: int = row["self_cpu_memory_usage"]
        self.input_shapes: list[Any] = lists[row["input_shapes"]]
        self.structured_input_shapes: list[Any] = lists[row.get("structured_input_shapes", "[]")]
        self.input_dtypes: list[Any] = lists[row.get("input_dtypes", "[]")]
        self.stack: list[str] = row["stack"].split("\n") if row["stack"] else []
        self.scope: int = row["scope"]
        self.sequence_nr: int = row["sequence_nr"]
        self.flops: int = row["flops"]
        self.is_user_annotation: bool = row["is_user_annotation"]
        self.is_python_function: bool = row["is_python_function"]
        self.activity_type = "user_annotation" if self.is_user_annotation else "cpu_op"
        self.python_id: int = row.get("python_id", -1)
        self.python_parent_id: int = row.get("python_parent_id", -1)
        self.python_module_id = -1
        if self.is_python_function:
            self.activity_type = "python_function"
            if name.startswith("nn.Module: ") and name.rpartition("_")[2].isdecimal():
                self.python_module_id = int(name.rpartition("_")[2])
        self.external_id = self.id
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        # Not recorded.
        self.kernels: list[Kernel] = []
        self.concrete_inputs: list[Any] = []
        self.kwinputs: dict[str, Any] = {}
        self.structured_input_strides: list[Any] = []

    @property
    def key(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} {self.use_device}_time={self.device_time_str} "
            f"name={self.name} thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {self.use_device}_memory_usage={self.device_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(_Figures):
    """Events of one name, or of one name and shapes, added up."""

    def __init__(self, row: Mapping[str, Any] | None = None, lists: _Lists | None = None, device: str = "cuda") -> None:
        row = row or {}
        shapes = row.get("input_shapes")
        self.key: str | None = row.get("key")
        self.count: int = row.get("count", 0)
        self.cpu_time_total: float = row.get("cpu_time_total", 0)
        self.self_cpu_time_total: float = row.get("self_cpu_time_total", 0)
        self._take_device(row, device)
        self.cpu_memory_usage: int = row.get("cpu_memory_usage", 0)
        self.self_cpu_memory_usage: int = row.get("self_cpu_memory_usage", 0)
        self.input_shapes: Any = lists[shapes] if shapes and lists is not None else shapes
        self.overload_name: str | None = row.get("overload_name")
        self.stack: list[str] | None = (row["stack"].split("\n") if row["stack"] else []) if row else None
        self.scope: int | None = row.get("scope")
        self.flops: int = row.get("flops", 0)
        self.is_user_annotation: bool = row.get("is_user_annotation", False)
        self._first: int | None = row.get("id")
        self._view: _View | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_view": None}  # a result stays where it is open

    def _first_event(self) -> FunctionEvent | None:
        return None if self._view is None or self._first is None else self._view.event(self._first)

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        """Of the first event."""
        first = self._first_event()
        return first.cpu_parent if first else None

    @property
    def cpu_children(self) -> list[FunctionEvent]:
        """Of the first event."""
        first = self._first_event()
        return first.cpu_children if first else []

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        if self.key is None:
            for name in (
                "key", "overload_name", "input_shapes", "stack", "scope", "is_user_annotation", "is_on_device",
                "use_device",
            ):  # fmt: skip
                setattr(self, name, getattr(other, name))
        elif self.key != other.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in (
            "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count", "flops",
            "device_time_total", "self_device_time_total", "device_memory_usage", "self_device_memory_usage",
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


class _Lists(dict):
    """Lists by their JSON text: few signatures have many events."""

    def __missing__(self, text: str) -> Any:
        self[text] = json.loads(text)
        return self[text]


class _View:
    """A window of a result, and how it is asked."""

    def __init__(self, result: Result, window: SimpleNamespace) -> None:
        self.result = result
        self.window = window
        self.lists = _Lists()
        self.kept: object = None  # what the result needs
        self._events: dict[int, FunctionEvent] | None = None
        self._warned = False

    def asked(self, name: str) -> bool:
        options = self.window.options
        for word in (name, _OPTIONS[name]):
            value = options.get(word) if isinstance(options, Mapping) else getattr(options, word, None)
            if value is not None:
                return bool(value)
        return False

    def words(self, **knobs: Any) -> list[str]:
        window = self.window
        knobs["record-shapes"] = self.asked("record_shapes") or self.asked("with_flops")
        knobs["profile-memory"] = self.asked("profile_memory")
        knobs["with-flops"] = self.asked("with_flops")
        knobs["with-stack"] = self.asked("with_stack")
        if hasattr(window.options, "devices"):
            knobs["use-device"] = window.options.devices
        words = [f"-report-knob={name}={_word(value)}" for name, value in knobs.items()]
        if window.begin_ns is not None or window.end_ns is not None:
            words.append(f"-time-filter={_seconds(window.begin_ns)}:{_seconds(window.end_ns)}")
        if window.pid is not None:
            words.append(f"-filter=process={window.pid}")
        words += [f"-filter=thread={tid}" for tid in window.threads]
        if window.threads and getattr(window.options, "devices", False):
            words += ["-filter=thread=device *"]
        return words

    def say_if_elsewhere(self) -> None:
        """There is nothing: is it because other threads did the work?"""
        if not self.window.threads or self._warned:
            return
        self._warned = True
        everybody = _View(self.result, SimpleNamespace(**{**vars(self.window), "threads": ()}))
        count = everybody.document("torch-averages", **{"row-limit": 0})["totals"]["count"]
        if count:
            warnings.warn(
                f"this profile is empty: all {count} operators ran on other threads than the one that started it. As "
                "with torch.profiler, experimental_config=_ExperimentalConfig(profile_all_threads=True) includes them",
                stacklevel=4,
            )

    def document(self, report: str, **knobs: Any) -> dict[str, Any]:
        found = self.result.report(report, *self.words(**knobs)).document
        self.say_lost(found["quality"])
        return found

    def say_lost(self, quality: dict[str, Any] | None = None) -> None:
        """Once a result: what is missing, with figures, as the result has it."""
        if self.result._said_lost:
            return
        self.result._said_lost = True
        if quality is None:
            quality = self.result.report("info").document["quality"]
        lost = list(quality["losses"])
        lost += [remedy for key, remedy in _REMEDIES.items() if quality[key]]
        if self.kept is not None:  # of this process: what it was told already is not told again
            from strata._session import told_notes

            lost += [note for note in quality["notes"] if note not in told_notes]
        if lost:
            level, frame = 1, sys._getframe(0)
            while frame is not None and frame.f_globals.get("__name__", "").startswith("strata."):
                level, frame = level + 1, frame.f_back  # type: ignore[assignment]
            warnings.warn(f"this profile is incomplete: {'; '.join(lost)}", RuntimeWarning, stacklevel=level)

    def events(self) -> list[FunctionEvent]:
        document = self.document("torch-events", **{"row-limit": -1})
        rows, device = document["rows"], _device_word(document["columns"])
        events = [FunctionEvent(row, self.lists, device) for row in rows]
        by_id = {event.id: event for event in events}
        for row, event in zip(rows, events):
            parent = by_id.get(row.get("cpu_parent"))
            if parent is not None:
                event.cpu_parent = parent
                parent.cpu_children.append(event)
        self._events = by_id
        return events

    def event(self, number: int) -> FunctionEvent | None:
        if self._events is None:
            self.events()
        return self._events.get(number) if self._events is not None else None

    def averages(self, grouping: dict[str, Any]) -> list[FunctionEventAvg]:
        averages = []
        document = self.document("torch-averages", **{"row-limit": -1}, **grouping)
        device = _device_word(document["columns"])
        for row in document["rows"]:
            average = FunctionEventAvg(row, self.lists, device)
            average._view = self
            averages.append(average)
        return averages


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seconds(ns: int | None) -> str:
    return "" if ns is None or ns < 0 else f"{ns // 10**9}.{ns % 10**9:09d}"


class EventList(list):
    """Events of a profile, or their averages: a list that is filled when it is first looked into."""

    # Lists that nobody made with of().
    _view: _View | None = None
    _grouping: dict[str, Any] | None = None  # of averages
    _waiting = False
    _original: Sequence[Any] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        self._use_device = options.pop("use_device", None)
        self._profile_memory = options.pop("profile_memory", False)
        self._with_flops = options.pop("with_flops", False)
        super().__init__(*args, **options)

    @classmethod
    def of(
        cls,
        result: Result,
        begin_ns: int | None,
        end_ns: int | None,
        options: Any = None,
        *,
        pid: int | None = None,
        threads: Sequence[int] = (),
    ) -> EventList:
        """What began and ended between two moments of a result (ns since the start of its collection; None: as far as
        it goes). options says by torch's names what the profile was told (`record_shapes`, `profile_memory`,
        `with_flops`), as attributes or as keys; pid: of one process only; threads: of these only, by the system's
        numbers.
        """
        options = {} if options is None else options
        window = SimpleNamespace(
            folder=result.path, begin_ns=begin_ns, end_ns=end_ns, options=options, pid=pid, threads=tuple(threads)
        )
        return cls._over(_View(result, window), None)

    @classmethod
    def _over(cls, view: _View, grouping: dict[str, Any] | None) -> EventList:
        made = cls(profile_memory=view.asked("profile_memory"), with_flops=view.asked("with_flops"))
        made._view = view
        made._grouping = grouping
        made._waiting = True
        return made

    def hold(self, what: object) -> None:
        """As long as this list, and those made of it, can be asked."""
        self._source().kept = what

    def say_lost(self) -> None:
        """A warning, once, of what is missing in the profile."""
        self._source().say_lost()

    def __radd__(self, other: list[Any]) -> list[Any]:
        self._fill()
        return [*other, *self]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The events alone: the result that tables are asked of stays where it is."""
        return EventList, (list(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> EventList:
        if self._view is None or self._rows():
            return EventList(copy.deepcopy(list(self), memo))
        return type(self)._over(self._view, self._grouping)

    @property
    def _tree_built(self) -> bool:
        return self._grouping is None

    def _fill(self) -> None:
        if not self._waiting:
            return
        view = self._source()
        found = view.events() if self._grouping is None else view.averages(self._grouping)
        self._waiting = False
        if not found:
            view.say_if_elsewhere()
        self._original = tuple(found)
        list.extend(self, found)

    def _source(self) -> _View:
        if self._view is None:
            raise TypeError("this EventList has no profile: it was not created by a profile or EventList.of()")
        return self._view

    def _rows(self) -> dict[str, str]:
        """Which rows of the answer are left, when the list was changed."""
        if self._original is None:
            return {}
        now = list(self)
        if len(now) == len(self._original) and all(one is other for one, other in zip(now, self._original)):
            return {}
        places = {id(event): place for place, event in enumerate(self._original)}
        try:
            return {"rows": ",".join(str(places[id(event)]) for event in now)}
        except KeyError:
            raise TypeError("this list contains an event of another profile: it has no table") from None

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """torch's table, with its columns, units and footer."""
        if self._view is None and not self:
            return ""
        view = self._source()
        knobs = {
            **(self._grouping or {}),
            **self._rows(),
            "row-limit": row_limit if isinstance(row_limit, int) and row_limit >= 0 else -1,  # as torch takes it
            "max-src-column-width": max_src_column_width,
            "max-name-column-width": max_name_column_width,
            "max-shapes-column-width": max_shapes_column_width,
            "top-level-events-only": bool(top_level_events_only),
        }
        for name, value in (("sort-by", sort_by), ("header", header)):
            if value is not None:
                knobs[name] = value
        if time_unit in ("s", "ms", "us"):  # torch takes any other for none
            knobs["time-unit"] = time_unit
        report = "torch-events" if self._grouping is None else "torch-averages"
        if sort_by == "":
            raise AttributeError("no such attribute to sort by: ''")
        try:
            text = view.result.report_text(report, *view.words(**knobs))
        except UsageError as why:
            if "attribute to sort by" in str(why):
                raise AttributeError(str(why)) from None
            raise
        view.say_lost()
        if text.startswith(("-", "=")):
            return text
        view.say_if_elsewhere()
        return ""  # as torch's; the command says that there is nothing

    def __str__(self) -> str:
        return self.table()

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Events added up by name; also by shapes, or by the innermost lines of their stacks."""
        if self._grouping is not None:
            raise AssertionError("Expected tree to be built before calling key_averages")
        view = self._source()
        if self._rows():
            raise TypeError("this list was changed: averages require a whole profile")
        grouping = {
            "group-by-input-shape": bool(group_by_input_shapes),
            "group-by-stack-n": int(group_by_stack_n) if view.asked("with_stack") else 0,
            "group-by-overload-name": bool(group_by_overload_name),
        }
        return type(self)._over(view, grouping)

    def _totals(self) -> dict[str, Any]:
        return self._source().document("torch-averages", **{"row-limit": 0})["totals"]

    def total_average(self) -> FunctionEventAvg:
        """One average of all events."""
        return FunctionEventAvg({**self._totals(), "key": "Total", "stack": ""})

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds; of all events together."""
        return self._totals()["self_cpu_time_total"]

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, with torch's attributes as keys."""
        view = self._source()
        self._rows_must_be_whole("to_dicts()")
        report = "torch-events" if self._grouping is None else "torch-averages"
        found = view.document(report, **{"row-limit": -1}, **(self._grouping or {}))
        keys = [column["key"] for column in found["columns"]]
        return [{key: row.get(key) for key in keys} for row in found["rows"]]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a DataFrame, with torch's attributes as columns."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() requires pandas, which is not installed; use to_dicts()") from None
        return pandas.DataFrame(self.to_dicts())

    def _rows_must_be_whole(self, what: str) -> None:
        if self._rows():
            raise TypeError(f"this list was changed: {what} requires a whole profile")

    def export_chrome_trace(self, path: Any) -> None:
        """The trace of the whole profile, as torch.profiler writes it."""
        from strata import exports

        view = self._source()
        view.say_lost()
        exports.export_chrome_trace(view.window, path, result=view.result)

    def supported_export_stacks_metrics(self) -> list[str]:
        return [f"self_{unit}_time_total" for unit in ("cpu", "cuda", "xpu", "privateuse1")]

    def export_stacks(self, path: Any, metric: str) -> None:
        """A line per stack with the metric, for flame graphs."""
        from strata import exports

        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        view = self._source()
        view.say_lost()
        exports.export_stacks(view.window, path, metric, result=view.result)


def _filled(name: str) -> Any:
    original = getattr(list, name)

    def method(self: EventList, *args: Any, **options: Any) -> Any:
        self._fill()
        return original(self, *args, **options)

    method.__name__ = name
    method.__doc__ = original.__doc__
    return method


for _name in (
    "__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__getitem__", "__gt__", "__iadd__", "__imul__",
    "__iter__", "__le__", "__len__", "__lt__", "__mul__", "__ne__", "__repr__", "__reversed__", "__rmul__",
    "__setitem__", "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort",
):  # fmt: skip
    setattr(EventList, _name, _filled(_name))
del _name
