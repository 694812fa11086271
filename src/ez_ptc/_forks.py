"""Hooks for forks of the host."""

import os
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

__all__ = ["around_fork", "on_fork"]

T = TypeVar("T")


def on_fork(target: T, function: Callable[[T], None]) -> None:
    """Call `function(target)` in every fork of this process for as long as `target` exists.

    All targets share one hook, since hooks can never be removed.
    """
    _calls_on_fork("after_in_child")[target] = function


def around_fork(target: T, *, before: Callable[[T], object], after: Callable[[T], object]) -> None:
    """Call `before(target)` before this process forks, and `after(target)` in it afterwards, as `on_fork` does."""
    _calls_on_fork("before")[target] = before
    _calls_on_fork("after_in_parent")[target] = after


@cache
def _calls_on_fork(moment: str) -> "weakref.WeakKeyDictionary[Any, Callable[[Any], object]]":
    calls: weakref.WeakKeyDictionary[Any, Callable[[Any], object]] = weakref.WeakKeyDictionary()

    def call_all() -> None:
        # The references are read in one step: other threads may add targets meanwhile.
        for reference in calls.keyrefs():
            target = reference()
            if target is not None:
                calls[target](target)

    if hasattr(os, "register_at_fork"):  # otherwise processes cannot fork
        os.register_at_fork(**{moment: call_all})
    return calls
