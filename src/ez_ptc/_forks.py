"""Hooks for forks of the host."""

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any, TypeVar

__all__ = ["around_fork", "on_fork", "without_forks"]

T = TypeVar("T")


def on_fork(target: T, function: Callable[[T], None]) -> None:
    """Call `function(target)` in every fork of this process for as long as `target` exists.

    All targets share one hook, since hooks can never be removed.
    """
    _calls_in_fork()[target] = function


def around_fork(target: T, *, before: Callable[[T], object], after: Callable[[T], object]) -> None:
    """Call `before(target)` before this process forks, and `after(target)` in it afterwards, as `on_fork` does.

    A fork that has begun by now calls neither.
    """
    _calls_around_fork()[target] = before, after


def without_forks() -> AbstractContextManager[object]:
    """Return a context for starting a process, in which other threads wait before they fork.

    A fork in between would keep the pipe by which `subprocess` learns that the process has started, so that the start
    would seem to last as long as the fork lives. It would also keep the new process's end of other pipes and sockets.
    """
    return _fork_turn().lock


class _ForkTurn:
    def __init__(self) -> None:
        self.renew()
        around_fork(self, before=lambda turn: turn.lock.acquire(), after=lambda turn: turn.lock.release())
        on_fork(self, _ForkTurn.renew)

    def renew(self) -> None:
        # Reentrant: a signal handler may fork in the thread that is starting a process.
        self.lock = threading.RLock()


@cache
def _fork_turn() -> _ForkTurn:
    return _ForkTurn()


@cache
def _calls_in_fork() -> "weakref.WeakKeyDictionary[Any, Callable[[Any], object]]":
    calls: weakref.WeakKeyDictionary[Any, Callable[[Any], object]] = weakref.WeakKeyDictionary()

    def call_all() -> None:
        # The references are read in one step: other threads may add targets meanwhile.
        for reference in calls.keyrefs():
            target = reference()
            if target is not None:
                calls[target](target)

    if hasattr(os, "register_at_fork"):  # otherwise processes cannot fork
        os.register_at_fork(after_in_child=call_all)
    return calls


@cache
def _calls_around_fork() -> "weakref.WeakKeyDictionary[Any, tuple[Callable[[Any], object], Callable[[Any], object]]]":
    calls: weakref.WeakKeyDictionary[Any, tuple[Callable[[Any], object], Callable[[Any], object]]]
    calls = weakref.WeakKeyDictionary()
    # Of each thread, the forks that have begun, with what follows each: a signal handler may fork within another one.
    begun = threading.local()

    def call_before() -> None:
        following: list[Callable[[], object]] = []
        vars(begun).setdefault("forks", []).append(following)
        for reference in calls.keyrefs():  # in one step, as above
            target = reference()
            if target is not None:
                before, after = calls[target]
                before(target)
                following.append(partial(after, target))

    def end_fork() -> list[Callable[[], object]]:
        forks: list[list[Callable[[], object]]] = vars(begun).get("forks", [])
        # The list is empty if these hooks were registered during the fork.
        return forks.pop() if forks else []

    def call_after() -> None:
        for function in end_fork():
            function()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=call_before, after_in_parent=call_after, after_in_child=end_fork)
    return calls
