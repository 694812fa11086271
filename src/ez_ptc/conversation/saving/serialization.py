"""Conversations as JSON, to be kept.

    {"version": 1, "entries": [{"type": "text", "role": "user", "text": "…"}, {"type": "answer", …}, …]}

Nothing of an entry is left out. What a provider said is JSON already and stays as it came. What a tool returned becomes
JSON where it is none: a record or a dataclass an object, a tuple or a set a list, bytes base64, a date its text; that
it was one of those is lost. A result that is made of parts is saved as these, under `parts`.
"""

from __future__ import annotations

import base64
import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from ez_ptc.errors import HistoryError
from ez_ptc.formats.content import as_json, result_parts
from ez_ptc.formats.wire import json_problem
from ez_ptc.messages import (
    CACHE_LIFETIMES,
    Answer,
    AudioMessage,
    DocumentMessage,
    ImageMessage,
    MediaMessage,
    Message,
    MessageRole,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    Usage,
    VideoMessage,
)
from ez_ptc.schema.arguments.json_text import read_json
from ez_ptc.schema.safe_repr import shown, shown_with_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ez_ptc.messages import Entry

__all__ = ["VERSION", "entry_from_json", "entry_to_json", "from_json", "to_json"]

VERSION: Final = 1

# The shape that `Answer.content` has with our own providers: a list of objects, or one object.
_CONTENT_LISTS: Final = frozenset({"anthropic", "openai"})
_CONTENT_OBJECTS: Final = frozenset({"openai-chat", "gemini"})

_KINDS: Final[Mapping[str, type[Message]]] = {
    "text": TextMessage,
    "image": ImageMessage,
    "document": DocumentMessage,
    "audio": AudioMessage,
    "video": VideoMessage,
    "tool_call": ToolCallMessage,
    "tool_result": ToolResultMessage,
}
_PARTS: Final = "parts"
_PART_KINDS: Final = ("text", "image", "document", "audio", "video")
_NAMES: Final[Mapping[type[Message], str]] = {kind: name for name, kind in _KINDS.items()}


def to_json(entries: Iterable[Entry]) -> str:
    """Return a conversation as JSON text, all of it ASCII.

    Raises HistoryError for an entry that is of no kind of ours, or that has a field in it which is no JSON.
    """
    listed = ",".join(entry_to_json(entry) for entry in entries)
    return f'{{"version":{VERSION},"entries":[{listed}]}}'


def from_json(text: str) -> tuple[Entry, ...]:
    """Return the conversation that a text of `to_json` has. Raises HistoryError that says what is wrong where."""
    top = _Object.of(_parsed(text), "the text")
    version: object = top.fields.get("version")
    if version != VERSION or isinstance(version, bool):
        message = (
            f"this is no conversation that can be read here: its version is {shown(version)}, and {VERSION} is wanted; "
            f"a newer one is read by a newer ez-ptc"
        )
        raise HistoryError(message)
    return tuple(_entry(each) for each in top.objects("entries"))


def entry_to_json(entry: Entry) -> str:
    """Return one entry as JSON text, as `to_json` has it in its list."""
    written = _written_answer(entry) if isinstance(entry, Answer) else _written(entry)
    problem = json_problem(written)
    if problem is None:
        try:
            return json.dumps(written, separators=(",", ":"))
        except ValueError as error:  # an integer with more digits than this interpreter writes
            problem = str(error)
    message = (
        f"an entry of the conversation cannot be saved, for something in its {written['type']} is no JSON: {problem}"
    )
    raise HistoryError(message)


def entry_from_json(text: str) -> Entry:
    """Return the entry that a text of `entry_to_json` has. Raises HistoryError that says what is wrong where."""
    return _entry(_Object.of(_parsed(text), "the entry"))


def _written(message: Message) -> dict[str, Any]:
    name = _NAMES.get(type(message))
    if name is None:
        problem = f"a {type(message).__name__} cannot be saved: say it as a TextMessage"
        raise HistoryError(problem)
    values = {each.name: getattr(message, each.name) for each in fields(message)}
    if isinstance(message, MediaMessage) and message.data is not None:
        values["data"] = base64.b64encode(message.data).decode("ascii")
    if isinstance(message, ToolResultMessage):
        parts = result_parts(message.result)
        values["result"] = as_json(message.result) if parts is None else None
        values |= {} if parts is None else {_PARTS: [_written(part) for part in parts]}
    if message.cache is False:  # what was saved before there were marks is saved the same again
        del values["cache"]
    return {"type": name, **values}


def _written_answer(answer: Answer) -> dict[str, Any]:
    values = {each.name: getattr(answer, each.name) for each in fields(answer)}
    usage = {each.name: getattr(answer.usage, each.name) for each in fields(answer.usage)}
    messages = [_written(message) for message in answer.messages]
    return {"type": "answer", **values, "messages": messages, "usage": usage, "details": dict(answer.details)}


def _parsed(text: object) -> object:
    if not isinstance(text, str):
        _refuse("it", "text", text)
    try:
        return read_json(text)
    except (ValueError, RecursionError) as error:
        message = f"this is no conversation, for it is no JSON: {str(error) or 'it is nested far too deeply'}"
        raise HistoryError(message) from error


def _entry(entry: _Object) -> Entry:
    if (problem := json_problem(entry.fields)) is not None:
        message = f"this is no conversation that ez-ptc has saved: there is {problem} in {entry.where}"
        raise HistoryError(message)
    return _answer(entry) if entry.fields.get("type") == "answer" else _message(entry)


def _answer(entry: _Object) -> Answer:
    usage = entry.object("usage")
    provider = entry.text("provider")
    return Answer(
        messages=tuple(_message(each) for each in entry.objects("messages")),
        stop_reason=entry.text("stop_reason"),
        usage=Usage(**{each.name: usage.count(each.name) for each in fields(Usage)}),
        provider=provider,
        model=entry.text("model"),
        content=entry.content(provider),
        id=entry.text("id"),
        details=entry.object("details").fields,
    )


def _message(entry: _Object) -> Message:
    name = entry.text("type")
    if name not in _READERS:
        _refuse(f"{entry.where}.type", f"one of {', '.join([*_READERS, 'answer'])}", name)
    cache: object = entry.fields.get("cache", False)
    if cache is not False and cache is not True and cache not in CACHE_LIFETIMES:
        _refuse(f"{entry.where}.cache", f"true or one of {', '.join(CACHE_LIFETIMES)}", cache)
    return replace(_READERS[name](entry), cache=cache)


def _text(entry: _Object) -> Message:
    return TextMessage(entry.text("text"), role=entry.role())


def _image(entry: _Object) -> Message:
    return ImageMessage(*_media(entry), role=entry.role())


def _document(entry: _Object) -> Message:
    return DocumentMessage(*_media(entry), name=entry.text("name"), role=entry.role())


def _audio(entry: _Object) -> Message:
    return AudioMessage(*_media(entry), role=entry.role())


def _video(entry: _Object) -> Message:
    return VideoMessage(*_media(entry), role=entry.role())


def _media(entry: _Object) -> tuple[bytes | None, str | None, str]:
    data = entry.value("data", str, type(None))
    try:
        decoded = None if data is None else base64.b64decode(data, validate=True)
    except ValueError:  # text that is not ASCII as well
        _refuse(f"{entry.where}.data", "base64", data)
    url = entry.value("url", str, type(None))
    return decoded, url, entry.text("media_type")


def _tool_call(entry: _Object) -> Message:
    arguments = entry.value("arguments", str, dict)
    return ToolCallMessage(entry.text("tool_name"), entry.text("tool_call_id"), arguments, role=entry.role())


def _tool_result(entry: _Object) -> Message:
    return ToolResultMessage(
        entry.text("tool_call_id"),
        tuple(map(_part, entry.objects(_PARTS))) if _PARTS in entry.fields else entry.fields.get("result"),
        tool_name=entry.text("tool_name"),
        success=entry.value("success", bool),
        role=entry.role(),
    )


def _part(entry: _Object) -> Message:
    part = _message(entry)
    if not isinstance(part, TextMessage | MediaMessage):
        _refuse(f"{entry.where}.type", f"one of {', '.join(_PART_KINDS)}", entry.text("type"))
    return part


_READERS: Final[Mapping[str, Callable[[_Object], Message]]] = {
    "text": _text,
    "image": _image,
    "document": _document,
    "audio": _audio,
    "video": _video,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
}


class _Object:
    """An object in a saved conversation, which says where in it something is that should not be there."""

    def __init__(self, fields: dict[str, Any], where: str) -> None:
        self.fields = fields
        self.where = where

    @classmethod
    def of(cls, value: object, where: str) -> _Object:
        if not isinstance(value, dict):
            _refuse(where, "an object", value)
        return cls(cast("dict[str, Any]", value), where)

    def value(self, key: str, *kinds: type) -> Any:  # noqa: ANN401 - of one of the kinds
        found = self.fields.get(key)
        if type(found) not in kinds:
            names = {str: "text", int: "a whole number", bool: "true or false", dict: "an object", type(None): "null"}
            _refuse(f"{self.where}.{key}", " or ".join(names[kind] for kind in kinds), found)
        return found

    def text(self, key: str) -> str:
        return cast("str", self.value(key, str))

    def count(self, key: str) -> int:
        count = cast("int", self.value(key, int))
        if count < 0:
            _refuse(f"{self.where}.{key}", "a number of tokens", count)
        return count

    def content(self, provider: str) -> Any:  # noqa: ANN401 - any JSON that the provider sends
        """Return the provider's own JSON of an answer, whose shape is known for ours."""
        content = self.fields.get("content")
        if content is not None and provider in _CONTENT_LISTS:
            self.objects("content")
        elif content is not None and provider in _CONTENT_OBJECTS:
            self.object("content")
        return content

    def object(self, key: str) -> _Object:
        return _Object.of(self.fields.get(key), f"{self.where}.{key}")

    def objects(self, key: str) -> list[_Object]:
        found = self.fields.get(key)
        if not isinstance(found, list):
            _refuse(f"{self.where}.{key}", "a list", found)
        return [_Object.of(each, f"{self.where}.{key}[{at}]") for at, each in enumerate(cast("list[object]", found))]

    def role(self) -> MessageRole:
        role = self.text("role")
        if role not in {each.value for each in MessageRole}:
            _refuse(f"{self.where}.role", f"one of {', '.join(MessageRole)}", role)
        return MessageRole(role)


def _refuse(where: str, wanted: str, value: object) -> NoReturn:
    message = (
        f"this is no conversation that ez-ptc has saved: {where} is {shown_with_type(value)}, and {wanted} is wanted"
    )
    raise HistoryError(message)
