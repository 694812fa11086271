"""Messages, tool calls and answers: the data exchanged with a model.

A conversation is a sequence of entries. A `Message` comes from a person, a tool or a program. An `Answer` comes from
the model: its messages, and the provider's JSON, unchanged. The next request to the same provider returns that JSON
exactly, with any fields we do not understand; a request to another provider is built from the messages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from ez_ptc._wrong_calls import explain_calls, text_advice, unknown_name
from ez_ptc.results.bounds import MAX_ERROR, MAX_TEXT, ResultKeeper, bounded_error, exception_text
from ez_ptc.results.robust_repr import robust_repr
from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.view.objects.parts import ViewPart

__all__ = [
    "CACHE_LIFETIMES",
    "MAX_ERROR",
    "Answer",
    "AudioMessage",
    "DocumentMessage",
    "Entry",
    "ImageMessage",
    "MediaMessage",
    "Message",
    "MessageList",
    "MessageRole",
    "Paused",
    "PendingCall",
    "Printable",
    "ProgramEnding",
    "TextMessage",
    "ToolCall",
    "ToolCallMessage",
    "ToolResult",
    "ToolResultMessage",
    "Usage",
    "VideoMessage",
    "exception_text",
]

# The lifetimes of cached prompts; each provider supports some of them.
CACHE_LIFETIMES = ("5m", "30m", "1h", "12h")


class Printable:
    """A base for dataclasses whose `repr` never raises; `str` is for people."""

    __slots__ = ()

    def __repr__(self) -> str:
        names = (field.name for field in fields(cast("Any", self)) if field.repr)
        texts = (f"{name}={robust_repr(getattr(self, name))}" for name in names)
        return f"{type(self).__qualname__}({', '.join(texts)})"

    def __str__(self) -> str:
        from ez_ptc.view.objects.printed import printed_text

        return printed_text(self)

    def to_json(self) -> dict[str, Any]:
        """Return the shown fields as JSON's types, after the class's name as `type`: `{"type": "TextDelta", …}`."""
        from ez_ptc.formats.canonical import json_record

        return json_record(self)


@explain_calls(checks="arguments")
@dataclass(frozen=True, slots=True, repr=False)
class ToolCall(Printable):
    """One call requested by a model.

    `arguments` are unchecked, as the model sent them: a dict or JSON text. `Tool.call` accepts both.
    """

    id: str
    name: str
    arguments: dict[str, object] | str


@explain_calls(checks="state")
@dataclass(frozen=True, slots=True, repr=False)
class PendingCall(Printable):
    """A call that waits for a decision: in `result.pending`, and what approvers and approval predicates are given.

    Attributes:
        id: The key of its decision in `resume`; "" for a predicate, which decides whether the call waits at all.
        tool: The tool's name.
        arguments: The arguments it runs with if it is approved, as JSON; of a call with an unknown outcome, those it
            ran with. A predicate gets them converted to their annotated types.
        path: Its position in the program; "" for a single call, and for a predicate.
        state: "needs_approval", "outcome_unknown" for a call that may have taken effect, or "running" for one whose
            process lives: nothing can be decided about it.
    """

    id: str
    tool: str
    arguments: dict[str, Any]
    path: str
    state: Literal["needs_approval", "outcome_unknown", "running"] = "needs_approval"

    @property
    def name(self) -> str:
        """Same as `tool`."""
        return self.tool

    @property
    def digest(self) -> str:
        """What a person was shown, as a SHA-256 in hexadecimal digits: of the tool's name and the arguments' JSON.

        It is the same for equal calls, wherever they are read, and independent of the order of keys. `1`, `1.0` and
        `true` are different. An answer that returns through a client or a framework brings it back.
        """
        from ez_ptc.formats.canonical import call_digest  # which imports this module

        return call_digest(self.tool, self.arguments)


@dataclass(frozen=True, slots=True)
class Paused:
    """What a result stands for until the conversation is resumed: calls that wait, of the run `run_id` if given."""

    pending: tuple[PendingCall, ...]
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class ProgramEnding:
    """How the last program of a conversation ended: whether the next one continues it, and the id of its run."""

    is_continued: bool
    run_id: str | None = None


@explain_calls(checks="__init__()")
@dataclass(frozen=True, slots=True, repr=False)
class ToolResult(Printable):
    """The result of one tool call.

    A successful call has an `output`; a failed one has the `exception`, its message as `error`, and the `error_text`
    that models read. `repairs` describes the mistakes of the model that were repaired before the function ran, a
    sentence each. `duration_ms` is the duration of the whole call, checks included. `max_text` is the maximum number of
    characters of its text for a model, or None if it is one already; `keeper` keeps what the text leaves out.
    """

    success: bool
    output: object = None
    error: str | None = None
    exception: Exception | None = field(default=None, compare=False)
    repairs: tuple[str, ...] = ()
    duration_ms: float = field(default=0.0, compare=False)
    max_text: int | None = field(default=MAX_TEXT, repr=False, compare=False)
    keeper: ResultKeeper | None = field(default=None, repr=False, compare=False)

    @property
    def error_text(self) -> str | None:
        """The error for a model, or None: of an exception at most 4,000 characters, with its class if that is needed.

        The class's name stands in for an empty message, and precedes a KeyError's, which is only the key.
        """
        if self.success or self.max_text is None or self.error is None:
            return self.error
        most = min(self.max_text, MAX_ERROR)
        if self.exception is None:
            return bounded_error(self.error, most, source="error", keeper=self.keeper)
        return exception_text(self.exception, self.error, most=most, keeper=self.keeper)


class MessageRole(StrEnum):
    """The sender of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, repr=False)
class Message(Printable, Viewable):
    """A message; `role` is its sender.

    `cache` asks the provider to cache the prompt up to this message: True, or the lifetime, such as "1h". `paused` is
    set on the result of calls that wait for a decision. `kept` has the whole values of results that the message shows
    in part, by name. `program` is set on the report of a program.
    """

    if TYPE_CHECKING:  # the last field of each subclass, so that it comes last by position

        @property
        def role(self) -> MessageRole:
            """The sender."""
            ...

    cache: bool | str = field(default=False, kw_only=True, repr=False)
    paused: Paused | None = field(default=None, kw_only=True, repr=False)
    kept: Mapping[str, Any] | None = field(default=None, kw_only=True, repr=False, compare=False)
    program: ProgramEnding | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the role, which may be text. Raises ValueError for an unknown one."""
        role: object = getattr(self, "role", MessageRole.USER)
        if type(role) is MessageRole:
            return
        known = [role.value for role in MessageRole]
        if role not in known:
            message = f"expected a role, got {robust_repr(role)[:80]}: {unknown_name(str(role), known)}"
            if getattr(self, "text", None) in known:
                message += "; its order is TextMessage(text, role)"
            raise ValueError(message)
        object.__setattr__(self, "role", MessageRole(role))

    def _view_parts(self) -> "Iterable[ViewPart]":
        """Return the sender and the content."""
        from ez_ptc.view.objects.messages import entry_parts

        return entry_parts(self)


@explain_calls(checks="text")
@dataclass(frozen=True, slots=True, repr=False)
class TextMessage(Message):
    """A text message."""

    text: str
    role: MessageRole = MessageRole.USER  # pyright: ignore[reportIncompatibleMethodOverride] - a field

    def __post_init__(self) -> None:
        """Check the text and the role. Raises TypeError for anything but a str, and ValueError for an unknown role."""
        if not isinstance(cast("object", self.text), str):
            message = f"expected str, got {type(self.text).__name__}: {text_advice(self.text)}"
            raise TypeError(message)
        Message.__post_init__(self)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, repr=False)
class MediaMessage(Message):
    """Base of image, document, audio and video messages: bytes with their `media_type`, or a URL for the provider.

    `KIND` and `PHRASE` name the type in errors. A tool may return a media message, or a list of texts and media.
    """

    KIND: ClassVar[str] = "media"
    PHRASE: ClassVar[str] = "media"

    data: bytes | None = None
    url: str | None = None
    media_type: str = "application/octet-stream"
    role: MessageRole = MessageRole.USER  # pyright: ignore[reportIncompatibleMethodOverride] - a field


@explain_calls
@dataclass(frozen=True, slots=True, repr=False)
class ImageMessage(MediaMessage):
    """An image."""

    KIND: ClassVar[str] = "image"
    PHRASE: ClassVar[str] = "an image"

    media_type: str = "image/png"


@explain_calls
@dataclass(frozen=True, slots=True, repr=False)
class DocumentMessage(MediaMessage):
    """A document, such as a PDF or plain text file, with its `name`."""

    KIND: ClassVar[str] = "document"
    PHRASE: ClassVar[str] = "a document"

    media_type: str = "application/pdf"
    name: str = field(default="", kw_only=True)


@explain_calls
@dataclass(frozen=True, slots=True, repr=False)
class AudioMessage(MediaMessage):
    """An audio recording."""

    KIND: ClassVar[str] = "audio"
    PHRASE: ClassVar[str] = "audio"

    media_type: str = "audio/wav"


@explain_calls
@dataclass(frozen=True, slots=True, repr=False)
class VideoMessage(MediaMessage):
    """A video."""

    KIND: ClassVar[str] = "video"
    PHRASE: ClassVar[str] = "a video"

    media_type: str = "video/mp4"


@explain_calls(checks="arguments")
@dataclass(frozen=True, slots=True, repr=False)
class ToolCallMessage(Message):
    """A tool call requested by a model."""

    tool_name: str
    tool_call_id: str
    arguments: dict[str, Any] | str
    role: MessageRole = MessageRole.ASSISTANT  # pyright: ignore[reportIncompatibleMethodOverride] - a field

    @property
    def call(self) -> ToolCall:
        """The call as a `ToolCall`."""
        return ToolCall(self.tool_call_id, self.tool_name, self.arguments)


@explain_calls
@dataclass(frozen=True, slots=True, repr=False)
class ToolResultMessage(Message):
    """The result of a call: the tool's return value or, if `success` is false, the error text for the model.

    A `result` with media is a tuple of `TextMessage` and `MediaMessage` objects.
    """

    tool_call_id: str
    result: Any
    tool_name: str = field(default="", kw_only=True)
    success: bool = field(default=True, kw_only=True)
    role: MessageRole = MessageRole.USER  # pyright: ignore[reportIncompatibleMethodOverride] - a field


@explain_calls
@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts; `input_tokens` includes `cached_tokens`, and `output_tokens` includes `reasoning_tokens`."""

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


@explain_calls(checks="id")
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer(Printable, Viewable):
    """A model's answer.

    Attributes:
        messages: Text and tool calls, in order.
        stop_reason: "end", "tool_calls", "empty" for an answer with neither text nor calls, "length", "refusal",
            "pause", "malformed" for an unreadable tool call, or the provider's own reason.
        usage: The tokens used.
        provider: The format of `content`, such as "anthropic".
        model: The provider's name of the model.
        content: The provider's JSON, unchanged.
        id: The provider's id of the answer.
        details: Further data from the provider, and data a format needs to send the answer back.
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
        """The texts, joined."""
        return "".join(message.text for message in self.messages if isinstance(message, TextMessage))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls it requests."""
        return tuple(message.call for message in self.messages if isinstance(message, ToolCallMessage))

    def _view_parts(self) -> "Iterable[ViewPart]":
        """Return the model, the tokens, the texts and the calls."""
        from ez_ptc.view.objects.messages import entry_parts

        return entry_parts(self)


Entry = Message | Answer
MessageList = list[Message]
