"""What is shown of messages, answers and conversations."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from ez_ptc.messages import Answer, ImageMessage, MediaMessage, Message, TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.results.robust_repr import robust_repr
from ez_ptc.schema.arguments.json_text import arguments_or_text
from ez_ptc.view.markup import recorded_json
from ez_ptc.view.objects.parts import NotePart, PicturesPart, TextPart, ValuePart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ez_ptc.messages import Entry, Usage
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["conversation_parts", "entry_parts", "usage_text"]

_MAX_TEXT: Final = 20_000
_MAX_ENTRIES: Final = 50
_MAX_ALL: Final = 60_000
_MAX_ARGUMENTS: Final = 2_000
_MAX_SHORT: Final = 80


def entry_parts(entry: Entry, most: int = _MAX_TEXT) -> Iterator[ViewPart]:
    """Yield the parts of a message or an answer; each text has at most `most` characters."""
    if isinstance(entry, Answer):
        facts = [entry.model[:_MAX_SHORT], usage_text(entry.usage)]
        if entry.stop_reason not in {"end", "tool_calls"}:
            facts.append(f"ended: {entry.stop_reason[:_MAX_SHORT]}")
        yield NotePart(f"answer, {', '.join(filter(None, facts))}")
        for message in entry.messages:
            yield from _content_parts(message, most)
        return
    if isinstance(entry, ToolResultMessage):
        outcome = "result" if entry.success else "error"
        yield NotePart(f"{outcome} of {entry.tool_name[:_MAX_SHORT]} {entry.tool_call_id[:_MAX_SHORT]}")
    else:
        yield NotePart(str(entry.role))
    yield from _content_parts(entry, most)


def conversation_parts(entries: Sequence[Entry], notes: Sequence[str]) -> Iterator[ViewPart]:
    """Yield the parts of a conversation: its last 50 entries, and remarks below them, such as its cost."""
    start = max(len(entries) - _MAX_ENTRIES, 0)
    if start:
        yield NotePart(f"… {start:,} entries before these")
    most = _MAX_ALL // max(len(entries) - start, 1)
    for entry in islice(entries, start, None):
        yield from entry_parts(entry, most)
    for note in notes:
        yield NotePart(note)


def usage_text(usage: Usage) -> str:
    """Return token counts as text."""
    return f"tokens: {usage.input_tokens:,} in, {usage.output_tokens:,} out"


def _content_parts(message: Message, most: int) -> Iterator[ViewPart]:
    match message:
        case TextMessage(text):
            yield TextPart(text, most)
        case ToolCallMessage():
            yield from _call_parts(message, most)
        case ToolResultMessage(result=result):
            yield from _result_parts(message, result, most)
        case ImageMessage(data=bytes()):
            yield PicturesPart([message])
        case MediaMessage(data=data, url=url):
            place = url or f"{len(data or b''):,} bytes"
            yield TextPart(f"{message.KIND}, {message.media_type}: {place}", min(most, _MAX_ARGUMENTS))
        case _:
            yield TextPart(robust_repr(message), most)
    if message.paused is not None:
        tools = ", ".join(call.tool[:_MAX_SHORT] for call in message.paused.pending[:_MAX_ENTRIES])
        yield NotePart(f"waits for a decision: {tools}")


def _call_parts(message: ToolCallMessage, most: int) -> Iterator[ViewPart]:
    """Yield a call on one line, and below it its arguments of several lines, such as a program."""
    name = message.tool_name[:_MAX_SHORT]
    arguments = arguments_or_text(message.arguments)
    if isinstance(arguments, str):
        yield TextPart(f"{name}({arguments})", most)
        return
    long = {key: value for key, value in arguments.items() if isinstance(value, str) and "\n" in value}
    words = [
        f"{key}={'…' if key in long else recorded_json(value, _MAX_ARGUMENTS)}" for key, value in arguments.items()
    ]
    yield TextPart(f"{name}({', '.join(words)})", most)
    for value in long.values():
        yield TextPart(value, most)


def _result_parts(message: ToolResultMessage, result: object, most: int) -> Iterator[ViewPart]:
    value, parts = result, tuple[object, ...]()
    if type(result) is tuple:
        parts = cast("tuple[object, ...]", result)
    if isinstance(result, str):
        yield TextPart(result, most, "text" if message.success else "error")
    elif parts and all(isinstance(inner, Message) for inner in parts):
        for inner in cast("tuple[Message, ...]", parts)[:_MAX_ENTRIES]:
            yield from _content_parts(inner, most)
    elif value is not None:
        yield ValuePart(value, robust_repr(value), most)
