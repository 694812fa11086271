"""One event loop for the sessions of a group of servers, and the thread behind it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import os
import threading
import weakref
from concurrent.futures import CancelledError
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ez_ptc._closing import OpenObjects
from ez_ptc._sync import forget_outer_loop, from_other_threads
from ez_ptc.errors import ToolError
from ez_ptc.mcp.client.loops.hosts import Hosts
from ez_ptc.mcp.client.loops.stepped import CLOSED_MESSAGE, SteppedLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

__all__ = ["BackgroundLoop", "await_in_loop"]

R = TypeVar("R")

# Seconds that closing waits for servers to end; the SDK kills theirs after at most seven.
_MAX_CLOSING_SECONDS = 15.0


class BackgroundLoop:
    """An asyncio event loop without a fixed thread: waiting callers on asyncio run it, and a daemon thread otherwise.

    Callers may be blocking code, or await on asyncio and trio; a caller that is cancelled cancels its coroutine here.
    """

    def __init__(self) -> None:
        self._stepped: SteppedLoop | None = None
        self._hosts: Hosts | None = None
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
        stepped, _ = self._open()
        with stepped.unattended():
            future = _submit(stepped.loop, function, *arguments)
            try:
                return future.result()
            except CancelledError as error:
                raise ToolError(CLOSED_MESSAGE) from error
            except BaseException:  # an interrupted caller must not leave its call running
                future.cancel()  # without effect if the function itself has raised
                raise

    async def arun(self, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object) -> R:
        """Same as `run`, but awaits."""
        stepped, hosts = self._open()
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:  # another library's loop runs here
            here = None
        if stepped.is_running_here():  # in a callback for what a server asks
            return await function(*arguments)
        if here is None or not stepped.can_step:
            with stepped.unattended():
                return await await_in_loop(stepped.loop, function, *arguments)
        return await hosts.call(here, function, *arguments)

    def begin_closing(self) -> None:
        """Same as `close`, without waiting."""
        if self._pid == os.getpid():
            self._ending.begin()

    def close(self) -> None:
        """End the sessions and the loop, and wait for it unless this is called in it; closing twice is harmless."""
        with self._lock:
            self._is_closed = True
            thread, stepped = self._thread, self._stepped
        if thread is None or stepped is None or self._pid != os.getpid():
            return
        self._ending.begin()
        if not stepped.is_running_here() and threading.current_thread() is not thread:
            thread.join(_MAX_CLOSING_SECONDS)

    def _open(self) -> tuple[SteppedLoop, Hosts]:
        if self._pid != os.getpid():
            message = "the connections to MCP servers do not exist in a fork of the process: connect in the fork"
            raise ToolError(message)
        with self._lock:
            if self._is_closed:
                raise ToolError(CLOSED_MESSAGE)
            if self._stepped is None or self._hosts is None:
                self._stepped = SteppedLoop()
                self._hosts = Hosts(self._stepped)
                self._thread = threading.Thread(target=self._stepped.serve, name="ez-ptc-mcp", daemon=True)
                self._thread.start()
                self._ending.stepped = self._stepped
                self._ending.hosts = self._hosts
                # The ending refers to the sessions but not to this object, which would never be collected otherwise.
                weakref.finalize(self, self._ending.begin).atexit = False
                _open_loops().add(self)
            return self._stepped, self._hosts


class _Ending:
    """What has to be done when a `BackgroundLoop` is closed, or is no longer referred to."""

    def __init__(self) -> None:
        self.stepped: SteppedLoop | None = None
        self.hosts: Hosts | None = None
        self.functions: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._is_begun = False

    def begin(self) -> None:
        """End the sessions and the loop, without waiting."""
        if self.stepped is None or self._is_begun:
            return
        self._is_begun = True
        with contextlib.suppress(RuntimeError):  # the loop has ended
            asyncio.run_coroutine_threadsafe(self._end(self.stepped), self.stepped.loop)
            self.stepped.hurry()

    async def _end(self, stepped: SteppedLoop) -> None:
        with stepped.unattended():
            await asyncio.gather(*(close() for close in self.functions), return_exceptions=True)
        if self.hosts is not None:
            self.hosts.end()
        stepped.end()


async def await_in_loop(
    loop: asyncio.AbstractEventLoop, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object
) -> R:
    """Call an asynchronous function in a loop of another thread and await its result, on asyncio or trio.

    A cancelled caller cancels it. Raises ToolError if the loop is closed meanwhile.
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
    except BaseException:  # such as the cancellation of the caller, which the call must not outlive
        future.cancel()
        raise
    if future.cancelled():
        raise ToolError(CLOSED_MESSAGE)
    return future.result()


def _submit(
    loop: asyncio.AbstractEventLoop, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object
) -> Future[R]:
    """Call an asynchronous function in a loop of another thread, with the caller's context variables."""
    context = contextvars.copy_context()
    context.run(forget_outer_loop, "asyncio")
    return context.run(asyncio.run_coroutine_threadsafe, function(*arguments), loop)


@cache
def _open_loops() -> OpenObjects[BackgroundLoop]:
    loops: OpenObjects[BackgroundLoop] = OpenObjects()

    def close_all() -> None:
        remaining = loops.read()
        for loop in remaining:
            loop.begin_closing()
        for loop in remaining:
            loop.close()

    def close_before_threads() -> None:
        # The interpreter waits for threads before it calls `close_all`, and servers in our loops may have some.
        threading.main_thread().join()
        for loop in loops.read():
            loop.begin_closing()

    threading.Thread(target=close_before_threads, name="ez-ptc-mcp-exit", daemon=True).start()
    atexit.register(close_all)
    return loops
