"""The connections that only read: one for each read under way, so that no reader waits for a writer or delays one.

They share the file with the connection that writes, and SQLite lets no connection live through a fork. Before a fork,
new reads wait, and those under way are awaited.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Generator

__all__ = ["Readers"]

_MAX_IDLE: Final = 4


class Readers:
    """The connections of one store that only read. Any thread may use them."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], dispose: Callable[[sqlite3.Connection], None]
    ) -> None:
        """Open connections with `connect`, and close them with `dispose`."""
        self._connect = connect
        self._dispose = dispose
        self.idle: list[sqlite3.Connection] = []
        self.reset()

    def reset(self) -> None:
        """Forget everything, as in a fork."""
        self._changed = threading.Condition()
        self.idle.clear()
        self._reading: Counter[int] = Counter()
        self._pauses = 0
        # Grows with each closing: a connection of an earlier one is closed after its read.
        self._closings = 0

    @contextlib.contextmanager
    def reading(self, prepare: Callable[[], None]) -> Generator[sqlite3.Connection]:
        """Return a context with a connection that no other thread uses meanwhile; `prepare` is called before."""
        thread = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._pauses or thread in self._reading)
            self._reading[thread] += 1
        database = None
        try:
            prepare()
            with self._changed:
                closings = self._closings
                if self.idle:
                    database = self.idle.pop()
            database = database or self._connect()
            try:
                yield database
            finally:
                with self._changed:
                    # Kept in a transaction, after two interruptions, it would hold up every checkpoint.
                    is_kept = closings == self._closings and len(self.idle) < _MAX_IDLE and not database.in_transaction
                    if is_kept:
                        self.idle.append(database)
                if not is_kept:
                    self._dispose(database)
        finally:
            # After an interruption of the return as well, or the next fork would never begin.
            with self._changed:
                self._reading[thread] -= 1
                if not self._reading[thread]:
                    del self._reading[thread]
                self._changed.notify_all()

    def close(self) -> None:
        """Close the connections: those in use after their reads."""
        with self._changed:
            idle = list(self.idle)
            self.idle.clear()
            self._closings += 1
        for database in idle:
            self._dispose(database)

    def pause(self, *, may_wait: bool) -> bool:
        """Let no further read begin, and wait for those of other threads, or return False unless it `may_wait`."""
        thread = threading.get_ident()
        with self._changed:
            if not may_wait and self._reading.keys() - {thread}:
                return False
            self._pauses += 1
            return self._changed.wait_for(lambda: not self._reading.keys() - {thread})

    def resume(self) -> None:
        """Let reads begin again."""
        with self._changed:
            self._pauses -= 1
            self._changed.notify_all()
