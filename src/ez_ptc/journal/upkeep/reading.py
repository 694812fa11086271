"""Reading the runs of a journal: one of them, or a page."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, Final, get_args

from ez_ptc._wrong_calls import check_id
from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.recorded.event_fields import YEAR_9999
from ez_ptc.journal.results import result_from_bytes
from ez_ptc.journal.rows import find_run, verify_run, verify_start
from ez_ptc.journal.run import Run, principal_of
from ez_ptc.journal.states import FINISHED, RunState
from ez_ptc.journal.upkeep.listing import list_rows, listed_id, number_of
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.journal.chain import Event
    from ez_ptc.journal.rows import RunRow
    from ez_ptc.journal.stores.protocol import RunRows, RunStore
    from ez_ptc.messages import PendingCall
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.view.runs import RunView

__all__ = ["RunReader", "check_seconds", "check_state"]

_BATCH: Final = 100
_log = logging.getLogger("ez_ptc.journal")


def check_state(state: object) -> None:
    """Raise ValueError unless a value is the state of a run."""
    if state not in get_args(RunState):
        message = f"unknown state {safe_repr(state)}; expected one of {', '.join(get_args(RunState))}"
        raise ValueError(message)


def check_seconds(timeout: object) -> float | None:
    """Return a timeout in seconds; None for one beyond all clocks. Raises TypeError or ValueError for anything else."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        message = f"expected timeout to be a number of seconds, or None for no end, got {safe_repr(timeout)}"
        raise TypeError(message)
    if isinstance(timeout, float) and math.isnan(timeout):
        message = "expected timeout to be a number of seconds, or None for no end, got nan"
        raise ValueError(message)
    return None if timeout > TIMEOUT_MAX else float(max(timeout, 0.0))


def _check_limit(limit: object) -> None:
    if type(limit) is not int or not limit > 0:
        message = f"limit must be a positive int, got {safe_repr(limit)}"
        raise ValueError(message)


@dataclass(frozen=True)
class RunReader:
    """Reads the runs of a store."""

    store: RunStore

    def page(self, state: RunState | None, limit: int, before: str | None) -> list[Run]:
        """Return the runs of a page. Raises as `Journal.runs` does."""
        if state is not None:
            check_state(state)
        _check_limit(limit)
        if before is not None:
            check_id(before, "a run")

        def read(rows: RunRows) -> list[Run]:
            first = None if before is None else number_of(rows, before)
            runs: list[Run] = []
            for row in list_rows(rows, None if state == "damaged" else state, first):
                try:
                    run = self._outline(rows, row)
                except JournalCorruptError:  # the others are listed
                    run = _damaged_run(self, row)
                if state in {None, run.state}:
                    runs.append(run)
                    if len(runs) == limit:
                        break
            return runs

        return self.store.read(read)

    def claimable(self, limit: int) -> list[Run]:
        """Return resumable runs, the oldest first. Raises ValueError for a limit that is not positive."""
        _check_limit(limit)

        def survey(rows: RunRows) -> list[Run]:
            runs: list[Run] = []
            last = 0
            while batch := rows.open_runs(last, _BATCH):
                last = batch[-1].number
                for row in batch:
                    try:
                        run = self._outline(rows, row)
                    except JournalCorruptError as error:  # the others go on
                        _log.warning("run %s is left out of those to go on with: %s", row.id, error)
                        continue
                    if run.state == "resumable":
                        runs.append(run)
                        if len(runs) == limit:
                            return runs
            return runs

        return self.store.survey(survey)

    def run(self, run_id: str) -> Run:
        """Return a run. Raises JournalError for an unknown id."""
        return self.store.read(lambda rows: self.whole(rows, find_run(rows, run_id))[0])

    def view(self, run_id: str) -> RunView:
        """Return what pages show of a run. Raises JournalError for an unknown id."""
        from ez_ptc.journal.upkeep.viewing import show_source, view_run

        def read(rows: RunRows) -> tuple[RunView, int]:
            row = find_run(rows, run_id)
            events = verify_run(rows, row)
            run, record = self._of_events(row, events, has_calls=False)
            return view_run(rows, row, events, run, record), record.source_rules

        # Its program is parsed, which takes time, after the transaction.
        return show_source(*self.store.read(read))

    def whole(self, rows: RunRows, row: RunRow) -> tuple[Run, RunRecord]:
        """Return a run with its result, and its record."""
        return self._of_events(row, verify_run(rows, row))

    def _of_events(self, row: RunRow, events: list[Event], *, has_calls: bool = True) -> tuple[Run, RunRecord]:
        record = RunRecord.of(row.id, events)
        result = None
        if record.ending is not None and record.ending.payload is not None:
            result = result_from_bytes(record.ending.payload, row.id, record, has_calls=has_calls)
        elif row.state in FINISHED:
            message = f"the journal was damaged or changed: run {row.id} has ended, and has no result"
            raise JournalCorruptError(message)
        state = self.state(row, record)
        return _run(
            self, row, record.start, state, record.pending(row.id, is_owned=state == "running"), lambda: result
        ), record

    def state(self, row: RunRow, record: RunRecord) -> RunState:
        """Return the state of a run."""
        if row.state == "done" or row.state == "failed":  # noqa: PLR1714 - so that the type is known
            return row.state
        if self.store.locks.is_owned(row.number):
            return "running"
        if record.has_unknown:
            return "outcome_unknown"
        return "paused" if record.pending(row.id) else "resumable"

    def _outline(self, rows: RunRows, row: RunRow) -> Run:
        """Return a run that reads its result when that is used."""
        if row.state == "done" or row.state == "failed":  # noqa: PLR1714 - so that the type is known
            return _run(self, row, verify_start(rows, row), row.state, (), lambda: self.run(row.id).result)
        record = RunRecord.of(row.id, verify_run(rows, row))
        state = self.state(row, record)
        pending = record.pending(row.id, is_owned=state == "running")
        return _run(self, row, record.start, state, pending, lambda: self.run(row.id).result)


def _damaged_run(reader: RunReader, row: RunRow) -> Run:
    """Return a run with a changed record, in any of its columns."""
    values: list[Any] = [*row]
    _, _, session, _, created, changed, _, owner, *_ = values
    name = listed_id(row)
    times = [seconds if type(seconds) is float and 0 <= seconds < YEAR_9999 else 0.0 for seconds in (created, changed)]
    return Run(
        name,
        "damaged",
        (),
        "",
        datetime.fromtimestamp(times[0], UTC),
        datetime.fromtimestamp(times[1], UTC),
        session if session and isinstance(session, str) else None,
        owner if isinstance(owner, str) else "",
        None,
        lambda: reader.run(name).result,
        lambda: reader.view(name),
    )


def _run(
    reader: RunReader,
    row: RunRow,
    start: Event,
    state: RunState,
    pending: tuple[PendingCall, ...],
    read_result: Callable[[], ExecutionResult | None],
) -> Run:
    return Run(
        row.id,
        state,
        () if row.state in FINISHED else pending,
        (start.payload or b"").decode(),
        datetime.fromtimestamp(row.created, UTC),
        datetime.fromtimestamp(row.changed, UTC),
        row.session or None,
        row.owner,
        principal_of(start),
        read_result,
        lambda: reader.view(row.id),
    )
