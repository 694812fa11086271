"""Everything that differs between runs of a program: clocks, random numbers, ids. Renewed in each worker, or pinned.

A pinned program's clock begins at a fixed or a given time, advances a step with each reading, and by the duration of
each sleep.
Its random numbers follow from the seed alone.
"""

from __future__ import annotations

import _random
import asyncio
import datetime as dt
import functools
import gc
import hashlib
import itertools
import logging
import os
import random
import sys
import time
import timeit
import uuid
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from ...protocol.both_ends import spinning
from ...protocol.both_ends.predefined import EPOCH_NS, STEP_NS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ProgramClock", "pin", "renewals"]

_SECOND = 10**9
_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_PID = 2
# The multicast bit, which no network card has in its address.
_MULTICAST = 1 << 40


def renewals() -> list[Callable[[], Any]]:
    """Return the functions a new worker calls to renew its random numbers, which are equal in all forks.

    C functions where possible, because running Python code writes to copied pages.
    """
    random.seed()
    generator = vars(random)["_inst"]
    functions: list[Callable[[], Any]] = [functools.partial(_random.Random.seed, generator)]
    numbers = sys.modules.get("numpy.random")
    if numbers is not None:
        functions.append(functools.partial(numbers.seed, None))
    return functions


class ProgramClock:
    """The time of a pinned program, in nanoseconds."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.now = 0
        self.on_look: Callable[[], object] | None = None

    def look(self, start: int = 0) -> int:
        """Return the time since `start`, and advance the clock."""
        self.now += STEP_NS
        if self.on_look is not None:
            self.on_look()
        return start + self.now

    def move_to(self, epoch: int) -> None:
        """Advance to a time in nanoseconds since 1970, unless the clock is ahead of it."""
        self.now = max(self.now, epoch - self.epoch)

    def slept(self, since: int, seconds: float) -> None:
        """Advance to the end of a sleep, unless other threads' sleeps have advanced the clock further."""
        self.now = max(self.now, since + int(seconds * _SECOND))


def pin(seed: int, epoch_ns: int | None, forget_lookups: Callable[[type], None]) -> ProgramClock:
    """Make everything the program observes depend on the seed alone, and on the time at which its clock starts.

    `forget_lookups` makes changes of a C class visible. Returns the clock, which moves on to another time for the next
    program of a session.
    """
    clock = ProgramClock(EPOCH_NS if epoch_ns is None else epoch_ns)
    # Code that needs the real time keeps it.
    real = ModuleType("time")
    _put(real, **vars(time))
    _put(spinning, time=real)
    _put(asyncio.base_events, time=real)
    _pin_clocks(clock)
    _pin_calendar()
    for cls in (dt.date, dt.datetime):
        forget_lookups(cls)
    _pin_random_numbers(seed)
    _put(os, getpid=lambda: _PID, getppid=lambda: _PID - 1)
    return clock


def _put(module: ModuleType, **names: object) -> None:
    for name, value in names.items():
        setattr(module, name, value)


def _pin_clocks(clock: ProgramClock) -> None:
    for name in _CLOCKS:
        start = 0
        if name == "time":
            start = clock.epoch
        nanoseconds = functools.partial(clock.look, start)
        _put(time, **{f"{name}_ns": nanoseconds, name: functools.partial(_in_seconds, nanoseconds)})

    def clock_gettime_ns(which: int) -> int:
        return clock.look(clock.epoch if which == time.CLOCK_REALTIME else 0)

    def clock_gettime(which: int) -> float:
        return clock_gettime_ns(which) / _SECOND

    _put(time, clock_gettime_ns=clock_gettime_ns, clock_gettime=clock_gettime)
    _put(timeit, default_timer=time.perf_counter)
    _put(logging, _startTime=time.time())

    # A sleep moves the clock on.
    sleep, asleep = time.sleep, asyncio.sleep

    def slept(seconds: float) -> None:
        since = clock.look()
        sleep(seconds)
        clock.slept(since, seconds)

    async def aslept(delay: float, result: object = None) -> object:
        since = clock.look()
        await asleep(delay)
        clock.slept(since, delay)
        return result

    _put(time, sleep=slept)
    _put(asyncio, sleep=aslept)
    _put(asyncio.tasks, sleep=aslept)


def _pin_calendar() -> None:
    """Make functions whose default is the current time use the pinned clock."""
    in_utc, here, write, show = time.gmtime, time.localtime, time.strftime, time.asctime

    def gmtime(when: float | None = None) -> time.struct_time:
        return in_utc(time.time() if when is None else when)

    def localtime(when: float | None = None) -> time.struct_time:
        return here(time.time() if when is None else when)

    def ctime(when: float | None = None) -> str:
        return show(localtime(when))

    def asctime(*when: time.struct_time) -> str:
        return show(*(when or (localtime(),)))

    def strftime(form: str, *when: time.struct_time) -> str:
        return write(form, *(when or (localtime(),)))

    _put(time, gmtime=gmtime, localtime=localtime, ctime=ctime, asctime=asctime, strftime=strftime)

    def now(cls: type[dt.datetime], tz: dt.tzinfo | None = None) -> dt.datetime:
        return cls.fromtimestamp(time.time(), tz)

    def utcnow(cls: type[dt.datetime]) -> dt.datetime:
        return cls.fromtimestamp(time.time(), dt.UTC).replace(tzinfo=None)

    def today(cls: type[dt.date]) -> dt.date:
        return cls.fromtimestamp(time.time())

    _replace(dt.date, {"today": today})
    _replace(dt.datetime, {"now": now, "utcnow": utcnow, "today": today})


def _in_seconds(clock: Callable[[], int]) -> float:
    return clock() / _SECOND


def _replace(kind: type, methods: dict[str, Callable[..., object]]) -> None:
    """Set class methods on a C class, for all instances and subclasses."""
    names = cast("list[dict[str, object]]", gc.get_referents(vars(kind)))[0]
    names.update({name: classmethod(method) for name, method in methods.items()})


def _pin_random_numbers(seed: int) -> None:
    drawn = itertools.count()

    def urandom(size: int, flags: int = 0) -> bytes:
        del flags
        return hashlib.shake_128(b"%d %d" % (seed, next(drawn))).digest(size)

    _put(os, urandom=urandom, getrandom=urandom)
    _put(sys.modules["posix"], urandom=urandom, getrandom=urandom)
    _put(random, _urandom=urandom)
    seed_from = random.Random.seed

    def seed_itself(self: random.Random, a: Any = None, version: int = 2) -> None:  # noqa: ANN401 - whatever random takes
        seed_from(self, int.from_bytes(urandom(32), "big") if a is None else a, version)

    random.Random.seed = seed_itself
    _put(random, seed=cast("random.Random", vars(random)["_inst"]).seed)
    # uuid1 would ask the system for unique times and for the address of a network card.
    node = int.from_bytes(urandom(6), "big") | _MULTICAST
    _put(uuid, _generate_time_safe=None, _last_timestamp=None, _node=node)
    number = int.from_bytes(urandom(4), "big")
    random.seed(number)
    numbers = sys.modules.get("numpy.random")
    if numbers is not None:
        numbers.seed(number)
