"""Anthropic's own blocks in the form that its API accepts back.

The result of a server tool (`server_tool_use`) is in the same answer, or in a later one if the model paused or if its
program waits for the results of our calls. Only results may come in between: Anthropic rejects a conversation in which
a user message follows a call without a result. Such a call is left out, and the calls its program made become calls of
the model.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

from ez_ptc.formats.json_reader import text_or_empty
from ez_ptc.formats.ordering import is_system_text
from ez_ptc.messages import Answer, Entry, ToolResultMessage

__all__ = [
    "PROVIDER",
    "RoleBlock",
    "container_of",
    "is_accepted",
    "is_called_by_program",
    "original_blocks",
    "sendable_block",
    "without_lost_calls",
]

PROVIDER: Final = "anthropic"

_Json = dict[str, Any]
RoleBlock = tuple[str, _Json]
"""A role and a block."""

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_SERVER_RESULT_SUFFIX: Final = "_tool_result"
_RESULT: Final = "tool_result"
_RUNS_PROGRAMS: Final = re.compile("code_execution_")


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


def is_accepted(block: _Json) -> bool:
    """Return whether Anthropic accepts a block: it rejects blank text and unsigned thinking, its own included."""
    if block.get("type") == "thinking":
        return bool(block.get("signature"))
    return block.get("type") != "text" or bool(str(block.get("text") or "").strip())


def container_of(entries: Sequence[Entry], tools: Iterable[object]) -> str | None:
    """Return the id of the container in which a program waits or the model paused, or else of the last one that lives.

    The latter keeps a program's files and variables for the next question, if the request's `tools` include one that
    runs programs. It has expired unless its answer says until when it lives.
    """
    spoken = [
        entry for entry in reversed(entries) if not isinstance(entry, ToolResultMessage) and not is_system_text(entry)
    ]
    answers = (entry for entry in spoken if isinstance(entry, Answer) and entry.provider == PROVIDER)
    answer = next((answer for answer in answers if isinstance(answer.details.get("container"), Mapping)), None)
    if answer is None:
        return None
    container = cast("Mapping[str, object]", answer.details["container"])
    is_waiting = answer.stop_reason == "pause" or any(map(is_called_by_program, original_blocks(answer)))
    types = [text_or_empty(cast("_Json", tool).get("type")) for tool in tools if isinstance(tool, Mapping)]
    is_useful = any(map(_RUNS_PROGRAMS.match, types)) and _is_alive(container.get("expires_at"))
    if (is_waiting and answer is spoken[0]) or is_useful:
        return text_or_empty(container.get("id")) or None
    return None


def _is_alive(expires_at: object) -> bool:
    try:
        return datetime.fromisoformat(text_or_empty(expires_at)) > datetime.now(UTC)
    except (ValueError, TypeError):  # no time, or one without a zone
        return False


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
