"""One event loop in a background thread, for the sessions of a group of servers."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import os
import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ez_ptc._sync import forget_outer_loop, from_other_threads
from ez_ptc.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

__all__ = ["BackgroundLoop", "await_in_loop"]

R = TypeVar("R")

# Seconds that closing waits for servers to end; the SDK kills theirs after at most seven.
_MAX_CLOSING_SECONDS = 15.0


class BackgroundLoop:
    """An asyncio event loop in a daemon thread, started when it is first used.

    Callers may be blocking code, or await on asyncio and trio; a caller that is cancelled cancels its coroutine here.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._is_closed = False
        self._ending = _Ending()

    def on_close(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have an asynchronous function called when the loop is closed. It must not raise."""
        self._ending.functions.append(function)

    def run(self, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object) -> R:
        """Call an asynchronous function in the loop, and wait for its result."""
        future = _submit(self._open(), function, *arguments)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # without effect if the function itself has raised
            raise

    async def arun(self, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object) -> R:
        """Same as `run`, but awaits."""
        return await await_in_loop(self._open(), function, *arguments)

    def begin_closing(self) -> None:
        """Same as `close`, without waiting."""
        if self._pid == os.getpid():
            self._ending.begin()

    def close(self) -> None:
        """End the sessions and the loop, and wait for it unless this is its own thread; closing twice is harmless."""
        with self._lock:
            self._is_closed = True
            thread = self._thread
        if thread is None or self._pid != os.getpid():
            return
        self._ending.begin()
        if threading.current_thread() is not thread:
            thread.join(_MAX_CLOSING_SECONDS)

    def _open(self) -> asyncio.AbstractEventLoop:
        if self._pid != os.getpid():
            message = "the connections to MCP servers do not exist in a fork of the process: connect in the fork"
            raise ToolError(message)
        with self._lock:
            if self._is_closed:
                message = "the connections to MCP servers are closed: connect again"
                raise ToolError(message)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="ez-ptc-mcp", daemon=True)
                self._thread.start()
                self._ending.loop = self._loop
                # The ending refers to the sessions but not to this object, which would never be collected otherwise.
                weakref.finalize(self, self._ending.begin).atexit = False
                _open_loops().add(self)
            return self._loop


class _Ending:
    """What has to be done when a `BackgroundLoop` is closed, or is no longer referred to."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.functions: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._is_begun = False

    def begin(self) -> None:
        """End the sessions and the loop, without waiting."""
        if self.loop is None or self._is_begun:
            return
        self._is_begun = True
        with contextlib.suppress(RuntimeError):  # the loop has ended
            asyncio.run_coroutine_threadsafe(self._end(), self.loop)

    async def _end(self) -> None:
        await asyncio.gather(*(close() for close in self.functions), return_exceptions=True)
        asyncio.get_running_loop().stop()


async def await_in_loop(
    loop: asyncio.AbstractEventLoop, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object
) -> R:
    """Call an asynchronous function in a loop of another thread and await its result, on asyncio or trio.

    A cancelled caller cancels it.
    """
    from anyio import Event

    ended = Event()
    wake = from_other_threads(ended.set)
    future = _submit(loop, function, *arguments)

    def notify(_: Future[R]) -> None:
        with contextlib.suppress(RuntimeError):  # the caller's loop is closed, so no one waits
            wake()

    future.add_done_callback(notify)
    try:
        await ended.wait()
    except BaseException:
        future.cancel()
        raise
    return future.result()


def _submit(
    loop: asyncio.AbstractEventLoop, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object
) -> Future[R]:
    """Call an asynchronous function in a loop of another thread, with the caller's context variables."""
    context = contextvars.copy_context()
    context.run(forget_outer_loop, "asyncio")
    return context.run(asyncio.run_coroutine_threadsafe, function(*arguments), loop)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        leftover = asyncio.all_tasks(loop)
        for task in leftover:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*leftover, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


@cache
def _open_loops() -> weakref.WeakSet[BackgroundLoop]:
    loops: weakref.WeakSet[BackgroundLoop] = weakref.WeakSet()

    def close_all() -> None:
        remaining = tuple(loops)
        for loop in remaining:
            loop.begin_closing()
        for loop in remaining:
            loop.close()

    atexit.register(close_all)
    return loops
