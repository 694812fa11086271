"""Ending a run that cannot go on, and removing one whose record is damaged."""

from __future__ import annotations

import logging
from itertools import chain
from typing import TYPE_CHECKING

from ez_ptc._wrong_calls import check_id
from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.results import ending_events, result_from_bytes
from ez_ptc.journal.rows import append, find_run, prune_run, verify_run
from ez_ptc.journal.run import end_text, in_progress
from ez_ptc.journal.states import CHANGES, FINISHED
from ez_ptc.journal.stores.protocol import MAX_RUNS
from ez_ptc.journal.upkeep.listing import list_rows, listed_id
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from ez_ptc.journal.stores.protocol import RunRow, RunRows, RunStore
    from ez_ptc.journal.upkeep.reading import RunReader

__all__ = ["abandon_run", "discard_run"]

_log = logging.getLogger("ez_ptc.journal")


def abandon_run(store: RunStore, run_id: str, reason: str, by: str | None) -> None:
    """End an unfinished run as failed. Raises as `Journal.abandon` does."""
    if not isinstance(reason, str) or not reason.strip():  # pyright: ignore[reportUnnecessaryIsInstance] - from users
        message = f"expected the reason for abandoning a run as text, got {safe_repr(reason)}"
        raise ValueError(message)
    row = store.read(lambda rows: _find_unfinished(rows, run_id))
    holder = object()

    def write(rows: RunRows) -> None:
        row = _find_unfinished(rows, run_id)
        record, result, unknown = None, ExecutionResult(), ""
        # No one can go on with a run whose record cannot be read, so it can be ended at least.
        try:
            record = RunRecord.of(row.id, verify_run(rows, row))
            if record.has_unknown:
                unknown = record.describe_unknown()
            if record.ending is not None and record.ending.payload is not None:
                result = result_from_bytes(record.ending.payload, run_id, record)
        except JournalCorruptError as error:
            record = None
            _require_end(rows, row, error)
            unknown = ", ".join(filter(None, (unknown, str(error))))
        result.success, result.status, result.return_value, result.described = False, "failed", None, ""
        result.error = f"the run was abandoned{f' by {by}' if by else ''}: {reason}"
        if unknown:
            result.error += f"; {unknown}"
        # What its program left in a session is lost: it cannot be run again to its end.
        data = {"state": "failed", "lost": True, "abandoned": reason, "by": by}
        if row.state not in CHANGES:  # only the row is wrong: what its events say stays readable
            row = row._replace(state="outcome_unknown")
        append(rows, row, ending_events("end", data, result, record), "fail")

    try:
        if not store.locks.own(row.number, holder):
            raise in_progress(run_id, row.owner)
        store.transact(write)
    finally:
        store.locks.disown_by(holder)


def discard_run(reader: RunReader, run_id: str) -> None:
    """Remove one damaged run. Raises as `Journal.discard` does."""
    check_id(run_id, "a run")
    store, holder = reader.store, object()
    damaged = store.read(lambda rows: _find_damaged(reader, rows, run_id))

    def write(rows: RunRows) -> None:
        row = _find_damaged(reader, rows, run_id)
        if row.number != damaged.number:  # its lock is another one
            message = f"run {run_id} was changed meanwhile: nothing was removed; look at it again"
            raise JournalError(message)
        prune_run(rows, row._replace(id=run_id))

    try:
        # A run of any other number has no lock, and no one can execute it.
        if 0 < damaged.number < MAX_RUNS and not store.locks.own(damaged.number, holder):
            raise in_progress(run_id, damaged.owner)
        store.transact(write)
    except JournalCorruptError as error:
        message = (
            f"run {run_id} cannot be removed, because the file itself is damaged where its record is: {error}; the "
            f"other runs can be used, and once they have ended, ez-ptc runs copy JOURNAL NEW_FILE saves all that is "
            f"readable"
        )
        raise JournalCorruptError(message) from error
    finally:
        store.locks.disown_by(holder)
    _log.warning("the damaged run %s was discarded: row %d of the table runs", run_id, damaged.number)


def _find_unfinished(rows: RunRows, run_id: str) -> RunRow:
    try:
        row = find_run(rows, run_id)
    except JournalCorruptError as error:
        raise _not_ended(run_id, error) from error
    if row.state in FINISHED:
        raise JournalError(end_text(row))
    return row


def _require_end(rows: RunRows, row: RunRow, error: JournalCorruptError) -> None:
    """Raise JournalCorruptError if nothing can be added to a damaged run, where its row says that its events end."""
    try:
        positions = [columns[0] for columns in rows.events(row, has_contents=False)]
    except JournalCorruptError as unreadable:
        raise _not_ended(row.id, unreadable) from unreadable
    if row.events >= MAX_RUNS or not all(type(position) is int and position <= row.events for position in positions):
        raise _not_ended(row.id, error) from error


def _not_ended(run_id: str, error: JournalCorruptError) -> JournalCorruptError:
    message = (
        f"nothing can be added to run {run_id}: {error}; Journal.discard, or ez-ptc runs discard, removes it alone"
    )
    return JournalCorruptError(message)


def _find_damaged(reader: RunReader, rows: RunRows, run_id: str) -> RunRow:
    """Return the damaged run listed by an id. Raises JournalError for a run that can be read."""
    number = rows.number_of(run_id)
    likely = rows.after(number - 1, 1) if number is not None else []
    is_readable = False
    for row in chain(likely, list_rows(rows, None, None)):
        if listed_id(row) != run_id:
            continue
        try:
            reader.whole(rows, row)
        except JournalCorruptError:
            return row
        is_readable = True
    if is_readable:
        message = (
            f"run {run_id} can be read, and is kept: end it with abandon(run_id, reason); prune() removes ended runs"
        )
        raise JournalError(message)
    return find_run(rows, run_id)
