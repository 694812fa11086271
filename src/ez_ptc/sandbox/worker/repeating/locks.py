"""Locks passing the baton: the base of `threading`, `queue` and executors."""

from __future__ import annotations

import _thread
import concurrent.futures.thread
import contextlib
import functools
import logging
import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from .baton import Waiter

if TYPE_CHECKING:
    from .baton import Baton

__all__ = ["install"]

_allocate_lock = _thread.allocate_lock


class _Lock:
    """A lock. Its release hands it to the longest waiting thread."""

    __slots__ = ("__weakref__", "_lock", "_waiters")

    baton: Baton
    """The baton of the only program of this process; set when its threads begin to take turns."""

    def __init__(self) -> None:
        self._lock = _allocate_lock()
        self._waiters: deque[Waiter] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - as in CPython
        """Acquire the lock."""
        self.baton.step()
        if self._lock.acquire(blocking=False):
            return True
        if not blocking:
            if timeout != -1:
                message = "can't specify a timeout for a non-blocking call"
                raise ValueError(message)
            return False
        if timeout < 0 and timeout != -1:
            message = "timeout value must be a non-negative number"
            raise ValueError(message)
        return timeout != 0 and self._wait(timeout)

    def _wait(self, timeout: float) -> bool:
        waiter = Waiter()
        self._waiters.append(waiter)
        is_woken = False
        try:
            if self._lock.acquire(blocking=False):  # a thread beside this one has just released it
                self.release()
            is_woken = self.baton.wait(waiter, None if timeout < 0 else timeout)
        except BaseException:  # the time of the program is up, perhaps after the lock was handed to this thread
            if waiter not in self._waiters and not waiter.is_late:
                self.release()
            raise
        finally:
            if not is_woken:
                with contextlib.suppress(ValueError):
                    self._waiters.remove(waiter)
        return is_woken

    def release(self) -> None:
        """Release the lock."""
        waiters = self._waiters
        while waiters:
            if self.baton.wake(waiters.popleft()):  # otherwise its time came first
                return
        self._lock.release()

    def locked(self) -> bool:
        """Return whether the lock is held."""
        self.baton.step()
        return self._lock.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._lock = _allocate_lock()
        self._waiters.clear()


def install(baton: Baton) -> None:
    """Let all later objects use these locks, and replace older ones held during waits."""
    _Lock.baton = baton
    modules: list[Any] = [_thread, threading, functools, queue, logging, concurrent.futures.thread]
    low, high, tools, queues, logs, executors = modules
    high.Lock = high._allocate_lock = low.allocate_lock = low.allocate = _Lock  # noqa: SLF001 - no one else has another lock
    # The locks in C cannot pass the baton.
    high._CRLock = None  # noqa: SLF001 - as above
    high.RLock = low.RLock = tools.RLock = high._PyRLock  # noqa: SLF001 - as above
    queues.SimpleQueue = queues._PySimpleQueue  # noqa: SLF001 - as above
    executors._global_shutdown_lock = _Lock()  # noqa: SLF001 - as above
    logs._lock = high.RLock()  # noqa: SLF001 - as above
    logs.lastResort.createLock()
