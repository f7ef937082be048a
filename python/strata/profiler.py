# SPDX-License-Identifier: Apache-2.0
"""The modules torch.profiler and torch.autograd.profiler in one: `import strata.profiler as profiler`.

`profile` takes the arguments of both: those of torch.profiler.profile, and the older `use_cuda`, `use_device`,
`enabled` of torch.autograd.profiler.profile, with the methods that a profile had then.
"""

from __future__ import annotations

import warnings
from typing import Any

from strata import _profile
from strata._profile import ProfilerAction, ProfilerActivity, schedule, supported_activities
from strata.exports import tensorboard_trace_handler

__all__ = [  # and record_function
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_DEVICES = {"cuda": "CUDA", "xpu": "XPU", "mtia": "MTIA", "hpu": "HPU"}


def __getattr__(name: str) -> Any:
    if name == "record_function":
        return _profile.__getattr__(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def kineto_available() -> bool:
    """Whether what Kineto does is done: it is, by strata."""
    return True


class profile(_profile.profile):
    """strata.profile, with the words of torch.autograd.profiler.profile as well. enabled=False: it does nothing."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool | None = None,
        use_device: str | None = None,
        use_kineto: bool = False,
        use_cpu: bool = True,
        **others: Any,
    ) -> None:
        self.enabled = enabled
        if use_cuda and use_device is None:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
            use_device = "cuda"
        if use_device is not None and "activities" not in others:
            if use_device in _DEVICES:
                others["activities"] = [ProfilerActivity.CPU, ProfilerActivity[_DEVICES[use_device]]]
            else:
                warnings.warn(f"The {use_device} is not a valid device option.", stacklevel=2)
        if not use_cpu:
            raise AssertionError("Device-only events are not recorded: use_cpu=True")
        super().__init__(**others)

    def start(self) -> None:
        if self.enabled:
            super().start()

    def stop(self) -> None:
        if self.enabled:
            super().stop()

    def __enter__(self) -> profile | None:  # type: ignore[override]
        if not self.enabled:
            return None
        if self._session is not None:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.start()
        return self

    @property
    def function_events(self) -> Any:
        return self.events()

    def table(self, *words: Any, **options: Any) -> str:
        """Of every operator by itself; key_averages().table() adds them up."""
        return self.events().table(*words, **options)

    def total_average(self) -> Any:
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.events().self_cpu_time_total

    def __str__(self) -> str:
        return self.table() if self.windows else repr(self)
