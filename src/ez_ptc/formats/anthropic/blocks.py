"""Anthropic's own blocks in the form that its API accepts back.

The result of a server tool (`server_tool_use`) is in the same answer, or in a later one if the model paused or if its
program waits for the results of our calls. Only results may come in between: Anthropic rejects a conversation in which
a user message follows a call without a result. Such a call is left out, and the calls its program made become calls of
the model.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.formats.json_reader import text_or_empty
from ez_ptc.messages import Answer

__all__ = ["PROVIDER", "RoleBlock", "is_called_by_program", "original_blocks", "sendable_block", "without_lost_calls"]

PROVIDER: Final = "anthropic"

_Json = dict[str, Any]
RoleBlock = tuple[str, _Json]
"""A role and a block."""

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_SERVER_RESULT_SUFFIX: Final = "_tool_result"
_RESULT: Final = "tool_result"


def original_blocks(answer: Answer) -> Sequence[_Json]:
    """Return an answer's blocks as Anthropic sent them, or none if the answer was made or changed by hand."""
    content: object = answer.content
    if answer.provider != PROVIDER or not isinstance(content, list | tuple):
        return ()
    elements = cast("Sequence[object]", content)
    if not all(isinstance(element, dict) for element in elements):
        return ()
    blocks = cast("Sequence[_Json]", elements)
    call_ids = [text_or_empty(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
    if call_ids == [call.id for call in answer.calls]:
        return blocks
    return ()


def sendable_block(block: _Json) -> _Json:
    """Return a block without the fields that Anthropic sends but does not accept."""
    elements: object = block.get("citations")
    if not elements:
        return block
    citations: list[_Json] = []
    if isinstance(elements, list):
        for citation in cast("list[object]", elements):
            if isinstance(citation, dict):
                fields = cast("_Json", citation).items()
                citations.append({key: value for key, value in fields if (key, value) != ("file_id", None)})
    return {**block, "citations": citations}


def is_called_by_program(block: _Json) -> bool:
    """Return whether a block is a call of one of our tools by a program that Anthropic runs."""
    caller = block.get("caller")
    return block.get("type") == "tool_use" and isinstance(caller, Mapping) and caller != {"type": "direct"}


def without_lost_calls(blocks: Sequence[RoleBlock]) -> list[RoleBlock]:
    """Return blocks without server tool calls whose result can no longer come, and without results of no call."""
    calls = {text_or_empty(block.get("id")): index for index, (_, block) in enumerate(blocks) if _is_call(block)}
    results = {_call_id(block): index for index, (role, block) in enumerate(blocks) if _is_result(role, block)}
    user_messages = [
        index for index, (role, block) in enumerate(blocks) if role == "user" and block.get("type") != _RESULT
    ]
    lost: set[str] = set()
    for identifier, index in calls.items():
        end = results.get(identifier, len(blocks))
        if end < index or any(index < message < end for message in user_messages):
            lost.add(identifier)
    complete = calls.keys() - lost
    kept: list[RoleBlock] = []
    for role, block in blocks:
        is_lost_call = _is_call(block) and text_or_empty(block.get("id")) in lost
        is_stray_result = _is_result(role, block) and _call_id(block) not in complete
        if not is_lost_call and not is_stray_result:
            kept.append((role, _without_lost_caller(block, lost)))
    return kept


def _is_call(block: _Json) -> bool:
    return text_or_empty(block.get("type")) in _SERVER_CALLS


def _is_result(role: str, block: _Json) -> bool:
    return role == "assistant" and text_or_empty(block.get("type")).endswith(_SERVER_RESULT_SUFFIX)


def _call_id(result: _Json) -> str:
    return text_or_empty(result.get("tool_use_id"))


def _without_lost_caller(block: _Json, lost: set[str]) -> _Json:
    caller = block.get("caller")
    program = None
    if isinstance(caller, Mapping):
        program = cast("_Json", caller).get("tool_id")
    if text_or_empty(program) not in lost:
        return block
    return {key: value for key, value in block.items() if key != "caller"}
