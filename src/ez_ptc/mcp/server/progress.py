"""The progress of a request, as notifications to its client."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from ez_ptc.tools.threads.progress import ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from ez_ptc.schema.annotations.progress import ProgressReport

__all__ = ["RequestProgress"]

# The protocol asks for greater numbers in each notification.
_LEAST_STEP = 0.001
_MAX_FRACTION = 0.99


class RequestProgress:
    """Notifies a client of the progress of its request, from any thread, if it has sent a progress token.

    As a context, it takes the progress of tools: for the call of one tool its own numbers, for a program the number of
    calls, where a running call counts as its fraction.
    """

    def __init__(self, context: ServerRequestContext[Any, Any], *, is_program: bool) -> None:
        self._report = context.session.report_progress
        self._loop = asyncio.get_running_loop()
        self._is_program = is_program
        self._is_over = False
        self._reporter = ProgressReporter(self._later(self._take))
        self._count = 0
        self._last: float | None = None
        # The loop refers to tasks only weakly.
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._reporter.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        # Of a program, the end of its calls says more than what was held back of them.
        self._is_over = self._is_program
        self._reporter.__exit__(*error)

    def count_call(self, record: dict[str, Any]) -> None:
        """Report a call of a program."""
        self._later(self._send_call)(f"called {record['name']}")

    async def sent(self) -> None:
        """Wait until all is sent: the client must hear of the calls before it hears of the end."""
        await asyncio.sleep(0)  # for reports of other threads
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _later(self, send: Callable[[Any], None]) -> Callable[[Any], object]:
        return lambda value: self._loop.call_soon_threadsafe(partial(send, value))

    def _send_call(self, message: str) -> None:
        self._count += 1
        self._send_greater(self._count, message)

    def _take(self, progress: ProgressReport) -> None:
        if self._is_program:
            fraction = 0.0
            if progress.total:
                fraction = min(progress.done / progress.total, _MAX_FRACTION)
            if not self._is_over:
                self._send_greater(self._count + fraction, progress.message)
        elif self._last is None or progress.done > self._last:
            self._send(*progress)

    def _send_greater(self, done: float, message: str | None) -> None:
        if self._last is not None:
            done = max(done, self._last + _LEAST_STEP)
        self._send(done, None, message)

    def _send(self, done: float, total: float | None, message: str | None) -> None:
        self._last = done
        self._tasks.add(self._loop.create_task(self._report(done, total, message)))
