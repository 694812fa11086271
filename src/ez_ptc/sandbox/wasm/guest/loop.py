"""asyncio without threads and sockets: an event loop that waits in the host."""

from __future__ import annotations

import asyncio
import sys
from asyncio import base_events
from typing import TYPE_CHECKING, Any

from ...protocol.both_ends.predefined import STEP_NS
from .jobs import FOREVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...worker.running.determinism import ProgramClock
    from ...worker.running.link import Pending
    from .jobs import Jobs

__all__ = ["HostLoop"]

_SECOND = 10**9
# Of the steps after which a reply is waited for; a loop without anything to do makes a hundred turns.
_TURN_STEPS = 100
_NOTHING_WAKES = "everything in this program waits for something that nothing will ever do"


class _HostSelector:
    """Stands where the loop's selector does."""

    def __init__(self, loop: HostLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> tuple[()]:
        jobs, baton = self._loop.jobs, self._loop.jobs.baton
        HostLoop.turns += 1
        if jobs.settle() or self._loop.has_reply:
            return ()
        if baton is not None and timeout is not None and timeout <= 0:
            baton.step(_TURN_STEPS)
        elif jobs.are_calls_open:
            jobs.advance(FOREVER if timeout is None else timeout)
        elif timeout is None:
            raise RuntimeError(_NOTHING_WAKES)
        elif timeout > 0:
            jobs.advance(timeout)
        return ()


class HostLoop(base_events.BaseEventLoop):
    """Runs tasks; what waits for the host waits in its function `turn`."""

    jobs: Jobs
    """The jobs of the worker's only program at a time; set at startup."""
    clock: ProgramClock | None = None
    """The clock of a recorded program."""
    turns = 0
    """The turns of all loops; each takes a little of their time."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _HostSelector(self)
        self._calls: list[tuple[Pending, asyncio.Future[object], Callable[[Pending], object]]] = []

    @property
    def has_reply(self) -> bool:
        """Whether the reply to an awaited call has come."""
        return any(pending.reply is not None for pending, *_ in self._calls)

    def await_call(self, pending: Pending, take: Callable[[Pending], object]) -> asyncio.Future[object]:
        """Return a future of what `take` returns, once the reply to `pending` is there."""
        future: asyncio.Future[object] = self.create_future()
        self._calls.append((pending, future, take))
        return future

    def time(self) -> float:
        """Return the time, which is the program's own if it is recorded."""
        if self.clock is None:
            return super().time()
        # What asyncio reads differs between versions of Python, so only the program's own readings advance the clock.
        if not sys._getframe(1).f_globals.get("__name__", "").startswith("asyncio"):  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the only way
            HostLoop.turns += 1
        return (self.clock.now + HostLoop.turns * STEP_NS) / _SECOND

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as in asyncio
        """Wait for its jobs."""
        del timeout
        executor: Any = vars(self)["_default_executor"]
        self._executor_shutdown_called = True
        if executor is not None:
            executor.shutdown()

    def _process_events(self, event_list: object) -> None:
        del event_list
        calls, self._calls = self._calls, []
        for pending, future, take in calls:
            if pending.reply is None:
                self._calls.append((pending, future, take))
            elif not future.done():
                _settle(future, take, pending)

    def _write_to_self(self) -> None:
        """Do nothing: no other thread adds callbacks."""


def _settle(future: asyncio.Future[Any], take: Callable[..., object], *args: object) -> None:
    try:
        future.set_result(take(*args))
    except Exception as error:  # noqa: BLE001 - foreign code: the error is the job's result
        future.set_exception(error)
