"""Removing old runs, a few at a time, except those needed by others.

A program of a session has the variables of all before it, and one that corrects a failed run has its calls. So the
ended runs of a session go together, and a failed run stays while its correction may go on, or be corrected in turn. A
correction begins with a look at its failed run, which holds it: so it begins before the removal, or not at all.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import takewhile
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

    from ez_ptc.journal.stores.protocol import RunRow, RunRows, RunStore
    from ez_ptc.journal.upkeep.reading import RunReader

__all__ = ["check_age", "prune"]

_log = logging.getLogger("ez_ptc.journal")
_BATCH: Final = 200
# On a server, starts that began earlier may be committed later: never so many.
_MAX_UNDER_WAY: Final = 200
# A transaction ends after so long, and others may write before the next; one run of many megabytes takes longer.
_MAX_SECONDS: Final = 0.01
# Longer than others wait between two attempts to write.
_PAUSE_SECONDS: Final = 0.03


def check_age(name: str, age: object) -> None:
    """Raise TypeError unless the argument of this name is a timedelta."""
    if not isinstance(age, timedelta):
        message = f"{name} must be a timedelta, got {safe_repr(age)}: write timedelta(days=30)"
        raise TypeError(message)


class _Needed:
    """The ids of the failed runs that others continue: unfinished ones, and failed ones that stay themselves.

    A run of the same session does not count, since all of a session stay or go together. So a session stays by a run
    that stays by its state or age, or that is continued by such a run, but never by itself: corrections may leave it
    and come back.
    """

    def __init__(self, states: frozenset[str], limit: float) -> None:
        self.ids: Final = set[str]()
        self._states: Final = states
        self._limit: Final = limit
        self._known: Final = set[int]()
        # The sessions that stay, and of the others those with corrections of runs outside.
        self._lasting: Final = set[str]()
        self._others: Final = set[str]()
        self._last = 0
        self._version: object = None

    def keeps(self, row: RunRow) -> bool:
        """Return whether a run stays: by its state or age, or since it is needed."""
        return row.state not in self._states or row.changed > self._limit or row.id in self.ids

    def update(self, rows: RunRows) -> None:
        """Look at the runs that were added since the last look."""
        version, last = rows.version(), self._last
        if version == self._version:
            return
        self._version = version
        for state in ("paused", "failed"):
            for row in takewhile(lambda row: row.number > last, list_rows(rows, state, None)):
                self._last = max(self._last, row.number - _MAX_UNDER_WAY)
                if row.state != "failed" or self.keeps(row):
                    self._add(rows, row)
                elif row.session and row.session not in self._lasting:
                    earlier = _find_corrected(rows, row)
                    if earlier is not None and earlier.session != row.session:
                        self._others.add(row.session)
        for session in tuple(self._others):  # others may have gone on with them
            if session not in self._lasting and self._lasts(rows, session):
                for row in self._of_session(rows, session):
                    self._add(rows, row)
        self._others.difference_update(self._lasting)

    def _lasts(self, rows: RunRows, session: str) -> bool:
        together = rows.of_session(session)
        try:
            for row in together:
                require_types(row)
        except JournalCorruptError:
            return True
        return any(map(self.keeps, together))

    def _of_session(self, rows: RunRows, session: str) -> list[RunRow]:
        """Return the runs of a session that may be corrections to go on with, once."""
        if not session or session in self._lasting:
            return []
        self._lasting.add(session)
        return [row for row in rows.of_session(session) if row.state != "done"]

    def _add(self, rows: RunRows, row: RunRow) -> None:
        """Add the run continued by a run that stays, the one continued by that, and so on."""
        waiting = [row]
        while waiting:
            later = waiting.pop()
            if later.number in self._known:
                continue
            self._known.add(later.number)
            waiting += self._of_session(rows, later.session)
            earlier = _find_corrected(rows, later)
            if earlier is not None:
                waiting.append(earlier)
                if not earlier.session == later.session != "":
                    self.ids.add(earlier.id)


def _find_corrected(rows: RunRows, row: RunRow) -> RunRow | None:
    """Return the corrected run of a correction, without holding it; None for any other run, or if it was pruned."""
    number = rows.number_of(corrected_by(rows, row) or "")
    following = [] if number is None else rows.after(number - 1, 1)
    return following[0] if following and following[0].number == number else None


class _Pruning(NamedTuple):
    """Old runs go, except the needed ones; the lasting sessions stay."""

    needed: _Needed
    lasting: set[str]


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
    plan = _Pruning(_Needed(states, limit), set())
    while True:
        last, batch = store.read(partial(_select, reader, states, limit, last))
        if _may_be_needed(batch):
            store.read(plan.needed.update)
        batch = [row for row in batch if row.id not in plan.needed.ids]
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


def _may_be_needed(rows: Iterable[RunRow]) -> bool:
    return any(row.state == "failed" or row.session for row in rows)


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
        # To compare one also holds it, so that no correction of it begins meanwhile.
        if not any(map(plan.needed.keeps, together)) and all(map(rows.has_same, together)):
            return together
    plan.lasting.add(row.session)
    return []


def _remove(store: RunStore, plan: _Pruning, batch: list[RunRow], rows: RunRows) -> tuple[int, int]:
    """Remove runs unless they have changed, as many as there is time for; return how many were seen and removed."""
    end = time.monotonic() + _MAX_SECONDS
    removed = 0
    for done, row in enumerate(batch, 1):
        group: list[RunRow] = []
        if rows.has_same(row) and (row.state in FINISHED or not store.locks.is_owned(row.number)):
            group = _with_session(rows, row, plan)
        # From here on, no correction of one of them can begin; those that have begun since the last look are seen.
        if _may_be_needed(group):
            plan.needed.update(rows)
        if plan.needed.ids.isdisjoint(other.id for other in group):
            for other in group:
                prune_run(rows, other)
                removed += 1
        if time.monotonic() > end:
            return done, removed
    return len(batch), removed
