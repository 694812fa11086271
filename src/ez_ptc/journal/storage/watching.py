"""Looking for decisions and changed states, again and again: SQLite tells no other process of a commit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from ez_ptc.journal.stores.protocol import RunRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ez_ptc.journal.storage.rows import SQLiteRows

__all__ = ["watch"]

_SECONDS: Final = 0.03
_BATCH: Final = 500


class _Moment(NamedTuple):
    """The unfinished runs after a commit, by number, and the number of the last run."""

    version: object
    unfinished: dict[int, RunRow]
    last: int


def watch(read: Callable[[Callable[[SQLiteRows], _Moment]], _Moment], seconds: float | None) -> Iterator[str]:
    """Return an iterator over the ids of changed runs: it compares with this moment, and ends after some seconds."""
    return _compare(read, read(_look), None if seconds is None else time.monotonic() + seconds)


def _compare(
    read: Callable[[Callable[[SQLiteRows], _Moment]], _Moment], before: _Moment, deadline: float | None
) -> Iterator[str]:
    while deadline is None or time.monotonic() < deadline:
        changed: list[str] = []

        def look(rows: SQLiteRows, before: _Moment = before, changed: list[str] = changed) -> _Moment:
            if rows.version() == before.version:
                return before
            moment = _look(rows)
            changed += [row.id for row in _changes(rows, before, moment)]
            return moment

        before = read(look)
        yield from changed
        if not changed:
            time.sleep(_SECONDS)


def _look(rows: SQLiteRows) -> _Moment:
    version, unfinished, last = rows.version(), dict[int, RunRow](), 0
    while batch := rows.open_runs(last, _BATCH):
        unfinished |= {row.number: row for row in batch}
        last = batch[-1].number
    newest = rows.page(None, None, 1)
    return _Moment(version, unfinished, newest[0].number if newest else 0)


def _changes(rows: SQLiteRows, before: _Moment, after: _Moment) -> Iterator[RunRow]:
    """Yield the runs that are new, have ended, have another state or a decision."""
    for number, row in before.unfinished.items():
        present = after.unfinished.get(number)
        is_other = present is None or (present.state, present.epoch) != (row.state, row.epoch)
        # The owner of a running run adds events all the time.
        has_more = present is not None and present.events != row.events
        if is_other or (has_more and (row.state != "running" or rows.has_decision(row))):
            yield row
    last = before.last
    while batch := rows.after(last, _BATCH):
        yield from batch
        last = batch[-1].number
