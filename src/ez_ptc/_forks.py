"""Hooks for forks of the host."""

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import Any, Final, TypeAlias, TypeVar

__all__ = ["around_fork", "on_fork", "without_forks"]

T = TypeVar("T")
_Calls: TypeAlias = tuple[Callable[[Any, bool], bool], Callable[[Any], object]]


def on_fork(target: T, function: Callable[[T], None]) -> None:
    """Call `function(target)` in every fork of this process for as long as `target` exists.

    All targets share one hook, since hooks can never be removed.
    """
    _calls_in_fork()[target] = function


def around_fork(target: T, *, before: Callable[[T, bool], bool], after: Callable[[T], object]) -> None:
    """Call `before(target, may_wait)` before this process forks, and `after(target)` in it afterwards.

    `before` takes something for the time of the fork, and returns whether it has. Unless it `may_wait`, it may return
    False, and is called again. A fork already begun calls neither.
    """
    _calls_around_fork()[target] = before, after


def without_forks() -> AbstractContextManager[object]:
    """Return a context for starting a process, in which other threads wait before they fork.

    A fork in between would keep the pipe by which `subprocess` learns that the process has started, so that the start
    would seem to last as long as the fork lives. It would also keep the new process's end of other pipes and sockets.
    """
    return _FORK_TURN.lock


class _ForkTurn:
    def __init__(self) -> None:
        self.renew()
        around_fork(
            self, before=lambda turn, may_wait: turn.lock.acquire(may_wait), after=lambda turn: turn.lock.release()
        )
        on_fork(self, _ForkTurn.renew)

    def renew(self) -> None:
        # Reentrant: a signal handler may fork in the thread that is starting a process.
        self.lock = threading.RLock()


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


def _take_all(targets: list[tuple[Any, _Calls]], following: list[Callable[[], object]]) -> None:
    """Take all targets before a fork, and add the functions to give them back to `following`.

    No thread waits while it has taken any: code interrupted by a forking signal handler may have another one.
    """
    position = 0
    while position < len(targets):
        target, (before, after) = targets[position]
        if before(target, not following):
            following.append(partial(after, target))
            position += 1
            continue
        while following:
            following.pop()()
        targets, position = targets[position:] + targets[:position], 0


@cache
def _calls_around_fork() -> "weakref.WeakKeyDictionary[Any, _Calls]":
    calls: weakref.WeakKeyDictionary[Any, _Calls] = weakref.WeakKeyDictionary()
    # Of each thread, the forks that have begun, with what follows each: a signal handler may fork within another one.
    begun = threading.local()

    def call_before() -> None:
        following: list[Callable[[], object]] = []
        vars(begun).setdefault("forks", []).append(following)
        targets = [reference() for reference in calls.keyrefs()]  # in one step, as above
        _take_all([(target, calls[target]) for target in targets if target is not None], following)

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


_FORK_TURN: Final = _ForkTurn()
