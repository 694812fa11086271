"""Adding to the records of runs, in groups: one statement a run, one round trip for all that wait.

Theory of operation
-------------------
The owner of a run knows its row: no one else writes to it, except for decisions. So a job here reads nothing; it gets
the row as this process last wrote it, and its events are written by one statement with a fence: only if the run has the
epoch and the last event that are expected. Callers put their jobs into a queue and take a lock; the one that gets it
runs the jobs of all, and sends the statements of all runs at once, in the order of the runs' numbers, so that two
processes never wait for each other in a circle.

A statement that changes no row says that something else was written. Then the run's row is read and locked. Another
epoch: someone else has claimed the run, and nothing is recorded. The same epoch: a decision came in between, and the
same events are written after it. Fewer events than before: the server has lost acknowledged records, as
`acknowledged.py` explains.

When the connection ends, no one knows if the statement was carried out. A reply, or the end of an execution, is worth
waiting for: for 30 seconds, the run is read again on new connections. If it has the event with the hash that was sent,
it was carried out; else it is written now. The epoch guards that too. A server that is full or read-only may be neither
before long, as in a failover, so it is asked again as well.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg

from ez_ptc.errors import JournalError
from ez_ptc.journal.chain import chain_events
from ez_ptc.journal.stores.postgres.errors import is_lost, may_pass, to_journal_error
from ez_ptc.journal.stores.postgres.prepared import PreparedStatements
from ez_ptc.journal.stores.postgres.rows import PostgresRows, append_statement
from ez_ptc.journal.stores.protocol import StoreJob, require_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ez_ptc.journal.stores.postgres.acknowledged import AcknowledgedRows
    from ez_ptc.journal.stores.postgres.connections import Connections, ServerClock
    from ez_ptc.journal.stores.protocol import EventColumns, RunRow, RunRows

__all__ = ["Appender"]

R = TypeVar("R")

_MAX_RETRY_SECONDS: Final = 30.0
_MAX_NAP_SECONDS: Final = 1.0
# What a caller has been waiting for; it must not be lost with a connection.
_OUTCOMES: Final = frozenset({"result", "pause", "end"})


@dataclass
class _Addition:
    """What the jobs of a group add to one run."""

    before: RunRow
    after: RunRow
    events: list[EventColumns] = field(default_factory=list["EventColumns"])
    contents: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    jobs: list[StoreJob[Any]] = field(default_factory=list[StoreJob[Any]])

    @property
    def has_outcome(self) -> bool:
        return any(columns[1] in _OUTCOMES for columns in self.events)

    @property
    def is_plain(self) -> bool:
        """Whether it is one event that stands in its row."""
        return len(self.events) == 1 and not self.contents

    def fail(self, error: JournalError) -> None:
        for job in self.jobs:
            job.error = job.error or error


class _Group(PostgresRows):
    """The rows of a group of jobs, which are written later."""

    def __init__(self, clock: ServerClock, known: dict[int, RunRow]) -> None:
        self._clock = clock
        self._known = known
        self.additions: dict[int, _Addition] = {}
        self.job: StoreJob[Any] | None = None

    def latest(self, row: RunRow) -> RunRow | None:
        if row.number in self.additions:
            return self.additions[row.number].after
        known = self._known.get(row.number)
        return known if known is not None and known.epoch == row.epoch else row

    def write(
        self, before: RunRow, after: RunRow, events: Sequence[EventColumns], contents: Sequence[tuple[bytes, bytes]]
    ) -> None:
        addition = self.additions.setdefault(before.number, _Addition(before, after))
        addition.after = after
        addition.events += events
        addition.contents += contents
        if self.job is not None:
            addition.jobs.append(self.job)


class Appender:
    """Adds events to the runs of this process, for any thread."""

    def __init__(self, connections: Connections, channel: Callable[[], str], acknowledged: AcknowledgedRows) -> None:
        """Write with these connections, and tell those who listen on a channel about changed states."""
        self._connections = connections
        self._channel = channel
        self._acknowledged = acknowledged
        self._prepared = PreparedStatements()
        self._known: dict[int, RunRow] = {}
        self._jobs: list[StoreJob[Any]] = []
        self.reset()

    def reset(self) -> None:
        """Forget everything, as in a fork."""
        self._lock = threading.RLock()
        self._known.clear()
        self._jobs.clear()

    def observe(self, row: RunRow) -> None:
        """Take note of a row that was written elsewhere in this process."""
        self._acknowledged.note(row)
        if row.number in self._known:
            self._known[row.number] = row

    def append(self, run: Callable[[RunRows], R]) -> R:
        """Run a job that only adds to a run of this process; return its result once that is durable."""
        job = StoreJob(run)
        self._jobs.append(job)
        with self._lock:
            if not job.is_done:
                self._commit()
        return job.result()

    def _commit(self) -> None:
        jobs, self._jobs = self._jobs, []
        try:
            group = _Group(self._connections.clock, self._known)
            for job in jobs:
                group.job = job
                job.do(group)
            self._write([group.additions[number] for number in sorted(group.additions)])
        except BaseException as error:
            message = f"the thread that wrote to the journal was interrupted ({error!r}); see the run again"
            for job in jobs:
                job.error = job.error or JournalError(message)
            raise
        finally:
            for job in jobs:
                job.is_done = True

    def _write(self, additions: list[_Addition]) -> None:
        """Write additions, and give their jobs the errors of those that failed."""
        if not additions:
            return
        refused, error = self._send(additions)
        for addition in refused:
            try:
                if error is not None and not (may_pass(error) and addition.has_outcome):
                    raise to_journal_error(error, self._connections.address, _outcome(error)) from None
                self._settle(addition)
            except JournalError as caught:
                addition.fail(caught)
        for addition in additions:
            row, has_failed = addition.after, any(job.error for job in addition.jobs)
            if not has_failed:
                self._acknowledged.note(row)
            if row.state != addition.before.state or has_failed:
                self._known.pop(row.number, None)
            else:
                self._known[row.number] = row

    def _send(self, additions: list[_Addition]) -> tuple[list[_Addition], psycopg.Error | None]:
        """Send the statements of additions, as one transaction; return those that were not written, and the error."""
        statements = [
            append_statement(addition.before, addition.after, addition.events, addition.contents, self._channel())
            for addition in additions
        ]
        asked = time.monotonic()
        times: list[float | None]
        try:
            with self._connections.using() as connection:
                if len(additions) == 1 and additions[0].is_plain:
                    times = [self._prepared.execute(connection, *statements[0])]
                else:
                    with connection.pipeline():
                        cursors = [connection.execute(*statement) for statement in statements]
                    times = [row[0] for row in (cursor.fetchone() or (None,) for cursor in cursors)]
        except psycopg.Error as error:
            return additions, error
        for seconds in times:
            if seconds is not None:
                self._connections.clock.update(seconds, asked)
        return [addition for addition, seconds in zip(additions, times, strict=True) if seconds is None], None

    def _settle(self, addition: _Addition) -> None:
        """Write an addition after reading its run, again and again while the server is away. Raises JournalError."""
        deadline = time.monotonic() + _MAX_RETRY_SECONDS
        nap = 0.05
        while True:
            try:
                with self._connections.using() as connection, connection.transaction():
                    self._rebase(PostgresRows(connection, self._connections.clock, is_locking=True), addition)
                    if addition.after.state != addition.before.state:
                        connection.execute("SELECT pg_notify(%s, %s)", (self._channel(), addition.before.id))
            except psycopg.Error as error:
                if not (may_pass(error) and addition.has_outcome) or time.monotonic() > deadline:
                    raise to_journal_error(error, self._connections.address, _outcome(error)) from None
            else:
                return
            time.sleep(nap)
            nap = min(2 * nap, _MAX_NAP_SECONDS)

    def _rebase(self, rows: PostgresRows, addition: _Addition) -> None:
        before, after = addition.before, addition.after
        row = rows.latest(before)
        if row is None:
            message = f"run {before.id} is no longer in the journal: nothing more is recorded"
            raise JournalError(message)
        if rows.hash_at(row.number, after.events) == after.head:
            return  # it was written before its connection ended
        require_owner(before, row)
        if rows.hash_at(row.number, before.events) != before.head:
            raise self._acknowledged.loss(before.id)
        addition.events = chain_events(row.events, row.head, addition.events)
        last, *_, head = addition.events[-1]
        chained = row._replace(events=last, head=head, changed=after.changed)
        if after.state != before.state:
            chained = chained._replace(state=after.state)
        rows.write(row, chained, addition.events, addition.contents)
        addition.after = chained


def _outcome(error: psycopg.Error) -> str:
    if is_lost(error):
        return "it is unknown whether the last record was written: see the run again"
    return "nothing was recorded"
