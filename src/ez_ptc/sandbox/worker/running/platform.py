"""What a program's runtime asks of the machine below it; each kind of worker has a platform of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from .determinism import ProgramClock
    from .link import Link, Pending

__all__ = ["Platform"]


class Platform(Protocol):
    """Limits, stops and waits of programs."""

    def on_stop(self, stop: Callable[[str], None]) -> None:
        """Call `stop` in the program's thread when its time (`"timeout"`) or its CPU time (`"cpu"`) is up."""
        ...

    def stop_again(self) -> None:
        """Call what `on_stop` was given once more, in a moment."""
        ...

    def limit(self, limits: dict[str, Any], *, in_session: bool) -> int:
        """Set a program's limits of memory and CPU time, and return how many bytes of C stack it may use."""
        ...

    def release_memory(self) -> None:
        """Make the memory available that is kept in reserve, so that running out of memory can be reported."""
        ...

    def finish_jobs(self) -> None:
        """Wait for what the program has started and threads do not do, as at the end of a program."""
        ...

    def await_answer(
        self, loop: asyncio.AbstractEventLoop, pending: Pending, take: Callable[[Pending], object]
    ) -> Awaitable[object]:
        """Return an awaitable of what `take` returns for a call; other tasks run until its reply is there."""
        ...

    def take_turns(self, link: Link, clock: ProgramClock) -> None:
        """Let the threads and event loops of a program take turns, in an order independent of their speed."""
        ...

    def forget_lookups(self, cls: type) -> None:
        """Forget cached look-ups of a C class whose names were changed."""
        ...
