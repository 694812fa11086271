"""The platform of a worker in WebAssembly: the host limits memory and time, and there is one thread."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

from ...worker.repeating import clocks, loops, ordering
from .lone_baton import LoneReplies
from .loop import HostLoop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from types import FrameType

    from ...worker.running.determinism import ProgramClock
    from ...worker.running.link import Link, Pending
    from .pipe import TurnPipe

__all__ = ["WasmPlatform"]

# Memory kept in reserve, so that running out of memory can be reported.
_REPORT_MEMORY = 24 << 20
# The stack that the host grants.
_STACK = 32 << 20
_PROGRAM = "<program"


class _Nothing(io.RawIOBase):
    """Has no bytes."""

    def readable(self) -> bool:
        return True


class WasmPlatform:
    """Stops by a trace function, and memory kept in reserve."""

    def __init__(self, pipe: TurnPipe) -> None:
        self._pipe = pipe
        self._stop: Callable[[str], None] | None = None
        self._reserve: object = None

    def on_stop(self, stop: Callable[[str], None]) -> None:
        """Call `stop` when `interrupt` was called, or when the host asks for it during a wait."""
        self._stop = stop
        self._pipe.stop = self._stop_now

    def _stop_now(self) -> None:
        if self._stop is not None:
            self._stop("timeout")

    def stop_again(self) -> None:
        """Stop at the next line of the program."""
        self.interrupt()

    def interrupt(self) -> None:
        """Stop at the next line of the program: called by the host, in the midst of any instruction."""

        def trace(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401 - a trace function
            del event, argument
            if frame.f_code.co_filename.startswith(_PROGRAM):
                sys.settrace(None)
                self._stop_now()
            return trace

        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the frames that run
        while frame is not None:
            if frame.f_code.co_filename.startswith(_PROGRAM):
                frame.f_trace = trace
            frame = frame.f_back
        sys.settrace(trace)

    def limit(self, limits: dict[str, Any], *, in_session: bool) -> int:
        """Keep memory in reserve: a buffer that is never written to takes none of the host's."""
        del limits, in_session
        # A request that came at the end of the last program is not meant for this one.
        sys.settrace(None)
        self._reserve = None
        self._reserve = io.BufferedReader(_Nothing(), _REPORT_MEMORY)
        return _STACK

    def release_memory(self) -> None:
        """Give up the reserve."""
        self._reserve = None

    def finish_jobs(self) -> None:
        """Wait for the calls of tools in pools."""
        HostLoop.jobs.finish()

    def await_answer(
        self, loop: asyncio.AbstractEventLoop, pending: Pending, take: Callable[[Pending], object]
    ) -> Awaitable[object]:
        """Wait for the reply in the loop."""
        if isinstance(loop, HostLoop):
            return loop.await_call(pending, take)
        future = loop.create_future()
        future.set_result(take(pending))
        return future

    def take_turns(self, link: Link, clock: ProgramClock) -> None:
        """Let replies and timers come in an order independent of their speed; there is one thread."""
        link.ordered = replies = LoneReplies(link, clock)
        HostLoop.jobs.baton = replies.baton
        HostLoop.clock = clock
        loops.install_functions()
        clocks.measure_waits(replies.baton, clock)
        ordering.install()

    def forget_lookups(self, cls: type) -> None:
        """Do nothing: a program's look-ups come after the change."""
