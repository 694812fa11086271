"""The rows of a journal in PostgreSQL, with every statement about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, LiteralString, NoReturn

from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.chain import content_hash, pruned_hash
from ez_ptc.journal.states import FINISHED
from ez_ptc.journal.stores.protocol import RunRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.journal.stores.postgres.connections import Connection, ServerClock
    from ez_ptc.journal.stores.protocol import EventColumns

__all__ = ["PostgresRows", "append_statement", "is_text"]

_RUNS: Final = "SELECT number, id, session, state, created, changed, epoch, owner, events, head FROM ez_ptc_runs"
_EVENTS: Final = """
    SELECT position, kind, path, time, e.data, payload, content, e.hash, c.data FROM ez_ptc_events e
    LEFT JOIN ez_ptc_contents c ON c.run = e.run AND c.hash = e.content WHERE e.run = %s ORDER BY position
    LIMIT %s
"""
_EVENTS_WITHOUT_CONTENTS: Final = """
    SELECT position, kind, path, time, data, payload, content, hash, NULL FROM ez_ptc_events WHERE run = %s
    ORDER BY position LIMIT %s
"""
# The locks are read once, whatever the number of runs.
_OPEN_RUNS: Final = """
    SELECT number, id, session, state, created, changed, epoch, owner, events, head FROM ez_ptc_runs
    WHERE state IN ('running', 'paused', 'outcome_unknown') AND number > %s
    AND (number & 4294967295) NOT IN (
        SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = (SELECT identity::bigint::oid FROM ez_ptc_format))
    ORDER BY number LIMIT %s FOR UPDATE SKIP LOCKED
"""
_INSERT: Final = """
    INSERT INTO ez_ptc_runs (id, session, state, created, changed, epoch, owner, events, head)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING
    RETURNING number, id, session, state, created, changed, epoch, owner, events, head
"""
_ORPHANS: Final[dict[LiteralString, LiteralString]] = {
    "ez_ptc_events": (
        "SELECT run FROM ez_ptc_events t WHERE NOT EXISTS (SELECT FROM ez_ptc_runs WHERE number = t.run) LIMIT 1"
    ),
    "ez_ptc_contents": (
        "SELECT run FROM ez_ptc_contents t WHERE NOT EXISTS (SELECT FROM ez_ptc_runs WHERE number = t.run) LIMIT 1"
    ),
}
# Of an index: the ended runs may be millions, and pages ask each second.
_VERSION: Final = """
    SELECT (SELECT max(number) FROM ez_ptc_runs), count(*), sum(number), sum(events), sum(epoch) FROM ez_ptc_runs
    WHERE state IN ('running', 'paused', 'outcome_unknown')
"""
_UPDATE: Final = """
    UPDATE ez_ptc_runs SET state = %s, changed = %s, epoch = %s, owner = %s, events = %s, head = %s
    WHERE number = %s AND epoch = %s AND head = %s
"""
_ADD_CONTENT: Final = "INSERT INTO ez_ptc_contents VALUES (%s, %b, %b) ON CONFLICT DO NOTHING"
_ADD_EVENT: Final = "INSERT INTO ez_ptc_events VALUES (%s, %s, %s, %s, %s, %b, %b, %b, %b)"
# The fence: no row, if another has claimed the run or has added to it.
_FENCE: Final = (
    "WITH r AS (UPDATE ez_ptc_runs SET state = %s, changed = %s, events = %s, head = %b"
    " WHERE number = %s AND epoch = %s AND head = %b RETURNING number),"
)
# Most often it is one event: without arrays, it takes 170 µs instead of 260 on a local server.
_APPEND_ONE: Final = (
    " e AS (INSERT INTO ez_ptc_events SELECT r.number, %s::bigint, %s::text, %s::text, %s::float8, %b::bytea,"
    " %b::bytea, %b::bytea, %b::bytea FROM r)"
)
_APPEND_MANY: Final = (
    " e AS (INSERT INTO ez_ptc_events SELECT r.number, n.* FROM r, unnest(%s::bigint[], %s::text[], %s::text[],"
    " %s::float8[], %b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[]) AS n)"
)
_APPEND_CONTENTS: Final = (
    ", c AS (INSERT INTO ez_ptc_contents SELECT r.number, n.* FROM r, unnest(%b::bytea[], %b::bytea[]) AS n"
    " ON CONFLICT DO NOTHING)"
)
_TIME: Final = " SELECT extract(epoch FROM clock_timestamp())::float8 FROM r"
_TIME_AND_NOTICE: Final = " SELECT extract(epoch FROM clock_timestamp())::float8, pg_notify(%s, %s) FROM r"
# The hash is of a session's id: two processes that go on with one at once take turns.
_SESSION_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('ez-ptc session ' || %s, 0))"


def append_statement(
    before: RunRow, after: RunRow, events: Sequence[EventColumns], contents: Sequence[tuple[bytes, bytes]], channel: str
) -> tuple[LiteralString, list[Any]]:
    """Return the one statement to add events to a run if it is as it was before, and its values."""
    values: list[Any] = [after.state, after.changed, after.events, after.head]
    values += [before.number, before.epoch, before.head]
    if len(events) == 1:
        statement: LiteralString = _FENCE + _APPEND_ONE
        values += events[0]
    else:
        statement = _FENCE + _APPEND_MANY
        values += [list(column) for column in zip(*events, strict=True)]
    if contents:
        statement += _APPEND_CONTENTS
        values += [list(column) for column in zip(*contents, strict=True)]
    if after.state == before.state:
        return statement + _TIME, values
    return statement + _TIME_AND_NOTICE, [*values, channel, before.id]


class PostgresRows:
    """The rows of one transaction; `is_locking` holds the runs found until its end."""

    def __init__(self, connection: Connection, clock: ServerClock, *, is_locking: bool) -> None:
        self.connection = connection
        self._clock = clock
        self._lock: LiteralString = " FOR UPDATE" if is_locking else ""
        self._is_locking = is_locking
        # The runs that this transaction has changed, for its store.
        self.written: dict[int, RunRow] = {}

    def now(self) -> float:
        """Return the server's time."""
        return self._clock.now()

    def newest(self) -> float:
        """Return the server's time."""
        return self._clock.now()

    def find(self, run_id: str) -> RunRow | None:
        """Return the row of a run."""
        return self._one(f"{_RUNS} WHERE id = %s{self._lock}", run_id)

    def latest(self, row: RunRow) -> RunRow | None:
        """Return the row of a run as it is."""
        return self._one(f"{_RUNS} WHERE number = %s{self._lock}", row.number)

    def number_of(self, run_id: str) -> int | None:
        """Return the number of a run, which may be pruned; None if there was none of this id."""
        query = "SELECT number FROM ez_ptc_runs WHERE id = %s UNION ALL SELECT number FROM ez_ptc_pruned WHERE id = %s"
        if not is_text(run_id):
            return None
        for (number,) in self.connection.execute(query, (run_id, run_id)).fetchall():
            return int(number)
        return None

    def of_session(self, session: str) -> list[RunRow]:
        """Return the runs of a session, the first first; while writing, no other transaction adds one."""
        if self._is_locking:
            self.connection.execute(_SESSION_LOCK, (session,))
        return self._select(f"{_RUNS} WHERE session = %s AND session <> '' ORDER BY number", session)

    def page(self, state: str | None, before: int | None, limit: int) -> list[RunRow]:
        """Return runs, the latest first: finished in `state`, unfinished if it is another one; before a number."""
        end = (1 << 63) - 1 if before is None else before
        order: LiteralString = "ORDER BY number DESC LIMIT %s"
        if state is None:
            return self._select(f"{_RUNS} WHERE number < %s {order}", end, limit)
        if state in FINISHED:
            return self._select(f"{_RUNS} WHERE number < %s AND state = %s {order}", end, state, limit)
        unfinished: LiteralString = "state IN ('running', 'paused', 'outcome_unknown')"
        return self._select(f"{_RUNS} WHERE number < %s AND {unfinished} {order}", end, limit)

    def after(self, number: int, limit: int, *, changed_by: float | None = None) -> list[RunRow]:
        """Return runs after a number, the first first; only those unchanged since a time."""
        query: LiteralString = f"{_RUNS} WHERE number > %s AND changed <= %s ORDER BY number LIMIT %s"
        return self._select(query, number, float("inf") if changed_by is None else changed_by, limit)

    def open_runs(self, number: int, limit: int) -> list[RunRow]:
        """Return unfinished runs after a number, the first first, without those of live owners."""
        return self._select(_OPEN_RUNS, number, limit)

    def has_same(self, row: RunRow) -> bool:
        """Return whether a run has this row still."""
        return self.latest(row) == row

    def has_written(self, row: RunRow) -> bool:
        """Return whether a run has the last event of a row, once the transaction that wrote it has ended.

        This one has to be undone: it adds a run that is missing, as nothing else waits for another to add it.
        """
        if self.find(row.id) is None:
            self.insert(row)
        return self.hash_at(row.number, row.events) == row.head

    def ids_like(self, prefix: str) -> list[object]:
        """Return the ids with this beginning: the equal one first, then the oldest first."""
        query = "SELECT id FROM ez_ptc_runs WHERE starts_with(id, %s) ORDER BY id <> %s, number"
        if not is_text(prefix):
            return []
        return [run_id for (run_id,) in self.connection.execute(query, (prefix, prefix)).fetchall()]

    def neighbors(self, run_id: str) -> tuple[str | None, str | None]:
        """Return the ids before and after one, in alphabetical order."""
        query = (
            "SELECT (SELECT max(id) FROM ez_ptc_runs WHERE id < %s), (SELECT min(id) FROM ez_ptc_runs WHERE id > %s)"
        )
        ((before, after),) = self.connection.execute(query, (run_id, run_id)).fetchall()
        return before, after

    def insert(self, row: RunRow) -> RunRow | None:
        """Add a run without events, and return its row, with its number. Return None if there is one of this id."""
        return self._one(_INSERT, *row[1:])

    def write(
        self, before: RunRow, after: RunRow, events: Sequence[EventColumns], contents: Sequence[tuple[bytes, bytes]]
    ) -> None:
        """Add events to a run, with their contents by hash, and change its row."""
        number = before.number
        values = (after.state, after.changed, after.epoch, after.owner, after.events, after.head)
        cursor = self.connection.execute(_UPDATE, (*values, number, before.epoch, before.head))
        if cursor.rowcount != 1:
            message = f"run {before.id} was changed within a transaction that had locked it: see its row {number}"
            raise JournalCorruptError(message)
        with self.connection.cursor() as many:
            if contents:
                many.executemany(_ADD_CONTENT, [(number, *content) for content in contents])
            many.executemany(_ADD_EVENT, [(number, *columns) for columns in events])
        self.written[number] = after

    def events(self, row: RunRow, *, has_contents: bool = True, limit: int | None = None) -> list[EventColumns]:
        """Return the first events of a run, or all; without their contents, None stands for these."""
        query = _EVENTS if has_contents else _EVENTS_WITHOUT_CONTENTS
        return self.connection.execute(query, (row.number, limit), binary=True).fetchall()

    def content(self, row: RunRow, digest: bytes) -> object:
        """Return the content of a run by its hash, or None."""
        query = "SELECT data FROM ez_ptc_contents WHERE run = %s AND hash = %s"
        for (data,) in self.connection.execute(query, (row.number, digest), binary=True).fetchall():
            return data
        return None

    def hash_at(self, number: int, position: int) -> bytes | None:
        """Return the hash of an event, or None if the run has fewer."""
        query = "SELECT hash FROM ez_ptc_events WHERE run = %s AND position = %s"
        for (digest,) in self.connection.execute(query, (number, position)).fetchall():
            return digest
        return None

    def remove(self, row: RunRow, seconds: float, digest: bytes) -> None:
        """Remove a run; its number stays known."""
        pruned = (row.number, row.id, seconds, digest)
        self.connection.execute("INSERT INTO ez_ptc_pruned VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING", pruned)
        self.connection.execute("DELETE FROM ez_ptc_events WHERE run = %s", (row.number,))
        self.connection.execute("DELETE FROM ez_ptc_contents WHERE run = %s", (row.number,))
        self.connection.execute("DELETE FROM ez_ptc_runs WHERE number = %s", (row.number,))

    def version(self) -> object:
        """Return a value to compare with the next: the last run, and how far the unfinished ones are."""
        return self.connection.execute(_VERSION).fetchall()

    def verify(self) -> None:
        """Check the rows outside of single runs. Raises JournalCorruptError.

        The numbers of runs have gaps here, so nothing tells that a whole run was removed.
        """
        for number, run_id, seconds, own_hash in self.connection.execute("SELECT * FROM ez_ptc_pruned"):
            if own_hash != pruned_hash(number, run_id, seconds):
                _raise_damaged("ez_ptc_pruned", number)
        for table, query in _ORPHANS.items():
            for (number,) in self.connection.execute(query).fetchall():
                _raise_damaged(table, number)
        with self.connection.cursor("ez_ptc_contents", binary=True) as stored:
            for number, digest, data in stored.execute("SELECT run, hash, data FROM ez_ptc_contents"):
                if content_hash(data) != digest:
                    _raise_damaged("ez_ptc_contents", number)

    def _one(self, query: LiteralString, *values: object) -> RunRow | None:
        rows = self._select(query, *values)
        return rows[0] if rows else None

    def _select(self, query: LiteralString, *values: object) -> list[RunRow]:
        if not is_text(*values):
            return []
        return [RunRow(*columns) for columns in self.connection.execute(query, values).fetchall()]


def is_text(*values: object) -> bool:
    """Return whether PostgreSQL can compare these values: its text has no zero characters and no lone surrogates."""
    texts = "".join(value for value in values if isinstance(value, str))
    return "\0" not in texts and texts == texts.encode("utf-8", "replace").decode()


def _raise_damaged(table: str, number: object) -> NoReturn:
    message = f"a row of the table {table} was changed or added: that of the run {number}"
    raise JournalCorruptError(message)
