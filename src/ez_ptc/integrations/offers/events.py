"""The events of one call, on their way to a framework."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

import anyio

from ez_ptc._sync import from_other_threads
from ez_ptc.sandbox.protocol.events import CallProgress, EventSink, ProgramEvent
from ez_ptc.tools.threads.progress import ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ez_ptc.integrations.offers.hooks import Hooks
    from ez_ptc.schema.annotations.progress import ProgressReport

__all__ = ["CallEvents"]

R = TypeVar("R")


class CallEvents:
    """Delivers the events of a call while it runs, with no task left afterwards: some frameworks end the loop then."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._waiting: deque[ProgramEvent] = deque()
        self._news = anyio.Event()
        self._delivering = anyio.Lock()
        self._is_over = False
        self._wake = from_other_threads(self._notify)

    async def run(self, run: Callable[[], Awaitable[R]]) -> R:
        """Run a call, and report its events meanwhile; all are reported before it returns."""
        outcome: list[R] = []
        failures: list[BaseException] = []

        async def finish() -> None:
            outcome.append(await run())
            self._is_over = True
            self._notify()

        async def run_part(part: Callable[[], Awaitable[None]]) -> None:
            try:
                await part()
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - the framework's own, raised again below in no group
                failures.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(run_part, self._deliver_news)
            await run_part(finish)
        if failures:
            raise failures[0]
        await self.deliver()
        return outcome[0]

    def observe(self, program: str) -> EventSink:
        """Return the receiver of a program's events."""
        return EventSink(program, program, self._put, self._put_from_thread, self.deliver)

    async def run_tool(self, name: str, run: Callable[[], Awaitable[R]]) -> R:
        """Run a single call of a tool, and report its progress."""

        def pass_on(progress: ProgressReport) -> None:
            self._put_from_thread(CallProgress(self._hooks.id or "", "", name, *progress))

        async def run_watched() -> R:
            with ProgressReporter(pass_on):
                return await run()

        return await self.run(run_watched)

    async def deliver(self) -> None:
        """Report what has happened. The program waits meanwhile."""
        async with self._delivering:
            while self._waiting and self._hooks.report is not None:
                await self._hooks.report(self._waiting.popleft())

    def _put(self, event: ProgramEvent) -> None:
        if self._hooks.watch is not None:
            self._hooks.watch(event)
        if self._hooks.report is not None:
            self._waiting.append(event)

    def _put_from_thread(self, event: ProgramEvent) -> None:
        if self._hooks.report is not None:
            self._waiting.append(event)
            self._wake()

    def _notify(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def _deliver_news(self) -> None:
        while not self._is_over:
            if not self._waiting:
                await self._news.wait()
            await self.deliver()
