"""Descriptions that take long to make, kept with their tool."""

import copy
from collections.abc import Callable, Hashable
from functools import wraps
from time import thread_time
from typing import Any, Final, Protocol, TypeVar, cast

from ez_ptc.formats.describable import Describable

__all__ = ["describe_once", "make_once"]

_SLOW_SECONDS: Final = 0.1
T = TypeVar("T")


class _Describe(Protocol):
    def __call__(
        self, tool: Describable, *, strict: bool = False, left_out: list[str] | None = None
    ) -> dict[str, Any]: ...


def make_once(tool: Describable, key: Hashable, make: Callable[[], T]) -> T:
    """Return a new value; one that takes over 100 ms of CPU time is made once for a tool and a key, and copied."""
    kept: dict[Hashable, object] | None = getattr(tool, "slow_descriptions", None)
    if kept is not None and key in kept:
        return copy.deepcopy(cast("T", kept[key]))
    started = thread_time()
    made = make()
    if kept is not None and thread_time() - started > _SLOW_SECONDS:
        kept[key] = copy.deepcopy(made)
    return made


def describe_once(describe: _Describe) -> _Describe:
    """Decorate a format's `describe`, so that a slow description is made once."""

    @wraps(describe)
    def make_description(
        tool: Describable, *, strict: bool = False, left_out: list[str] | None = None
    ) -> dict[str, Any]:
        if left_out is not None:
            return describe(tool, strict=strict, left_out=left_out)
        return make_once(tool, (describe.__module__, strict), lambda: describe(tool, strict=strict))

    return make_description
