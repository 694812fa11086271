"""Conversations as JSON, for saving.

    {"version": 1, "entries": [{"type": "text", "role": "user", "text": "…"}, {"type": "answer", …}, …]}

Entries are saved completely. A provider's answer is JSON already and stays as it came. A tool's result is converted to
JSON: a record or a dataclass becomes an object, a tuple or a set a list, bytes base64, a date text; its Python type is
lost. A result made of parts (text, images) is saved as a list of messages under `parts`. What waits for a decision is
under `paused`. Under `kept` are the names and sources of results too long for the model, without their values. Under
`program` is how a program ended, for the next one to continue it.
"""

from __future__ import annotations

import base64
import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from ez_ptc.errors import HistoryError
from ez_ptc.formats.content import as_json, result_parts
from ez_ptc.formats.provider_table import PROVIDERS
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
    Paused,
    PendingCall,
    ProgramEnding,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    Usage,
    VideoMessage,
)
from ez_ptc.results.store import KeptResult
from ez_ptc.schema.arguments.json_text import read_json
from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ez_ptc.messages import Entry

__all__ = ["VERSION", "entry_from_json", "entry_to_json", "from_json", "to_json"]

VERSION: Final = 1

# The shape that `Answer.content` has with our own providers: a list of objects, or one object.
_CONTENT_LISTS: Final = frozenset(entry.name for entry in PROVIDERS if entry.content is list)
_CONTENT_OBJECTS: Final = frozenset(entry.name for entry in PROVIDERS if entry.content is dict)

_MESSAGE_TYPES: Final[Mapping[str, type[Message]]] = {
    "text": TextMessage,
    "image": ImageMessage,
    "document": DocumentMessage,
    "audio": AudioMessage,
    "video": VideoMessage,
    "tool_call": ToolCallMessage,
    "tool_result": ToolResultMessage,
}
_PARTS: Final = "parts"
_PART_NAMES: Final = ("text", "image", "document", "audio", "video")
_TYPE_NAMES: Final[Mapping[type[Message], str]] = {type_: name for name, type_ in _MESSAGE_TYPES.items()}


def to_json(entries: Iterable[Entry]) -> str:
    """Return a conversation as JSON text, in ASCII.

    Raises HistoryError for an entry of an unknown class, or with a field that cannot be JSON.
    """
    items = ",".join(entry_to_json(entry) for entry in entries)
    return f'{{"version":{VERSION},"entries":[{items}]}}'


def from_json(text: str) -> tuple[Entry, ...]:
    """Return the conversation in a text of `to_json`. Raises HistoryError with the path of the first problem."""
    root = _Object.of(_parse(text), "the text")
    version: object = root.fields.get("version")
    if version != VERSION or isinstance(version, bool):
        message = (
            f"invalid conversation file: expected version {VERSION}, got {safe_repr(version)}; a newer version needs a "
            f"newer ez-ptc"
        )
        raise HistoryError(message)
    return tuple(_entry(entry) for entry in root.objects("entries"))


def entry_to_json(entry: Entry) -> str:
    """Return one entry as JSON text, as in the list of `to_json`."""
    if isinstance(entry, Answer):
        values = {field.name: getattr(entry, field.name) for field in fields(entry)}
        usage = {field.name: getattr(entry.usage, field.name) for field in fields(entry.usage)}
        messages = [_message_fields(message) for message in entry.messages]
        values = {"type": "answer", **values, "messages": messages, "usage": usage, "details": dict(entry.details)}
    else:
        values = _message_fields(entry)
    problem = json_problem(values)
    if problem is None:
        try:
            return json.dumps(values, separators=(",", ":"))
        except ValueError as error:  # an integer with more digits than the interpreter's limit
            problem = str(error)
    message = f"cannot save a conversation's {values['type']}: it contains a value that JSON cannot express: {problem}"
    raise HistoryError(message)


def entry_from_json(text: str) -> Entry:
    """Return the entry in a text of `entry_to_json`. Raises HistoryError with the path of the first problem."""
    return _entry(_Object.of(_parse(text), "the entry"))


def _message_fields(message: Message) -> dict[str, Any]:
    name = _TYPE_NAMES.get(type(message))
    if name is None:
        problem = f"cannot save a {type(message).__name__}: use a TextMessage instead"
        raise HistoryError(problem)
    values = {field.name: getattr(message, field.name) for field in fields(message)}
    if isinstance(message, MediaMessage) and message.data is not None:
        values["data"] = base64.b64encode(message.data).decode("ascii")
    if isinstance(message, ToolResultMessage):
        parts = result_parts(message.result)
        if parts is None:
            values["result"] = as_json(message.result)
        else:
            values |= {"result": None, _PARTS: [_message_fields(item) for item in parts]}
    if message.cache is False:  # older files have no marks, and are written as they were
        del values["cache"]
    if message.kept:
        values["kept"] = [
            {"name": name, "kind": result.kind.decode(), "source": result.source}
            for name, result in message.kept.items()
        ]
    else:
        del values["kept"]
    if message.program is None:
        del values["program"]
    else:
        values["program"] = {"is_continued": message.program.is_continued, "run_id": message.program.run_id}
    if message.paused is None:
        del values["paused"]
    else:
        pending = [{field.name: getattr(call, field.name) for field in fields(call)} for call in message.paused.pending]
        values["paused"] = {"run_id": message.paused.run_id, "pending": pending}
    return {"type": name, **values}


def _parse(text: object) -> object:
    if not isinstance(text, str):
        _refuse("it", "text", text)
    try:
        return read_json(text)
    except (ValueError, RecursionError) as error:
        message = f"invalid conversation file: expected JSON, got {error}"
        raise HistoryError(message) from error


def _entry(entry: _Object) -> Entry:
    if (problem := json_problem(entry.fields)) is not None:
        message = f"invalid conversation file: there is {problem} in {entry.path}"
        raise HistoryError(message)
    if entry.fields.get("type") == "answer":
        usage = entry.object("usage")
        provider = entry.text("provider")
        return Answer(
            messages=tuple(_message(message) for message in entry.objects("messages")),
            stop_reason=entry.text("stop_reason"),
            usage=Usage(**{field.name: usage.count(field.name) for field in fields(Usage)}),
            provider=provider,
            model=entry.text("model"),
            content=entry.content(provider),
            id=entry.text("id"),
            details=entry.object("details").fields,
        )
    return _message(entry)


def _message(entry: _Object) -> Message:
    name = entry.text("type")
    if name not in _MESSAGE_TYPES:
        _refuse(f"{entry.path}.type", f"one of {', '.join([*_MESSAGE_TYPES, 'answer'])}", name)
    cache: object = entry.fields.get("cache", False)
    if cache is not False and cache is not True and cache not in CACHE_LIFETIMES:
        _refuse(f"{entry.path}.cache", f"true or one of {', '.join(CACHE_LIFETIMES)}", cache)
    message_class = _MESSAGE_TYPES[name]
    if issubclass(message_class, MediaMessage):
        message = _media_message(message_class, entry)
    elif message_class is ToolCallMessage:
        arguments = entry.value("arguments", str, dict)
        message = ToolCallMessage(entry.text("tool_name"), entry.text("tool_call_id"), arguments)
    elif message_class is ToolResultMessage:
        result: Any = entry.fields.get("result")
        if _PARTS in entry.fields:
            parts = entry.objects(_PARTS)
            result = tuple(_message(item) for item in parts)
            for item, message in zip(parts, result, strict=True):
                if not isinstance(message, TextMessage | MediaMessage):
                    _refuse(f"{item.path}.type", f"one of {', '.join(_PART_NAMES)}", item.text("type"))
        success = entry.value("success", bool)
        message = ToolResultMessage(
            entry.text("tool_call_id"), result, tool_name=entry.text("tool_name"), success=success
        )
    else:
        message = TextMessage(entry.text("text"))
    return replace(
        message, role=entry.role(), cache=cache, paused=_paused(entry), kept=_kept(entry), program=_program(entry)
    )


def _kept(entry: _Object) -> dict[str, KeptResult] | None:
    if "kept" not in entry.fields:
        return None
    items = entry.objects("kept")
    return {item.text("name"): KeptResult(item.text("kind").encode(), None, item.text("source")) for item in items}


def _program(entry: _Object) -> ProgramEnding | None:
    if "program" not in entry.fields:
        return None
    program = entry.object("program")
    return ProgramEnding(program.value("is_continued", bool), program.value("run_id", str, type(None)))


def _paused(entry: _Object) -> Paused | None:
    if "paused" not in entry.fields:
        return None
    paused = entry.object("paused")
    pending: list[PendingCall] = []
    for call in paused.objects("pending"):
        state = call.text("state")
        if state != "needs_approval" and state != "outcome_unknown":  # noqa: PLR1714 - so that the type is known
            _refuse(f"{call.path}.state", "needs_approval or outcome_unknown", state)
        id_, tool, path = call.text("id"), call.text("tool"), call.text("path")
        pending.append(PendingCall(id_, tool, call.value("arguments", dict), path, state))
    return Paused(tuple(pending), paused.value("run_id", str, type(None)))


def _media_message(message_class: type[MediaMessage], entry: _Object) -> MediaMessage:
    data = entry.value("data", str, type(None))
    try:
        content = None if data is None else base64.b64decode(data, validate=True)
    except ValueError:  # raised for text that is not ASCII, too
        _refuse(f"{entry.path}.data", "base64", data)
    url = entry.value("url", str, type(None))
    message = message_class(content, url, entry.text("media_type"))
    if isinstance(message, DocumentMessage):
        return replace(message, name=entry.text("name"))
    return message


class _Object:
    """An object in a saved conversation; its errors name the path of the value."""

    def __init__(self, fields: dict[str, Any], path: str) -> None:
        self.fields = fields
        self.path = path

    @classmethod
    def of(cls, value: object, path: str) -> _Object:
        if not isinstance(value, dict):
            _refuse(path, "an object", value)
        return cls(cast("dict[str, Any]", value), path)

    def value(self, key: str, *types: type) -> Any:  # noqa: ANN401 - of one of the types
        value = self.fields.get(key)
        if type(value) not in types:
            names = {str: "text", int: "an integer", bool: "true or false", dict: "an object", type(None): "null"}
            _refuse(f"{self.path}.{key}", " or ".join(names[type_] for type_ in types), value)
        return value

    def text(self, key: str) -> str:
        return cast("str", self.value(key, str))

    def count(self, key: str) -> int:
        count = cast("int", self.value(key, int))
        if count < 0:
            _refuse(f"{self.path}.{key}", "a number of tokens", count)
        return count

    def content(self, provider: str) -> Any:  # noqa: ANN401 - any JSON that the provider sends
        """Return the provider's own JSON of an answer; its shape is known for our providers."""
        content = self.fields.get("content")
        if content is not None and provider in _CONTENT_LISTS:
            self.objects("content")
        elif content is not None and provider in _CONTENT_OBJECTS:
            self.object("content")
        return content

    def object(self, key: str) -> _Object:
        return _Object.of(self.fields.get(key), f"{self.path}.{key}")

    def objects(self, key: str) -> list[_Object]:
        values = self.fields.get(key)
        if not isinstance(values, list):
            _refuse(f"{self.path}.{key}", "a list", values)
        items = cast("list[object]", values)
        return [_Object.of(item, f"{self.path}.{key}[{index}]") for index, item in enumerate(items)]

    def role(self) -> MessageRole:
        role = self.text("role")
        if role not in {known.value for known in MessageRole}:
            _refuse(f"{self.path}.role", f"one of {', '.join(MessageRole)}", role)
        return MessageRole(role)


def _refuse(path: str, expected: str, value: object) -> NoReturn:
    message = f"invalid conversation file: expected {path} to be {expected}, got {safe_repr_with_type(value)}"
    raise HistoryError(message)
