"""Reading and writing the rows of runs and events."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pydantic_core import from_json

from ez_ptc._wrong_calls import check_id
from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.chain import Event, chain_start, content_hash, event_hash
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ez_ptc.journal.store import Database

__all__ = [
    "RUN_COLUMNS",
    "RunRow",
    "append",
    "find_run",
    "has_run",
    "insert_run",
    "list_runs",
    "prune_run",
    "pruned_hash",
    "read_events",
    "run_row",
    "verify_run",
    "verify_start",
]

# Larger payloads are stored once, by content.
_MAX_INLINE_BYTES: Final = 4096
RUN_COLUMNS: Final = "SELECT number, id, session, state, created, changed, epoch, owner, events, head FROM runs"
_RUN_TYPES: Final = (int, str, str, str, float, float, int, str, int, bytes)
# Of `_EVENTS`; the last column is compared with the one before it.
_EVENT_TYPES: Final = tuple(
    map(frozenset, ((int,), (str,), (str,), (float,), (bytes,), (bytes, NoneType), (bytes, NoneType), (bytes,)))
)
_EVENTS: Final = """
    SELECT position, kind, path, time, data, payload, content, hash,
    CASE WHEN content IS NOT NULL THEN (SELECT data FROM contents WHERE contents.hash = content) END
    FROM events WHERE run = ? ORDER BY position
"""
_EVENTS_WITHOUT_CONTENTS: Final = """
    SELECT position, kind, path, time, data, payload, content, hash, NULL FROM events WHERE run = ? ORDER BY position
"""
_OF_RUNS: Final = frozenset({"start", "claim", "pause", "end"})


# A named tuple, as an event is: two are made for each write.
class RunRow(NamedTuple):
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
    rows = database.execute(f"{RUN_COLUMNS} WHERE id = ?", (run_id,)).fetchall()
    if not rows:
        pruned = database.execute("SELECT 1 FROM pruned WHERE id = ?", (run_id,)).fetchall()
        reason = "it was pruned" if pruned else "see Journal.runs()"
        message = f"the journal has no run {safe_repr(run_id)}: {reason}"
        raise JournalError(message)
    return run_row(rows[0])


def has_run(database: Database, run_id: str) -> bool:
    """Return whether there is a run of this id, or was one before it was pruned."""
    found = "SELECT 1 FROM runs WHERE id = ? UNION ALL SELECT 1 FROM pruned WHERE id = ?"
    return bool(database.execute(found, (run_id, run_id)).fetchall())


def list_runs(database: Database, *, session: str | None = None) -> list[RunRow]:
    """Return the rows of all runs, or of a session's, the oldest first."""
    if session is None:
        return [run_row(row) for row in database.execute(f"{RUN_COLUMNS} ORDER BY number").fetchall()]
    rows = database.execute(f"{RUN_COLUMNS} WHERE session = ? ORDER BY number", (session,)).fetchall()
    return [run_row(row) for row in rows]


def run_row(columns: tuple[Any, ...]) -> RunRow:
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
    database.execute(
        "UPDATE runs SET changed = ?, events = ?, head = ? WHERE number = ?", (now, position, head, row.number)
    )
    changed = row._replace(changed=now, events=position, head=head)
    if state == row.state and owner is None:
        return changed
    # Apart from the rest: with `state`, SQLite would write the index of states again for each event.
    changed = changed._replace(
        state=state, epoch=row.epoch + (owner is not None), owner=row.owner if owner is None else owner
    )
    database.execute(
        "UPDATE runs SET state = ?, epoch = ?, owner = ? WHERE number = ?",
        (state, changed.epoch, changed.owner, row.number),
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


def _check(row: RunRow, rows: list[tuple[Any, ...]], *, has_contents: bool = True) -> list[bytes | None]:
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
    _compare(row, [event for event in events if event.kind in _OF_RUNS], events[-1].time if events else 0.0)
    return events


def verify_start(database: Database, row: RunRow) -> Event:
    """Return a run's first event after comparing all with its row, but for what is stored by content.

    Raises JournalCorruptError.
    """
    rows = database.execute(_EVENTS_WITHOUT_CONTENTS, (row.number,)).fetchall()
    _check(row, rows, has_contents=False)
    chosen = [columns for columns in rows if columns[1] in _OF_RUNS]
    fields = _parse(row, [columns[4] for columns in chosen])
    events = [
        Event(kind, path, data, payload, seconds, position)
        for (position, kind, path, seconds, _, payload, *_), data in zip(chosen, fields, strict=True)
    ]
    _compare(row, events, rows[-1][3] if rows else 0.0)
    content = chosen[0][6]
    return events[0] if content is None else events[0]._replace(payload=_content(database, row, content))


def _content(database: Database, row: RunRow, content: bytes) -> bytes:
    """Return what the first event has stored by content. Raises JournalCorruptError."""
    stored = database.execute("SELECT data FROM contents WHERE hash = ?", (content,)).fetchall()
    if not stored or type(stored[0][0]) is not bytes or content_hash(stored[0][0]) != content:
        raise _corrupt(row, 1, "its content is missing or was changed")
    return stored[0][0]


def _compare(row: RunRow, events: Sequence[Event], changed: float) -> None:
    """Compare a run's row with the events of the whole run. Raises JournalCorruptError."""
    if not events or events[0].kind != "start" or events[0].position != 1:
        raise _corrupt(row, 1, "it does not start the run")
    executions = [event for event in events if event.kind in {"start", "claim"}]
    state = str(events[-1].data.get("state", "running"))
    expected = (events[0].time, changed, len(executions), str(executions[-1].data.get("owner", "")), state)
    session = str(events[0].data.get("session", ""))
    if (row.created, row.changed, row.epoch, row.owner, row.state) != expected or row.session != session:
        message = f"row {row.number} of the table runs (run {row.id}) was changed: its events say something else"
        raise JournalCorruptError(message)


def prune_run(database: Database, row: RunRow) -> None:
    """Remove a run, and the contents that no other run uses; its number stays known."""
    now = time.time()
    contents = database.execute("SELECT content FROM uses WHERE run = ?", (row.number,)).fetchall()
    pruned = (row.number, row.id, now, pruned_hash(row.number, row.id, now))
    database.execute("INSERT INTO pruned VALUES (?, ?, ?, ?)", pruned)
    database.execute("DELETE FROM runs WHERE number = ?", (row.number,))
    unused = "DELETE FROM contents WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM uses WHERE content = hash)"
    for content in contents:
        database.execute(unused, content)


def pruned_hash(number: object, run_id: object, seconds: object) -> bytes:
    """Return the hash of a row of the table `pruned`."""
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
