"""Running the programs of a RayToolkit or a session: blocking, awaiting, and with events."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._background import events_of
from ez_ptc._closing import Closable
from ez_ptc.ray.conversing import Wait, aanswer_to, adrive, answer_to, drive, finish
from ez_ptc.sandbox.protocol.events import ProgramEnded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from ez_ptc._background import EventQueue
    from ez_ptc.ray.conversing import ProgramEngine
    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult

__all__ = ["ProgramEvents", "aevents", "arun", "run"]

# The seconds a leaving caller waits for the end of its program.
_END_SECONDS: Final = 10.0


def run(conversation: ProgramEngine) -> ExecutionResult:
    """Run a program, and return its result."""
    return finish(_drive(conversation))


def _drive(conversation: ProgramEngine) -> Generator[ProgramEvent, None, ExecutionResult]:
    try:
        return (yield from drive(conversation.steps()))
    finally:
        conversation.callbacks.caller.leave()
        ending = conversation.ending
        if ending is not None:
            # Whatever went wrong there, the pool has ended the actor.
            with contextlib.suppress(Exception):
                answer_to(Wait(ending, _END_SECONDS))


async def arun(conversation: ProgramEngine) -> ExecutionResult:
    """Same as `run`, but awaits; a cancelled caller waits for the end of its program."""
    return await _adrive(conversation, None)


async def _adrive(conversation: ProgramEngine, queue: EventQueue[ProgramEvent] | None) -> ExecutionResult:
    from anyio import CancelScope
    from anyio.from_thread import BlockingPortal

    put = None if queue is None else partial(_put, queue)
    try:
        if conversation.callbacks.are_none:
            return await adrive(conversation.steps(), put)
        results, failures = list["ExecutionResult"](), list[Exception]()
        async with BlockingPortal() as portal:
            conversation.callbacks = conversation.callbacks.within(portal)
            try:
                results.append(await adrive(conversation.steps(), put))
            except Exception as error:  # noqa: BLE001 - raised again outside the portal, which would group it
                failures.append(error)
            finally:
                await portal.stop(cancel_remaining=True)
        if failures:
            raise failures[0]
        return results[0]
    finally:
        if conversation.ending is not None:
            with CancelScope(shield=True), contextlib.suppress(Exception):
                await aanswer_to(Wait(conversation.ending, _END_SECONDS))


async def _put(queue: EventQueue[ProgramEvent], event: ProgramEvent) -> None:
    queue.put(event)
    await queue.room()


def aevents(conversation: ProgramEngine) -> AsyncGenerator[ProgramEvent]:
    """Run a program, and yield its events, the last with its result."""

    async def produce(queue: EventQueue[ProgramEvent]) -> None:
        result = await _adrive(conversation, queue)
        queue.put(ProgramEnded(result.run_id or "", "", result))

    return events_of(produce)


class ProgramEvents(Closable, Iterator["ProgramEvent"]):
    """The events of a program on a cluster, for blocking code; the last has its result.

    The program starts with the first request for an event. Closing the iterator, interrupting the caller, or dropping
    the iterator ends the program.
    """

    def __init__(self, conversation: ProgramEngine) -> None:
        """Take the conversation with the program."""
        self._events: Final = _with_ending(conversation)

    def __next__(self) -> ProgramEvent:
        return next(self._events)

    def close(self) -> None:
        """End the program, unless it has ended."""
        self._events.close()


def _with_ending(conversation: ProgramEngine) -> Generator[ProgramEvent, None, None]:
    result: Any = yield from _drive(conversation)
    yield ProgramEnded(result.run_id or "", "", result)
