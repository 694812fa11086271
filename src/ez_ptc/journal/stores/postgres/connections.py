"""Connections to the server: checked when they are opened, and lent to one thread at a time.

There are no threads behind them, as in psycopg's own pool: a caller without a server gets the reason at once, and a
fork of the host begins with none. In a child, the parent's connections stay untouched: closing one would end it for the
parent as well, and release its locks.
"""

from __future__ import annotations

import contextlib
import select
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Final

import psycopg

from ez_ptc._forks import on_fork
from ez_ptc.errors import JournalError
from ez_ptc.journal.stores.postgres.tables import find_identity

if TYPE_CHECKING:
    from collections.abc import Generator

    from ez_ptc.journal.stores.postgres.address import Address

    Connection = psycopg.Connection[Any]

__all__ = ["Connections", "ServerClock", "is_idle", "is_ready"]

_MAX_IDLE: Final = 4
_MIN_VERSION: Final = 150000
# A process that is stopped within a transaction must not keep others from the rows for long.
_SETTINGS: Final = """
    SELECT set_config('statement_timeout', '60s', false), set_config('lock_timeout', '30s', false),
    set_config('idle_in_transaction_session_timeout', '15s', false), set_config('idle_session_timeout', '0', false),
    set_config('default_transaction_isolation', 'read committed', false)
"""
_CHECK: Final = """
    SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit'),
    current_setting('synchronous_standby_names'), extract(epoch FROM clock_timestamp())::float8
"""
# A clock that differs less is the same: times within a run should not jump.
_MAX_DRIFT_SECONDS: Final = 0.05


class ServerClock:
    """The server's clock, as far as one round trip tells."""

    def __init__(self) -> None:
        self._offset: float | None = None

    def now(self) -> float:
        """Return the server's time, in seconds since 1970."""
        return time.monotonic() + (self._offset or 0.0)

    def update(self, seconds: float, asked: float) -> None:
        """Take note of the server's time, asked for at a moment of this process's monotonic clock."""
        offset = seconds - (asked + time.monotonic()) / 2
        if self._offset is None or abs(offset - self._offset) > _MAX_DRIFT_SECONDS + time.monotonic() - asked:
            self._offset = offset


class Connections:
    """The connections of one store."""

    def __init__(self, address: Address) -> None:
        self.address: Final = address
        self.clock: Final = ServerClock()
        # The threads in the middle of something, which their signal handlers must not enter again.
        self._users: set[int] = set()
        self._lock = threading.RLock()
        self._idle: list[Connection] = []
        # All that are open, for the finalizer.
        self._opened: set[Connection] = set()
        self._inherited: list[Connection] = []
        self._identity: int | None = None
        on_fork(self, Connections._after_fork)
        weakref.finalize(self, _close_all, self._opened)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()
        self._users.clear()
        self._inherited += self._opened
        self._opened.clear()
        self._idle.clear()

    @contextlib.contextmanager
    def busy(self) -> Generator[None]:
        """Return a context in which `refuse_reentrance` refuses this thread's signal handlers."""
        thread = threading.get_ident()
        is_inner = thread in self._users
        try:
            self._users.add(thread)
            yield
        finally:
            if not is_inner:
                self._users.discard(thread)

    def refuse_reentrance(self) -> None:
        """Raise JournalError in a signal handler that has interrupted a use of the journal."""
        if threading.get_ident() in self._users:
            message = (
                f"the journal {self.address.name} is in use by the code that this signal handler has interrupted: let "
                f"the handler set a flag, and use the journal afterwards; nothing was recorded"
            )
            raise JournalError(message)

    def identity(self) -> int:
        """Return the number by which the journal's locks differ from others'."""
        if self._identity is None:
            with self.using():
                pass
        return self._identity or 0

    def open(self) -> Connection:
        """Open a connection. Raises JournalError if the server's settings are not for a journal."""
        connection = psycopg.connect(**self.address.parameters, autocommit=True)
        self._opened.add(connection)
        try:
            connection.execute(_SETTINGS)
            asked = time.monotonic()
            ((version, synchronous, standbys, seconds),) = connection.execute(_CHECK).fetchall()
            self.clock.update(seconds, asked)
            self._require_usable(version, synchronous, standbys)
            if self._identity is None:
                self._identity = find_identity(connection, self.address)
        except BaseException:
            self.discard(connection)
            raise
        return connection

    def _require_usable(self, version: int, synchronous: str, standbys: str) -> None:
        if version < _MIN_VERSION:
            message = f"expected PostgreSQL 15 or later for the journal {self.address.name}, got {version // 10000}"
            raise JournalError(message)
        if synchronous == "off":
            message = (
                f"the journal {self.address.name} has synchronous_commit=off, which loses acknowledged records in a "
                f"crash, and so repeats effects: set it to on for this role or database; nothing was recorded"
            )
            raise JournalError(message)
        if synchronous == "local" and standbys:
            message = (
                f"the journal {self.address.name} has synchronous_commit=local, so commits do not wait for the "
                f"replicas in synchronous_standby_names: a promoted one would lack acknowledged records, and repeat "
                f"effects: set it to on for this role or database; nothing was recorded"
            )
            raise JournalError(message)

    @contextlib.contextmanager
    def using(self) -> Generator[Connection]:
        """Return a context with a connection of one's own; it is kept unless it is broken."""
        connection = self._take_idle() or self.open()
        try:
            yield connection
        finally:
            with self._lock:
                is_kept = connection in self._opened and len(self._idle) < _MAX_IDLE and is_idle(connection)
                if is_kept:
                    self._idle.append(connection)
            if not is_kept:
                self.discard(connection)

    def _take_idle(self) -> Connection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if not is_ready(connection):
                return connection
            # The server said something unasked: that it ends, as a rule.
            self.discard(connection)

    def discard(self, connection: Connection) -> None:
        """Close a connection."""
        with self._lock:
            self._opened.discard(connection)
        with contextlib.suppress(psycopg.Error):
            connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            self.discard(connection)


def is_idle(connection: Connection) -> bool:
    """Return whether a connection is intact and in no transaction."""
    return not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def is_ready(connection: Connection) -> bool:
    """Return whether there is something to read, as at the end of a connection, or whether it is closed."""
    poll = select.poll()
    try:
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except (psycopg.Error, OSError, ValueError):
        return True


def _close_all(opened: set[Connection]) -> None:
    while opened:
        opened.pop().close()
