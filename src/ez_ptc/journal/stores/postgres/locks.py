"""The owners of runs: a session's advisory lock for each, on one connection of this process.

The server releases them when the connection ends, however that happens. A process may live on without its connection,
after a restart of the server or `pg_terminate_backend`: then another may claim its runs. `require` notices that before
each call, and the epoch in each write tells the rest.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import psycopg

from ez_ptc._forks import on_fork
from ez_ptc.errors import JournalError
from ez_ptc.journal.stores.postgres.connections import is_ready
from ez_ptc.journal.stores.postgres.errors import journal_errors

if TYPE_CHECKING:
    from ez_ptc.journal.stores.postgres.connections import Connections

__all__ = ["AdvisoryLocks", "lock_keys"]

_NUMBERS: Final = 1 << 32
_IS_LOCKED: Final = """
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = %s::bigint::oid AND objid = %s::bigint::oid
"""


def lock_keys(identity: int, run: int) -> tuple[int, int]:
    """Return the two numbers of a run's advisory lock, each of 32 bits with a sign."""
    return identity, (run + _NUMBERS // 2) % _NUMBERS - _NUMBERS // 2


class AdvisoryLocks:
    """The locks of one store. Any thread may use them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._connection: psycopg.Connection[Any] | None = None
        self._begin()
        on_fork(self, AdvisoryLocks._after_fork)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        # Each with its holder.
        self._owned: dict[int, object] = {}
        # The runs of lost connections whose executions have not ended yet; a number may be lost more than once.
        self._lost: list[tuple[int, object]] = []

    def _after_fork(self) -> None:
        self._connection = None
        self._begin()

    def own(self, run: int, holder: object = None) -> bool:
        """Try to become the owner of a run, for `disown_by` on behalf of a holder. Return whether it had none."""
        with self._connections.busy(), self._lock, journal_errors(self._connections.address):
            connection = self._connect()
            if run in self._owned:
                return False
            keys = lock_keys(self._connections.identity(), run)
            # Before the answer: an interruption may come between the lock and the word about it.
            self._owned[run] = object() if holder is None else holder
            is_taken = False
            try:
                ((is_taken,),) = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", keys).fetchall()
            except psycopg.Error:
                self._owned.pop(run, None)
                raise
            if not is_taken:
                self._owned.pop(run, None)
            return bool(is_taken)

    def disown(self, run: int) -> None:
        """Stop being the owner of a run."""
        with self._connections.busy(), self._lock:
            self._notice_loss()
            lost = [number for number, _ in self._lost]
            if run in lost:
                # The lock is gone, or is that of a later execution here, which ends it.
                del self._lost[lost.index(run)]
            elif run in self._owned:
                self._unlock(run)

    def disown_by(self, holder: object) -> None:
        """Stop being the owner of what a holder owns; do nothing if that is nothing."""
        with self._connections.busy(), self._lock:
            self._notice_loss()
            self._lost = [(run, owner) for run, owner in self._lost if owner is not holder]
            for run, owner in [*self._owned.items()]:
                if owner is holder:
                    self._unlock(run)

    def _unlock(self, run: int) -> None:
        keys = lock_keys(self._connections.identity(), run)
        try:
            if self._connection is not None:
                self._connection.execute("SELECT pg_advisory_unlock(%s, %s)", keys)
        except psycopg.Error:
            # It ends with the connection.
            self._owned.pop(run, None)
            self._drop()
        # After the answer: an interruption before it leaves the run to the next attempt.
        self._owned.pop(run, None)

    def is_owned(self, run: int) -> bool:
        """Return whether a run has an owner, in any process."""
        with self._connections.busy(), self._lock, journal_errors(self._connections.address):
            connection = self._connect()
            if run in self._owned:
                return True
            identity, number = lock_keys(self._connections.identity(), run)
            return bool(connection.execute(_IS_LOCKED, (identity, number % _NUMBERS)).fetchall())

    def require(self, run: int) -> None:
        """Raise JournalError if this process has lost a run."""
        connection = self._connection
        if connection is not None and run in self._owned and not is_ready(connection):
            return
        with self._connections.busy(), self._lock:
            self._notice_loss()
            if run in self._owned:
                return
        message = (
            "the connection with the lock of this run has ended, and others may go on with it: this execution records "
            "nothing more; resume the run"
        )
        raise JournalError(message)

    def close(self) -> None:
        """Release every lock, unless a run is being executed."""
        with self._lock:
            if not self._owned and self._connection is not None:
                self._drop()

    def _connect(self) -> psycopg.Connection[Any]:
        self._notice_loss()
        if self._connection is None:
            connection = self._connections.open()
            try:
                self._require_session(connection)
            except BaseException:
                self._connections.discard(connection)
                raise
            self._connection = connection
        return self._connection

    def _require_session(self, connection: psycopg.Connection[Any]) -> None:
        """Raise JournalError if a pooler lends its connections for one transaction each: no lock would last.

        A pooler has a process number of its own. Where it keeps one connection for each of ours, another of ours gets
        another one of the server's, even in between.
        """
        ((first,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
        if first == connection.info.backend_pid:
            return
        with self._connections.using() as other, other.transaction():
            ((second,),) = other.execute("SELECT pg_backend_pid()").fetchall()
            ((third,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
        if first != third or first == second:
            message = (
                f"the journal {self._connections.address.name} is behind a pooler that lends connections for a "
                f"transaction each, and the locks of runs need a session: use pool_mode=session, or the server's own "
                f"address; nothing was recorded"
            )
            raise JournalError(message)

    def _notice_loss(self) -> None:
        connection = self._connection
        if connection is None or not is_ready(connection):
            return
        try:  # it may be no more than a notice
            connection.execute("SELECT 1")
        except psycopg.Error:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._lost += self._owned.items()
        self._owned.clear()
        if connection is not None:
            self._connections.discard(connection)
