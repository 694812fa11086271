"""asyncio without threads and sockets: an event loop that waits in the host."""

from __future__ import annotations

import asyncio
from asyncio import base_events
from typing import TYPE_CHECKING, Any, cast

from .pipe import FOREVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..running.link import Link, Pending
    from .pipe import TurnPipe

__all__ = ["HostLoop", "answer_calls"]

_NOTHING_WAKES = "everything in this program waits for something that nothing will ever do"


def answer_calls(link: Link, seconds: float) -> None:
    """Wait for replies to calls for at most so many seconds, and take them."""
    link.take_replies(cast("TurnPipe", link.pipe).wait(seconds))


class _HostSelector:
    """Stands where the loop's selector does."""

    def __init__(self, loop: HostLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> tuple[()]:
        if timeout is None and not self._loop.has_waiting_calls:
            raise RuntimeError(_NOTHING_WAKES)
        answer_calls(self._loop.link, FOREVER if timeout is None else timeout)
        return ()


class HostLoop(base_events.BaseEventLoop):
    """Runs tasks; what waits for the host waits in its function `turn`, and jobs of executors run at once."""

    link: Link
    """The link of the worker's only program at a time; set at startup."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _HostSelector(self)
        self._calls: list[tuple[Pending, asyncio.Future[object], Callable[[Pending], object]]] = []

    @property
    def has_waiting_calls(self) -> bool:
        """Whether a call was awaited whose reply has not come."""
        return bool(self._calls)

    def await_call(self, pending: Pending, take: Callable[[Pending], object]) -> asyncio.Future[object]:
        """Return a future of what `take` returns, once the reply to `pending` is there."""
        future: asyncio.Future[object] = self.create_future()
        self._calls.append((pending, future, take))
        return future

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Run the job now."""
        del executor
        future = self.create_future()
        _settle(future, func, *args)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as in asyncio
        """Do nothing: there is no executor."""

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
