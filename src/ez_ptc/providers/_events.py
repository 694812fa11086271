"""Server-sent events of all providers, decoded as the WHATWG's standard says.

The standard discards an event without the blank line at its end. Some servers send their last event so: it counts if
its data are a whole JSON object, or `[DONE]`. Otherwise the connection was lost inside the event, and the reader of the
answer says so unless the answer is complete without it. Lines that are a whole object each are events without blank
lines between them.
"""

from __future__ import annotations

import re
import sys
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._bodies import LineEnds, exhaust
from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.wire import parse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

__all__ = [
    "DONE",
    "EVENT_STREAM",
    "MAX_LINE_BYTES",
    "EventDecoder",
    "ServerSentEvent",
    "events_of",
    "of_transport",
    "server_sent_events",
]

EVENT_STREAM: Final = "text/event-stream"
_FIELD: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?:data|event|id|retry)?:")
DONE: Final = "[DONE]"
"""The data of the last event of OpenAI's streams."""
MAX_LINE_BYTES: Final = 32 << 20
"""Of one event of a stream, such as a picture in base64."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its data, and its name, which is "message" unless the server sends another."""

    data: str
    name: str = "message"

    def read(self) -> object:
        """Return the data's JSON value; an object without a `type` gets the event's name, if it has one.

        Raises ValueError or RecursionError for data that are not usable JSON.
        """
        value = parse(self.data)
        if self.name == "message" or not isinstance(value, dict):
            return value
        return {"type": self.name, **cast("dict[str, Any]", value)}


class EventDecoder:
    """Decodes the chunks of a stream, wherever they are cut."""

    def __init__(self) -> None:
        self._line_ends = LineEnds()
        self._rest = bytearray()
        self._data: list[str] = []
        self._name = ""

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events complete after a chunk. Raises ProviderError for a line of more than `MAX_LINE_BYTES`."""
        chunk = self._line_ends.feed(chunk)
        self._rest += chunk
        events: list[ServerSentEvent] = []
        if b"\n" in chunk:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._add_line(line.decode(errors="replace"))
                if not line:
                    events += self._dispatch()
        if len(self._rest) > MAX_LINE_BYTES:
            message = f"a line of the answer has more than {MAX_LINE_BYTES >> 20} MiB: is that the address of an API?"
            raise ProviderError(message)
        return events

    def end(self) -> list[ServerSentEvent]:
        """Return the event that the stream ended in, if it has data."""
        self._add_line(self._rest.decode(errors="replace"))
        self._rest.clear()
        return self._dispatch()

    def _add_line(self, line: str) -> None:
        # Lines that begin with a colon are comments, and fields other than these two are not needed.
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value

    def _dispatch(self) -> list[ServerSentEvent]:
        data, name = self._data, self._name
        self._data, self._name = [], ""
        if not data:
            return []
        data = [DONE if text.strip().upper() == DONE else text for text in data]  # servers write it in their own way
        if len(data) == 1 or not all(map(_is_whole, data)):
            data = ["\n".join(data)]
        return [ServerSentEvent(text, name or "message") for text in data]


def events_of(body: bytes) -> list[ServerSentEvent] | None:
    """Return the events with data in a whole body, or None if it begins otherwise, as JSON does."""
    if not _FIELD.match(body):
        return None
    decoder = EventDecoder()
    return [event for event in (*decoder.feed(body), *decoder.end()) if event.data.strip()]


async def server_sent_events(chunks: AsyncIterator[bytes], server: str) -> AsyncGenerator[ServerSentEvent]:
    """Yield the events with data in a response's bytes; `server` is the server's address or name in messages.

    Raises ConnectionFailedError if the connection is lost, and ProviderError as `EventDecoder.feed` does.
    """
    decoder = EventDecoder()
    async with aclosing(_check_connection(chunks, server)) as received:
        async for chunk in received:
            for event in decoder.feed(chunk):
                if event.data.strip():
                    yield event
    for event in decoder.end():
        if _is_whole(event.data):
            yield event


async def _check_connection(chunks: AsyncIterator[bytes], server: str) -> AsyncGenerator[bytes]:
    try:
        async for chunk in chunks:
            yield chunk
    except of_transport("TimeoutException"):
        raise
    except of_transport("HTTPError") as error:
        message = f"the connection to {server} was lost before the answer was complete: ask again"
        raise ConnectionFailedError(message) from error
    finally:
        await exhaust(chunks)


def _is_whole(data: str) -> bool:
    try:
        return data == DONE or isinstance(parse(data), dict)
    except (ValueError, RecursionError):
        return False


def of_transport(name: str) -> tuple[type[Exception], ...]:
    """Return an error class of the HTTP clients below the SDKs: httpx2, and formerly httpx."""
    clients = (sys.modules.get(client) for client in ("httpx2", "httpx"))
    return tuple(getattr(client, name) for client in clients if client is not None)
