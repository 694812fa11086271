"""Becoming the owner of a run: of a new one, or of one to go on with.

A `holder` is any object. Should an error or an interruption come before the execution begins, its maker gives up all it
owns, so no run stays locked without an execution.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ez_ptc.errors import JournalError
from ez_ptc.journal.chain import Event, event_size
from ez_ptc.journal.deciding import decide, require_known_outcomes, to_events
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.rows import append, duplicate_id, find_run, insert_run, lock_taken, lost_record, verify_run
from ez_ptc.journal.run import end_text, in_progress, owner_name
from ez_ptc.journal.states import FINISHED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ez_ptc.journal.rows import RunRow
    from ez_ptc.journal.stores.protocol import RunRows, RunStore
    from ez_ptc.tools.decisions import Decision, Settlement

__all__ = ["claim_run", "start_run"]


def start_run(
    store: RunStore, run_id: str, event: Event, holder: object, *, session: str = "", position: int = 0
) -> tuple[RunRow, RunRecord]:
    """Start a run with its first event, owned by `holder`. Raises JournalError as `Journal.start` does.

    Raises ContinuationError if the run it continues is not there.
    """

    def write(rows: RunRows) -> RunRow:
        if session and len(rows.of_session(session)) != position:
            message = f"session {session} was continued elsewhere: open it again with toolkit.session(id=...)"
            raise JournalError(message)
        if rows.number_of(run_id) is not None:
            raise duplicate_id(run_id)
        continued = event.data.get("continues")
        # To find it also holds it, until this run is one that needs it.
        if continued is not None and rows.find(continued["run"]) is None:
            raise lost_record(continued["run"])
        row = insert_run(rows, run_id, session, owner_name(), [event])
        if not store.locks.own(row.number, holder):
            raise lock_taken(run_id)
        return row

    return store.transact(write), RunRecord(event, run_id)


def claim_run(
    store: RunStore,
    run_id: str,
    answers: Mapping[str, object],
    check: Callable[[RunRecord, dict[str, Decision | Settlement]], None],
    holder: object,
) -> tuple[RunRow, RunRecord]:
    """Let `holder` own an unfinished run, and record decisions. Raises JournalError as `Journal.claim` does.

    The record is read and checked before anything is written, and delays no writer.
    """
    row = store.read(partial(_find_unfinished, run_id))
    if not store.locks.own(row.number, holder):
        raise in_progress(run_id, row.owner)
    while True:
        # Its owner alone writes to a run, but for decisions: after one in between, it is read again.
        row, events = store.read(lambda rows: ((row := _find_unfinished(run_id, rows)), verify_run(rows, row)))
        record = RunRecord.of(run_id, events)
        decisions = decide(run_id, record, answers)
        require_known_outcomes(run_id, record, decisions)
        check(record, decisions)
        written = [Event("claim", data={"owner": owner_name()}), *to_events(record, decisions)]
        claimed = store.transact(partial(_write_claim, row, written))
        if claimed is not None:
            break
    # What was just written need not be read again: a run may have thousands of events.
    for position, event in enumerate(written, row.events + 1):
        record.add(event._replace(position=position, time=claimed.changed))
        record.size += event_size(event)
    return claimed, record


def _find_unfinished(run_id: str, rows: RunRows) -> RunRow:
    row = find_run(rows, run_id)
    if row.state in FINISHED:
        raise JournalError(end_text(row))
    return row


def _write_claim(row: RunRow, events: Sequence[Event], rows: RunRows) -> RunRow | None:
    """Begin an execution unless the run has changed since it was read; return its row, or None."""
    current = _find_unfinished(row.id, rows)
    if current.head != row.head:
        return None
    return append(rows, current, events, "claim", owner=owner_name())
