"""Event loops passing the baton in their waits, on the clock of the program."""

from __future__ import annotations

import asyncio
import selectors
import sys
from typing import TYPE_CHECKING, Any

from ...protocol.both_ends.predefined import STEP_NS
from .baton import Waiter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from ..running.link import Pending
    from .baton import Baton, NanosecondClock

__all__ = ["await_reply", "install", "install_functions"]

_SECOND = 10**9
# Of the steps that a thread may make before others run; a loop without anything to do makes a hundred turns.
_TURN_STEPS = 100


class _LoopSelector(selectors.DefaultSelector):
    """Waits for other threads, replies and timers; nothing else of a program has a descriptor that becomes ready."""

    baton: Baton
    """The baton of the only program of this process; set when its threads begin to take turns."""
    turns = 0
    """The turns of all loops; each takes a little of their time."""
    _waiter: Waiter | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait until a descriptor is ready, or another thread has called `wake`."""
        _LoopSelector.turns += 1
        ready = super().select(0)
        if ready:
            return ready
        if timeout is not None and timeout <= 0:
            self.baton.step(_TURN_STEPS)
            return ready
        self._waiter = waiter = Waiter()
        if super().select(0):  # a thread beside this one has just called `wake`
            self.baton.wake(waiter)
        try:
            self.baton.wait(waiter, timeout)
        finally:
            self._waiter = None
        return super().select(0)

    def wake(self) -> None:
        """Let the thread waiting here go on."""
        if self._waiter is not None:
            self.baton.wake(self._waiter)


def install(baton: Baton, clock: NanosecondClock) -> None:
    """Let later event loops take turns with other threads."""
    _LoopSelector.baton = baton
    selectors.DefaultSelector = _LoopSelector
    loop_class: Any = asyncio.SelectorEventLoop
    write_to_self = loop_class._write_to_self  # noqa: SLF001 - asyncio offers no other place

    def wake(self: Any) -> None:  # noqa: ANN401 - a loop and its private names
        write_to_self(self)
        if isinstance(self._selector, _LoopSelector):
            self._selector.wake()

    def read_clock(self: object) -> float:
        del self
        # What asyncio reads differs between versions of Python, so only the program's own readings advance the clock.
        if not sys._getframe(1).f_globals.get("__name__", "").startswith("asyncio"):  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the only way
            _LoopSelector.turns += 1
            baton.step()
        return (clock.now + _LoopSelector.turns * STEP_NS) / _SECOND

    loop_class._write_to_self, loop_class.time = wake, read_clock  # noqa: SLF001 - as above
    install_functions()


def install_functions() -> None:
    """Make functions of asyncio equal in all versions of Python, and independent of addresses."""
    as_completed = asyncio.as_completed

    def as_completed_in_order(fs: Iterable[Any], *, timeout: float | None = None) -> Any:  # noqa: ANN401 - as in Python
        if asyncio.iscoroutine(fs) or asyncio.isfuture(fs):
            return as_completed(fs, timeout=timeout)
        # It would make tasks of coroutines in the order of a set.
        return as_completed([asyncio.ensure_future(one) for one in dict.fromkeys(fs)], timeout=timeout)

    async def wait_for(fut: Any, timeout: float | None) -> object:  # noqa: ANN401, ASYNC109 - as in Python
        # As in Python 3.12, where it makes no task of a coroutine.
        if timeout is not None and timeout <= 0:
            return await _wait_for_nothing(asyncio.ensure_future(fut))
        async with asyncio.timeout(timeout):
            return await fut

    asyncio.as_completed = asyncio.tasks.as_completed = as_completed_in_order
    asyncio.wait_for = asyncio.tasks.wait_for = wait_for


async def _wait_for_nothing(future: asyncio.Future[object]) -> object:
    if not future.done():
        future.cancel()
        await asyncio.wait([future])
        if future.cancelled():
            raise TimeoutError
    return future.result()


def await_reply(
    loop: asyncio.AbstractEventLoop, pending: Pending, take: Callable[[Pending], object]
) -> Awaitable[object]:
    """Return a future of the value of `take` for a call, set after its reply."""
    future: asyncio.Future[object] = loop.create_future()

    def settle() -> None:
        if future.done():
            return
        try:
            future.set_result(take(pending))
        except Exception as error:  # noqa: BLE001 - foreign code: the error is the call's result
            future.set_exception(error)

    def schedule() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle)

    pending.notify = schedule
    if pending.reply is not None:  # by now, from a thread beside this one
        schedule()
    return future
