"""Reading a provider's answer, which may be malformed."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ProviderError
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.wire import encodable_text, is_count, json_problem
from ez_ptc.messages import Answer, Entry, Message, TextMessage, ToolCall, ToolCallMessage
from ez_ptc.schema.safe_repr import safe_repr_with_type

__all__ = [
    "JsonObject",
    "RepeatedCalls",
    "normal_stop_reason",
    "objects",
    "read_body",
    "text_or_empty",
    "tool_call",
    "unique_ids",
    "with_unique_calls",
    "with_unique_ids",
]

_NO_NAMES: Final = Names()


class JsonObject:
    """One object in an answer; its errors name the position of the invalid part."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            _refuse(where, "an object", value)
        self.where = where
        self.fields = cast("Mapping[str, Any]", value)

    def first(self, *keys: str) -> tuple[str, object]:
        """Return the first of these keys that is present and not null, with its value.

        Or else the first key and None.
        """
        return next(((key, self.fields[key]) for key in keys if self.fields.get(key) is not None), (keys[0], None))

    def object(self, *keys: str) -> "JsonObject | None":
        """Return the object under the first of these keys that is present, or None."""
        key, value = self.first(*keys)
        if value is None:
            return None
        return JsonObject(value, f"{self.where}.{key}")

    def objects(self, *keys: str) -> "list[JsonObject]":
        """Return the objects of the list under the first of these keys that is present; none without such a key."""
        key, value = self.first(*keys)
        if value is None:
            return []
        return objects(value, f"{self.where}.{key}")

    def text(self, *keys: str) -> str:
        """Return the text under the first of these keys, without lone surrogates."""
        key, value = self.first(*keys)
        if not isinstance(value, str) or not value:
            _refuse(f"{self.where}.{key}", "text", value)
        return encodable_text(value)

    def string(self, key: str) -> str:
        """Return the text under `key`, which may be empty, with lone surrogates replaced."""
        value = self.fields.get(key)
        if not isinstance(value, str):
            _refuse(f"{self.where}.{key}", "text", value)
        return encodable_text(value)

    def count(self, key: str) -> int:
        """Return the number of tokens under `key`, 0 if there is none."""
        value = self.fields.get(key) or 0
        if not is_count(value):
            _refuse(f"{self.where}.{key}", "a number of tokens", value)
        return value

    def type_name(self) -> str:
        """Return the object's `type`, or empty text."""
        return text_or_empty(self.fields.get("type"))

    def identifier(self, otherwise: str, *keys: str) -> str:
        """Return the text under the first of these keys, or `otherwise` if there is none."""
        _, value = self.first(*keys)
        if value is None or value == "":
            return otherwise
        return self.text(*keys)


class RepeatedCalls:
    """Recognizes a call repeated whole in a stream, with its index and id: it is one call."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def is_repeated(self, index: object, call: Mapping[str, Any], *identifiers: object) -> bool:
        """Return whether a call with any of these ids is an earlier one again; a call without an id never is."""
        if not any(identifiers):
            return False
        text = json.dumps([index, call], sort_keys=True)
        if text in self._texts:
            return True
        self._texts.add(text)
        return False


def read_body(body: object, where: str) -> JsonObject:
    """Return the outermost object of a provider's JSON. Raises ProviderError if it cannot be saved or sent back."""
    if (problem := json_problem(body)) is not None:
        message = f"the provider sent {problem} in the {where}, which cannot be saved or sent back: ask again"
        raise ProviderError(message)
    return JsonObject(body, where)


def text_or_empty(value: object) -> str:
    """Return a text without lone surrogates, and empty text for any other value."""
    if isinstance(value, str):
        return encodable_text(value)
    return ""


def objects(value: object, where: str) -> list[JsonObject]:
    """Return the objects of a list."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        _refuse(where, "a list", value)
    return [JsonObject(item, f"{where}[{at}]") for at, item in enumerate(cast("Sequence[object]", value))]


def normal_stop_reason(messages: Sequence[Message]) -> str:
    """Return the stop reason of an answer that ended by itself: "tool_calls", "end" or, without content, "empty"."""
    if any(isinstance(message, ToolCallMessage) for message in messages):
        return "tool_calls"
    if all(isinstance(message, TextMessage) and not message.text.strip() for message in messages):
        return "empty"
    return "end"


def unique_ids(identifiers: Mapping[int, str], entries: Iterable[Entry], name: Callable[[int], str]) -> dict[int, str]:
    """Return the ids of an answer's calls, by index, with a new one for each that is empty or in use already.

    Some servers that speak a provider's format give all calls the same id, begin again with each answer, or give none:
    a decision about one call would then count for a later one. `entries` are the conversation before the answer, and
    `name` makes an id of a number, at first the index of the call.
    """
    messages = (message for entry in entries if isinstance(entry, Answer) for message in entry.messages)
    used = {message.tool_call_id for message in messages if isinstance(message, ToolCallMessage)}
    taken = used | {*identifiers.values()}
    numbers = count(max(identifiers, default=0) + 1)
    unique: dict[int, str] = {}
    for index, identifier in identifiers.items():
        unique[index] = identifier
        if not identifier or identifier in used:
            unique[index] = name(index)
            while unique[index] in taken:
                unique[index] = name(next(numbers))
        taken.add(unique[index])
        used.add(unique[index])
    return unique


def with_unique_ids(
    elements: "Sequence[JsonObject]", entries: Sequence[Entry], *, call_type: str, id_key: str
) -> "list[JsonObject]":
    """Return elements of an answer with `unique_ids`. A call is one of type `call_type`, with its id under `id_key`."""
    identifiers = {
        index: text_or_empty(element.fields.get(id_key))
        for index, element in enumerate(elements)
        if element.type_name() == call_type
    }
    unique = list(elements)
    for index, identifier in unique_ids(identifiers, entries, lambda number: f"call_{len(entries)}_{number}").items():
        if identifier != identifiers[index]:
            unique[index] = JsonObject({**elements[index].fields, id_key: identifier}, elements[index].where)
    return unique


def with_unique_calls(answer: Answer, entries: Sequence[Entry]) -> Answer:
    """Return an answer, from any provider, with `unique_ids`; without the provider's JSON if that has other ones."""
    identifiers = {
        index: message.tool_call_id
        for index, message in enumerate(answer.messages)
        if isinstance(message, ToolCallMessage)
    }
    unique = unique_ids(identifiers, entries, lambda number: f"call_{len(entries)}_{number}")
    if unique == identifiers:
        return answer
    messages = tuple(
        replace(message, tool_call_id=unique[index]) if isinstance(message, ToolCallMessage) else message
        for index, message in enumerate(answer.messages)
    )
    return replace(answer, messages=messages, content=None)


def tool_call(part: JsonObject, identifier: str, arguments_key: str, names: Names | None) -> ToolCall:
    """Return the call in an object, with the own names of its tool and parameters.

    The name of a call may be empty.
    """
    known = _NO_NAMES if names is None else names
    name = ""
    if part.fields.get("name") != "":
        name = known.to_tool(part.text("name"))
    _, arguments = part.first(arguments_key)
    if arguments is None or arguments == []:  # some servers are written in PHP, where an empty object is a list
        arguments = {}
    if isinstance(arguments, Mapping):
        return ToolCall(identifier, name, known.to_parameters(name, cast("Mapping[str, Any]", arguments)))
    if not isinstance(arguments, str):
        _refuse(f"{part.where}.{arguments_key}", "an object or its JSON text", arguments)
    return ToolCall(identifier, name, arguments)


def _refuse(where: str, expected: str, value: object) -> NoReturn:
    message = (
        f"invalid answer from the provider: expected {expected} at {where}, got {safe_repr_with_type(value)}; pass the "
        "answer as JSON, as the SDK's model_dump() returns it, or ask again"
    )
    raise ProviderError(message)
