"""Bytes from a worker, as frames: capped, bounded and checked before anything looks inside.

A frame is four bytes of length, big-endian, then a JSON object; a reply to a call, which only the host sends, has its
kind and number before its JSON or text instead. The worker may be anything by now, so a frame is
refused for its length before it is stored, for its depth and its number of values before it is parsed, and for its
shape before it is used. One refusal ends the worker.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox import codec
from ez_ptc.sandbox.output_text import encodable
from ez_ptc.sandbox.pictures import checked_pictures
from ez_ptc.sandbox.worker.values import codec as values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["CallFrame", "DoneFrame", "Frame", "FrameReader", "OutputFrame", "pack", "parse", "reply"]

_HEADER = 4
_SMALL = 4096
_FRAMES_OF_MOST = 16
"""How many frames of the greatest size one program may send in all: the host keeps the arguments of every call."""
_LITTLE = 512
_VALUE_BYTES = 100
"""What a value takes in the host's memory, beyond its text."""
_DEQUE_BYTES = 1_000
"""What an empty deque takes in addition, and its copy in the record of the call."""
_DEQUE_SEPARATORS = 6
_WIDE = 4
"""Bytes of a character, where one of a text's is not ASCII."""
_SEPARATORS = 2
"""Commas and brackets of an element, about."""
# In one pass whatever the bytes are: possessive, and a string that is not closed ends with them.
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_PATH = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,63}")
_CALL_KEYS = {"t", "id", "path", "name", "args", "kwargs", "alone"}
_CALL_FIELDS: Callable[[dict[str, object]], tuple[object, ...]] = itemgetter(
    "id", "path", "name", "args", "kwargs", "alone"
)
_DONE_KEYS = {"t", "value", "error", "trace", "kind", "dropped", "described", "images", "images_left"}
_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
_CONTAINERS = {list, dict, tuple, set, frozenset, deque, values.Row}
_MOST_DROPPED = 1 << 63
_MOST_DEPTH = values.MAX_DEPTH + 8
"""Levels of a value, and those of the frame around it."""


# Named tuples: one is made for each call, and a frozen dataclass takes three times as long to make.
class CallFrame(NamedTuple):
    """The program calls a tool."""

    number: int
    path: str
    name: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    alone: bool


class OutputFrame(NamedTuple):
    """The program wrote to standard output (1) or error (2)."""

    stream: int
    text: str


class DoneFrame(NamedTuple):
    """The program has ended: with a value or a description of one, or with an error and its traceback."""

    value: object
    error: str | None
    trace: str
    kind: str
    dropped: int
    described: str = ""
    images: tuple[bytes, ...] = ()
    images_left: int = 0


Frame = CallFrame | OutputFrame | DoneFrame


def pack(body: bytes) -> bytes:
    """Return ``body`` with its length before it."""
    return len(body).to_bytes(_HEADER, "big") + body


def reply(number: int, kind: bytes, payload: bytes) -> bytes:
    """Return the frame that answers call ``number``.

    ``kind`` is ``b"s"`` for text in UTF-8, ``b"v"`` for a value as JSON, ``b"m"`` for one with marks in it, and
    ``b"e"`` for an error: the names of its class and of the nearest built-in one, and its message.
    """
    return b"%b%b%b%b" % ((len(payload) + 5).to_bytes(_HEADER, "big"), kind, number.to_bytes(4, "big"), payload)


class FrameReader:
    """Collects bytes and gives frames."""

    def __init__(self, most: int, elements: int = values.MAX_NODES) -> None:
        """Refuse any frame of more than ``most`` bytes, or of more values than so many elements take."""
        self._most = most
        self._elements = elements
        self._memory_left = most * _FRAMES_OF_MOST
        self._buffer = bytearray()

    @property
    def waiting(self) -> int:
        """How many bytes came that are not in a frame yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterable[Frame]:
        """Return the frames that are complete with ``data``.

        Raises:
            ProtocolError: A frame breaks the rules; nothing after it may be read.
        """
        if not self._buffer and len(data) == _HEADER + int.from_bytes(data[:_HEADER], "big") <= self._most:
            # What nearly always comes: one frame, whole.
            return (self._parsed(data[_HEADER:]),)
        return self._collected(data)

    def _collected(self, data: bytes) -> Iterator[Frame]:
        self._buffer += data
        while len(self._buffer) >= _HEADER:
            end = _HEADER + int.from_bytes(self._buffer[:_HEADER], "big")
            if end - _HEADER > self._most:
                message = f"a frame of {end - _HEADER:,} bytes, over the limit of {self._most:,}"
                raise ProtocolError(message)
            if len(self._buffer) < end:
                return
            body = bytes(memoryview(self._buffer)[_HEADER:end])
            del self._buffer[:end]
            yield self._parsed(body)

    def _parsed(self, body: bytes) -> Frame:
        self._memory_left -= len(body) if len(body) <= _LITTLE else _memory(body)
        if self._memory_left < 0:
            message = "more in all its frames together than its limits allow"
            raise ProtocolError(message)
        return parse(body, self._elements)


def _memory(body: bytes) -> int:
    """Return about how many bytes of the host's memory the values in ``body`` will take, at the most."""
    is_narrow = body.isascii() and b"\\u" not in body
    separators = _separators(body)
    # Where a letter may be written as its number, any mark may be a deque's.
    deques = separators // _DEQUE_SEPARATORS if b"\\u00" in body else body.count(b'"dq"')
    return len(body) * (1 if is_narrow else _WIDE) + _VALUE_BYTES * separators + _DEQUE_BYTES * deques


def _separators(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _too_many(body: bytes, elements: int) -> bool:
    """Return whether ``body`` has more values than a frame may, without parsing it."""
    most = _SEPARATORS * elements
    found = _separators(body)
    if found <= most:
        return False
    for number, string in enumerate(_STRINGS.finditer(body)):
        if number > most // 4:
            return True
        found -= _separators(string[0])
    return found > most


def _too_deep(frame: object) -> bool:
    """Return whether containers are nested deeper than a frame's may be: one look at each level."""
    level: list[object] = [frame]
    for _ in range(_MOST_DEPTH):
        dicts = cast("list[dict[object, object]]", [item for item in level if type(item) is dict])
        others = cast("list[Iterable[object]]", [item for item in level if type(item) is not dict])
        below = chain(chain.from_iterable(map(dict[object, object].values, dicts)), *others, *dicts)
        level = [item for item in below if type(item) in _CONTAINERS]
        if not level:
            return False
    return True


def parse(body: bytes, elements: int = values.MAX_NODES) -> Frame:
    """Return the frame in ``body``. Raises ProtocolError for anything that an honest worker never sends."""
    if len(body) > _SMALL and _too_many(body, elements):
        message = "a frame with too many values"
        raise ProtocolError(message)
    try:
        frame = codec.loads(body, elements)
    except _UNREADABLE as error:
        message = f"a frame that cannot be read ({type(error).__name__})"
        raise ProtocolError(message) from None
    if len(body) > _MOST_DEPTH and body.count(b"[") + body.count(b"{") > _MOST_DEPTH and _too_deep(frame):
        message = "a frame nested too deeply"
        raise ProtocolError(message)
    if isinstance(frame, dict):
        fields = cast("dict[str, object]", frame)
        kind = fields.get("t")
        if kind == "call":
            return _call(fields)
        if kind == "output":
            return _output(fields)
        if kind == "done":
            return _done(fields)
    message = "a frame of no known kind"
    raise ProtocolError(message)


def _call(frame: dict[str, object]) -> CallFrame:
    if frame.keys() == _CALL_KEYS:
        number, path, name, args, kwargs, alone = _CALL_FIELDS(frame)
        if (
            type(number) is int
            and type(path) is str
            and _PATH.fullmatch(path)
            and type(name) is str
            and type(args) is list
            and type(kwargs) is dict
            and type(alone) is bool
            and set(map(type, cast("dict[object, object]", kwargs))) <= {str}
        ):
            positional = tuple(cast("list[object]", args))
            return CallFrame(number, path, name, positional, cast("dict[str, object]", kwargs), alone)
    message = "a call frame of the wrong shape"
    raise ProtocolError(message)


def _output(frame: dict[str, object]) -> OutputFrame:
    match frame:
        case {"stream": 1 | 2 as stream, "text": str(text), **rest} if len(rest) == 1 and type(stream) is int:
            return OutputFrame(stream, encodable(text))
        case _:
            message = "an output frame of the wrong shape"
            raise ProtocolError(message)


def _done(frame: dict[str, object]) -> DoneFrame:
    error, dropped, images_left = frame.get("error"), frame.get("dropped"), frame.get("images_left", 0)
    trace, kind, described = (frame.get(name, "") for name in ("trace", "kind", "described"))
    if (
        frame.keys() <= _DONE_KEYS
        and (error is None or isinstance(error, str))
        and isinstance(trace, str)
        and isinstance(kind, str)
        and isinstance(described, str)
        and type(dropped) is int
        and 0 <= dropped < _MOST_DROPPED
        and type(images_left) is int
        and 0 <= images_left < _MOST_DROPPED
    ):
        error = None if error is None else encodable(error)
        images = checked_pictures(frame["images"]) if "images" in frame else ()
        value, trace, described = frame.get("value"), encodable(trace), encodable(described)
        return DoneFrame(value, error, trace, kind, dropped, described, images, images_left)
    message = "a done frame of the wrong shape"
    raise ProtocolError(message)
