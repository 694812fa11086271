"""Callers' event loops, running ours while they await its results."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ez_ptc.errors import ToolError
from ez_ptc.mcp.client.loops.stepped import CLOSED_MESSAGE

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from ez_ptc.mcp.client.loops.stepped import SteppedLoop

__all__ = ["Hosts"]

R = TypeVar("R")


class Hosts:
    """The event loops awaiting calls at present.

    The last to come watches our loop. Its predecessors stop watching when they notice, and watch again when all later
    ones have left: loops watching side by side would be woken by results of each other. The last of all keeps watching
    for its next call, until something happens without one, another host comes, or our loop ends.
    """

    def __init__(self, stepped: SteppedLoop) -> None:
        self._stepped = stepped
        self._lock = threading.Lock()
        self._hosts: list[_CallerLoop] = []
        self._is_ended = False

    async def call(
        self, loop: asyncio.AbstractEventLoop, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object
    ) -> R:
        """Call an asynchronous function in our loop and await its result in `loop`, running here.

        A cancelled caller cancels it. Raises ToolError if our loop is closed.
        """
        ended: asyncio.Future[None] = loop.create_future()
        thread = threading.get_ident()

        def on_done(task: asyncio.Task[R]) -> None:
            if not task.cancelled():
                task.exception()  # otherwise, asyncio would log that a cancelled caller has not asked for it
            if threading.get_ident() == thread:
                _set(ended)
                return
            with suppress(RuntimeError):  # the caller's loop is closed, so no one waits
                loop.call_soon_threadsafe(_set, ended)

        task = self._stepped.start(function, *arguments, on_done=on_done)
        host = self._enter(loop)
        try:
            # As a callback, because an event loop must not run another in a task.
            loop.call_soon(self._stepped.step)
            await ended
        except BaseException:  # such as the cancellation of the caller, which the call must not outlive
            with suppress(RuntimeError):  # our loop is closed
                self._stepped.loop.call_soon_threadsafe(task.cancel)
            raise
        finally:
            self._leave(host)
        if task.cancelled():
            raise ToolError(CLOSED_MESSAGE)
        return task.result()

    def is_watching(self, host: _CallerLoop) -> bool:
        """Return whether a host is the watching one."""
        return self._hosts[-1:] == [host]

    def end(self) -> None:
        """Stop the watch of a host without calls, now, and of the others after their calls."""
        with self._lock:
            self._is_ended = True
            idle = [host for host in self._hosts if not host.calls]
            self._hosts = [host for host in self._hosts if host.calls]
        for host in idle:
            host.schedule(host.unwatch)

    def _enter(self, loop: asyncio.AbstractEventLoop) -> _CallerLoop:
        with self._lock:
            host = next((host for host in self._hosts if host.loop is loop), None) or _CallerLoop(
                loop, self._stepped, self
            )
            # One without calls stops watching when it notices, or is collected with its loop.
            self._hosts = [*(other for other in self._hosts if other is not host and other.calls), host]
            host.calls += 1
        host.watch()
        return host

    def _leave(self, host: _CallerLoop) -> None:
        with self._lock:
            host.calls -= 1
            if host.calls or (self._hosts == [host] and not self._is_ended):
                return
            was_watching = self.is_watching(host)
            self._hosts.remove(host)
            successor = self._hosts[-1] if self._hosts and was_watching else None
        host.unwatch()
        if successor is not None:
            successor.schedule(successor.watch)


class _CallerLoop:
    """A caller's event loop, and how many calls it awaits. All methods are called in its thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stepped: SteppedLoop, hosts: Hosts) -> None:
        self.loop = loop
        self.calls = 0
        self._stepped = stepped
        self._hosts = hosts
        self._descriptor: int | None = None

    # A process that ends may have cleared this module; the kernel closes its files.
    def __del__(self, *, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # Its loop was closed while it watched, and no longer refers to the descriptor.
        if self._descriptor is not None and not is_ending():
            os.close(self._descriptor)

    def schedule(self, function: Callable[[], None]) -> None:
        """Have a method called in the thread of the loop, unless the loop is closed."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function)

    def watch(self) -> None:
        """Step our loop when its descriptor is ready."""
        if self._descriptor is None and self.calls:
            self._descriptor = self._stepped.open_descriptor()
            if self._descriptor is not None:
                self.loop.add_reader(self._descriptor, self._on_ready)

    def unwatch(self) -> None:
        """Stop watching."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self.loop.remove_reader(descriptor)
            os.close(descriptor)

    def _on_ready(self) -> None:
        if self._stepped.is_ended or not self.calls or not self._hosts.is_watching(self):
            self.unwatch()
        else:
            self._stepped.step()


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
