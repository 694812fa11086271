"""Bytes from a worker, as frames: capped, bounded and checked before anything looks inside.

A frame is four bytes of length, big-endian, then a JSON object. The worker may be anything by now, so a frame is
refused for its length before it is stored, for its depth and its number of values before it is parsed, and for its
shape before it is used. One refusal ends the worker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox.worker import values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["CallFrame", "DoneFrame", "FrameReader", "OutputFrame", "pack", "parse"]

_HEADER = 4
_SMALL = 4096
_FRAMES_OF_MOST = 16
"""How many frames of the greatest size one program may send in all: the host keeps the arguments of every call."""
_MOST_SEPARATORS = values.MAX_NODES * 2
# In one pass whatever the bytes are: possessive, and a string that is not closed ends with them.
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_PATH = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,63}")
_CALL_KEYS = {"t", "id", "path", "name", "args", "kwargs", "alone"}
_DONE_KEYS = {"t", "value", "error", "trace", "kind", "dropped"}
_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
_CONTAINERS = {list, dict, tuple, set, frozenset}
_MOST_DEPTH = values.MAX_DEPTH + 8
"""Levels of a value, and those of the frame around it."""


@dataclass(frozen=True, slots=True)
class CallFrame:
    """The program calls a tool."""

    number: int
    path: str
    name: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    alone: bool


@dataclass(frozen=True, slots=True)
class OutputFrame:
    """The program wrote to standard output (1) or error (2)."""

    stream: int
    text: str


@dataclass(frozen=True, slots=True)
class DoneFrame:
    """The program has ended: with a value, or with an error and its traceback."""

    value: object
    error: str | None
    trace: str
    kind: str
    dropped: int


def pack(body: bytes) -> bytes:
    """Return ``body`` with its length before it."""
    return len(body).to_bytes(_HEADER, "big") + body


class FrameReader:
    """Collects bytes and gives frames."""

    def __init__(self, most: int) -> None:
        """Refuse any frame of more than ``most`` bytes."""
        self._most = most
        self._bytes_left = most * _FRAMES_OF_MOST
        self._values_left = _MOST_SEPARATORS * _FRAMES_OF_MOST
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[CallFrame | OutputFrame | DoneFrame]:
        """Yield the frames that are complete with ``data``.

        Raises:
            ProtocolError: A frame breaks the rules; nothing after it may be read.
        """
        end = _HEADER + int.from_bytes(data[:_HEADER], "big")
        if not self._buffer and len(data) == end <= self._most:
            # What nearly always comes: one frame, whole.
            yield self._parsed(data[_HEADER:])
            return
        self._buffer += data
        while len(self._buffer) >= _HEADER:
            end = _HEADER + int.from_bytes(self._buffer[:_HEADER], "big")
            if end - _HEADER > self._most:
                message = f"a frame of {end - _HEADER:,} bytes, over the limit of {self._most:,}"
                raise ProtocolError(message)
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEADER:end])
            del self._buffer[:end]
            yield self._parsed(body)

    def _parsed(self, body: bytes) -> CallFrame | OutputFrame | DoneFrame:
        self._bytes_left -= len(body)
        self._values_left -= _separators(body) if len(body) > _SMALL else 0
        if self._bytes_left < 0 or self._values_left < 0:
            message = "more in all its frames together than its limits allow"
            raise ProtocolError(message)
        return parse(body)


def _separators(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _too_many(body: bytes) -> bool:
    """Return whether ``body`` has more values than a frame may, without parsing it."""
    if len(body) <= _SMALL:
        return False
    found = _separators(body)
    if found <= _MOST_SEPARATORS:
        return False
    for number, string in enumerate(_STRINGS.finditer(body)):
        if number > _MOST_SEPARATORS // 4:
            return True
        found -= _separators(string[0])
    return found > _MOST_SEPARATORS


def _too_deep(frame: object) -> bool:
    """Return whether containers are nested deeper than a frame's may be: one look at each level."""
    level: list[object] = [frame]
    for _ in range(_MOST_DEPTH):
        level = [item for container in level for item in _items(container) if type(item) in _CONTAINERS]
        if not level:
            return False
    return True


def _items(container: object) -> Iterable[object]:
    if isinstance(container, dict):
        found = cast("dict[object, object]", container)
        return (*found, *found.values())
    return cast("Iterable[object]", container)


def parse(body: bytes) -> CallFrame | OutputFrame | DoneFrame:
    """Return the frame in ``body``. Raises ProtocolError for anything that an honest worker never sends."""
    if _too_many(body):
        message = "a frame with too many values"
        raise ProtocolError(message)
    try:
        frame = values.loads(body)
    except _UNREADABLE as error:
        message = f"a frame that cannot be read ({type(error).__name__})"
        raise ProtocolError(message) from None
    if body.count(b"[") + body.count(b"{") > _MOST_DEPTH and _too_deep(frame):
        message = "a frame nested too deeply"
        raise ProtocolError(message)
    if isinstance(frame, dict):
        fields = cast("dict[str, object]", frame)
        match fields.get("t"):
            case "call":
                return _call(fields)
            case "output":
                return _output(fields)
            case "done":
                return _done(fields)
            case _:
                pass
    message = "a frame of no known kind"
    raise ProtocolError(message)


def _call(frame: dict[str, object]) -> CallFrame:
    number, path, name = frame.get("id"), frame.get("path"), frame.get("name")
    args, kwargs, alone = frame.get("args"), frame.get("kwargs"), frame.get("alone")
    if (
        frame.keys() == _CALL_KEYS
        and type(number) is int
        and type(path) is str
        and _PATH.fullmatch(path)
        and type(name) is str
        and type(args) is list
        and type(kwargs) is dict
        and type(alone) is bool
    ):
        keywords = cast("dict[object, object]", kwargs)
        if all(type(key) is str for key in keywords):
            positional = tuple(cast("list[object]", args))
            return CallFrame(number, path, name, positional, cast("dict[str, object]", keywords), alone)
    message = "a call frame of the wrong shape"
    raise ProtocolError(message)


def _output(frame: dict[str, object]) -> OutputFrame:
    match frame:
        case {"stream": 1 | 2 as stream, "text": str(text), **rest} if len(rest) == 1 and type(stream) is int:
            return OutputFrame(stream, text)
        case _:
            message = "an output frame of the wrong shape"
            raise ProtocolError(message)


def _done(frame: dict[str, object]) -> DoneFrame:
    error, trace, kind, dropped = (
        frame.get("error"),
        frame.get("trace", ""),
        frame.get("kind", ""),
        frame.get("dropped"),
    )
    if (
        frame.keys() <= _DONE_KEYS
        and (error is None or isinstance(error, str))
        and isinstance(trace, str)
        and isinstance(kind, str)
        and type(dropped) is int
        and dropped >= 0
    ):
        return DoneFrame(frame.get("value"), error, trace, kind, dropped)
    message = "a done frame of the wrong shape"
    raise ProtocolError(message)
