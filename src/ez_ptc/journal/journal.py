"""`Journal`: the durable record of runs."""

from __future__ import annotations

import base64
import json
import os
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from ez_ptc._closing import Closable
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import DecisionError, JournalError
from ez_ptc.journal.chain import Event
from ez_ptc.journal.claiming import claim_run, start_run
from ez_ptc.journal.deciding import decide, to_events
from ez_ptc.journal.ownership import own_row
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.rows import append, find_run, read_events, verify_rows, verify_run
from ez_ptc.journal.run import Run, end_text, owner_name
from ez_ptc.journal.states import FINISHED, RunState
from ez_ptc.journal.store import open_store
from ez_ptc.journal.stores.addresses import is_address, require_file_name
from ez_ptc.journal.upkeep.abandoning import abandon_run, discard_run
from ez_ptc.journal.upkeep.loading import load_run, portable_events
from ez_ptc.journal.upkeep.pruning import check_age, prune
from ez_ptc.journal.upkeep.reading import RunReader, check_seconds
from ez_ptc.sandbox.protocol.execution import ExecutionResult  # noqa: TC001 - type hints of public classes can be resolved
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.decisions import require_decisions
from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ez_ptc.journal.rows import RunRow
    from ez_ptc.journal.states import RunChange
    from ez_ptc.journal.stores.protocol import RunRows, RunStore
    from ez_ptc.tools.decisions import Decision, Settlement
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["Journal", "Replayer"]

_RETENTION: Final = timedelta(days=90)
_SECONDS_BETWEEN_PRUNINGS: Final = 3600.0

_Decisions = dict[str, "Decision | Settlement"]


class Replayer(Protocol):
    """What replays a run: a `Toolkit` with the run's tools."""

    def replay(self, run_id: str, *, journal: Journal, upgrade: bool) -> ExecutionResult:
        """Run a finished program from its record, without calling a tool, and compare."""
        ...


@explain_calls(checks="__init__(path) decisions id limit reason run_id state states:str timeout")
class Journal(Closable, Viewable):
    """The durable record of runs, in an SQLite file or on a PostgreSQL server.

        with Journal("runs.db") as journal:
            for run in journal.runs():
                print(run.id, run.state, run.pending)

    Several threads and processes may use one file, which is created on first use and readable by its owner only. A
    second file beside it, with `-lock` at its end, holds their locks. The file must be on a file system of this
    machine; several hosts share `Journal("postgresql://...")`, with the extra `postgres`.

    Every method raises JournalCorruptError if the file is damaged, and JournalError if it is no journal, belongs to
    another version of ez-ptc, or cannot be used.
    """

    def __init__(
        self, path: str | Path, *, retention: timedelta | None = _RETENTION, max_bytes: int | None = None
    ) -> None:
        """Use a file or a server.

        Args:
            path: The file, or the URL of a database of PostgreSQL 15 or later, as libpq reads it.
            retention: How long finished runs are kept; None keeps them until `prune`. Others are never removed.
            max_bytes: The bytes in use, in the file and its log, beyond which no run starts; `prune` makes room. None
                is 4 GiB for a file, and no limit on a server.

        Raises:
            TypeError: `path` is no path, or `retention` no timedelta.
            JournalError: A URL cannot be read.
            MissingExtraError: psycopg is not installed.
        """
        if not isinstance(cast("object", path), str | os.PathLike):
            message = f"a journal is a Journal, or the path of its file; got {safe_repr(path)}"
            if isinstance(path, type):
                message = "a journal is a Journal, or the path of its file; got a class: write Journal('runs.db')"
            raise TypeError(message)
        if retention is not None:
            check_age("retention", retention)
        self._retention = retention
        self._max_bytes = max_bytes
        self._pruned_at = 0.0
        self.store: Final[RunStore] = open_store(path)
        self._reader: Final = RunReader(self.store)

    def __repr__(self) -> str:
        return f"Journal({self.name!r})"

    @property
    def name(self) -> str:
        """The path of its file as given, or its address without the password."""
        return self.store.name

    @property
    def path(self) -> Path:
        """The path of its file, as given. Raises JournalError for a journal in PostgreSQL, which has `name` only."""
        if is_address(self.name):
            message = f"the journal {self.name} has no file: use Journal.name"
            raise JournalError(message)
        return Path(self.name)

    def _view_parts(self) -> tuple[ViewPart, ...]:
        """Return the last 20 runs."""
        from ez_ptc.view.objects.parts import NotePart, TablePart

        runs = self.runs(limit=20)
        rows = [(run.id, run.state, f"{run.changed:%Y-%m-%d %H:%M:%S} UTC", run.program.strip()) for run in runs]
        return TablePart(("run", "state", "changed", "program"), rows), NotePart(self.name)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self.store.close()

    # Reading ----------------------------------------------------------------------------------------------------------

    def runs(self, state: RunState | None = None, *, limit: int = 100, before: str | None = None) -> list[Run]:
        """Return a page of the runs, the latest first.

        Args:
            state: Only the runs in this state.
            limit: The maximum number of runs.
            before: The id of a run: only earlier ones, such as those after the last run of a page.

        A run with a changed record hides no other: it is "damaged", and `run` raises the reason. Raises
        ValueError for an unknown state or a limit that is not positive, and JournalError if there is no run `before`.
        """
        return self._reader.page(state, limit, before)

    def run(self, id: str) -> Run:  # noqa: A002 - what callers call it
        """Return a run. Raises JournalError for an unknown id."""
        return self._reader.run(id)

    def events(self, id: str) -> tuple[Event, ...]:  # noqa: A002 - what callers call it
        """Return the events of a run, the first first. Raises JournalError for an unknown id."""
        return tuple(self.store.read(lambda rows: read_events(rows, find_run(rows, id))))

    def export(self, id: str, *, portable: bool = False) -> Iterator[str]:  # noqa: A002 - what callers call it
        """Yield the events of a run as lines of JSON; `portable` leaves out secret arguments, for `load`.

        Raises JournalError for an unknown id, and with `portable` for a run that has not ended or needs another one.
        """
        events: Iterable[Event] = self.events(id)
        if portable:
            events = portable_events(events)
        for event in events:
            fields: dict[str, Any] = {
                "run": id,
                "position": event.position,
                "time": datetime.fromtimestamp(event.time, UTC).isoformat(),
                "kind": event.kind,
                "path": event.path,
                "data": event.data,
            }
            if event.payload is not None:
                try:
                    fields["payload"] = event.payload.decode()
                except UnicodeDecodeError:
                    fields["payload_base64"] = base64.b64encode(event.payload).decode()
            yield json.dumps(fields)

    def replay(self, id: str, toolkit: Replayer, *, upgrade: bool = False) -> ExecutionResult:  # noqa: A002 - what callers call it
        """Run a finished program from its record, without calling a tool, and return its result, which is the same.

        With `upgrade`, another minor version of Python may have recorded it; then calls and output are compared.
        Raises ReplayDivergedError if they are not the same, or if the toolkit differs from the run's.
        """
        return toolkit.replay(id, journal=self, upgrade=upgrade)

    def verify(self) -> int:
        """Check every row, and return the number of runs. Raises JournalCorruptError, naming the first bad row."""
        self.store.verify()
        return verify_rows(self.store)

    def backup(self, path: str | Path) -> None:
        """Copy the journal, complete as of this moment, to a new file; programs go on meanwhile.

        Use the copy in place of the journal, never beside it: runs that go on in both double their effects. Raises
        JournalError if the file exists, cannot be written or has an address.
        """
        require_file_name(path, "the path of a new file for the backup (ez-ptc runs copy copies ended runs to servers)")
        self.store.copy(Path(path))

    def load(self, lines: Iterable[str]) -> str:
        """Add an ended run from the lines of a portable export, to replay it, and return its id.

        Raises JournalError for other lines, or if there is a run of this id.
        """
        return load_run(self.store, lines)

    def claimable(self, limit: int = 10) -> list[Run]:
        """Return runs to go on with, the oldest first: those whose owners died, and those whose calls are decided.

            for run in journal.claimable():
                with suppress(RunInProgressError):
                    toolkit.resume(run.id)

        Of several workers with the same runs, one resumes each, and the others get RunInProgressError or, once it has
        ended, JournalError. Runs with calls of unknown outcome are not among them, nor are damaged ones; the
        logger "ez_ptc.journal" names these. Raises ValueError for a limit that is not positive.
        """
        return self._reader.claimable(limit)

    def watch(self, run_id: str | None = None, *, timeout: float | None = None) -> Iterator[str]:
        """Return an iterator over the ids of runs, or only this one, as they are decided or change their states.

        It begins with this call: what was decided before is in `claimable`. It ends after `timeout` seconds, or not at
        all. The death of an owner changes nothing in the journal, so look at `claimable` now and then as well. Raises
        TypeError for a timeout that is no number, and ValueError for nan.
        """
        changes = self.store.watch(check_seconds(timeout))
        return (changed for changed in changes if run_id in {None, changed})

    # Writing ----------------------------------------------------------------------------------------------------------

    def decide(self, id: str, decisions: Mapping[str, object]) -> None:  # noqa: A002 - what callers call it
        """Record decisions about pending calls, by their ids; `Toolkit.resume` goes on with them.

        The first decision about a call counts. Raises DecisionError, without recording any, if one is about a call that
        is not pending, that is running, or that it does not fit.
        """
        decisions = require_decisions(decisions, "decide(run_id, {run.pending[0].id: True})")

        def write(rows: RunRows) -> None:
            row = find_run(rows, id)
            if row.state in FINISHED:
                raise DecisionError(end_text(row))
            record = RunRecord.of(row.id, verify_run(rows, row))
            owner = row.owner if self.store.locks.is_owned(row.number) else None
            events = to_events(record, decide(id, record, decisions, owner=owner))
            append(rows, row, events, "record")

        self.store.transact(write)

    def abandon(self, run_id: str, reason: str, *, by: str | None = None) -> None:
        """End a run that cannot go on: it is "failed", with the reason in its error, and nothing of it runs again.

        That includes a damaged run, unless nothing can be added to its record: then `discard` removes it.
        `by` is who decided so. Raises RunInProgressError if its owner lives, JournalError if it has ended or is
        unknown, JournalCorruptError if nothing can be added, and ValueError without a reason.
        """
        abandon_run(self.store, run_id, reason, by)

    def discard(self, run_id: str) -> None:
        """Remove one damaged run, by its id in `runs`: its record is lost, and the id stays in use.

        Raises RunInProgressError if its owner lives, JournalError if it can be read or is unknown, and
        JournalCorruptError if the file is too damaged to be written.
        """
        discard_run(self._reader, run_id)

    def prune(self, older_than: timedelta = _RETENTION, *, states: Iterable[str] = FINISHED) -> int:
        """Remove the runs in these states that have not changed for a time; return their number.

        Others write meanwhile. A run that is being executed is never removed. The ended runs of a session are removed
        together, and a failed run stays as long as its correction can go on or be corrected. The present is at most a
        day after the newest event, and events after a gap of more than a day count once they have gone on for a day: so
        a clock that is ahead removes nothing. Raises TypeError unless `older_than` is a timedelta, and ValueError for
        an unknown state.
        """
        return prune(self._reader, older_than, states)

    def session_of(self, run_id: str) -> str:
        """Return the id of a run's session, or "". Used by `Toolkit.resume`."""
        return self.store.read(lambda rows: find_run(rows, run_id)).session

    def session_rows(self, session: str) -> list[tuple[RunRow, RunRecord]]:
        """Return the runs of a session, the first first. Used by `Toolkit.session`."""
        return self.store.read(
            lambda rows: [(row, RunRecord.of(row.id, verify_run(rows, row))) for row in rows.of_session(session)]
        )

    def start(
        self,
        program: str,
        data: Mapping[str, Any],
        *,
        session: str = "",
        position: int = 0,
        run_id: str | None = None,
        holder: object = None,
    ) -> tuple[RunRow, RunRecord]:
        """Start a run, owned by this process for a holder. Used by `Toolkit.execute`.

        Raises JournalError if the session has another number of runs than `position`, or there is a run `run_id`.
        """
        self._make_room()
        event = Event("start", data={**data, "session": session, "owner": owner_name()}, payload=program.encode())
        run_id = run_id or uuid.uuid4().hex
        holder = holder or object()
        try:
            return start_run(self.store, run_id, event, holder, session=session, position=position)
        except BaseException:  # nothing was recorded, and the number will be another run's
            self.give_up(holder)
            raise

    def claim(
        self,
        run_id: str,
        answers: Mapping[str, object],
        check: Callable[[RunRecord, _Decisions], None],
        holder: object = None,
    ) -> tuple[RunRow, RunRecord]:
        """Become the owner of an unfinished run, for a holder, and record decisions. Used by `Toolkit.resume`.

        `check` may raise, before anything is written. Raises OutcomeUnknownError if a call's outcome stays unknown.
        """
        holder = holder or object()
        try:
            return claim_run(self.store, run_id, answers, check, holder)
        except BaseException:
            self.give_up(holder)
            raise

    def known_run(self, run_id: str) -> tuple[Run, RunRecord] | None:
        """Return a run and its record, or None for an unknown id. Used by `Toolkit.execute`."""

        def read(rows: RunRows) -> tuple[Run, RunRecord] | None:
            if rows.number_of(run_id) is None:
                return None
            row = find_run(rows, run_id)
            return self._reader.whole(rows, row)

        return self.store.read(read)

    def read_ended(self, run_id: str) -> tuple[RunRow, RunRecord]:
        """Return a run that has ended. Used by `Toolkit.replay`. Raises JournalError if it has not."""

        def read(rows: RunRows) -> tuple[RunRow, RunRecord]:
            row = find_run(rows, run_id)
            if row.state not in FINISHED:
                message = f"run {run_id} has not ended: resume it first"
                raise JournalError(message)
            record = RunRecord.of(row.id, verify_run(rows, row))
            if record.ending is not None and "abandoned" in record.ending.data:
                message = f"run {run_id} was abandoned before its program had ended: it cannot be replayed"
                raise JournalError(message)
            return row, record

        return self.store.read(read)

    def finish(self, row: RunRow, events: Iterable[Event], change: RunChange) -> None:
        """Record that an execution has paused or ended, as its last events say. Used by `Toolkit.execute`."""
        self.store.append(lambda rows: append(rows, own_row(rows, row), events, change))

    def give_up(self, holder: object) -> None:
        """Stop being the owner of what a holder owns, if anything: its execution did not begin."""
        self.store.locks.disown_by(holder)

    def _make_room(self) -> None:
        """Remove what is kept long enough, now and then. Raises JournalError if the file is too large."""
        now = time.monotonic()
        if self._retention is not None and (not self._pruned_at or now - self._pruned_at > _SECONDS_BETWEEN_PRUNINGS):
            self._pruned_at = now
            self.prune(self._retention)
        self.store.require_room(self._max_bytes)
