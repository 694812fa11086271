"""The records acknowledged to this process by the server: without them, it has lost them.

A replica may take over before it has received the last commits. To a run's next execution, the calls in them have
never happened, and it would repeat them. A process can tell for the runs it has written itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.states import FINISHED

if TYPE_CHECKING:
    from ez_ptc.journal.stores.postgres.rows import PostgresRows
    from ez_ptc.journal.stores.protocol import RunRow

__all__ = ["AcknowledgedRows"]

_MAX_RUNS: Final = 10_000


class AcknowledgedRows:
    """The last rows of unfinished runs, as this process has written them. Any thread may use it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.rows: Final[dict[str, RunRow]] = {}

    def note(self, row: RunRow) -> None:
        """Take note of a durable row; the rows of runs not written for the longest are forgotten."""
        self.rows.pop(row.id, None)
        if row.state not in FINISHED:
            self.rows[row.id] = row
            if len(self.rows) > _MAX_RUNS:
                self.rows.pop(next(iter(self.rows)), None)

    def require(self, rows: PostgresRows, row: RunRow) -> None:
        """Raise JournalCorruptError if a run is about to go on, or to start, without records it had. It may end."""
        known = self.rows.get(row.id)
        if known is None or row.state in FINISHED:
            return
        if known.number != row.number or rows.hash_at(known.number, known.events) != known.head:
            raise self.loss(row.id)

    def loss(self, run_id: str) -> JournalCorruptError:
        """Return the error about lost records of a run."""
        return JournalCorruptError(
            f"the journal {self._name} has lost acknowledged records of run {run_id}, as in a failover to a replica "
            f"that had not received them: what this run did since is unknown to it; nothing more is recorded: see what "
            f"took effect, end the run with abandon(run_id, reason), and start another"
        )
