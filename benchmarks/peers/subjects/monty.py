"""pydantic-monty with its pool of ready processes: a program has a session of its own in a process that goes on.

This is its default. `monty_once` has the isolation that this library gives.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from benchmarks.peers.subject import GRANTED_CALLS, MEMORY, SECONDS, TOOLS, Subject

__all__ = ["MontySubject", "start"]

_READY = 4


def start() -> Subject:
    """Return a pool whose processes are kept."""
    return MontySubject(sessions_per_process=None)


class MontySubject:
    """A pool of Monty's processes, as many ready ones as this library keeps."""

    offers_tools = True

    def __init__(self, *, sessions_per_process: int | None) -> None:
        """Start the pool; ``sessions_per_process`` is how many programs a process may serve."""
        from pydantic_monty import CollectString, Monty, ResourceLimits

        self._collector = CollectString
        # Looking up a tool's name counts as well as calling it.
        self._limits = ResourceLimits(
            max_memory=MEMORY, max_feed_duration_secs=SECONDS, max_suspensions=2 * GRANTED_CALLS
        )
        self._pool = Monty(
            min_processes=_READY, max_processes=_READY, max_checkouts_per_worker=sessions_per_process
        ).__enter__()

    def run(self, code: str) -> object:
        """Check a session out, run the program in it, give it back."""
        with self.session() as run:
            return run(code)

    @contextmanager
    def session(self) -> Generator[Callable[[str], object]]:
        """Keep one session for several programs."""
        with self._pool.checkout(limits=self._limits) as session:
            yield lambda code: session.feed_run(code, external_lookup=TOOLS, print_callback=self._collector())

    def close(self) -> None:
        """End the processes."""
        self._pool.__exit__(None, None, None)
