"""The events of running programs, as iterators."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._background import events_of
from ez_ptc._closing import Closable
from ez_ptc._sync import from_other_threads
from ez_ptc.sandbox.protocol.events import EventSink, ProgramEnded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from ez_ptc._background import EventQueue
    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult

__all__ = ["ThreadEvents", "program_events", "sink_to"]

# Unread events beyond which a program waits.
_MAX_UNREAD: Final = 64


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

    def put(event: ProgramEvent) -> None:
        move()  # of the threads' events, none happened after this one
        queue.put(event)

    wake = from_other_threads(move)

    def put_from_thread(event: ProgramEvent) -> None:
        inbox.append(event)
        with contextlib.suppress(RuntimeError):  # the event loop is closed, so no one reads
            wake()

    return EventSink(program, program if parent is None else parent, put, put_from_thread, queue.room)


class ThreadEvents(Closable, Iterator["ProgramEvent"]):
    """The events of a program that another thread runs, for blocking code; the last has its result.

    The program starts with the first request for an event. Closing the iterator, or interrupting the caller, ends the
    program and waits for its thread. Dropping the iterator ends the program without waiting.
    """

    def __init__(self, run: Callable[..., ExecutionResult]) -> None:
        """Take a function that runs a program with `run(observe=...)` and returns its result."""
        self._run = run
        self._inbox: Final = _Inbox()
        self._thread: threading.Thread | None = None
        self._is_over = False

    def __next__(self) -> ProgramEvent:
        if self._is_over or self._inbox.is_closed:
            raise StopIteration
        try:
            self._require_thread()
            event = self._inbox.get()
        except BaseException:  # whatever a signal handler raises
            self.close()
            raise
        if event is not None:
            return event
        self._is_over, was_closed = True, self._inbox.is_closed
        if self._inbox.failure is not None and not was_closed:
            raise self._inbox.failure
        raise StopIteration

    def _require_thread(self) -> None:
        if self._thread is None:
            # The thread must not refer to this object, or it would never be garbage collected.
            arguments = (contextvars.copy_context(), self._run, self._inbox)
            self._thread = threading.Thread(target=_produce, args=arguments, name="ez-ptc-stream", daemon=True)
            weakref.finalize(self, self._inbox.close).atexit = False
            self._thread.start()
        elif self._inbox.is_empty and not self._thread.is_alive() and self._inbox.is_empty:
            message = "the thread of this program does not exist in this process (a fork): run it again"
            raise RuntimeError(message)

    def close(self) -> None:
        """End the program, unless it has ended. May be called from any thread."""
        has_begun = self._inbox.close()
        thread = self._thread
        # A program that waits for a worker ends when it gets one.
        if has_begun and thread is not None and thread is not threading.current_thread():
            thread.join()


class _Inbox:
    """The events between the threads that run a program and its reader; `EventReader` documents two methods."""

    def __init__(self) -> None:
        self._events: SimpleQueue[ProgramEvent | None] = SimpleQueue()
        self._changed = threading.Event()
        # A signal handler or a finalizer may close an inbox whose lock its thread holds.
        self._lock = threading.RLock()
        self._cancel: Callable[[], None] | None = None
        self.is_closed = False
        self.failure: BaseException | None = None
        self.put: Final = self._events.put

    @property
    def is_empty(self) -> bool:
        """Whether every event was read."""
        return self._events.empty()

    def get(self) -> ProgramEvent | None:
        """Wait for the next event, and return it; None after the last."""
        event = self._events.get()
        if not self._changed.is_set() and self._events.qsize() <= _MAX_UNREAD:
            self._changed.set()
        return event

    def wait_for_room(self, seconds: float) -> bool:
        if self._has_room():
            return True
        self._changed.clear()
        return self._has_room() or (self._changed.wait(seconds) and self._has_room())

    def _has_room(self) -> bool:
        return self.is_closed or self._events.qsize() <= _MAX_UNREAD

    def begin(self, cancel: Callable[[], None]) -> None:
        with self._lock:
            self._cancel = cancel
            if self.is_closed:
                cancel()

    def end(self, outcome: ProgramEnded | BaseException) -> None:
        """End the events, with the last one or an exception for the reader: nothing is left to be cancelled."""
        with self._lock:
            # First: a reader of the last event may close at once, and the worker may wait for a session's next program.
            self._cancel = None
        if isinstance(outcome, ProgramEnded):
            self.put(outcome)
        else:
            self.failure = outcome
        self.put(None)

    def close(self) -> bool:
        """End the program, if it runs; return whether it did."""
        with self._lock:
            self.is_closed = True
            self._changed.set()
            cancel = self._cancel
            if cancel is not None:
                cancel()
        return cancel is not None


def _produce(context: contextvars.Context, run: Callable[..., ExecutionResult], inbox: _Inbox) -> None:
    ids: list[str] = []

    def observe(program: str) -> EventSink:
        ids.append(program)
        return EventSink(program, program, inbox.put, inbox.put, reader=inbox)

    try:
        result = context.run(run, observe=observe)
    except BaseException as error:  # noqa: BLE001 - raised again for the reader
        inbox.end(error)
    else:
        inbox.end(ProgramEnded("".join(ids), "", result))
