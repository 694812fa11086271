"""Anthropic's own blocks in the form that it takes back.

The result of a call of one of Anthropic's own tools (`server_tool_use`) is in the same answer, or in a later one if the
model paused or if its program waits for the results of our calls. Only results may come in between. Anthropic refuses a
conversation in which a user message follows a call that has no result, so such a call is left out, and the calls that
its program made become calls of the model.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.formats.json_reader import text_or_empty
from ez_ptc.messages import Answer

__all__ = ["PROVIDER", "Turn", "is_called_by_program", "own_blocks", "sent_back", "without_lost_calls"]

PROVIDER: Final = "anthropic"

_Json = dict[str, Any]
Turn = tuple[str, _Json]
"""A role and a block."""

_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_RESULT: Final = "_tool_result"
_OUR_RESULT: Final = "tool_result"


def own_blocks(answer: Answer) -> Sequence[_Json]:
    """Return an answer's blocks as Anthropic sent them, or none if the answer was made or changed by hand."""
    content: object = answer.content
    if answer.provider != PROVIDER or not isinstance(content, list | tuple):
        return ()
    blocks = cast("Sequence[object]", content)
    if not all(isinstance(block, dict) for block in blocks):
        return ()
    own = cast("Sequence[_Json]", blocks)
    called = [text_or_empty(block.get("id")) for block in own if block.get("type") == "tool_use"]
    return own if called == [call.id for call in answer.calls] else ()


def sent_back(block: _Json) -> _Json:
    """Return a block as it came, but without the parts that Anthropic sends and does not accept."""
    listed: object = block.get("citations")
    if not listed:
        return block
    citations = [
        {key: value for key, value in cast("_Json", citation).items() if (key, value) != ("file_id", None)}
        for citation in (cast("list[object]", listed) if isinstance(listed, list) else ())
        if isinstance(citation, dict)
    ]
    return {**block, "citations": citations}


def is_called_by_program(block: _Json) -> bool:
    """Whether a block is a call of one of our tools that an Anthropic program made."""
    caller = block.get("caller")
    return block.get("type") == "tool_use" and isinstance(caller, Mapping) and caller != {"type": "direct"}


def without_lost_calls(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns without the calls of Anthropic's own tools whose result can no longer come, and stray results."""
    called = {text_or_empty(block.get("id")): at for at, (_, block) in enumerate(turns) if _is_call(block)}
    answered = {_answered_call(block): at for at, (role, block) in enumerate(turns) if _is_result(role, block)}
    messages = [at for at, (role, block) in enumerate(turns) if role == "user" and block.get("type") != _OUR_RESULT]
    lost: set[str] = set()
    for identifier, at in called.items():
        end = answered.get(identifier, len(turns))
        if end < at or any(at < position < end for position in messages):
            lost.add(identifier)
    complete = called.keys() - lost
    kept: list[Turn] = []
    for role, block in turns:
        is_lost_call = _is_call(block) and text_or_empty(block.get("id")) in lost
        is_stray = _is_result(role, block) and _answered_call(block) not in complete
        if not is_lost_call and not is_stray:
            kept.append((role, _without_caller(block) if _calling_program(block) in lost else block))
    return kept


def _is_call(block: _Json) -> bool:
    return text_or_empty(block.get("type")) in _CALLS


def _is_result(role: str, block: _Json) -> bool:
    return role == "assistant" and text_or_empty(block.get("type")).endswith(_RESULT)


def _answered_call(block: _Json) -> str:
    return text_or_empty(block.get("tool_use_id"))


def _calling_program(block: _Json) -> str:
    caller = block.get("caller")
    return text_or_empty(cast("_Json", caller).get("tool_id")) if isinstance(caller, Mapping) else ""


def _without_caller(block: _Json) -> _Json:
    return {key: value for key, value in block.items() if key != "caller"}
