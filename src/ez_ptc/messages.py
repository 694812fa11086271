"""What travels between a model and us.

A conversation is a sequence of entries. What a person, a tool or a program says is a `Message`; what a model answered
is an `Answer`: the messages in it, and the provider's own JSON, kept as it came. The next request to that provider
sends that JSON back to the letter, with whatever is in it that we do not understand; a request to another provider is
made from the messages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, cast

__all__ = [
    "CACHE_LIFETIMES",
    "Answer",
    "AudioMessage",
    "DocumentMessage",
    "Entry",
    "ImageMessage",
    "MediaMessage",
    "Message",
    "MessageList",
    "MessageRole",
    "Printable",
    "TextMessage",
    "ToolCall",
    "ToolCallMessage",
    "ToolResult",
    "ToolResultMessage",
    "Usage",
    "VideoMessage",
    "robust_repr",
]

CACHE_LIFETIMES = ("5m", "30m", "1h", "12h")
"""For how long a provider may be asked to keep what it has read; each knows some of them."""

_REPR_DEPTH = 20
_BRACKETS: Mapping[type, str] = {list: "[{}]", tuple: "({})", set: "{{{}}}", frozenset: "frozenset({{{}}})"}


def robust_repr(value: object) -> str:
    """Return the `repr` of a value, whatever is in it.

    Python writes out no integer of more than 4,300 digits, and raises ValueError instead. There, and where an object's
    own `__repr__` raises, the smallest part that cannot be written is replaced by what it is.
    """
    return _written(value, _REPR_DEPTH)


def _written(value: object, depth: int) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - foreign code: an object may raise anything when it is written out
        if depth == 0:
            return "…"
    if type(value) is int:
        return f"<an integer of {value.bit_length()} bits>"
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        texts = [f"{_written(key, depth - 1)}: {_written(item, depth - 1)}" for key, item in pairs]
        return f"{{{', '.join(texts)}}}"
    brackets = _BRACKETS.get(type(value))
    if brackets is None:
        return f"<{type(value).__name__}>"
    items = cast("list[object]", value)
    comma = "," if type(value) is tuple and len(items) == 1 else ""
    return brackets.format(", ".join(_written(item, depth - 1) for item in items) + comma)


class Printable:
    """A dataclass that can be printed whatever values its fields have."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = (
            f"{each.name}={robust_repr(getattr(self, each.name))}" for each in fields(cast("Any", self)) if each.repr
        )
        return f"{type(self).__qualname__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True, repr=False)
class ToolCall(Printable):
    """One call that a model asks for.

    `arguments` are as the model sent them, not yet checked: a dict, or the JSON text where that is what came.
    `Tool.call` takes both.
    """

    id: str
    name: str
    arguments: dict[str, object] | str


@dataclass(frozen=True, slots=True, repr=False)
class ToolResult(Printable):
    """How one call of a tool ended.

    A successful call has its `output`; a failed one has in `error` the text that a model may read, and in `exception`
    what was raised. `repairs` has a sentence for each mistake of the model that was repaired before the function ran.
    `duration_ms` is the time from the call to its end, checks included.
    """

    success: bool
    output: object = None
    error: str | None = None
    exception: Exception | None = field(default=None, compare=False)
    repairs: tuple[str, ...] = ()
    duration_ms: float = field(default=0.0, compare=False)


class MessageRole(StrEnum):
    """Who says something."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, repr=False)
class Message(Printable):
    """Something that was said; `role` says by whom.

    `cache` marks the end of what a provider is to keep, to read it again for less: True, or for how long, as "1h".
    """

    role: MessageRole = field(kw_only=True)
    cache: bool | str = field(default=False, kw_only=True, repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class TextMessage(Message):
    """Text."""

    text: str
    role: MessageRole = field(default=MessageRole.USER, kw_only=True)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class MediaMessage(Message):
    """Something other than text: its bytes, with their `media_type`, or the address at which the provider finds it.

    It is an `ImageMessage`, a `DocumentMessage`, an `AudioMessage` or a `VideoMessage`; `KIND` and `PHRASE`
    name which in errors. A tool may return one, or a list of texts and of these.
    """

    KIND: ClassVar[str] = "media"
    PHRASE: ClassVar[str] = "media"

    data: bytes | None = None
    url: str | None = None
    media_type: str = "application/octet-stream"
    role: MessageRole = field(default=MessageRole.USER, kw_only=True)


@dataclass(frozen=True, slots=True, repr=False)
class ImageMessage(MediaMessage):
    """An image."""

    KIND: ClassVar[str] = "image"
    PHRASE: ClassVar[str] = "an image"

    media_type: str = "image/png"


@dataclass(frozen=True, slots=True, repr=False)
class DocumentMessage(MediaMessage):
    """A document, such as a PDF file or a plain text; `name` is what it is called."""

    KIND: ClassVar[str] = "document"
    PHRASE: ClassVar[str] = "a document"

    media_type: str = "application/pdf"
    name: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True, repr=False)
class AudioMessage(MediaMessage):
    """A recording to listen to."""

    KIND: ClassVar[str] = "audio"
    PHRASE: ClassVar[str] = "audio"

    media_type: str = "audio/wav"


@dataclass(frozen=True, slots=True, repr=False)
class VideoMessage(MediaMessage):
    """A video to watch."""

    KIND: ClassVar[str] = "video"
    PHRASE: ClassVar[str] = "a video"

    media_type: str = "video/mp4"


@dataclass(frozen=True, slots=True, repr=False)
class ToolCallMessage(Message):
    """A call that a model asks for."""

    tool_name: str
    tool_call_id: str
    arguments: dict[str, Any] | str
    role: MessageRole = field(default=MessageRole.ASSISTANT, kw_only=True)

    @property
    def call(self) -> ToolCall:
        """The same as `tools.calls` and the formats take it."""
        return ToolCall(self.tool_call_id, self.tool_name, self.arguments)


@dataclass(frozen=True, slots=True, repr=False)
class ToolResultMessage(Message):
    """How a call ended: what the tool returned or, where it failed, the text that a model may read.

    A `result` that is made of parts is a tuple of `TextMessage` and `MediaMessage` objects.
    """

    tool_call_id: str
    result: Any
    tool_name: str = field(default="", kw_only=True)
    success: bool = field(default=True, kw_only=True)
    role: MessageRole = field(default=MessageRole.USER, kw_only=True)


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tokens were read and written; those of `cached_tokens` and `reasoning_tokens` are counted there too."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer(Printable):
    """What a model answered.

    Attributes:
        messages: What it said: text and tool calls, in order.
        stop_reason: Why it stopped: "end", "tool_calls", "length", "refusal", "pause", "malformed" where it wanted a
            call and did not write one that can be read, or the provider's own word.
        usage: The tokens that it took.
        provider: The format that `content` is in, as "anthropic".
        model: The model that answered, as the provider names it.
        content: The provider's own JSON of what it said, kept as it came.
        id: The provider's name for this answer.
        details: What else the provider said of it, and what a format has to know when the answer goes back.
    """

    messages: tuple[Message, ...]
    stop_reason: str = "end"
    usage: Usage = field(default_factory=Usage)
    provider: str = ""
    model: str = ""
    content: Any = None
    id: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """All that it wrote."""
        return "".join(each.text for each in self.messages if isinstance(each, TextMessage))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that it asks for."""
        return tuple(each.call for each in self.messages if isinstance(each, ToolCallMessage))


Entry = Message | Answer
MessageList = list[Message]
