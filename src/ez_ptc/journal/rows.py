"""Reading and writing the rows of runs and events."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import from_json

from ez_ptc._wrong_calls import check_id
from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.chain import Event, chain_start, content_hash, event_hash
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ez_ptc.journal.store import Database

__all__ = [
    "RunRow",
    "append",
    "find_run",
    "has_run",
    "insert_run",
    "list_runs",
    "prune_runs",
    "read_events",
    "verify_rest",
    "verify_run",
]

# Larger payloads are stored once, by content.
_MAX_INLINE_BYTES: Final = 4096
_RUN: Final = "SELECT number, id, session, state, created, changed, epoch, owner, events, head FROM runs"
_RUN_TYPES: Final = (int, str, str, str, float, float, int, str, int, bytes)
# Of `_EVENTS`; the last column is compared with the one before it.
_EVENT_TYPES: Final = tuple(
    map(frozenset, ((int,), (str,), (str,), (float,), (bytes,), (bytes, NoneType), (bytes, NoneType), (bytes,)))
)
_SEQUENCE: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'runs'"
# What each query finds is a hash that should not be there.
_CONTENT_PROBLEMS: Final = {
    "uses was removed": (
        "SELECT content FROM (SELECT run, content FROM events WHERE content IS NOT NULL EXCEPT"
        " SELECT run, content FROM uses)"
    ),
    "uses was added": "SELECT content FROM (SELECT run, content FROM uses EXCEPT SELECT run, content FROM events)",
    "contents was added": "SELECT hash FROM contents EXCEPT SELECT content FROM uses",
}
_EVENTS: Final = """
    SELECT position, kind, path, time, data, payload, content, hash,
    CASE WHEN content IS NOT NULL THEN (SELECT data FROM contents WHERE contents.hash = content) END
    FROM events WHERE run = ? ORDER BY position
"""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the table `runs`: what its events say, for finding it."""

    number: int
    id: str
    session: str
    state: str
    created: float
    changed: float
    epoch: int
    owner: str
    events: int
    head: bytes


def find_run(database: Database, run_id: str) -> RunRow:
    """Return a run's row. Raises JournalError for an unknown id, and TypeError for anything but text."""
    check_id(run_id, "a run")
    rows = database.execute(f"{_RUN} WHERE id = ?", (run_id,)).fetchall()
    if not rows:
        pruned = database.execute("SELECT 1 FROM pruned WHERE id = ?", (run_id,)).fetchall()
        reason = "it was pruned" if pruned else "see Journal.runs()"
        message = f"the journal has no run {safe_repr(run_id)}: {reason}"
        raise JournalError(message)
    return _run_row(rows[0])


def has_run(database: Database, run_id: str) -> bool:
    """Return whether there is a run of this id, or was one before it was pruned."""
    found = "SELECT 1 FROM runs WHERE id = ? UNION ALL SELECT 1 FROM pruned WHERE id = ?"
    return bool(database.execute(found, (run_id, run_id)).fetchall())


def list_runs(database: Database, *, session: str | None = None) -> list[RunRow]:
    """Return the rows of all runs, or of a session's, the oldest first."""
    if session is None:
        return [_run_row(row) for row in database.execute(f"{_RUN} ORDER BY number").fetchall()]
    rows = database.execute(f"{_RUN} WHERE session = ? ORDER BY number", (session,)).fetchall()
    return [_run_row(row) for row in rows]


def _run_row(columns: tuple[Any, ...]) -> RunRow:
    """Return a row whose types are right: SQLite does not look at them when it reads."""
    if tuple(map(type, columns)) != _RUN_TYPES:
        message = f"row {columns[0]} of the table runs was damaged or changed: its types are wrong"
        raise JournalCorruptError(message)
    return RunRow(*columns)


def insert_run(database: Database, run_id: str, session: str, owner: str, events: Sequence[Event]) -> RunRow:
    """Add a run with its first events, and return its row."""
    now = time.time()
    database.execute(
        "INSERT INTO runs (id, session, state, created, changed, epoch, owner, events, head)"
        " VALUES (?, ?, 'running', ?, ?, 1, ?, 0, ?)",
        (run_id, session, now, now, owner, chain_start(run_id)),
    )
    row = find_run(database, run_id)
    return append(database, row, [event._replace(time=now) for event in events], state="running")


def append(database: Database, row: RunRow, events: Iterable[Event], *, state: str, owner: str | None = None) -> RunRow:
    """Add events to a run and set its state; a new `owner` begins another epoch. Return its new row."""
    position, head = row.events, row.head
    now = time.time()
    for event in events:
        now = event.time or now
        position += 1
        data, payload = event.data_bytes(), event.payload
        content = None
        if payload is not None and len(payload) > _MAX_INLINE_BYTES:
            content = content_hash(payload)
            database.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (content, payload))
            database.execute("INSERT OR IGNORE INTO uses VALUES (?, ?)", (row.number, content))
            payload = None
        head = event_hash(head, (position, event.kind, event.path, now), data, _hashed(payload, content))
        database.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (row.number, position, event.kind, event.path, now, data, payload, content, head),
        )
    changed = replace(
        row,
        state=state,
        changed=now,
        epoch=row.epoch + (owner is not None),
        owner=row.owner if owner is None else owner,
        events=position,
        head=head,
    )
    database.execute(
        "UPDATE runs SET state = ?, changed = ?, epoch = ?, owner = ?, events = ?, head = ? WHERE number = ?",
        (state, now, changed.epoch, changed.owner, position, head, row.number),
    )
    return changed


def read_events(database: Database, row: RunRow) -> list[Event]:
    """Return the events of a run, checked. Raises JournalCorruptError, which names the row."""
    rows = database.execute(_EVENTS, (row.number,)).fetchall()
    payloads = _check(row, rows)
    if not rows:
        return []
    positions, kinds, paths, times, texts, *_ = zip(*rows, strict=True)
    return list(map(Event, kinds, paths, _parse(row, texts), payloads, times, positions))


def _check(row: RunRow, rows: list[tuple[Any, ...]]) -> list[bytes | None]:
    """Compare the rows of a run's events with their hashes, and return their payloads. Raises JournalCorruptError."""
    _check_types(row, rows)
    payloads: list[bytes | None] = []
    head = chain_start(row.id)
    for expected, (position, kind, path, seconds, data, payload, content, own_hash, stored) in enumerate(rows, 1):
        if position != expected:
            raise _corrupt(row, expected, "it is missing")
        head = event_hash(head, (position, kind, path, seconds), data, _hashed(payload, content))
        if head != own_hash:
            raise _corrupt(row, position, "it was changed")
        if content is not None:
            if type(stored) is not bytes or content_hash(stored) != content:
                raise _corrupt(row, position, "its content is missing or was changed")
            payload = stored  # noqa: PLW2901 - stored elsewhere
        payloads.append(payload)
    if len(rows) != row.events or head != row.head:
        raise _corrupt(row, min(len(rows), row.events) + 1, "it is missing, or was added")
    return payloads


def _check_types(row: RunRow, rows: list[tuple[Any, ...]]) -> None:
    """Check the types of events, a column at once. Raises JournalCorruptError, which names the row."""
    for columns, allowed in zip(zip(*rows, strict=True), _EVENT_TYPES, strict=False):
        if not set(map(type, columns)) <= allowed:
            wrong = next(position for position, value in enumerate(columns, 1) if type(value) not in allowed)
            raise _corrupt(row, wrong, "its types are wrong")


def _hashed(payload: bytes | None, content: bytes | None) -> bytes:
    """Return what the hash of an event says of its payload, which stands in its row or has the hash `content`."""
    if content is not None:
        return b"c" + content
    return b"" if payload is None else b"p" + payload


def verify_run(database: Database, row: RunRow) -> list[Event]:
    """Return a run's events after comparing them with its row. Raises JournalCorruptError."""
    events = read_events(database, row)
    if not events or events[0].kind != "start":
        raise _corrupt(row, 1, "it does not start the run")
    executions = [event for event in events if event.kind in {"start", "claim"}]
    endings = [event for event in events if event.kind in {"start", "claim", "pause", "end"}]
    state = str(endings[-1].data.get("state", "running"))
    expected = (events[0].time, events[-1].time, len(executions), str(executions[-1].data.get("owner", "")), state)
    session = str(events[0].data.get("session", ""))
    if (row.created, row.changed, row.epoch, row.owner, row.state) != expected or row.session != session:
        message = f"row {row.number} of the table runs (run {row.id}) was changed: its events say something else"
        raise JournalCorruptError(message)
    return events


def prune_runs(database: Database, rows: Iterable[RunRow]) -> None:
    """Remove runs, and the contents that no other run uses; their numbers stay known."""
    now = time.time()
    for row in rows:
        database.execute(
            "INSERT INTO pruned VALUES (?, ?, ?, ?)", (row.number, row.id, now, _pruned_hash(row.number, row.id, now))
        )
        database.execute("DELETE FROM runs WHERE number = ?", (row.number,))
    database.execute("DELETE FROM contents WHERE hash NOT IN (SELECT content FROM uses)")


def verify_rest(database: Database, rows: Iterable[RunRow]) -> None:
    """Check that no run is missing, and the tables beside those of runs and events. Raises JournalCorruptError."""
    known = {row.number for row in rows}
    for number, run_id, seconds, own_hash in database.execute("SELECT number, id, time, hash FROM pruned").fetchall():
        if own_hash != _pruned_hash(number, run_id, seconds) or number in known:
            message = f"row {number} of the table pruned was changed or added"
            raise JournalCorruptError(message)
        known.add(number)
    last = max((0, *(seq for (seq,) in database.execute(_SEQUENCE).fetchall())))
    if known != set(range(1, last + 1)):
        number = min(known ^ set(range(1, last + 1)))
        message = f"row {number} of the table runs was removed or added, though not by prune()"
        raise JournalCorruptError(message)
    for problem, query in _CONTENT_PROBLEMS.items():
        for (found,) in database.execute(query).fetchall():
            message = f"a row of the table {problem}: {bytes(found).hex()}"
            raise JournalCorruptError(message)
    for table, *_ in database.execute("PRAGMA foreign_key_check").fetchall():
        message = f"a row of the table {table} was added: it belongs to no run"
        raise JournalCorruptError(message)
    for own_hash, data in database.execute("SELECT hash, data FROM contents"):
        if content_hash(data) != own_hash:
            message = f"a row of the table contents was changed: {bytes(own_hash).hex()}"
            raise JournalCorruptError(message)


def _pruned_hash(number: int, run_id: str, seconds: float) -> bytes:
    return content_hash(f"{number}\0{run_id}\0{seconds!r}".encode())


def _parse(row: RunRow, texts: Sequence[bytes]) -> list[dict[str, Any]]:
    """Parse the data of a run's events. Raises JournalCorruptError, which names the row."""
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
            with suppress(ValueError):
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
