"""The events of a run, each with a hash over itself and its predecessors."""

from __future__ import annotations

import hashlib
import json
import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Event",
    "EventKind",
    "chain_events",
    "chain_start",
    "content_hash",
    "event_hash",
    "event_size",
    "hashed_payload",
    "pruned_hash",
]

_NO_DATA: Final = MappingProxyType[str, Any]({})
# About what an event takes without its data and its payload.
_EVENT_BYTES: Final = 256
# Made once: `json.dumps` makes an encoder for each call with separators.
_to_json: Final = json.JSONEncoder(separators=(",", ":")).encode
_SECONDS: Final = struct.Struct(">d").pack

EventKind = Literal["start", "claim", "pending", "decision", "intent", "progress", "result", "picture", "pause", "end"]


# A named tuple, because a run may have thousands, and a frozen dataclass takes four times as long to make.
class Event(NamedTuple):
    """One row of a run's record.

    Attributes:
        kind: "start" and "claim" begin an execution; "pending" is a call that waits, "decision" what was decided about
            it; "intent" comes before a tool runs, "result" after; "progress" is what running calls have reported, by
            their paths; "picture" is one that the program made; "pause" and "end" end an execution.
        path: The call's position in the program; "" for events of the whole run.
        data: Its JSON object.
        payload: The bytes that are not JSON of ours: the program, a call's arguments, a reply, a picture.
        time: Seconds since 1970.
        position: Its number in the run, from 1; 0 before it is written.
    """

    kind: EventKind
    path: str = ""
    data: Mapping[str, Any] = _NO_DATA
    payload: bytes | None = None
    time: float = 0.0
    position: int = 0

    def data_bytes(self) -> bytes:
        """Return `data` as JSON in ASCII."""
        return _to_json(dict(self.data)).encode()


def event_size(event: Event) -> int:
    """Return about how many bytes an event takes in the journal."""
    return _EVENT_BYTES + len(event.data_bytes()) + len(event.payload or b"")


def chain_start(run_id: str) -> bytes:
    """Return the hash before a run's first event."""
    return hashlib.sha256(run_id.encode()).digest()


def content_hash(payload: bytes) -> bytes:
    """Return the hash by which a payload is stored."""
    return hashlib.sha256(payload).digest()


def pruned_hash(number: object, run_id: object, seconds: object) -> bytes:
    """Return the hash of what is kept of a run that was pruned."""
    return content_hash(f"{number}\0{run_id}\0{seconds!r}".encode())


def event_hash(previous: bytes, event: tuple[int, str, str, float], data: bytes, payload: bytes) -> bytes:
    """Return the hash of an event after `previous`; `event` is its position, kind, path and time.

    `payload` is the payload after a letter, or its `content_hash` after another, or b"" if there is none.
    """
    position, event_kind, path, seconds = event
    head = f"{position}\0{event_kind}\0{path}\0{len(data)}\0".encode()
    return hashlib.sha256(previous + head + _SECONDS(seconds) + data + payload).digest()


def hashed_payload(payload: bytes | None, content: bytes | None) -> bytes:
    """Return what the hash of an event says of its payload, which stands in its row or has the hash `content`."""
    if content is not None:
        return b"c" + content
    return b"" if payload is None else b"p" + payload


def chain_events(position: int, head: bytes, events: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the columns of events with the positions and hashes that fit after the event at `position`."""
    chained: list[tuple[Any, ...]] = []
    for _, event_kind, path, seconds, data, payload, content, _ in events:
        position += 1
        head = event_hash(head, (position, event_kind, path, seconds), data, hashed_payload(payload, content))
        chained.append((position, event_kind, path, seconds, data, payload, content, head))
    return chained
