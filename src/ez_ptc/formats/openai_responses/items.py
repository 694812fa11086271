"""The items of OpenAI's Responses in the form that the API takes back.

We answer calls of functions. Calls of other tools that a client is to run get no output, so they are left out. A
program at the provider waits for the outputs of its calls until a user message comes: from then on it is left out, and
its calls become calls of the model. Reasoning goes back only with everything that it led to.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.formats.json_reader import objects, text_or_empty
from ez_ptc.formats.openai_shapes.parts import arguments_text, came_from, is_openai
from ez_ptc.messages import Answer, Entry, MediaMessage, MessageRole, TextMessage

__all__ = ["CALL", "PROVIDER", "caller_of", "items_back", "lost_calls", "own_items", "stored_until", "text_of_part"]

PROVIDER: Final = "openai"
CALL: Final = "function_call"

_Json = dict[str, Any]

_REASONING: Final = "reasoning"
_PROGRAM: Final = "program"
_OUTPUT: Final = "_output"
_SAID: Final = ("output_text", "refusal", "text")


def own_items(answer: Answer, server: str) -> list[_Json] | None:
    """Return a server's items as they came; None if the answer was made or changed by hand, or came from elsewhere."""
    content: object = answer.content
    if not came_from(answer, PROVIDER, server) or not isinstance(content, list):
        return None
    items = cast("list[object]", content)
    if not all(isinstance(item, dict) for item in items):
        return None
    own = cast("list[_Json]", items)
    called = [text_or_empty(item.get("call_id")) for item in own if item.get("type") == CALL]
    return own if called == [call.id for call in answer.calls] else None


def stored_until(entries: Sequence[Entry], server: str, lost: frozenset[str]) -> int:
    """Return after how many entries the last answer comes that the server has stored, with all before it; else 0.

    An answer that was changed here since, or with a call that nobody answers, is none to go on from; neither is the
    last of all entries.
    """
    for at in range(len(entries) - 2, -1, -1):
        entry = entries[at]
        items = own_items(entry, server) if isinstance(entry, Answer) and entry.id else None
        if isinstance(entry, Answer) and items is not None and entry.details.get("stored") is True:
            is_answered = all(
                item.get("type") == CALL or text_or_empty(item.get("call_id")) not in lost for item in items
            )
            return at + 1 if is_answered else 0
    return 0


def lost_calls(entries: Iterable[Entry], server: str) -> frozenset[str]:
    """Return the ids of the calls and programs whose output can no longer come."""
    lost: set[str] = set()
    waiting: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, TextMessage | MediaMessage) and entry.role is MessageRole.USER:
            lost.update(waiting)
            waiting.clear()
        for item in (own_items(entry, server) or ()) if isinstance(entry, Answer) else ():
            kind, identifier = text_or_empty(item.get("type")), text_or_empty(item.get("call_id"))
            if kind.endswith(_OUTPUT):
                waiting.pop(identifier, None)
            elif identifier and kind != CALL:
                waiting[identifier] = kind
    return frozenset(lost | {identifier for identifier, kind in waiting.items() if kind != _PROGRAM})


def items_back(items: list[_Json], server: str, lost: frozenset[str], *, is_stored: bool) -> list[_Json]:
    """Return items as they came, but without those that the provider would refuse.

    It refuses reasoning that is neither encrypted nor stored at the provider (`is_stored`), and the ids of items whose
    reasoning is missing; a message without its id is sent as its text.
    """
    kept = [item for item in items if item.get("type") == CALL or text_or_empty(item.get("call_id")) not in lost]
    was_cut = len(kept) < len(items)
    kept = [_with_json(item) if caller_of(item, lost) else _without_caller(_with_json(item)) for item in kept]
    if not is_openai(server):
        return kept
    # An answer that was cut off in its reasoning: OpenAI refuses reasoning that nothing came of.
    while kept and kept[-1].get("type") == _REASONING:
        kept.pop()
    if was_cut:
        return [_alone(item) for item in kept if item.get("type") != _REASONING]
    if is_stored or not any(map(_is_unreadable, kept)):
        return kept
    return [_alone(item) for item in kept if not _is_unreadable(item)]


def caller_of(item: Mapping[str, Any], lost: frozenset[str]) -> object:
    """Return the program that made a call, or None if the model did."""
    caller = item.get("caller")
    if not isinstance(caller, Mapping) or text_or_empty(cast("Mapping[str, object]", caller).get("caller_id")) in lost:
        return None
    return cast("object", caller)


def text_of_part(part: Mapping[str, Any]) -> str:
    """Return the text of a part of a message."""
    kind = text_or_empty(part.get("type"))
    return text_or_empty(part.get("refusal" if kind == "refusal" else "text")) if kind in _SAID else ""


def _without_caller(item: _Json) -> _Json:
    return {key: value for key, value in item.items() if key != "caller"}


def _is_unreadable(item: Mapping[str, Any]) -> bool:
    return item.get("type") == _REASONING and not item.get("encrypted_content")


def _alone(item: Mapping[str, Any]) -> _Json:
    content: object = item.get("content")
    if item.get("type") != "message" or not isinstance(content, list):
        return {key: value for key, value in item.items() if key != "id"}
    text = "".join(text_of_part(part.fields) for part in objects(cast("list[object]", content), "content"))
    return {"role": "assistant", "content": text, **({"phase": item["phase"]} if item.get("phase") else {})}


def _with_json(item: _Json) -> _Json:
    """Return an item whose arguments, where it is a call, are JSON."""
    if item.get("type") != CALL or not isinstance(item.get("arguments"), str):
        return item
    return {**item, "arguments": arguments_text(item["arguments"])}
