"""The baton stays with one thread, whatever another one does between two steps of its holder."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc.sandbox.worker.repeating.baton import Baton, Waiter
from ez_ptc.sandbox.worker.schedule import Schedule

_BESIDE = -1  # a thread that runs beside the holder
_SECOND = 10**9


class _Clock:
    now = 0


class _Replies:
    """The calls of a program; a wait for a reply fails the test, unless one is `late`, after the look for it."""

    def __init__(self) -> None:
        self.waiting: dict[str, Any] = {}
        self.late = ""
        self.delivered: list[str] = []
        self.notify: Callable[[], object] = list

    def deliver(self, path: str) -> None:
        self.delivered.append(path)
        del self.waiting[path]
        self.notify()

    def has_come(self, seconds: float) -> bool:
        time.sleep(seconds)
        return False

    def first_path(self, seconds: float | None, *, is_resting: bool) -> str:
        del is_resting
        assert self.late or seconds is not None, "it waits for a reply that no one sends"
        return self.late


class _Ready(deque[Waiter]):
    """Ready threads; a look for one has a consequence, once."""

    def __init__(self, consequence: Callable[[], object]) -> None:
        super().__init__()
        self._consequences = [consequence]

    def __bool__(self) -> bool:
        has_any = len(self) > 0
        if self._consequences:
            self._consequences.pop()()
        return has_any


class _ObservedBaton(Baton):
    """A baton of three threads, of which one may have had so many seconds beside the holder."""

    def __init__(self, replies: _Replies) -> None:
        self.clock = _Clock()
        super().__init__(self.clock, replies)
        self.threads = 3

    def begin_beside(self, seconds: float) -> None:
        self._beside.add(_BESIDE)
        self._event_at = time.monotonic() - seconds

    def count_beside(self) -> int:
        return len(self._beside)

    def wake_after_look(self, waiter: Waiter) -> None:
        """Let the thread beside the holder wake another one and wait, right after the holder has found none."""

        def go_on() -> None:
            self.wake(waiter)
            self._beside.discard(_BESIDE)

        self._ready = _Ready(go_on)

    def add_timer(self, seconds: int) -> None:
        self._add_timer(Waiter(), seconds * _SECOND)


class _LeavingGate:
    """The gate of a thread whose time is up at the moment when it gets the baton."""

    def __init__(self, waiter: Waiter) -> None:
        self._waiter = waiter
        self._gate = waiter.gate

    def release(self) -> None:
        self._gate.release()
        self._waiter.is_void = True

    def acquire(self, *, blocking: bool) -> bool:
        return self._gate.acquire(blocking=blocking)


@pytest.fixture
def replies() -> _Replies:
    return _Replies()


@pytest.fixture
def baton(replies: _Replies) -> _ObservedBaton:
    return _ObservedBaton(replies)


def test_holder_sees_who_was_woken_as_the_last_thread_beside_it_waits(baton: _ObservedBaton) -> None:
    waiter = Waiter()
    baton.begin_beside(0)
    baton.wake_after_look(waiter)

    assert baton.wait(waiter)


def test_thread_that_leaves_as_it_gets_the_baton_returns_it(baton: _ObservedBaton) -> None:
    leaving, waiter = Waiter(), Waiter()
    leaving.gate = _LeavingGate(leaving)  # pyright: ignore[reportAttributeAccessIssue] - a gate for this test
    baton.wake(leaving)
    baton.wake(waiter)

    assert baton.wait(waiter)
    assert baton.count_beside() == 0


def test_polling_thread_waits_for_the_recorded_call_of_one_beside_it(baton: _ObservedBaton, replies: _Replies) -> None:
    recorded = {"calls": [["1", "v1"], ["2", "v2"]], "events": [["1", 0], ["2", 0]]}
    baton.schedule = Schedule(recorded)
    baton.schedule.arrive("2")
    replies.waiting["2"] = None
    baton.begin_beside(0)

    baton.yield_turn()

    assert replies.delivered == []
    assert baton.schedule.is_blocked(["2"], has_timer=False)


def test_clock_advances_with_recorded_events_alone(baton: _ObservedBaton, replies: _Replies) -> None:
    """A reply that came just before a timer left the clock at the time of the timer, which no event said."""
    replies.waiting["1"] = None
    replies.late = "1"
    baton.add_timer(1)
    waiter = Waiter()
    replies.notify = lambda: baton.wake(waiter)
    baton.begin_beside(0)

    assert baton.wait(waiter)

    ((path, advance),) = baton.schedule.take_added()
    assert (path, replies.delivered) == ("1", ["1"])
    assert baton.clock.now == advance * 1_000 < _SECOND
