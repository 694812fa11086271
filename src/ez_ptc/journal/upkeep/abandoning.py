"""Ending a run that cannot go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.chain import Event
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.results import result_from_bytes, result_to_bytes
from ez_ptc.journal.rows import append, find_run, verify_run
from ez_ptc.journal.run import end_text, in_progress
from ez_ptc.journal.states import FINISHED
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from ez_ptc.journal.stores.protocol import RunRows, RunStore

__all__ = ["abandon_run"]


def abandon_run(store: RunStore, run_id: str, reason: str, by: str | None) -> None:
    """End an unfinished run as failed. Raises as `Journal.abandon` does."""
    if not isinstance(reason, str) or not reason.strip():  # pyright: ignore[reportUnnecessaryIsInstance] - from users
        message = f"expected the reason for abandoning a run as text, got {safe_repr(reason)}"
        raise ValueError(message)
    row = store.read(lambda rows: find_run(rows, run_id))
    if row.state in FINISHED:
        raise JournalError(end_text(row))
    holder = object()

    def write(rows: RunRows) -> None:
        row = find_run(rows, run_id)
        if row.state in FINISHED:
            raise JournalError(end_text(row))
        result, unknown = ExecutionResult(), ""
        # No one can go on with a run whose record cannot be read, so it can be ended at least.
        try:
            record = RunRecord.of(row.id, verify_run(rows, row))
            if record.has_unknown:
                unknown = record.describe_unknown()
            if record.ending is not None and record.ending.payload is not None:
                result = result_from_bytes(record.ending.payload, run_id, record)
        except JournalCorruptError as error:
            unknown = ", ".join(filter(None, (unknown, str(error))))
        result.success, result.status, result.return_value, result.described = False, "failed", None, ""
        result.error = f"the run was abandoned{f' by {by}' if by else ''}: {reason}"
        if unknown:
            result.error += f"; {unknown}"
        # What its program left in a session is lost: it cannot be run again to its end.
        data = {"state": "failed", "lost": True, "abandoned": reason, "by": by}
        append(rows, row, [Event("end", data=data, payload=result_to_bytes(result))], "fail")

    try:
        if not store.locks.own(row.number, holder):
            raise in_progress(run_id, row.owner)
        store.transact(write)
    finally:
        store.locks.disown_by(holder)
