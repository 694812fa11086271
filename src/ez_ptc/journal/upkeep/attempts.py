"""The programs that corrected each other: a failed run, and those after it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalError
from ez_ptc.journal.record import Record
from ez_ptc.journal.results import result_from_bytes
from ez_ptc.journal.rows import find_run, verify_run, verify_start
from ez_ptc.view.runs import AttemptView

if TYPE_CHECKING:
    from ez_ptc.journal.stores.protocol import RunRow, RunRows

__all__ = ["list_attempts"]

_MAX_ATTEMPTS: Final = 10
# A correction starts soon after the failure; others may start runs in between.
_MAX_BETWEEN: Final = 20


def list_attempts(rows: RunRows, row: RunRow) -> tuple[AttemptView, ...]:
    """Return a run between the runs it corrects and those that correct it, in order; none if it is alone."""
    attempts = [row]
    with suppress(JournalError):  # it was pruned: the others are shown all the same
        while len(attempts) < _MAX_ATTEMPTS and (failed := _corrected_by(rows, attempts[0])):
            attempts.insert(0, find_run(rows, failed))
    while attempts[-1].state == "failed" and len(attempts) < _MAX_ATTEMPTS:
        later = rows.after(attempts[-1].number, _MAX_BETWEEN)
        correction = next((other for other in later if _corrected_by(rows, other) == attempts[-1].id), None)
        if correction is None:
            break
        attempts.append(correction)
    if len(attempts) == 1:
        return ()
    return tuple(_view_attempt(rows, attempt) for attempt in attempts)


def _corrected_by(rows: RunRows, row: RunRow) -> str | None:
    """Return the id of the run corrected by a run, or None; also None for a damaged one."""
    with suppress(JournalError):
        data = verify_start(rows, row).data
        return data.get("repairs") or data.get("continues", {}).get("run")
    return None


def _view_attempt(rows: RunRows, row: RunRow) -> AttemptView:
    try:
        events = verify_run(rows, row)
    except JournalError:
        return AttemptView(row.id, "damaged", "")
    record = Record.of(events)
    error = None
    if record.ending is not None and record.ending.payload is not None:
        error = result_from_bytes(record.ending.payload, row.id, record).error
    return AttemptView(row.id, row.state, (events[0].payload or b"").decode(), error)
