"""An ended run as lines of JSON, and back: for a test that replays it, in a journal of its own."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from ez_ptc.errors import JournalError
from ez_ptc.journal.chain import Event, chain_start
from ez_ptc.journal.recorded.event_fields import find_event_problem
from ez_ptc.journal.rows import RunRow, append
from ez_ptc.journal.states import ENDINGS, FINISHED
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ez_ptc.journal.stores.protocol import RunRows, RunStore

__all__ = ["load_run", "portable_events"]


def portable_events(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events of an ended run for another journal, without its secret arguments.

    Not even their digests are left, so a call with such arguments is compared by its tool and its position. Raises
    JournalError for a run that needs others: of a session, or after a failed run.
    """
    first, *others = events
    if first.data.get("session") or first.data.get("continues"):
        message = (
            "the run goes on from an earlier one, of its session or its correction: only a run alone can be a test"
        )
        raise JournalError(message)
    if not others or others[-1].kind != "end" or "abandoned" in others[-1].data:
        message = "the run has not ended, or was abandoned: only the run of a program that has ended can be a test"
        raise JournalError(message)
    yield first._replace(data={name: value for name, value in first.data.items() if name != "key"})
    for event in others:
        if event.kind == "progress":
            continue
        if not event.data.get("sealed"):
            yield event
            continue
        secrets = set(event.data.get("secrets", ()))
        arguments = {name: value for name, value in event.data["arguments"].items() if name not in secrets}
        hidden = {"sealed", "secrets", "passed"}
        data = {name: value for name, value in event.data.items() if name not in hidden}
        yield event._replace(data={**data, "arguments": arguments}, payload=None)


def load_run(store: RunStore, lines: Iterable[str]) -> str:
    """Add an ended run from the lines of an export, and return its id. Raises JournalError for other lines."""
    parsed = [_parse(line) for line in lines if line.strip()]
    run_ids = {run_id for run_id, _ in parsed}
    events = [event for _, event in parsed]
    kinds = [event.kind for event in events]
    is_whole = kinds[:1] == ["start"] and kinds[-1:] == ["end"] and kinds.count("start") == kinds.count("end") == 1
    # A run in another state could be resumed: its program would run.
    is_whole = is_whole and type(events[0].data.get("tools")) is dict and events[-1].data.get("state") in FINISHED
    if len(run_ids) != 1 or not is_whole:
        message = "expected the lines of one run that has ended, from its start to its end"
        raise JournalError(message)
    run_id = run_ids.pop()

    def write(rows: RunRows) -> None:
        owners = [str(event.data.get("owner", "")) for event in events if event.kind in {"start", "claim"}]
        created = events[0].time
        new = RunRow(0, run_id, "", "running", created, created, len(owners), owners[-1], 0, chain_start(run_id))
        row = rows.insert(new) if rows.number_of(run_id) is None else None
        if row is None:
            message = f"the journal has a run {safe_repr(run_id)} already"
            raise JournalError(message)
        append(rows, row, events, ENDINGS[events[-1].data["state"]])

    store.transact(write)
    return run_id


def _parse(line: str) -> tuple[str, Event]:
    """Return the run's id and the event of a line. Raises JournalError for another line."""
    try:
        fields = cast("dict[str, Any]", json.loads(line))
        data, run_id = fields["data"], fields["run"]
        payload: bytes | None = None
        if "payload_base64" in fields:
            payload = base64.b64decode(fields["payload_base64"], validate=True)
        elif "payload" in fields:
            payload = str(fields["payload"]).encode()
        event = Event(fields["kind"], fields["path"], data, payload, datetime.fromisoformat(fields["time"]).timestamp())
        run_id.encode()  # what Unicode cannot encode, SQLite cannot keep
        is_event = find_event_problem(event) is None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _no_event(line) from error
    if not is_event:
        raise _no_event(line)
    return run_id, event


def _no_event(line: str) -> JournalError:
    return JournalError(f"expected an event of a run as JSON, got {safe_repr(line)}")
