"""Sleeps passing the baton, and the clocks of the standard library's own waits."""

from __future__ import annotations

import concurrent.futures._base
import queue
import threading
import time
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..running.determinism import ProgramClock
    from .baton import Baton

__all__ = ["install", "measure_waits"]

_SECOND = 10**9


def install(baton: Baton, clock: ProgramClock) -> None:
    """Let `time.sleep` pass the baton, and let the standard library measure its waits with the program's clock."""
    sleep, read = time.sleep, clock.look

    def sleep_in_turn(seconds: float, /) -> None:
        if not seconds > 0:
            sleep(0 if seconds == 0 else seconds)  # raises what is wrong
            baton.yield_turn()
            return
        baton.sleep_until(read() + int(seconds * _SECOND))

    measure_waits(baton, clock)
    time.sleep = sleep_in_turn


def measure_waits(baton: Baton, clock: ProgramClock) -> None:
    """Let the standard library measure its waits with the program's clock, and count readings as steps."""
    clock.on_look = baton.step

    def monotonic() -> float:
        return clock.now / _SECOND

    # Its readings do not advance the clock, since their number differs between versions of Python.
    internal = ModuleType("time")
    vars(internal).update(vars(time), monotonic=monotonic)
    modules: list[Any] = [threading, queue, concurrent.futures._base]  # noqa: SLF001 - no one else measures its waits
    threads, queues, futures = modules
    threads._time = queues.time = monotonic  # noqa: SLF001 - as above
    futures.time = internal
