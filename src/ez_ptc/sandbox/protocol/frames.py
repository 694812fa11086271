"""The frames between host and worker, and the parser of a hostile worker's bytes.

A frame is four bytes of length, big-endian, then a JSON object, perhaps with attachments (the module
`ez_ptc.sandbox.protocol.values.attachments` has their form). A reply to a call, which only the host sends, has its kind
and number before its JSON or text instead. The program may control the worker by now, so a frame is checked for its
length before it is stored, for its depth and number of values before it is parsed, and for its shape before it is used.
One violation ends the worker.
"""

from __future__ import annotations

import re
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from ez_ptc.errors import ProtocolError
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.both_ends.source_repairs import REPAIRS
from ez_ptc.sandbox.protocol.output_text import encodable
from ez_ptc.sandbox.protocol.pictures import PictureFrame, parse_picture
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.sandbox.protocol.values.attachments import ATTACHED, MIN_ATTACHED, Attachment, split
from ez_ptc.sandbox.protocol.values.kinds import CONTAINERS, parts_of
from ez_ptc.schema.arguments.nesting import MISSED_LEVELS, is_nested_deeper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "CallFrame",
    "DoneFrame",
    "Frame",
    "FrameReader",
    "OutputFrame",
    "Received",
    "RestFrame",
    "pack",
    "parse",
    "reply",
]

_HEADER_BYTES = 4
# Frames up to this length may have any number of values.
_MAX_UNCOUNTED_BYTES = 4096
# How many frames of the maximum size one program may send in all: the host keeps the arguments of every call.
_MAX_FULL_FRAMES = 16
# Frames up to this length count as their length, larger ones as their estimated memory.
_MAX_SMALL_FRAME_BYTES = 512
# The host's memory for one value, in addition to its text, and in addition to that for a list or dict and its copy.
_VALUE_BYTES = 100
_CONTAINER_BYTES = 200
# The additional memory for an empty deque and its copy in the call's record.
_DEQUE_BYTES = 1_000
_DEQUE_SEPARATORS = 6
_WIDE_CHARACTER_BYTES = 4
_SEPARATORS_PER_ELEMENT = 2
# Linear in the length of any bytes: possessive, and a string that is not closed ends with them.
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_PATH = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,63}")
_CALL_KEYS = {"t", "id", "path", "name", "args", "kwargs", "alone"}
_ALL_CALL_KEYS = _CALL_KEYS | {"events", "line"}
_MAX_LINE = 1 << 31
_REST_KEYS = {"t", "replies", "events"}
_CALL_FIELDS: Callable[[dict[str, object]], tuple[object, ...]] = itemgetter(
    "id", "path", "name", "args", "kwargs", "alone"
)

_OPTIONAL_TEXTS = ("trace", "kind", "described", "correction")
_DONE_KEYS = {"t", "value", "error", "dropped", "images_left", "events", "repaired", *_OPTIONAL_TEXTS}
# The maximum characters of a corrected program: the worker proposes no longer one.
_MAX_CORRECTION = 5_000
_UNREADABLE = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
_MAX_DROPPED = 1 << 63
# The levels of a value, plus those of the frame around it.
_MAX_DEPTH = values.MAX_DEPTH + 8


# Named tuples, because each call makes one, and a frozen dataclass takes three times as long to make.
class CallFrame(NamedTuple):
    """The program calls a tool, in a `line` of its own, or 0 if that is not known.

    `events` are those of its schedule since the last frame that had any.
    """

    number: int
    path: str
    name: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    alone: bool
    events: tuple[tuple[str, int], ...] = ()
    line: int = 0


class RestFrame(NamedTuple):
    """The program waits for replies alone, and has received so many."""

    replies: int
    events: tuple[tuple[str, int], ...]


class OutputFrame(NamedTuple):
    """The program wrote to standard output (1) or error (2)."""

    stream: int
    text: str


class DoneFrame(NamedTuple):
    """The program ended: with a value or a description of it, or with an error and its traceback."""

    value: object
    error: str | None
    trace: str
    kind: str
    dropped: int
    described: str = ""
    images_left: int = 0
    events: tuple[tuple[str, int], ...] = ()
    correction: str = ""
    repaired: tuple[str, ...] = ()


Frame = CallFrame | RestFrame | OutputFrame | PictureFrame | DoneFrame


class Received(NamedTuple):
    """The frames that some bytes complete, and the violation of the protocol that follows them, if any."""

    frames: list[Frame]
    violation: ProtocolError | None = None


def pack(body: bytes) -> bytes:
    """Return `body` preceded by its length."""
    return len(body).to_bytes(_HEADER_BYTES, "big") + body


def reply(number: int, kind: bytes, payload: bytes) -> bytes:
    """Return the frame that answers call `number`.

    `kind` is `b"s"` for text in UTF-8, `b"v"` for a value as JSON, `b"m"` for a value with type marks in its JSON,
    `b"a"` for one with attachments, `b"r"` for flat rows as `marshal`, and `b"e"` for an error: the names of its class
    and of the nearest built-in one, its message, and true if the call was not approved.
    """
    length = (len(payload) + 5).to_bytes(_HEADER_BYTES, "big")
    return b"%b%b%b%b" % (length, kind, number.to_bytes(4, "big"), payload)


class FrameReader:
    """Collects bytes and yields frames, each of at most `max_bytes` and `max_elements`."""

    def __init__(self, max_bytes: int, max_elements: int = values.MAX_NODES) -> None:
        self._max_bytes = max_bytes
        self._max_elements = max_elements
        # A raised limit of elements is meant for values with more memory for the same bytes.
        self._memory_left = _MAX_FULL_FRAMES * max_bytes * max(max_elements, values.MAX_NODES) // values.MAX_NODES
        self._buffer = bytearray()

    @property
    def unread_bytes(self) -> int:
        """The number of bytes received of an incomplete frame."""
        return len(self._buffer)

    def read(self, data: bytes) -> Received:
        """Return the frames that `data` completes, up to the end of the program or a violation: the rest is not read.

        All are parsed before the first is used, which is faster: a loop over few instructions stays in the caches.
        """
        frames: list[Frame] = []
        try:
            if not self._buffer and len(data) == _HEADER_BYTES + _frame_length(data) <= self._max_bytes:
                # The usual case: one whole frame.
                frames.append(self._parse(data[_HEADER_BYTES:]))
                return Received(frames)
            for frame in self._parse_buffered(data):
                frames.append(frame)
                if type(frame) is DoneFrame:
                    break
        except ProtocolError as error:
            return Received(frames, error)
        return Received(frames)

    def _parse_buffered(self, data: bytes) -> Iterator[Frame]:
        self._buffer += data
        while len(self._buffer) >= _HEADER_BYTES:
            length = _frame_length(self._buffer)
            if length > self._max_bytes:
                message = f"a frame of {length:,} bytes, over the limit of {self._max_bytes:,}"
                raise ProtocolError(message)
            end = _HEADER_BYTES + length
            if len(self._buffer) < end:
                return
            body = bytes(memoryview(self._buffer)[_HEADER_BYTES:end])
            del self._buffer[:end]
            yield self._parse(body)

    def _parse(self, body: bytes) -> Frame:
        content = _FrameContent.of(body)
        self._memory_left -= content.memory()
        if self._memory_left < 0:
            message = "more in all its frames together than its limits allow"
            raise ProtocolError(message)
        return _parse_content(content, self._max_elements)


def _frame_length(data: bytes | bytearray) -> int:
    return int.from_bytes(data[:_HEADER_BYTES], "big")


class _FrameContent(NamedTuple):
    """The JSON of a frame, its attachments, and its commas and opening brackets, which are counted once.

    These are not counted in a frame that is too short to be nested too deeply.
    """

    json: bytes
    attachments: Sequence[Attachment]
    commas: int
    brackets: int

    @classmethod
    def of(cls, body: bytes) -> _FrameContent:
        """Return the content of a frame's body. Raises ProtocolError for attachments that no honest worker sends."""
        json, attachments = body, list[Attachment]()
        if body.startswith(ATTACHED):
            try:
                json, attachments = split(body, MIN_ATTACHED)
            except ValueError as error:
                message = f"a frame with {error}"
                raise ProtocolError(message) from None
        # A level has an opening and a closing bracket.
        if len(json) <= 2 * _MAX_DEPTH:
            return cls(json, attachments, 0, 0)
        return cls(json, attachments, json.count(b","), json.count(b"[") + json.count(b"{"))

    def memory(self) -> int:
        """Return an upper estimate of the host's memory, in bytes, for the values of the frame."""
        json, separators = self.json, self.commas + self.brackets
        memory = len(json)
        if memory > _MAX_SMALL_FRAME_BYTES:
            is_escaped = b"\\" in json
            # With escaped letters, any mark may be that of a deque.
            if is_escaped and b"\\u00" in json:
                deques = separators // _DEQUE_SEPARATORS
            else:
                deques = json.count(b'"dq"')
            if not json.isascii() or (is_escaped and b"\\u" in json):
                memory *= _WIDE_CHARACTER_BYTES
            memory += _VALUE_BYTES * separators + _DEQUE_BYTES * deques + _CONTAINER_BYTES * self.brackets
        if self.attachments:
            memory += sum([attachment.memory() for attachment in self.attachments])
        return memory

    def has_too_many_values(self, max_elements: int) -> bool:
        """Return whether there are more values than allowed, without parsing them."""
        max_separators = _SEPARATORS_PER_ELEMENT * max_elements
        separators = self.commas + self.brackets
        if separators <= max_separators:
            return False
        # Separators within strings do not count; but more strings than elements are too many in any case.
        for number, string in enumerate(_STRINGS.finditer(self.json)):
            if number > max_separators // 4:
                return True
            separators -= sum(map(string[0].count, (b",", b"[", b"{")))
        return separators > max_separators


def _is_too_deep(json: bytes, frame: object) -> bool:
    """Return whether containers are nested too deeply: level by level, unless so few brackets of the text are."""
    if not is_nested_deeper(json, _MAX_DEPTH - MISSED_LEVELS):
        return False
    level: list[object] = [frame]
    for _ in range(_MAX_DEPTH):
        # Most levels have none, which the types tell without a step of Python for an item.
        inner = list(chain.from_iterable(map(parts_of, level)))
        if CONTAINERS.isdisjoint(map(type, inner)):
            return False
        level = [item for item in inner if type(item) in CONTAINERS]
    return True


def parse(body: bytes, max_elements: int = values.MAX_NODES) -> Frame:
    """Return the frame in `body`. Raises ProtocolError for anything an honest worker never sends."""
    return _parse_content(_FrameContent.of(body), max_elements)


def _parse_content(content: _FrameContent, max_elements: int) -> Frame:
    if len(content.json) > _MAX_UNCOUNTED_BYTES and content.has_too_many_values(max_elements):
        message = "a frame with too many values"
        raise ProtocolError(message)
    try:
        frame = host_codec.loads(content.json, max_elements, content.attachments)
    except _UNREADABLE as error:
        message = f"an unreadable frame ({type(error).__name__})"
        raise ProtocolError(message) from None
    if content.brackets > _MAX_DEPTH and _is_too_deep(content.json, frame):
        message = "a frame nested too deeply"
        raise ProtocolError(message)
    if isinstance(frame, dict):
        fields = cast("dict[str, object]", frame)
        frame_type = fields.get("t")
        if frame_type == "call":
            return _parse_call(fields)
        if type(frame_type) is str and (parse_other := _PARSERS.get(frame_type)) is not None:
            return parse_other(fields)
    message = "a frame of unknown kind"
    raise ProtocolError(message)


def _parse_output(frame: dict[str, object]) -> OutputFrame:
    match frame:
        case {"stream": 1 | 2 as stream, "text": str(text), **rest} if len(rest) == 1 and type(stream) is int:
            return OutputFrame(stream, encodable(text))
        case _:
            message = "an output frame of the wrong shape"
            raise ProtocolError(message)


def _parse_call(frame: dict[str, object]) -> CallFrame:
    if frame.keys() >= _CALL_KEYS and _ALL_CALL_KEYS.issuperset(frame):
        number, path, name, args, kwargs, alone = _CALL_FIELDS(frame)
        line = frame.get("line", 0)
        if (
            type(number) is int
            and type(path) is str
            and _PATH.fullmatch(path)
            and type(name) is str
            and type(args) is list
            and type(kwargs) is dict
            and type(alone) is bool
            and type(line) is int
            and 0 <= line < _MAX_LINE
            and (not kwargs or set(map(type, cast("dict[object, object]", kwargs))) <= {str})
        ):
            positional = tuple(cast("list[object]", args))
            events = _parse_events(frame["events"]) if "events" in frame else ()
            return CallFrame(number, path, name, positional, cast("dict[str, object]", kwargs), alone, events, line)
    message = "a call frame of the wrong shape"
    raise ProtocolError(message)


def _parse_rest(frame: dict[str, object]) -> RestFrame:
    replies = frame.get("replies")
    if frame.keys() == _REST_KEYS and type(replies) is int:
        return RestFrame(replies, _parse_events(frame["events"]))
    message = "a rest frame of the wrong shape"
    raise ProtocolError(message)


def _parse_events(value: object) -> tuple[tuple[str, int], ...]:
    """Return the events of a program's schedule: paths, or "" for a timer, with microseconds."""
    if type(value) is list:
        events = cast("list[list[object]]", value)
        if all(map(_is_event, events)):
            return tuple((str(path), cast("int", advance)) for path, advance in events)
    message = "events of the wrong shape"
    raise ProtocolError(message)


def _is_event(event: object) -> bool:
    match event:
        case [str(path), int(advance)]:
            return (not path or bool(_PATH.fullmatch(path))) and type(advance) is int and 0 <= advance < _MAX_DROPPED
        case _:
            return False


def _parse_done(frame: dict[str, object]) -> DoneFrame:
    error, dropped, images_left = frame.get("error"), frame.get("dropped"), frame.get("images_left", 0)
    trace, error_kind, described, correction = (frame.get(name, "") for name in _OPTIONAL_TEXTS)
    repaired = cast("list[str]", frame.get("repaired", []))
    if (
        frame.keys() <= _DONE_KEYS
        and (error is None or isinstance(error, str))
        and isinstance(trace, str)
        and isinstance(error_kind, str)
        and isinstance(described, str)
        and isinstance(correction, str)
        and len(correction) <= _MAX_CORRECTION
        and type(repaired) is list
        and all(type(key) is str and key in REPAIRS for key in repaired)
        and type(dropped) is int
        and 0 <= dropped < _MAX_DROPPED
        and type(images_left) is int
        and 0 <= images_left < _MAX_DROPPED
    ):
        error = None if error is None else encodable(error)
        value, trace, described = frame.get("value"), encodable(trace), encodable(described)
        events = _parse_events(frame["events"]) if "events" in frame else ()
        done = DoneFrame(value, error, trace, error_kind, dropped, described, images_left, events, correction)
        return done._replace(repaired=tuple(repaired)) if repaired else done
    message = "a done frame of the wrong shape"
    raise ProtocolError(message)


_PARSERS = {"output": _parse_output, "picture": parse_picture, "rest": _parse_rest, "done": _parse_done}
