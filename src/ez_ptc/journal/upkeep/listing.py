"""Finding the runs of a page, and those whose ids begin alike."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalError
from ez_ptc.journal.rows import RUN_COLUMNS, run_row
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ez_ptc.journal.rows import RunRow
    from ez_ptc.journal.store import Database

__all__ = ["find_ids", "list_rows", "number_of", "short_id"]

_BATCH: Final = 100
_MIN_ID: Final = 8
_GENERATED_ID: Final = 32
_FINISHED: Final = frozenset({"done", "failed"})


def number_of(database: Database, run_id: str) -> int:
    """Return the number of a run, which may be pruned. Raises JournalError for an unknown id."""
    query = "SELECT number FROM runs WHERE id = ? UNION ALL SELECT number FROM pruned WHERE id = ?"
    for (number,) in database.execute(query, (run_id, run_id)).fetchall():
        return int(number)
    message = f"the journal has no run {safe_repr(run_id)}, before which to list others: see Journal.runs()"
    raise JournalError(message)


def list_rows(database: Database, state: str | None, before: int | None) -> Iterator[RunRow]:
    """Yield the rows of runs that may be in a state, or in any, the latest first; `before` is a run's number.

    The states of unfinished runs follow from their events and owners.
    """
    last = before
    for _ in count():
        conditions = ["number < ?"] if last is not None else []
        values: list[object] = [] if last is None else [last]
        if state in _FINISHED:
            conditions.append("state = ?")
            values.append(state)
        elif state is not None:
            conditions.append("state NOT IN ('done', 'failed')")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        query = f"{RUN_COLUMNS} {where} ORDER BY number DESC LIMIT {_BATCH}"
        rows = [run_row(row) for row in database.execute(query, values).fetchall()]
        yield from rows
        if len(rows) < _BATCH:
            return
        last = rows[-1].number


def find_ids(database: Database, prefix: str) -> list[str]:
    """Return the ids of the runs whose ids begin with `prefix`: that one alone if it is an id."""
    query = "SELECT id FROM runs WHERE substr(id, 1, length(?)) = ? ORDER BY id != ?, number"
    ids = [str(run_id) for (run_id,) in database.execute(query, (prefix, prefix, prefix)).fetchall()]
    return [prefix] if prefix in ids[:1] else ids


def short_id(database: Database, run_id: str) -> str:
    """Return the beginning of an id, at least 8 characters, that no other id has; one of the caller's choice whole."""
    if len(run_id) != _GENERATED_ID or not run_id.isalnum():
        return run_id
    neighbors = database.execute(
        "SELECT (SELECT max(id) FROM runs WHERE id < ?), (SELECT min(id) FROM runs WHERE id > ?)", (run_id, run_id)
    ).fetchall()[0]
    length = _MIN_ID
    while any(neighbor is not None and neighbor[:length] == run_id[:length] for neighbor in neighbors):
        length += 1
    return run_id[:length]
