"""A lock is handed over or free, whatever a thread beside the one that waits for it does between two steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc.sandbox.worker.repeating import locks
from ez_ptc.sandbox.worker.repeating.baton import Baton, Waiter

_SECOND = 10**9


class _Clock:
    now = 0


class _NoReplies:
    """No calls: a wait for a reply fails the test."""

    def __init__(self) -> None:
        self.waiting: dict[str, Any] = {}

    def deliver(self, path: str) -> None:
        raise AssertionError(path)

    def has_come(self, seconds: float) -> bool:
        raise AssertionError(seconds)

    def first_path(self, seconds: float | None, *, is_resting: bool) -> str:
        raise AssertionError(seconds, is_resting)


class _ExpiringBaton(Baton):
    """A baton of two threads; a timer may expire right before a lock is handed over."""

    def __init__(self) -> None:
        super().__init__(_Clock(), _NoReplies())
        self.threads = 2
        self._is_expiring = False

    def expire_at_wake(self, waiter: Waiter) -> None:
        self._add_timer(waiter, _SECOND)
        self._is_expiring = True

    def wake(self, waiter: Waiter, **options: bool) -> bool:
        if self._is_expiring:
            self._is_expiring = False
            self._expire()
        return super().wake(waiter, **options)


class _LateWaiters(deque[Waiter]):
    """The waiters of a lock; something happens right before the next one is added."""

    def __init__(self, consequence: Callable[[], object]) -> None:
        super().__init__()
        self._consequences = [consequence]

    def append(self, waiter: Waiter, /) -> None:
        if self._consequences:
            self._consequences.pop()()
        super().append(waiter)


class _TestedLock(locks._Lock):  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - programs know it as `threading.Lock`
    def release_at_wait(self) -> None:
        self._waiters = _LateWaiters(self.release)

    def add_waiter(self) -> Waiter:
        waiter = Waiter()
        self._waiters.append(waiter)
        return waiter


@pytest.fixture
def baton() -> _ExpiringBaton:
    return _ExpiringBaton()


@pytest.fixture
def lock(baton: _ExpiringBaton) -> _TestedLock:
    lock = type("_Lock", (_TestedLock,), {"baton": baton})()
    lock.acquire()
    return lock


def test_lock_released_between_the_attempt_and_the_wait_is_acquired(lock: _TestedLock) -> None:
    lock.release_at_wait()

    assert lock.acquire()
    assert lock.locked()


def test_lock_is_free_if_the_time_of_its_waiter_comes_at_its_release(baton: _ExpiringBaton, lock: _TestedLock) -> None:
    baton.expire_at_wake(lock.add_waiter())

    lock.release()

    assert not lock.locked()
