"""A journal in PostgreSQL: its transactions.

Decisions and claims lock the rows of their runs; records of calls go through `Appender`. Reads see one snapshot.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import psycopg
from psycopg import sql

from ez_ptc._forks import on_fork
from ez_ptc.errors import JournalError
from ez_ptc.journal.stores.postgres.acknowledged import AcknowledgedRows
from ez_ptc.journal.stores.postgres.address import Address
from ez_ptc.journal.stores.postgres.appending import Appender
from ez_ptc.journal.stores.postgres.connections import Connections
from ez_ptc.journal.stores.postgres.errors import is_lost, journal_errors
from ez_ptc.journal.stores.postgres.locks import AdvisoryLocks
from ez_ptc.journal.stores.postgres.rows import PostgresRows

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ez_ptc.journal.stores.postgres.connections import Connection
    from ez_ptc.journal.stores.protocol import RunRow, RunRows

__all__ = ["PostgresStore", "watch"]

# So often, an iterator without an end sees an interruption.
_SECONDS: Final = 1.0


def watch(connections: Connections, channel: str, seconds: float | None) -> Iterator[str]:
    """Return an iterator over the ids of changed runs: it listens when this returns, and ends after some seconds.

    Raises JournalError if its connection ends: something may have been missed.
    """
    notices = _listen(connections, channel, seconds)
    next(notices)
    return notices


def _listen(connections: Connections, channel: str, seconds: float | None) -> Generator[str]:
    outcome = "what changed meanwhile is unknown: call claimable(), and watch again"
    with journal_errors(connections.address, outcome):
        connection = connections.open()
        try:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            deadline = None if seconds is None else time.monotonic() + seconds
            yield ""
            while True:
                left = _SECONDS if deadline is None else min(_SECONDS, deadline - time.monotonic())
                if left <= 0:
                    return
                for notice in [*connection.notifies(timeout=left, stop_after=1)]:
                    # Any role of the database can send one.
                    if _is_known(connections, notice.payload):
                        yield notice.payload
        finally:
            connections.discard(connection)


def _is_known(connections: Connections, run_id: str) -> bool:
    with connections.using() as connection:
        return PostgresRows(connection, connections.clock, is_locking=False).number_of(run_id) is not None


R = TypeVar("R")

# As a reply: a caller waits for it.
_MAX_RETRY_SECONDS: Final = 30.0
_KEY: Final = "EZ_PTC_JOURNAL_KEY"
_SIZE: Final = """
    SELECT sum(pg_total_relation_size(name::regclass))::bigint
    FROM unnest(ARRAY['ez_ptc_runs', 'ez_ptc_events', 'ez_ptc_contents', 'ez_ptc_pruned']) AS name
"""


class PostgresStore:
    """The tables of one schema, for any thread and any host; connected on first use."""

    def __init__(self, url: str) -> None:
        """Use an address. Raises JournalError if it cannot be read."""
        self._address: Final = Address.parse(url)
        self.name = self._address.name
        self._connections: Final = Connections(self._address)
        self.locks: Final = AdvisoryLocks(self._connections)
        self.acknowledged: Final = AcknowledgedRows(self.name)
        self._appender: Final = Appender(self._connections, self._channel, self.acknowledged)
        on_fork(self, PostgresStore._after_fork)

    def _after_fork(self) -> None:
        self._appender.reset()

    def _channel(self) -> str:
        """Return the channel on which changes of runs are told."""
        return f"ez_ptc_{self._connections.identity()}"

    def transact(self, run: Callable[[RunRows], R], /) -> R:
        """Run a job that locks what it finds, in a transaction; return its result once it is durable."""
        with self._transaction("BEGIN", is_locking=True) as (connection, rows):
            result = run(rows)
            for row in rows.written.values():
                self.acknowledged.require(rows, row)
                connection.execute("SELECT pg_notify(%s, %s)", (self._channel(), row.id))
        for row in rows.written.values():
            self._appender.observe(row)
        return result

    def append(self, run: Callable[[RunRows], R], /) -> R:
        """As `transact`, for a job adding to the record of a run of this process."""
        self._connections.refuse_reentrance()
        with self._connections.busy():
            return self._appender.append(run)

    def read(self, run: Callable[[RunRows], R], /) -> R:
        """Run a reading job, in one snapshot."""
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", is_locking=False) as (_, rows):
            return run(rows)

    def survey(self, run: Callable[[RunRows], R], /) -> R:
        """Run a job that looks for runs to go on with, and holds them until its end."""
        with self._transaction("BEGIN", is_locking=False) as (_, rows):
            return run(rows)

    @contextlib.contextmanager
    def _transaction(self, begin: str, *, is_locking: bool) -> Generator[tuple[Connection, PostgresRows]]:
        self._connections.refuse_reentrance()
        with self._connections.busy(), journal_errors(self._address), self._connections.using() as connection:
            connection.execute(begin.encode())
            rows = PostgresRows(connection, self._connections.clock, is_locking=is_locking)
            try:
                yield connection, rows
            except BaseException:
                with contextlib.suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            try:
                connection.execute("COMMIT")
            except psycopg.Error as error:
                if not is_lost(error) or not is_locking:
                    raise
                self._settle([*rows.written.values()], error)

    def _settle(self, written: list[RunRow], error: psycopg.Error) -> None:
        """Return if a commit was carried out, though its connection ended. Raises JournalError, with the run's id."""
        run_id = written[0].id if written else None
        outcome = "it is unknown whether it was recorded; look at the run again"
        deadline = time.monotonic() + _MAX_RETRY_SECONDS
        nap = 0.05
        while written and time.monotonic() < deadline:
            try:
                with self._connections.using() as connection, connection.transaction(force_rollback=True):
                    rows = PostgresRows(connection, self._connections.clock, is_locking=True)
                    if all(rows.has_written(row) for row in written):
                        return
                outcome = "nothing was recorded"
                break
            except psycopg.Error as failure:
                if not is_lost(failure):
                    break
            time.sleep(nap)
            nap = min(2 * nap, 1.0)
        message = (
            f"the connection to the journal {self.name} ended in a commit of run {run_id or 'unknown'}: {outcome} "
            f"({self._address.scrub(str(error))})"
        )
        raise JournalError(message, run_id=run_id) from None

    def watch(self, seconds: float | None) -> Iterator[str]:
        """Return an iterator over the ids of runs, as they are decided or change their states from now on."""
        return watch(self._connections, self._channel(), seconds)

    def key_path(self) -> Path:
        """Return the file with the key of secret arguments. Raises JournalError if none is named."""
        path = os.environ.get(_KEY)
        if not path:
            message = (
                f"the journal {self.name} has no file for the key of secret arguments: set {_KEY} to a file with the "
                f"same 32 random bytes on every host, made once with: head -c 32 /dev/urandom > FILE; chmod 600 FILE"
            )
            raise JournalError(message)
        return Path(path)

    def create_key(self, create: Callable[[Path], None]) -> None:  # noqa: ARG002 - each host would make another one
        """Refuse to create the key: another host would create another one."""
        message = (
            f"there is no file {self.key_path()} with the journal's key: copy it from another host, or make it once "
            f"with: head -c 32 /dev/urandom > FILE; chmod 600 FILE"
        )
        raise JournalError(message)

    def require_room(self, max_bytes: int | None) -> None:
        """Raise JournalError if the tables take more bytes than they may; by default the server alone decides."""
        if max_bytes is None:
            return
        with journal_errors(self._address), self._connections.using() as connection:
            ((size,),) = connection.execute(_SIZE).fetchall()
        if size > max_bytes:
            message = (
                f"the journal {self.name} has {size:,} bytes in use, more than max_bytes={max_bytes:,}: prune() it, "
                f"or raise the limit"
            )
            raise JournalError(message)

    def make_room(self) -> None:
        """Do nothing: the server reuses the room of removed rows."""

    def copy(self, path: Path) -> None:
        """Refuse: PostgreSQL has its own tools. Raises JournalError."""
        message = (
            f"the journal {self.name} is in PostgreSQL: back it up with pg_dump --format=custom --table='ez_ptc_*' "
            f"--file={path}, or with the backups of its server; ez-ptc runs copy copies ended runs to a file"
        )
        raise JournalError(message)

    def verify(self) -> None:
        """See that the server can be used, and that its tables are those of this version."""
        self._connections.close()
        self.read(lambda rows: rows.version())

    def close(self) -> None:
        """Close everything but the locks of running programs; the next use opens it again."""
        self._connections.close()
        self.locks.close()
