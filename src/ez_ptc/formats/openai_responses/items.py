"""OpenAI's own items in the form that its Responses API accepts back.

We send outputs for function calls only. Calls of other client-side tools get no output and are left out. A program at
the provider waits for the outputs of its calls until the next user message; after that it is left out, and its calls
become calls of the model. Reasoning is sent back only with everything that it led to.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.formats.json_reader import objects, text_or_empty
from ez_ptc.formats.openai_responses.tools import CALL
from ez_ptc.formats.openai_shapes.requests import arguments_text
from ez_ptc.formats.openai_shapes.servers import is_openai, is_original
from ez_ptc.messages import Answer, Entry, MediaMessage, MessageRole, TextMessage

__all__ = [
    "PROVIDER",
    "caller_of",
    "count_stored",
    "find_lost_calls",
    "original_items",
    "part_text",
    "rename_calls",
    "sendable_items",
]

PROVIDER: Final = "openai"

_Json = dict[str, Any]


_REASONING: Final = "reasoning"
_PROGRAM: Final = "program"
_OUTPUT_SUFFIX: Final = "_output"


def original_items(answer: Answer, server: str) -> list[_Json] | None:
    """Return an answer's items as this server sent them, or None if it was made or changed by hand or elsewhere."""
    content: object = answer.content
    if not is_original(answer, PROVIDER, server) or not isinstance(content, list):
        return None
    elements = cast("list[object]", content)
    if not all(isinstance(element, dict) for element in elements):
        return None
    items = cast("list[_Json]", elements)
    call_ids = [text_or_empty(item.get("call_id")) for item in items if item.get("type") == CALL]
    if call_ids == [call.id for call in answer.calls]:
        return items
    return None


def count_stored(entries: Sequence[Entry], server: str, lost: frozenset[str]) -> int:
    """Return how many entries the server has stored, up to and including its last stored answer.

    Returns 0 if that answer was changed by hand, or has a call that will get no output; the last entry never counts.
    """
    for index in range(len(entries) - 2, -1, -1):
        entry = entries[index]
        if not isinstance(entry, Answer) or not entry.id or entry.details.get("stored") is not True:
            continue
        items = original_items(entry, server)
        if items is not None:
            if any(_is_lost(item, lost) for item in items):
                break
            return index + 1
    return 0


def find_lost_calls(entries: Iterable[Entry], server: str) -> frozenset[str]:
    """Return the ids of the calls and programs whose output can no longer come."""
    lost: set[str] = set()
    waiting: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, TextMessage | MediaMessage) and entry.role is MessageRole.USER:
            lost.update(waiting)
            waiting.clear()
        if not isinstance(entry, Answer):
            continue
        for item in original_items(entry, server) or ():
            item_type, identifier = text_or_empty(item.get("type")), text_or_empty(item.get("call_id"))
            if item_type.endswith(_OUTPUT_SUFFIX):
                waiting.pop(identifier, None)
            elif identifier and item_type != CALL:
                waiting[identifier] = item_type
    return frozenset(lost | {identifier for identifier, item_type in waiting.items() if item_type != _PROGRAM})


def rename_calls(items: Iterable[_Json], names: Sequence[str]) -> list[_Json]:
    """Return items whose calls have these names, in order."""
    remaining = iter(names)
    return [{**item, "name": next(remaining)} if item.get("type") == CALL else item for item in items]


def sendable_items(items: list[_Json], server: str, lost: frozenset[str], *, is_stored: bool) -> list[_Json]:
    """Return items without those that the provider would reject.

    It rejects reasoning that is neither encrypted nor stored at the provider (`is_stored`), and the ids of items whose
    reasoning is missing; a message without its id is sent as its text.
    """
    # Compatible servers send messages without content, and refuse them.
    said = [item for item in items if item.get("type") != "message" or item.get("content")]
    kept = [_sendable_item(item, lost) for item in said if not _is_lost(item, lost)]
    if not is_openai(server):
        return kept
    has_lost = len(kept) < len(said)
    # OpenAI rejects reasoning at the end, as an answer has that was cut off there.
    while kept and kept[-1].get("type") == _REASONING:
        kept.pop()
    if has_lost:
        return [_without_id(item) for item in kept if item.get("type") != _REASONING]
    if is_stored or not any(map(_is_unreadable, kept)):
        return kept
    return [_without_id(item) for item in kept if not _is_unreadable(item)]


def caller_of(item: Mapping[str, Any], lost: frozenset[str]) -> object:
    """Return the program that made a call, or None if the model did."""
    caller = item.get("caller")
    if not isinstance(caller, Mapping) or text_or_empty(cast("Mapping[str, object]", caller).get("caller_id")) in lost:
        return None
    return cast("object", caller)


def part_text(part: Mapping[str, Any]) -> str | None:
    """Return the text of a part of a message, or None if the part has no text."""
    part_type = text_or_empty(part.get("type"))
    if part_type == "refusal":
        return text_or_empty(part.get("refusal")) or None
    if part_type in ("output_text", "text"):
        return text_or_empty(part.get("text")) or None
    return None


def _is_lost(item: _Json, lost: frozenset[str]) -> bool:
    return item.get("type") != CALL and text_or_empty(item.get("call_id")) in lost


def _sendable_item(item: _Json, lost: frozenset[str]) -> _Json:
    """Return an item without a lost caller and, if it is a call, with arguments that are JSON."""
    if item.get("type") == CALL:  # compatible servers send objects or nothing, and OpenAI's texts may be no JSON
        item = {**item, "arguments": arguments_text(item.get("arguments") or "")}
    if caller_of(item, lost):
        return item
    return {key: value for key, value in item.items() if key != "caller"}


def _is_unreadable(item: Mapping[str, Any]) -> bool:
    return item.get("type") == _REASONING and not item.get("encrypted_content")


def _without_id(item: Mapping[str, Any]) -> _Json:
    content: object = item.get("content")
    if item.get("type") != "message" or not isinstance(content, list):
        return {key: value for key, value in item.items() if key != "id"}
    parts = objects(cast("list[object]", content), "content")
    message = {"role": "assistant", "content": "".join(part_text(content_part.fields) or "" for content_part in parts)}
    if item.get("phase"):
        message["phase"] = item["phase"]
    return message
