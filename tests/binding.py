"""A watch over event loops: checking a call's arguments must not hold one up.

It takes the CPU time of the thread, which a loaded machine changes little, and the least of three times: the first may
pay for what is made on first use, and a collection of garbage may fall into any of them.
"""

import asyncio
import functools
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Final

import pytest

from ez_ptc.tools import calls

__all__ = ["MAX_SECONDS", "watch_binding"]

MAX_SECONDS: Final = 0.005
"""How much CPU time checking the arguments of one call may take on an event loop."""
_ATTEMPTS: Final = 3
_bind: Final[Callable[..., object]] = vars(calls)["_bind"]


@contextmanager
def watch_binding() -> Generator[list[str]]:
    """Yield a list that gets a sentence for each call that took longer than `MAX_SECONDS` to check on an event loop.

    A watch within another one takes its place.
    """
    slow_calls: list[str] = []

    @functools.wraps(_bind)
    def bind_and_measure(tool: Any, *args: Any) -> object:  # noqa: ANN401 - the definition of a tool
        if not _is_on_event_loop():
            return _bind(tool, *args)
        started = time.thread_time()
        try:
            return _bind(tool, *args)
        finally:
            seconds = time.thread_time() - started
            if seconds > MAX_SECONDS:
                bind_again = functools.partial(_bind, tool, *args)
                seconds = min(seconds, *(_thread_seconds(bind_again) for _ in range(_ATTEMPTS - 1)))
            if seconds > MAX_SECONDS:
                slow_calls.append(f"{tool.name}: checking its arguments took {seconds * 1000:.1f} ms on an event loop")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls, "_bind", bind_and_measure)
        yield slow_calls


def _thread_seconds(run: Callable[[], object]) -> float:
    started = time.thread_time()
    with suppress(Exception):
        run()
    return time.thread_time() - started


def _is_on_event_loop() -> bool:
    trio: Any = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
