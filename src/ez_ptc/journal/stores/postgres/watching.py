"""Being told of decisions and changed states, by LISTEN."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from psycopg import sql

from ez_ptc.journal.stores.postgres.errors import journal_errors
from ez_ptc.journal.stores.postgres.rows import PostgresRows

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ez_ptc.journal.stores.postgres.connections import Connections

__all__ = ["watch"]

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
        return PostgresRows(connection, connections.clock, is_locking=False).is_known(run_id)
