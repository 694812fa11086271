"""Removing old runs, a few at a time, and the room that a journal takes."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalError
from ez_ptc.journal.record import Record
from ez_ptc.journal.rows import RUN_COLUMNS, prune_run, run_row, verify_run
from ez_ptc.journal.upkeep.reading import FINISHED, check_state
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.journal.rows import RunRow
    from ez_ptc.journal.storage.connection import Connection
    from ez_ptc.journal.store import Database, Store
    from ez_ptc.journal.upkeep.reading import RunReader

__all__ = ["check_age", "prune", "require_room"]

_BATCH: Final = 200
# A transaction ends after so long, and others may write before the next; one run of many megabytes takes longer.
_MAX_SECONDS: Final = 0.01
# Longer than others wait between two attempts to write.
_PAUSE_SECONDS: Final = 0.03
_DAY_SECONDS: Final = timedelta(days=1).total_seconds()
# The newest event, the first one of the day before it, and the last one before that day.
_NEWEST: Final = """
    SELECT newest, (SELECT min(changed) FROM runs WHERE changed > newest - ?1),
    (SELECT max(changed) FROM runs WHERE changed <= newest - ?1)
    FROM (SELECT max(changed) AS newest FROM runs)
"""


def check_age(name: str, age: object) -> None:
    """Raise TypeError unless the argument of this name is a timedelta."""
    if not isinstance(age, timedelta):
        message = f"{name} must be a timedelta, got {safe_repr(age)}: write timedelta(days=30)"
        raise TypeError(message)


def prune(reader: RunReader, older_than: timedelta, states: Iterable[str]) -> int:
    """Remove the runs in these states that have not changed for a time; return their number.

    Raises TypeError and ValueError as `Journal.prune` does.
    """
    check_age("older_than", older_than)
    # Text is iterable, and its characters are no states.
    states = frozenset([states] if isinstance(states, str) else states)
    for state in states:
        check_state(state)
    store = reader.store
    limit = store.read(_now) - older_than.total_seconds()
    last = removed = 0
    while True:
        last, rows = store.read(partial(_select, reader, states, limit, last))
        if rows and not removed:
            # On a full disk, the room of the log is what the removal needs.
            store.maintain(_checkpoint)
        while rows:
            done, count = store.transact(partial(_remove, store, rows))
            removed += count
            rows = rows[done:]
            if rows:
                time.sleep(_PAUSE_SECONDS)
        if last < 0:
            return removed


def _now(database: Database) -> float:
    """Return the time; at most a day after that of the newest event, in case the clock of this machine is ahead.

    Programs may have been recorded under such a clock. So events after a gap of more than a day count only once they
    have gone on for a day: until then, the last event before the gap is the newest.
    """
    ((newest, first, before),) = database.execute(_NEWEST, (_DAY_SECONDS,)).fetchall()
    if newest is None:
        return time.time()
    if before is not None and first - before > _DAY_SECONDS:
        newest = before
    return min(time.time(), newest + _DAY_SECONDS)


def _select(
    reader: RunReader, states: frozenset[str], limit: float, last: int, database: Database
) -> tuple[int, list[RunRow]]:
    """Return the next runs to remove, and the number to go on after; -1 at the end."""
    query = f"{RUN_COLUMNS} WHERE number > ? AND changed <= ? ORDER BY number LIMIT {_BATCH}"
    rows = [run_row(columns) for columns in database.execute(query, (last, limit)).fetchall()]
    chosen: list[RunRow] = []
    for row in rows:
        state = row.state
        if state not in FINISHED and not states <= set(FINISHED):
            state = reader.state(row, Record.of(verify_run(database, row)))
        if state in states and state != "running":
            chosen.append(row)
    return (rows[-1].number if len(rows) == _BATCH else -1), chosen


def _remove(store: Store, rows: list[RunRow], database: Database) -> tuple[int, int]:
    """Remove runs unless they have changed, as many as there is time for; return how many were seen and removed."""
    end = time.monotonic() + _MAX_SECONDS
    removed = 0
    for done, row in enumerate(rows, 1):
        present = database.execute(f"{RUN_COLUMNS} WHERE number = ?", (row.number,)).fetchall()
        is_same = [run_row(columns) for columns in present] == [row]
        if is_same and (row.state in FINISHED or not store.locks.is_owned(row.number)):
            prune_run(database, row)
            removed += 1
        if time.monotonic() > end:
            return done, removed
    return len(rows), removed


def require_room(store: Store, max_bytes: int) -> None:
    """Raise JournalError if a journal has more bytes in use than it may have: in its file or in its log."""
    size = store.read(partial(_used_bytes, store))
    if size > max_bytes:
        # What is in the log as well as in the file counts once.
        store.maintain(_checkpoint)
        size = store.read(partial(_used_bytes, store))
    if size > max_bytes:
        message = (
            f"the journal {store.path} has {size:,} bytes in use, more than max_bytes={max_bytes:,}: prune() it, or "
            f"raise the limit"
        )
        raise JournalError(message)


def _checkpoint(opened: Connection) -> None:
    opened.checkpoint()


def _used_bytes(store: Store, database: Database) -> int:
    ((pages,),) = database.execute("PRAGMA page_count").fetchall()
    ((free,),) = database.execute("PRAGMA freelist_count").fetchall()
    ((page_size,),) = database.execute("PRAGMA page_size").fetchall()
    log = store.path.with_name(f"{store.path.name}-wal")
    return int((pages - free) * page_size) + (log.stat().st_size if log.exists() else 0)
