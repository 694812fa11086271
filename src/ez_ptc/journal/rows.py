"""The rows of runs and events: their hashes, and what makes them fit each other, in any store."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import from_json

from ez_ptc._wrong_calls import check_id
from ez_ptc.errors import ContinuationError, JournalCorruptError, JournalError
from ez_ptc.journal.chain import Event, chain_start, content_hash, event_hash, hashed_payload, pruned_hash
from ez_ptc.journal.recorded.event_fields import YEAR_9999, find_event_problem
from ez_ptc.journal.states import CHANGES, FINISHED
from ez_ptc.journal.stores.protocol import RunRow, require_types
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ez_ptc.journal.states import RunChange
    from ez_ptc.journal.stores.protocol import EventColumns, RunRows, RunStore

__all__ = [
    "RunRow",
    "append",
    "duplicate_id",
    "find_run",
    "insert_run",
    "lock_taken",
    "lost_record",
    "prune_run",
    "read_events",
    "read_start",
    "verify_rows",
    "verify_run",
    "verify_start",
]

_BATCH: Final = 50

# Larger payloads are stored once, by content.
_MAX_INLINE_BYTES: Final = 4096
# Of `RunRows.events`; the last column is compared with the one before it.
_EVENT_TYPES: Final = tuple(
    map(frozenset, ((int,), (str,), (str,), (float,), (bytes,), (bytes, NoneType), (bytes, NoneType), (bytes,)))
)
_OF_RUNS: Final = frozenset({"start", "claim", "pause", "end"})


def find_run(rows: RunRows, run_id: str) -> RunRow:
    """Return a run's row. Raises JournalError for an unknown id, and TypeError for anything but text."""
    check_id(run_id, "a run")
    row = rows.find(run_id)
    if row is None:
        reason = "it was pruned" if rows.number_of(run_id) is not None else "see Journal.runs()"
        message = f"the journal has no run {safe_repr(run_id)}: {reason}"
        raise JournalError(message)
    return row


def duplicate_id(run_id: str) -> JournalError:
    """Return the error about an id that another run has."""
    return JournalError(f"there is a run {run_id}: continue it with resume(), or start one with another id")


def lock_taken(run_id: str) -> JournalError:
    """Return the error about a new run whose lock is taken, though no one can know the run yet."""
    message = (
        f"run {run_id} was not started, since someone else holds its lock: other roles of a PostgreSQL database can do "
        f"that (see pg_locks), so give the journal a database of its own"
    )
    return JournalError(message, run_id=run_id)


def lost_record(run_id: str) -> ContinuationError:
    """Return the error about a program to continue a run of which there is no record any more."""
    message = (
        f"the journal has no record of run {run_id} any more, which this program continues, directly or by a run in "
        f"between: its calls could be made twice, so nothing was run; without after= they are made again"
    )
    return ContinuationError(message)


def insert_run(rows: RunRows, run_id: str, session: str, owner: str, events: Sequence[Event]) -> RunRow:
    """Add a run with its first events, and return its row. Raises JournalError if there is one of this id."""
    now = rows.now()
    row = rows.insert(RunRow(0, run_id, session, "running", now, now, 1, owner, 0, chain_start(run_id)))
    if row is None:
        raise duplicate_id(run_id)
    return append(rows, row, [event._replace(time=now) for event in events], "record")


def append(
    rows: RunRows, row: RunRow, events: Iterable[Event], change: RunChange, *, owner: str | None = None
) -> RunRow:
    """Add events to a run and change its state; a new `owner` begins another epoch. Return its new row.

    Raises JournalError, before anything is written, for a change that `states` does not have.
    """
    state = CHANGES.get(row.state, {}).get(change)
    if state is None:
        reason = "has ended" if row.state in FINISHED else f"is {row.state}"
        message = f"run {row.id} {reason}: nothing more is recorded"
        raise JournalError(message)
    position, head = row.events, row.head
    now = rows.now()
    written: list[EventColumns] = []
    contents: list[tuple[bytes, bytes]] = []
    for event in events:
        now = event.time or now
        position += 1
        data, payload = event.data_bytes(), event.payload
        content = None
        if payload is not None and len(payload) > _MAX_INLINE_BYTES:
            content = content_hash(payload)
            contents.append((content, payload))
            payload = None
        head = event_hash(head, (position, event.kind, event.path, now), data, hashed_payload(payload, content))
        written.append((position, event.kind, event.path, now, data, payload, content, head))
    if not written:  # a decision to wait is no event, and the row says what the events say
        return row
    changed = row._replace(state=state, changed=now, events=position, head=head)
    if owner is not None:
        changed = changed._replace(epoch=row.epoch + 1, owner=owner)
    rows.write(row, changed, written, contents)
    return changed


def read_events(rows: RunRows, row: RunRow) -> list[Event]:
    """Return the events of a run, checked. Raises JournalCorruptError, naming the row."""
    require_types(row)
    events = rows.events(row)
    payloads = _check(row, events)
    if not events:
        return []
    positions, kinds, paths, times, texts, *_ = zip(*events, strict=True)
    return _require_fields(row, map(Event, kinds, paths, _parse(row, texts), payloads, times, positions))


def _require_fields(row: RunRow, events: Iterable[Event]) -> list[Event]:
    """Return events after checking what they say. Raises JournalCorruptError, naming the row."""
    checked = list(events)
    for event in checked:
        problem = find_event_problem(event)
        if problem is not None:
            raise _corrupt(row, event.position, problem)
    return checked


def _check(row: RunRow, rows: Sequence[EventColumns], *, has_contents: bool = True) -> list[bytes | None]:
    """Compare the rows of a run's events with their hashes, and return their payloads. Raises JournalCorruptError."""
    _check_types(row, rows)
    payloads: list[bytes | None] = []
    head = chain_start(row.id)
    for expected, (position, event_kind, path, seconds, data, payload, content, own_hash, stored) in enumerate(rows, 1):
        if position != expected:
            raise _corrupt(row, expected, "it is missing")
        head = event_hash(head, (position, event_kind, path, seconds), data, hashed_payload(payload, content))
        if head != own_hash:
            raise _corrupt(row, position, "it was changed")
        if content is not None:
            if payload is not None:  # it is in no hash
                raise _corrupt(row, position, "it was changed")
            if not has_contents:
                continue
            if type(stored) is not bytes or content_hash(stored) != content:
                raise _corrupt(row, position, "its content is missing or was changed")
            payload = stored  # noqa: PLW2901 - stored elsewhere
        payloads.append(payload)
    if len(rows) != row.events or head != row.head:
        raise _corrupt(row, min(len(rows), row.events) + 1, "it is missing, or was added")
    return payloads


def _check_types(row: RunRow, rows: Sequence[EventColumns]) -> None:
    """Check the types of events, a column at once. Raises JournalCorruptError, naming the row."""
    for columns, allowed in zip(zip(*rows, strict=True), _EVENT_TYPES, strict=False):
        if not set(map(type, columns)) <= allowed:
            wrong = next(position for position, value in enumerate(columns, 1) if type(value) not in allowed)
            raise _corrupt(row, wrong, "its types are wrong")


def verify_run(rows: RunRows, row: RunRow) -> list[Event]:
    """Return a run's events after comparing them with its row. Raises JournalCorruptError."""
    events = read_events(rows, row)
    _compare(row, [event for event in events if event.kind in _OF_RUNS], events[-1].time if events else 0.0)
    return events


def read_start(rows: RunRows, row: RunRow) -> dict[str, Any]:
    """Return the data of a run's first event, checked without those after it. Raises JournalCorruptError."""
    require_types(row)
    written = rows.events(row, has_contents=False, limit=1)
    _check_types(row, written)
    for position, event_kind, path, seconds, data, payload, content, own_hash, _ in written:
        hashed = hashed_payload(payload, content)
        if event_hash(chain_start(row.id), (position, event_kind, path, seconds), data, hashed) == own_hash:
            (fields,) = _parse(row, [data])
            return fields
    raise _corrupt(row, 1, "it is missing or was changed")


def verify_start(rows: RunRows, row: RunRow) -> Event:
    """Return a run's first event after comparing all with its row, but for what is stored by content.

    Raises JournalCorruptError.
    """
    require_types(row)
    written = rows.events(row, has_contents=False)
    _check(row, written, has_contents=False)
    chosen = [columns for columns in written if columns[1] in _OF_RUNS]
    fields = _parse(row, [columns[4] for columns in chosen])
    events = [
        Event(event_kind, path, data, payload, seconds, position)
        for (position, event_kind, path, seconds, _, payload, *_), data in zip(chosen, fields, strict=True)
    ]
    content = chosen[0][6] if chosen else None
    if content is not None:
        stored = rows.content(row, content)
        if type(stored) is not bytes or content_hash(stored) != content:
            raise _corrupt(row, 1, "its content is missing or was changed")
        events[0] = events[0]._replace(payload=stored)
    _compare(row, _require_fields(row, events), written[-1][3] if written else 0.0)
    return events[0]


def _compare(row: RunRow, events: Sequence[Event], changed: float) -> None:
    """Compare a run's row with the events of the whole run. Raises JournalCorruptError."""
    if not events or events[0].kind != "start" or events[0].position != 1:
        raise _corrupt(row, 1, "it does not start the run")
    executions = [event for event in events if event.kind in {"start", "claim"}]
    state = str(events[-1].data.get("state", "running"))
    expected = (events[0].time, changed, len(executions), str(executions[-1].data.get("owner", "")), state)
    session = str(events[0].data.get("session", ""))
    is_same = (row.created, row.changed, row.epoch, row.owner, row.state) == expected and row.session == session
    # Of the last event, only the hash may have been compared.
    if not is_same or not 0 <= changed < YEAR_9999:
        message = f"row {row.number} of the table runs (run {row.id}) was changed: its events say something else"
        raise JournalCorruptError(message)


def prune_run(rows: RunRows, row: RunRow) -> None:
    """Remove a run; its number stays known."""
    now = rows.now()
    rows.remove(row, now, pruned_hash(row.number, row.id, now))


def _parse(row: RunRow, texts: Sequence[bytes]) -> list[dict[str, Any]]:
    """Parse the data of a run's events. Raises JournalCorruptError, naming the row."""
    try:
        # In one go: a run may have thousands of short texts.
        parsed = cast("list[dict[str, Any]]", from_json(b"[%b]" % b",".join(texts)))
    except ValueError:
        parsed = []
    if len(parsed) == len(texts) and set(map(type, parsed)) <= {dict}:
        return parsed
    objects: list[dict[str, Any]] = []
    for position, text in enumerate(texts, 1):
        fields: object = None
        # pydantic's parser is faster, but takes no lone surrogates, as a person's reason may contain.
        for load in (from_json, json.loads):
            with suppress(ValueError, RecursionError):
                fields = load(text)
                break
        if not isinstance(fields, dict):
            raise _corrupt(row, position, "its data is not a JSON object")
        objects.append(cast("dict[str, Any]", fields))
    return objects


def _corrupt(row: RunRow, position: int, reason: str) -> JournalCorruptError:
    return JournalCorruptError(
        f"the journal was damaged or changed: event {position} of run {row.id} (row {row.number}, {position} of the "
        f"table events): {reason}"
    )


def verify_rows(store: RunStore) -> int:
    """Check every row, run by run, and return the number of runs. Raises JournalCorruptError for the first bad row."""
    last, total = 0, 0
    while True:
        # A long read would hold up the emptying of the log, and forks of this process.
        last, count = store.read(partial(_verify_runs, last))
        total += count
        if count < _BATCH:
            break
    store.read(lambda rows: rows.verify())
    return total


def _verify_runs(last: int, rows: RunRows) -> tuple[int, int]:
    """Check the runs of a batch after the number `last`; return the last number, and how many runs they are."""
    batch = rows.after(last, _BATCH)
    for row in batch:
        verify_run(rows, row)
    return (batch[-1].number if batch else last), len(batch)
