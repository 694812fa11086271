"""Removing old runs, a few at a time, except those needed by others.

A program of a session has the variables of all before it, and one that corrects a failed run has its calls. So the
ended runs of a session go together, and a failed run stays while its correction may go on.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.rows import prune_run, verify_run
from ez_ptc.journal.states import FINISHED
from ez_ptc.journal.stores.protocol import require_types
from ez_ptc.journal.upkeep.listing import corrected_by, list_rows, listed_id
from ez_ptc.journal.upkeep.reading import check_state
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from ez_ptc.journal.stores.protocol import RunRow, RunRows, RunStore
    from ez_ptc.journal.upkeep.reading import RunReader

__all__ = ["check_age", "prune"]

_log = logging.getLogger("ez_ptc.journal")
_BATCH: Final = 200
# A transaction ends after so long, and others may write before the next; one run of many megabytes takes longer.
_MAX_SECONDS: Final = 0.01
# Longer than others wait between two attempts to write.
_PAUSE_SECONDS: Final = 0.03


def check_age(name: str, age: object) -> None:
    """Raise TypeError unless the argument of this name is a timedelta."""
    if not isinstance(age, timedelta):
        message = f"{name} must be a timedelta, got {safe_repr(age)}: write timedelta(days=30)"
        raise TypeError(message)


class _Pruning(NamedTuple):
    """Runs in these states, unchanged since a time, go, except the needed ones; the lasting sessions stay."""

    states: frozenset[str]
    limit: float
    needed: AbstractSet[str]
    lasting: set[str]

    def keeps(self, row: RunRow) -> bool:
        return row.state not in self.states or row.changed > self.limit or row.id in self.needed


def prune(reader: RunReader, older_than: timedelta, states: Iterable[str]) -> int:
    """Remove the runs in these states that have not changed for a time; return their number.

    Raises TypeError and ValueError as `Journal.prune` does.
    """
    check_age("older_than", older_than)
    # Text is iterable, and its characters are no states.
    states = frozenset([states] if isinstance(states, str) else states)
    for state in states:
        check_state(state)
        if state == "damaged":
            message = "damaged runs are removed one at a time, by their ids: use discard(run_id)"
            raise ValueError(message)
    store = reader.store
    limit = store.read(lambda rows: rows.newest()) - older_than.total_seconds()
    last = removed = 0
    needed: set[str] | None = None
    lasting = set[str]()
    while True:
        last, batch = store.read(partial(_select, reader, states, limit, last))
        if needed is None and any(row.state == "failed" or row.session for row in batch):
            needed = store.read(_find_needed)
        plan = _Pruning(states, limit, needed or frozenset(), lasting)
        batch = [row for row in batch if row.id not in plan.needed]
        if batch and not removed:
            store.make_room()
        while batch:
            done, count = store.transact(partial(_remove, store, plan, batch))
            removed += count
            batch = batch[done:]
            if batch:
                time.sleep(_PAUSE_SECONDS)
        if last < 0:
            return removed


def _select(
    reader: RunReader, states: frozenset[str], limit: float, last: int, rows: RunRows
) -> tuple[int, list[RunRow]]:
    """Return the next runs to remove, and the number to go on after; -1 at the end."""
    batch = rows.after(last, _BATCH, changed_by=limit)
    chosen: list[RunRow] = []
    for row in batch:
        state = row.state
        try:
            require_types(row)
            if state not in FINISHED and not states <= set(FINISHED):
                state = reader.state(row, RunRecord.of(row.id, verify_run(rows, row)))
        except JournalCorruptError as error:  # the others go
            _log.warning("run %s is left out of those to remove: %s; discard(run_id) removes it", listed_id(row), error)
            continue
        if state in states and state != "running":
            chosen.append(row)
    return (batch[-1].number if len(batch) == _BATCH else -1), chosen


def _with_session(rows: RunRows, row: RunRow, plan: _Pruning) -> list[RunRow]:
    """Return an old run with those of its session; nothing if one of them is to stay."""
    if not row.session or row.state not in FINISHED:
        return [row]
    if row.session in plan.lasting:
        return []
    together = rows.of_session(row.session)
    with suppress(JournalCorruptError):
        for other in together:
            require_types(other)
        if not any(map(plan.keeps, together)):
            return together
    plan.lasting.add(row.session)
    return []


def _find_needed(rows: RunRows) -> set[str]:
    """Return the ids of the failed runs that unfinished ones correct, and of those that they correct in turn."""
    needed: set[str] = set()
    for row in list_rows(rows, "paused", None):
        later: RunRow | None = row
        while later is not None and (earlier := corrected_by(rows, later)) and earlier not in needed:
            needed.add(earlier)
            with suppress(JournalCorruptError):
                later = rows.find(earlier)
    return needed


def _remove(store: RunStore, plan: _Pruning, batch: list[RunRow], rows: RunRows) -> tuple[int, int]:
    """Remove runs unless they have changed, as many as there is time for; return how many were seen and removed."""
    end = time.monotonic() + _MAX_SECONDS
    removed = 0
    for done, row in enumerate(batch, 1):
        if rows.has_same(row) and (row.state in FINISHED or not store.locks.is_owned(row.number)):
            for other in _with_session(rows, row, plan):
                prune_run(rows, other)
                removed += 1
        if time.monotonic() > end:
            return done, removed
    return len(batch), removed
