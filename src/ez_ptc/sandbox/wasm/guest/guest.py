"""The worker in WebAssembly: prepared once, when the component is built, and served from then on."""

from __future__ import annotations

import asyncio
import random
import sys
from typing import TYPE_CHECKING, Any

from ...check import report
from ...worker.running import async_support, call_paths, recursion, warm_up
from ...worker.running.link import HostGoneError, Link
from ...worker.running.runtime import Runtime, replace_builtins
from . import denials, threads
from .jobs import Jobs
from .loop import HostLoop
from .pipe import TurnPipe
from .platform import WasmPlatform

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...worker.running.link import Pending

__all__ = ["Guest"]


class Guest:
    """The only worker of an instance."""

    def __init__(self, turn: Callable[[str, float], str]) -> None:
        """Prepare everything programs start with; `turn` is called later."""
        recursion.install()
        call_paths.install()
        async_support.install()
        # One of each name: programs may make one themselves.
        asyncio.events.new_event_loop = asyncio.new_event_loop = HostLoop
        asyncio_names: Any = asyncio
        asyncio_names.SelectorEventLoop = asyncio_names.EventLoop = HostLoop
        report.install(())
        denials.install()
        replace_builtins()
        for _ in range(warm_up.RUNS):
            self._prepare(turn)
            self._pipe.feed(warm_up.reply())
            self.runtime.warm_up(warm_up.large_run())
        self._prepare(turn)
        threads.install(HostLoop.jobs, lambda: self.runtime.tools)
        self.runtime.warm_up(warm_up.small_run())

    def _prepare(self, turn: Callable[[str, float], str]) -> None:
        self._pipe = TurnPipe(turn)
        self._platform = WasmPlatform(self._pipe)
        link = _LoneLink(self._pipe)
        self.runtime = runtime = Runtime(link, self._platform)
        HostLoop.jobs = Jobs(link, lambda: runtime.tools)
        self.runtime.enter()

    def serve(self) -> None:
        """Run programs until the host is gone."""
        random.seed()
        sys.argv = ["<program>"]
        # Pages that a program writes to are copied now, before a caller waits.
        self.runtime.warm_up(warm_up.answered_run(is_checked=False))
        self.runtime.warm_up(warm_up.small_run(), whole=True)
        try:
            while True:
                self.runtime.serve()
        except HostGoneError:
            return

    def stop(self) -> None:
        """Stop the program that runs."""
        self._platform.interrupt()


class _LoneLink(Link):
    """A link without locks for readers."""

    def wait(self, pending: Pending) -> bytes:
        """Return the reply to `pending`; replies to other calls are passed to them."""
        if self.ordered is not None:
            self.ordered.wait(pending)
        while pending.reply is None:
            self._deliver(self._body())
        return pending.reply

    def _until(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._deliver(self._body())
