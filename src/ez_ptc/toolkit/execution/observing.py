"""The events of running programs, as iterators."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

from ez_ptc._background import events_of
from ez_ptc._sync import from_other_threads
from ez_ptc.sandbox.events import EventSink, ProgramEnded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from ez_ptc._background import EventQueue
    from ez_ptc.sandbox.events import ProgramEvent
    from ez_ptc.sandbox.execution import ExecutionResult

__all__ = ["program_events", "sink_to"]


def program_events(run: Callable[..., Awaitable[ExecutionResult]]) -> AsyncGenerator[ProgramEvent]:
    """Run a program with `run(observe=...)`, and yield its events, the last with its result."""

    async def produce(queue: EventQueue[ProgramEvent]) -> None:
        ids: list[str] = []

        def observe(program: str) -> EventSink:
            ids.append(program)
            return sink_to(queue, program)

        result = await run(observe=observe)
        queue.put(ProgramEnded("".join(ids), "", result))

    return events_of(produce)


def sink_to(queue: EventQueue[Any], program: str, parent: str | None = None) -> EventSink:
    """Return the receiver of a program's events that puts them into a queue of the running event loop.

    `parent` is that of the events; by default, the program.
    """
    inbox: deque[ProgramEvent] = deque()

    def move() -> None:
        while inbox:
            queue.put(inbox.popleft())

    wake = from_other_threads(move)

    def put_from_thread(event: ProgramEvent) -> None:
        inbox.append(event)
        with contextlib.suppress(RuntimeError):  # the event loop is closed, so no one reads
            wake()

    return EventSink(program, program if parent is None else parent, queue.put, put_from_thread, queue.room)
