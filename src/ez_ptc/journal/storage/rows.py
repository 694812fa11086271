"""The rows of a journal in SQLite, with every statement about them."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.chain import content_hash, pruned_hash
from ez_ptc.journal.states import FINISHED
from ez_ptc.journal.storage.tables import READER
from ez_ptc.journal.stores.protocol import RunRow, require_types
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ez_ptc.journal.stores.protocol import EventColumns

__all__ = ["SQLiteRows", "is_damage", "primary_code", "verify_rest"]

# Each finds a number that is in one table only, or in both; the numbers of runs begin with 1.
_NUMBERS: Final = """
    SELECT number FROM (SELECT number FROM runs UNION ALL SELECT number FROM pruned)
"""
_SEQUENCE: Final = "SELECT name, seq FROM sqlite_sequence LIMIT 2"
# What each query finds is a hash that should not be there.
_CONTENT_PROBLEMS: Final = {
    "uses was removed": (
        "SELECT content FROM (SELECT run, content FROM events WHERE content IS NOT NULL EXCEPT"
        " SELECT run, content FROM uses) LIMIT 1"
    ),
    "uses was added": (
        "SELECT content FROM (SELECT run, content FROM uses EXCEPT SELECT run, content FROM events) LIMIT 1"
    ),
    "contents was added": "SELECT hash FROM contents EXCEPT SELECT content FROM uses LIMIT 1",
}

_PRIMARY_CODE: Final = 0xFF
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_UNFINISHED: Final = "state IN ('running', 'paused', 'outcome_unknown')"
_RUNS: Final = "SELECT number, id, session, state, created, changed, epoch, owner, events, head FROM runs"
# Two indexes have these of each run, also where the page with its row is damaged.
_NUMBERS_BY_STATE: Final = "SELECT number FROM runs INDEXED BY runs_of_states"
_UNREADABLE: Final = """
    SELECT :number, (SELECT id FROM runs INDEXED BY sqlite_autoindex_runs_1 WHERE number = :number),
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
"""
_EVENTS: Final = """
    SELECT position, kind, path, time, data, payload, content, hash,
    CASE WHEN content IS NOT NULL THEN (SELECT data FROM contents WHERE contents.hash = content) END
    FROM events WHERE run = ? ORDER BY position LIMIT ?
"""
_EVENTS_WITHOUT_CONTENTS: Final = """
    SELECT position, kind, path, time, data, payload, content, hash, NULL FROM events WHERE run = ? ORDER BY position
    LIMIT ?
"""
_IDS_BY_INDEX: Final = "SELECT id FROM runs WHERE id >= ? AND id < ? || char(1114111) ORDER BY id != ?, number"
_IDS_BY_ROWS: Final = """
    SELECT id FROM runs NOT INDEXED WHERE typeof(id) != 'text' OR instr(:prefix, char(65533))
    OR substr(id, 1, length(:prefix)) = :prefix ORDER BY number
"""
_DAY_SECONDS: Final = timedelta(days=1).total_seconds()
# The newest event, the first one of the day before it, and the last one before that day.
_NEWEST: Final = """
    SELECT newest, (SELECT min(changed) FROM runs WHERE changed > newest - ?),
    (SELECT max(changed) FROM runs WHERE changed <= newest - ?)
    FROM (SELECT max(changed) AS newest FROM runs WHERE changed < 1e999)
"""


class SQLiteRows:
    """The rows of one connection."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """Use a connection."""
        self.database: Final = database
        self.execute: Final = database.execute
        self._has_inserted = False

    @contextlib.contextmanager
    def undone_on_error(self) -> Generator[None]:
        """Return a context in which an error, unless it is SQLite's, undoes the insertion of a run and what follows."""
        self._has_inserted = False
        try:
            yield
        except sqlite3.Error:
            raise
        except BaseException:  # an interruption must not leave half of a start to the next commit
            if self._has_inserted:
                self.execute("ROLLBACK TO inserted")
            raise

    def now(self) -> float:
        """Return the time of this machine."""
        return time.time()

    def newest(self) -> float:
        """Return the time; at most a day after that of the newest event, in case the clock of this machine is ahead.

        Programs may have been recorded under such a clock. So events after a gap of more than a day count only once
        they have gone on for a day: until then, the last event before the gap is the newest.
        """
        ((newest, first, before),) = self.execute(_NEWEST, (_DAY_SECONDS, _DAY_SECONDS)).fetchall()
        if newest is None:
            return time.time()
        if before is not None and first - before > _DAY_SECONDS:
            newest = before
        return min(time.time(), newest + _DAY_SECONDS)

    def find(self, run_id: str) -> RunRow | None:
        """Return the row of a run."""
        for row in self._select("WHERE id = ?", run_id):
            require_types(row)
            return row
        return None

    def latest(self, row: RunRow) -> RunRow | None:
        """Return the row of a run as it is."""
        return self.find(row.id)

    def number_of(self, run_id: str) -> int | None:
        """Return the number of a run, which may be pruned; None if there was none of this id."""
        query = "SELECT number FROM runs WHERE id = ? UNION ALL SELECT number FROM pruned WHERE id = ?"
        if not _is_text(run_id):
            return None
        for (number,) in self.execute(query, (run_id, run_id)).fetchall():
            return int(number)
        return None

    def of_session(self, session: str) -> list[RunRow]:
        """Return the runs of a session, the first first."""
        return self._select("WHERE session = ? ORDER BY number", session)

    def page(self, state: str | None, before: int | None, limit: int) -> list[RunRow]:
        """Return runs, the latest first: finished in `state`, unfinished if it is another one; before a number."""
        conditions: list[str] = []
        values: list[object] = []
        if before is not None:
            conditions.append("number < ?")
            values.append(before)
        if state in FINISHED:
            conditions.append("state = ?")
            values.append(state)
        elif state is not None:
            conditions.append("state NOT IN ('done', 'failed')")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        return self._select_readable(f"{where} ORDER BY number DESC LIMIT {limit}", *values)

    def after(self, number: int, limit: int, *, changed_by: float | None = None) -> list[RunRow]:
        """Return runs after a number, the first first; only those unchanged since a time."""
        if changed_by is None:
            return self._select_readable(f"WHERE number > ? ORDER BY number LIMIT {limit}", number)
        return self._select(f"WHERE number > ? AND changed <= ? ORDER BY number LIMIT {limit}", number, changed_by)

    def open_runs(self, number: int, limit: int) -> list[RunRow]:
        """Return unfinished runs after a number, the first first."""
        return self._select_readable(f"WHERE {_UNFINISHED} AND number > ? ORDER BY number LIMIT {limit}", number)

    def has_same(self, row: RunRow) -> bool:
        """Return whether a run has this row still."""
        return self._select("WHERE number = ?", row.number) == [row]

    def ids_like(self, prefix: str) -> list[object]:
        """Return the ids with this beginning: the equal one first, then the oldest first; else damaged ones."""
        if not _is_text(prefix):
            return []
        ids = self.execute(_IDS_BY_INDEX, (prefix, prefix, prefix)).fetchall()
        # The index does not have an id that was damaged in its row, and all rows need not be read for the others.
        ids = ids or self.execute(_IDS_BY_ROWS, {"prefix": prefix}).fetchall()
        return [run_id for (run_id,) in ids]

    def neighbors(self, run_id: str) -> tuple[str | None, str | None]:
        """Return the ids before and after one, in alphabetical order."""
        query = "SELECT (SELECT max(id) FROM runs WHERE id < ?), (SELECT min(id) FROM runs WHERE id > ?)"
        ((before, after),) = self.execute(query, (run_id, run_id)).fetchall()
        return before, after

    def insert(self, row: RunRow) -> RunRow | None:
        """Add a run without events, and return its row, with its number. Its id is unknown so far."""
        if not self._has_inserted:
            self.execute("SAVEPOINT inserted")
            self._has_inserted = True
        self.execute(
            "INSERT INTO runs (id, session, state, created, changed, epoch, owner, events, head)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row[1:],
        )
        return self.find(row.id)

    def write(
        self, before: RunRow, after: RunRow, events: Sequence[EventColumns], contents: Sequence[tuple[bytes, bytes]]
    ) -> None:
        """Add events to a run, with their contents by hash, and change its row."""
        for content in contents:
            self.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", content)
            self.execute("INSERT OR IGNORE INTO uses VALUES (?, ?)", (before.number, content[0]))
        for columns in events:
            self.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (before.number, *columns))
        self.execute(
            "UPDATE runs SET changed = ?, events = ?, head = ? WHERE number = ?",
            (after.changed, after.events, after.head, before.number),
        )
        # Apart from the rest: with `state`, SQLite would write the index of states again for each event.
        if after.state != before.state or after.epoch != before.epoch:
            self.execute(
                "UPDATE runs SET state = ?, epoch = ?, owner = ? WHERE number = ?",
                (after.state, after.epoch, after.owner, before.number),
            )

    def events(self, row: RunRow, *, has_contents: bool = True, limit: int | None = None) -> list[EventColumns]:
        """Return the first events of a run, or all; without their contents, None stands for these."""
        query = _EVENTS if has_contents else _EVENTS_WITHOUT_CONTENTS
        try:
            return self.execute(query, (row.number, -1 if limit is None else limit)).fetchall()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            # It concerns this run alone, as far as anyone knows: the others can be read.
            message = f"the journal was damaged or changed: the events of run {row.id} cannot be read: {error}"
            raise JournalCorruptError(message) from error

    def content(self, row: RunRow, digest: bytes) -> object:  # noqa: ARG002 - runs share what they store
        """Return a content by its hash, or None."""
        for (data,) in self.execute("SELECT data FROM contents WHERE hash = ?", (digest,)).fetchall():
            return data
        return None

    def remove(self, row: RunRow, seconds: float, digest: bytes) -> None:
        """Remove a run, and the contents of no other run; its number stays known."""
        contents = self.execute("SELECT content FROM uses WHERE run = ?", (row.number,)).fetchall()
        # A damaged row may have the number of a pruned run, of which the record stays as it is.
        known = "INSERT INTO pruned VALUES (?, ?, ?, ?) ON CONFLICT (number) DO NOTHING"
        self.execute(known, (row.number, row.id, seconds, digest))
        self.execute("DELETE FROM runs WHERE number = ?", (row.number,))
        unused = "DELETE FROM contents WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM uses WHERE content = hash)"
        for content in contents:
            self.execute(unused, content)

    def version(self) -> object:
        """Return the number of the last commit."""
        return self.execute("SELECT number FROM commits").fetchall()

    def verify(self) -> None:
        """Check the rows outside of single runs. Raises JournalCorruptError."""
        verify_rest(self.database)

    def has_decision(self, row: RunRow) -> bool:
        """Return whether a decision was added to a run since it had this row."""
        query = "SELECT 1 FROM events WHERE run = ? AND position > ? AND kind = 'decision' LIMIT 1"
        return bool(self.execute(query, (row.number, row.events)).fetchall())

    def used_bytes(self) -> int:
        """Return how many bytes of the file are in use."""
        ((pages,),) = self.execute("PRAGMA page_count").fetchall()
        ((free,),) = self.execute("PRAGMA freelist_count").fetchall()
        ((page_size,),) = self.execute("PRAGMA page_size").fetchall()
        return int((pages - free) * page_size)

    def _select_readable(self, condition: str, *values: object) -> list[RunRow]:
        """Return rows by their states and numbers; of those on a damaged page, all but the number and id is None."""
        rows = self._try_select(condition, *values)
        if rows is None:
            rows = list[RunRow]()
            for (number,) in self.execute(f"{_NUMBERS_BY_STATE} {condition}", values).fetchall():
                one = self._try_select("WHERE number = ?", number)
                rows += one or [RunRow(*columns) for columns in self.execute(_UNREADABLE, {"number": number})]
        return rows

    def _try_select(self, condition: str, *values: object) -> list[RunRow] | None:
        """Return rows, or None if one of them is on a damaged page."""
        try:
            return self._select(condition, *values)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            return None

    def _select(self, condition: str, *values: object) -> list[RunRow]:
        """Return rows whatever their types: SQLite does not check them when it reads, and one hides no other."""
        if not _is_text(*values):
            return []
        return [RunRow(*columns) for columns in self.execute(f"{_RUNS} {condition}", values).fetchall()]


def _is_text(*values: object) -> bool:
    """Return whether SQLite can compare these values: its text has no lone surrogates, so no run has them in its id."""
    texts = "".join(value for value in values if isinstance(value, str))
    return texts.isascii() or texts == texts.encode("utf-8", "replace").decode()


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error of SQLite's says that the file is damaged."""
    return primary_code(error) in _DAMAGE


def primary_code(error: sqlite3.Error) -> int:
    """Return the code of an error's kind, without the bits that say more of it; that of any error where it has none.

    Source: https://www.sqlite.org/rescode.html#primary_result_codes_versus_extended_result_codes
    """
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY_CODE


def verify_rest(database: sqlite3.Connection) -> None:
    """Check all but the runs. Raises JournalCorruptError, naming the first bad row."""
    if database.execute("SELECT id, reader FROM format").fetchall() != [(1, READER)]:
        _raise_bad("the row of the table format is missing or was changed")
    for (number,) in database.execute("SELECT number FROM runs WHERE number < 1 LIMIT 1").fetchall():
        _raise_bad(f"row {number} of the table runs was added or changed: its number is not positive")
    _verify_numbers(database)
    for problem, query in _CONTENT_PROBLEMS.items():
        for (content,) in database.execute(query).fetchall():
            _raise_bad(f"a row of the table {problem}: {_hex(content)}")
    for table, *_ in database.execute("PRAGMA foreign_key_check"):
        _raise_bad(f"a row of the table {table} was added: it belongs to no run")
    for own_hash, data in database.execute("SELECT hash, data FROM contents"):
        if content_hash(data) != own_hash:
            _raise_bad(f"a row of the table contents was changed: {_hex(own_hash)}")


def _verify_numbers(database: sqlite3.Connection) -> None:
    """Check that no run is missing, but for those that were pruned."""
    columns: tuple[object, ...]
    for columns in database.execute("SELECT number, id, time, hash FROM pruned"):
        number, run_id, seconds, own_hash = columns
        is_typed = isinstance(number, int) and isinstance(run_id, str) and isinstance(seconds, float)
        if not is_typed or own_hash != pruned_hash(number, run_id, seconds):
            _raise_bad(f"row {number} of the table pruned was changed or added")
    sequence = database.execute(_SEQUENCE).fetchall()
    last = 0
    if sequence:
        ((name, last),) = sequence[:1]
        if len(sequence) > 1 or name != "runs" or type(last) is not int:
            _raise_bad("a row of the table sqlite_sequence was changed or added: it is not the number of the last run")
    expected = 1
    for (number,) in database.execute(f"{_NUMBERS} ORDER BY number"):
        if number < expected:
            _raise_bad(f"row {number} of the table pruned was changed or added")
        if number > expected:
            break
        expected += 1
    if expected != last + 1:
        _raise_bad(f"row {min(expected, last + 1)} of the table runs was removed or added, though not by prune()")


def _hex(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else safe_repr(value)


def _raise_bad(message: str) -> None:
    raise JournalCorruptError(message)
