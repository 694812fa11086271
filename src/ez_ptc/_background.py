"""Events of a task that runs beside its consumer: on asyncio and trio, in no scope of the consumer's.

An asynchronous generator must not keep a task group open while it is suspended: its consumer may leave it, and another
task closes it then, which could not close the group.
"""

from __future__ import annotations

import contextvars
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine

__all__ = ["EventQueue", "events_of"]

T = TypeVar("T")

# Events that may wait for a slow consumer; the producer waits then.
_MAX_WAITING: Final = 64


class EventQueue(Generic[T]):
    """Events on their way from a producer to a consumer in the same event loop.

    `put` never waits. A producer that can wait awaits `room` after it, so that a slow consumer slows it down.
    """

    def __init__(self) -> None:
        from anyio import Event

        self._events: deque[T] = deque()
        self._new_event = Event
        self._changed = Event()
        self._is_ended = False

    def put(self, event: T) -> None:
        """Add an event."""
        self._events.append(event)
        self._notify()

    async def room(self) -> None:
        """Wait until few enough events are waiting."""
        while len(self._events) > _MAX_WAITING:
            await self._changed.wait()

    def end(self) -> None:
        """End the events: the consumer gets those that are left."""
        self._is_ended = True
        self._notify()

    async def get(self) -> T | None:
        """Return the next event, or None after the last."""
        while not self._events:
            if self._is_ended:
                return None
            await self._changed.wait()
        event = self._events.popleft()
        if len(self._events) == _MAX_WAITING:
            self._notify()
        return event

    def _notify(self) -> None:
        changed, self._changed = self._changed, self._new_event()
        changed.set()


async def events_of(produce: Callable[[EventQueue[T]], Coroutine[Any, Any, None]]) -> AsyncGenerator[T]:
    """Run a producer in a task of its own, and yield its events; raise its exception after the last.

    Leaving the iteration cancels the producer, and waits for its end.
    """
    queue = EventQueue[T]()
    failures: list[BaseException] = []

    async def run() -> None:
        try:
            await produce(queue)
        except BaseException as error:  # noqa: BLE001 - raised again for the consumer
            failures.append(error)
        queue.end()

    cancel, ended = _start(run)
    try:
        while (event := await queue.get()) is not None:
            yield event
    finally:
        cancel()
        await ended()
    if failures:
        raise failures[0]


def _start(run: Callable[[], Coroutine[Any, Any, None]]) -> tuple[Callable[[], object], Callable[[], Awaitable[None]]]:
    """Start a coroutine; return functions that cancel it, and that wait for its end even if cancelled."""
    import asyncio

    from anyio import CancelScope, Event, get_cancelled_exc_class

    scope, is_ended = CancelScope(), Event()

    async def run_in_scope() -> None:
        try:
            with scope:
                await run()
        finally:
            is_ended.set()

    async def ended() -> None:
        with CancelScope(shield=True):
            await is_ended.wait()

    if get_cancelled_exc_class() is not asyncio.CancelledError:
        import trio

        trio.lowlevel.spawn_system_task(run_in_scope, context=contextvars.copy_context())
        return scope.cancel, ended
    task = asyncio.get_running_loop().create_task(run_in_scope())
    # The loop refers to tasks only weakly.
    task.add_done_callback(lambda _: scope)
    return scope.cancel, ended
