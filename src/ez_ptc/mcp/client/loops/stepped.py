"""An event loop for every thread to run, a step at a time.

Theory of operation. The sessions need one event loop to outlive its callers, but a call should not cost two switches
between threads. So no thread owns the loop: the holder of `_lock` runs it for a *step*, until the loop would wait
(`_StepSelector` raises then) or has run for long. All waiting is done outside, on the selector's descriptor: a selector
with something to report is itself readable. There are two kinds of waiting parties:

- *Hosts* (`hosts.py`): event loops of callers, while they await calls. They have the descriptor among their own.
- The background thread (`serve`), for everything else: blocking callers, callers on trio, and messages of servers while
  no one calls. It also runs the timers.

Nothing depends on who steps, or on how many do: a step without work returns at once. Only for speed, the background
thread leaves the descriptor to the hosts while they step: it looks again after `_TICK_SECONDS`, and waits on the
descriptor as soon as no host has stepped since its last look. It thereby replaces a blocked host, or one whose loop is
gone, within that time. Code that gives the loop work without the descriptor showing it must step afterwards, or wake it
by `call_soon_threadsafe`; a step wakes the background thread if it sets a timer earlier than the thread would look.

`end` hands the loop to the background thread for good, to cancel all tasks and close it.

If selectors have no descriptor, as on Windows, the background thread runs the loop all the time (`can_step`).
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import os
import select
import selectors
import threading
import time
from asyncio import events
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ez_ptc._sync import forget_outer_loop
from ez_ptc.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

__all__ = ["CLOSED_MESSAGE", "SteppedLoop"]

R = TypeVar("R")

CLOSED_MESSAGE: Final = "the connections to MCP servers are closed: connect again"

_TICK_SECONDS: Final = 0.05
# Of the loop in a step, so that a flood of messages does not keep its host from other work.
_MAX_ITERATIONS: Final = 100
# While callbacks wait to run, only every tenth iteration asks the system for events, which takes as long as a callback.
_POLL_INTERVAL: Final = 10

CAN_STEP: Final = hasattr(selectors.DefaultSelector, "fileno")
"""Whether selectors of this system can be waited for."""


class _WouldWaitError(Exception):
    """The loop has nothing to do for `timeout` seconds (None: until the selector has something to report)."""

    def __init__(self, timeout: float | None) -> None:
        super().__init__()
        self.timeout = timeout


class _StepSelector(selectors.DefaultSelector):
    """A selector raising instead of waiting, unless `may_wait` is set."""

    may_wait = False
    iterations = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.may_wait:
            return super().select(timeout)
        if self.iterations == _MAX_ITERATIONS:
            raise _WouldWaitError(0)
        self.iterations += 1
        if timeout == 0 and self.iterations % _POLL_INTERVAL:
            return []
        ready = super().select(0)
        if not ready and (timeout is None or timeout > 0):
            raise _WouldWaitError(timeout)
        return ready


class SteppedLoop:
    """An asyncio event loop running in steps, in any thread; see the module's theory of operation."""

    def __init__(self) -> None:
        self._selector = _StepSelector()
        self.loop: Final = asyncio.SelectorEventLoop(self._selector)
        self.is_ended = False
        self.can_step: Final = CAN_STEP
        self._lock = threading.Lock()
        self._caller_steps = 0
        self._unattended = 0
        self._counting = threading.Lock()
        self._next_timer = math.inf
        self._next_look = 0.0
        # A queue, because finalizers may put into one in any thread and at any moment.
        self._woken: SimpleQueue[None] = SimpleQueue()

    def start(
        self,
        function: Callable[..., Coroutine[Any, Any, R]],
        *arguments: object,
        on_done: Callable[[asyncio.Task[R]], object],
    ) -> asyncio.Task[R]:
        """Create a task for an asynchronous function; the caller steps the loop afterwards.

        Raises ToolError if the loop has ended. `on_done` is called in the thread of the last step.
        """
        context = contextvars.copy_context()
        context.run(forget_outer_loop, "asyncio")
        with self._lock:
            if self.is_ended:
                raise ToolError(CLOSED_MESSAGE)
            task = self.loop.create_task(function(*arguments), context=context)
            task.add_done_callback(on_done, context=context)
        return task

    def is_running_here(self) -> bool:
        """Return whether this is called in the loop."""
        return events._get_running_loop() is self.loop  # noqa: SLF001 - never raises

    def open_descriptor(self) -> int | None:
        """Return a new descriptor, readable when the loop has something to do, or None if it has ended.

        The caller closes it: the number of the loop's own may be another file's after the loop is closed.
        """
        with self._lock:
            return None if self.is_ended else os.dup(self._selector.fileno())

    def step(self) -> None:
        """Run the loop until it would wait."""
        self._caller_steps += 1
        self._step()
        if self._next_timer < self._next_look:
            self.wake()

    def _step(self) -> None:
        with self._lock:
            if self.is_ended:
                return
            outer = events._get_running_loop()  # noqa: SLF001 - for loops in loops
            self._selector.iterations = 0
            try:
                # A step in the thread of a host is a callback of its loop, never in one of its tasks.
                events._set_running_loop(None)  # noqa: SLF001 - as above
                self.loop.run_forever()
            except _WouldWaitError as wait:
                self._next_timer = math.inf if wait.timeout is None else time.monotonic() + wait.timeout
                if wait.timeout == 0:
                    self.wake()
            finally:
                events._set_running_loop(outer)  # noqa: SLF001 - as above

    def wake(self) -> None:
        """Have the waiting parties look again. May be called from any thread."""
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(lambda: None)  # which wakes it

    def hurry(self) -> None:
        """Have the background thread look now. May be called from any thread, at any moment."""
        self._woken.put(None)

    @contextmanager
    def unattended(self) -> Generator[None]:
        """Keep the background thread watching while a caller waits without stepping."""
        with self._counting:
            self._unattended += 1
        self.hurry()
        try:
            yield
        finally:
            with self._counting:
                self._unattended -= 1

    def serve(self) -> None:
        """Run the loop in this thread, between the steps of others, until it ends; then close it."""
        if self.can_step:
            self._serve_in_steps()
        else:
            self._selector.may_wait = True
            self.loop.run_forever()
        self._close()

    def _serve_in_steps(self) -> None:
        poll = select.poll()
        poll.register(self._selector.fileno(), select.POLLIN)
        steps_seen = 0
        while not self.is_ended:
            if steps_seen != self._caller_steps and not self._unattended:
                steps_seen = self._caller_steps
                with suppress(Empty):
                    self._woken.get(timeout=_TICK_SECONDS)
                continue
            # Until it is known: what others set in between must not be missed.
            self._next_look = math.inf
            self._step()
            self._next_look = until = self._next_timer
            seconds = until - time.monotonic()
            if not self.is_ended and seconds > 0:
                poll.poll(None if seconds == math.inf else math.ceil(seconds * 1000))
            self._next_look = 0.0

    def end(self) -> None:
        """Leave the loop to the background thread, to be closed. Called in the loop."""
        self.is_ended = True
        if not self.can_step:
            self.loop.stop()
        self.wake()
        self.hurry()

    def _close(self) -> None:
        """Cancel what is left, and close the loop."""
        with self._lock:
            self._selector.may_wait = True
            leftover = asyncio.all_tasks(self.loop)
            for task in leftover:
                task.cancel()
            try:
                if leftover:
                    self.loop.run_until_complete(asyncio.wait(leftover))
                self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            finally:
                self.loop.close()
