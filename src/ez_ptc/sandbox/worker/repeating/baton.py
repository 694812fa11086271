"""The baton: of the threads of a program, only its holder runs, and hands it over where it waits.

Theory of operation. Every lock, queue, sleep and wait for a reply comes to `Baton.wait`, with a `Waiter` to be woken by
another thread. The thread passes the baton to the first ready thread, in the order of becoming ready, and sleeps at the
gate of its waiter until it gets the baton back. If no thread is ready, the program is at rest: the thread still has the
baton, and lets the next event of the `Schedule` happen. So the threads of a program take turns as they did before,
whatever the speed of the machine and of the tools.

The clock of the program stands still while it computes. At rest it advances: to the time of a timer, or by the wait for
a reply. This is part of the event, so timers expire as they did before.

An endless computation would keep the other threads from running, so some of its steps are counted: readings of the
clock, uncontended locks, turns of an event loop without anything to do. After many of them, it waits as well. Without
such steps, as in the polling of a variable, another thread goes on beside it after a while (`_take_over`). Such a
program may not take the same path again. The former holder is one of those `_beside` until it waits or ends. The thread
that lets an event happen has the lock `_events`: two readers of the link would take each other's replies. While threads
run beside the holder, it looks for events, and waits for none: those threads may make another one ready, or make the
call of the next recorded event.

The baton is given away under `_events` as well, and counted: no thread takes over from a former holder. A thread may
run beside the holder between another one's look for something and its wait, so it looks again once it can be woken.

At the end of the program's time, the first thread gets an exception, perhaps without the baton. Then its waiter is
void, and the others go on. Whichever of it and the giver of the baton finds that at the gate has it.
"""

from __future__ import annotations

import _thread
import heapq
import itertools
import time
from collections import deque
from typing import Any, Final, Protocol

from ..running.call_paths import running_loop
from ..schedule import TIMER, Schedule

__all__ = ["Baton", "NanosecondClock", "Replies", "Waiter"]

_SECOND: Final = 10**9
_MICROSECOND: Final = 10**3
# What a thread may do of what is counted before it waits.
_MAX_STEPS: Final = 10_000
# Seconds between two looks of a waiting thread at the holder; of CPU time, after which it goes on beside it; and of
# sleep in the kernel, where no other thread of the program could wake the holder.
_LOOK: Final = 1.0
_MAX_COMPUTING: Final = 2.0
_MAX_SLEEPING: Final = 3.0
# Seconds of waiting for a recorded event beside threads that run.
_MAX_REPEATING: Final = 20.0
# Seconds between two looks of the holder for events, beside threads that run.
_MOMENT: Final = 0.02
_NO_THREAD: Final = 0

_allocate_lock = _thread.allocate_lock
_get_ident = _thread.get_ident
_monotonic, _process_time, _sleep = time.monotonic, time.process_time, time.sleep


class NanosecondClock(Protocol):
    """The clock of the program, in nanoseconds since it started."""

    now: int


class Replies(Protocol):
    """The replies to the calls of a program, as its link has them."""

    @property
    def waiting(self) -> dict[str, Any]:
        """The calls without a reply, by path, in their order."""
        ...

    def deliver(self, path: str) -> None:
        """Give a call its reply; wait for it if it has not come."""
        ...

    def has_come(self, seconds: float) -> bool:
        """Wait for a reply for at most so many seconds; return whether one has come."""
        ...

    def first_path(self, seconds: float | None, *, is_resting: bool) -> str:
        """Return the path of the first reply within `seconds`, or `TIMER`.

        If the program `is_resting`, it waits for replies alone, and the host hears of it.
        """
        ...


class Waiter:
    """A waiting thread, until it is woken or its time has come."""

    __slots__ = ("gate", "is_late", "is_ready", "is_void")

    def __init__(self) -> None:
        # From the start: another thread may wake this one, and pass the baton, before it sleeps.
        self.gate = _allocate_lock()
        self.gate.acquire()
        self.is_ready = False
        self.is_late = False
        self.is_void = False


class Baton:
    """Hands the program from one thread to another; only its holder calls it."""

    def __init__(self, clock: NanosecondClock, replies: Replies) -> None:
        """Give the baton to the present thread."""
        self.schedule = Schedule()
        self.threads = 1
        self._clock = clock
        self._replies = replies
        self._ready: deque[Waiter] = deque()
        self._timers: list[tuple[int, int, Waiter]] = []
        self._serial = itertools.count()
        self._holder = _get_ident()
        self._steps = 0
        self._switches = 0
        self._is_resting = False
        self._events, self._waking = _allocate_lock(), _allocate_lock()
        # Threads, and waiters of those that have yet to find the baton at their gates.
        self._beside: set[int | Waiter] = set()
        # Those who wait for the baton within an event loop.
        self._in_loops: set[Waiter] = set()
        self._event_at = 0.0

    @property
    def is_sequential(self) -> bool:
        """Whether there is one thread without an event loop, for which only one thing can happen next.

        A thread that ends looks at this as well, for the one that remains.
        """
        return self.threads == 1 and running_loop() is None and not self._in_loops

    # Waiting ----------------------------------------------------------------------------------------------------------

    def wait(self, waiter: Waiter, seconds: float | None = None) -> bool:
        """Let other threads run until `waiter` is woken, or `seconds` have passed; return whether it was woken."""
        if seconds is not None:
            self._add_timer(waiter, self._clock.now + -int(-seconds * _SECOND // 1))
        if _get_ident() != self._holder:
            self._pass_gate(waiter)
        else:
            self._pass_on(waiter)
        return not waiter.is_late

    def wake(self, waiter: Waiter, *, is_late: bool = False) -> bool:
        """Let a waiting thread go on when it is its turn; return False if it was woken before."""
        with self._waking:
            if waiter.is_ready:
                return False
            waiter.is_ready, waiter.is_late = True, is_late
        self._ready.append(waiter)
        return True

    def sleep_until(self, moment: int) -> None:
        """Wait until the program's clock is at a moment."""
        waiter = Waiter()
        self._add_timer(waiter, moment)
        self.wait(waiter)

    def step(self, weight: int = 1) -> None:
        """Count a step of a possibly endless computation; after many of them, let others run."""
        self._steps += weight
        if self._steps >= _MAX_STEPS and not self.is_sequential:
            self.yield_turn()

    def yield_turn(self) -> None:
        """Let the other threads run; if none is ready, wait for the next event."""
        self._steps = 0
        if _get_ident() != self._holder:
            return
        waiter = Waiter()
        with self._events:
            is_alone = not self._beside
            while self._has_timer and self._timers[0][0] <= self._clock.now:
                self._expire()
            if not self._ready and (self._replies.waiting or self._has_timer):
                self._let_event_come(0.0, 0, is_alone=is_alone)
        self.wake(waiter)
        self.wait(waiter)

    def _add_timer(self, waiter: Waiter, moment: int) -> None:
        heapq.heappush(self._timers, (moment, next(self._serial), waiter))

    def _pass_on(self, waiter: Waiter) -> None:
        """Hand over the baton, and return with it when it is the turn of `waiter`."""
        if not self._hand_over(waiter):
            self._pass_gate(waiter)

    def _hand_over(self, waiter: Waiter | None = None) -> bool:
        """Give the baton to the first ready thread, once there is one; return whether it waits with `waiter`."""
        self._steps = 0
        since = _monotonic()
        while True:
            with self._events:
                if _get_ident() != self._holder:
                    return False
                # Before the look for ready ones: a thread beside this one may wake another, and wait at once.
                is_alone = not self._beside
                while self._ready:
                    following = self._ready.popleft()
                    if following is waiter:
                        return True
                    if following.is_void:
                        continue
                    self._switches += 1
                    self._beside.add(following)  # its thread is about to run, also if another one takes over first
                    self._holder = _NO_THREAD
                    following.gate.release()
                    if not (following.is_void and following.gate.acquire(blocking=False)):
                        return False
                    self._receive(following)  # its thread has left before it had the baton
                self._let_event_come(since, _MOMENT, is_alone=is_alone)

    def _let_event_come(self, since: float, seconds: float, *, is_alone: bool) -> None:
        """Let the next event happen; beside running threads, only if possible within so many `seconds`."""
        if is_alone:
            self._rest()
        elif self._has_event(since, seconds):
            self._rest(may_wait=False)

    def _pass_gate(self, waiter: Waiter) -> None:
        """Wait for the baton, which another thread has."""
        self._beside.discard(_get_ident())
        state: tuple[int, float, float] | None = None
        since = _monotonic()
        if running_loop() is not None:
            self._in_loops.add(waiter)
        try:
            while not waiter.gate.acquire(timeout=_LOOK):
                if state is None or self._is_resting or state[0] != self._switches:
                    state = self._switches, _process_time(), _monotonic()
                    continue
                computed = _process_time() - state[1]
                is_asleep = _monotonic() - state[2] > _MAX_SLEEPING and computed < _MAX_COMPUTING / 10
                if computed > _MAX_COMPUTING or is_asleep:
                    if self._take_over(waiter, since, state[0]):
                        return
                    state = None
            self._receive(waiter)
        except BaseException:  # the time of the program is up
            waiter.is_void = True
            if waiter.gate.acquire(blocking=False):
                self._receive(waiter)
            elif self._holder != _get_ident():
                self._beside.add(_get_ident())
            raise
        finally:
            self._in_loops.discard(waiter)

    def _receive(self, waiter: Waiter) -> None:
        """Take the baton from another thread, unless a third one has taken it over meanwhile."""
        thread = _get_ident()  # before the look: no other thread runs between it and the change
        if self._holder == _NO_THREAD:
            self._holder = thread
        else:
            self._beside.add(thread)
        self._beside.discard(waiter)

    def _take_over(self, waiter: Waiter, since: float, switches: int) -> bool:
        """Let a ready thread go on beside the holder of so many `switches`; return whether it was ready.

        If no thread is, the next event happens first: the holder may wait for its effect without being at rest.
        """
        if not self._events.acquire(blocking=False):
            return False
        try:
            if self._switches == switches and not self._ready:
                self._let_event_come(since, 0, is_alone=False)
            if self._switches == switches and waiter in self._ready:
                self._ready.remove(waiter)
                self._switches += 1
                self._beside |= {self._holder} - {_NO_THREAD}
                self._holder, self._event_at = _get_ident(), _monotonic()
                return True
        finally:
            self._events.release()
        return False

    def _has_event(self, since: float, seconds: float) -> bool:
        """Wait a moment beside threads that run; return whether an event may happen now, after a wait from `since`."""
        if not (self._replies.waiting or self._has_timer):
            _sleep(seconds)
            return False
        waited = _monotonic() - max(since, self._event_at)
        if self.schedule.is_repeating:
            # One of the other threads has yet to make the call, unless the program has diverged.
            is_early = self.schedule.is_blocked(self._replies.waiting, has_timer=self._has_timer)
            if is_early and waited < _MAX_REPEATING:
                _sleep(seconds)
                return False
            return True
        if self._replies.has_come(seconds):
            return True
        return self._has_timer and self._timers[0][0] - self._clock.now <= waited * _SECOND

    # Threads ----------------------------------------------------------------------------------------------------------

    def add_thread(self) -> Waiter:
        """Return the waiter of a new thread; it is ready."""
        waiter = Waiter()
        self.threads += 1
        self.wake(waiter)
        return waiter

    def enter(self, waiter: Waiter) -> None:
        """Begin a thread: wait until it has the baton."""
        self._pass_gate(waiter)

    def leave(self) -> None:
        """End a thread, and hand over the baton."""
        self.threads -= 1
        if _get_ident() == self._holder:
            self._hand_over()
        self._beside.discard(_get_ident())  # also if another one has just taken over

    def remove_thread(self, waiter: Waiter) -> None:
        """Forget a thread after an error at its start."""
        self.threads -= 1
        waiter.is_void = True

    # Rest -------------------------------------------------------------------------------------------------------------

    @property
    def _has_timer(self) -> bool:
        timers = self._timers
        while timers and (timers[0][2].is_ready or timers[0][2].is_void):
            heapq.heappop(timers)
        return bool(timers)

    def _rest(self, *, may_wait: bool = True) -> None:
        """Let the next event happen; unless it `may_wait`, one possible now."""
        self._is_resting = True
        try:
            self._let_happen(may_wait=may_wait)
        finally:
            self._is_resting = False
            self._event_at = _monotonic()

    def _let_happen(self, *, may_wait: bool) -> None:
        waiting, has_timer = self._replies.waiting, self._has_timer
        has_choice = not self.is_sequential or (has_timer and bool(waiting))
        if self.threads == 1 and self._in_loops and not (has_timer and waiting):
            # The last other thread ends; records of earlier versions do not have this event.
            has_choice = not self.schedule.is_blocked(waiting, has_timer=has_timer)
        event = None
        if has_choice:
            event = self.schedule.choose(waiting, has_timer=has_timer)
        elif has_timer:
            event = self._sleep_for_timer()
        if event is None:
            # Its recorded calls come before any timer that is not recorded: without them, it has diverged. The host
            # notices if it waits for replies.
            has_timer = has_timer and not (waiting and self.schedule.is_repeating)
            event = self._await_event(has_timer=has_timer, may_wait=may_wait)
            if has_choice:
                self.schedule.add(*event)
        path, advance = event if has_choice else (event[0], 0)
        self._clock.now += advance * _MICROSECOND
        if path == TIMER:
            self._expire()
        else:
            self._replies.deliver(path)

    def _await_event(self, *, has_timer: bool, may_wait: bool) -> tuple[str, int]:
        """Wait for a reply or the next timer, whichever comes first, and return this event."""
        seconds = None
        if has_timer:
            seconds = max(self._timers[0][0] - self._clock.now, 0) / _SECOND * may_wait
        before = _monotonic()
        path = self._replies.first_path(seconds, is_resting=not has_timer)
        if path == TIMER or self.is_sequential:
            return path, 0
        return path, int((_monotonic() - before) * _SECOND / _MICROSECOND)

    def _sleep_for_timer(self) -> tuple[str, int]:
        """Sleep until the next timer, unless the program did so when it was recorded; return the event."""
        if not self.schedule.is_repeating:
            self._sleep(max(self._timers[0][0] - self._clock.now, 0) / _SECOND)
        return TIMER, 0

    def _sleep(self, seconds: float) -> None:
        _sleep(seconds)

    def _expire(self) -> None:
        """Let the time of the next timer come."""
        if not self._has_timer:
            return
        moment, _, waiter = heapq.heappop(self._timers)
        self._clock.now = max(self._clock.now, moment)
        self.wake(waiter, is_late=True)
