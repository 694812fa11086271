"""Calls of Anthropic's own tools whose result never came."""

from typing import Any

import pytest

from ez_ptc.formats.anthropic.messages import request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Entry, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage

_Json = dict[str, Any]

_HELLO = TextMessage("Hello")
_MORE = TextMessage("Go on.")
_SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Ada"}}
_FOUND: _Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
_PROGRAM = {"type": "server_tool_use", "id": "srvtoolu_2", "name": "code_execution", "input": {"code": "pay()"}}
_PAY = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "pay",
    "input": {},
    "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_2"},
}
_TEXT = {"type": "text", "text": "Let me see."}
_PAID = ToolResultMessage("toolu_1", "paid", tool_name="pay")


def _answer(*blocks: _Json, **fields: Any) -> Answer:
    calls = [ToolCallMessage(block["name"], block["id"], {}) for block in blocks if block["type"] == "tool_use"]
    text = TextMessage("Let me see.", role=MessageRole.ASSISTANT)
    return Answer(messages=(text, *calls), provider="anthropic", content=list(blocks), **fields)


def _blocks(*entries: Entry) -> list[_Json]:
    body = request(Prompt(model="m", entries=entries))
    return [block for message in body["messages"] for block in message["content"]]


@pytest.mark.parametrize(
    "kind", ["server_tool_use", "mcp_tool_use"], ids=["one of Anthropic's own tools", "a tool of an MCP server"]
)
def test_call_without_result_is_dropped_after_user_message(kind: str) -> None:
    blocks = _blocks(_HELLO, _answer(_TEXT, {**_SEARCH, "type": kind}), _MORE)
    assert blocks == [{"type": "text", "text": "Hello"}, _TEXT, {"type": "text", "text": "Go on."}]


def test_answer_of_only_an_unanswered_call_is_dropped() -> None:
    body = request(Prompt(model="m", entries=(_HELLO, _answer(_SEARCH), _MORE)))
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_a_paused_answer_goes_back_with_its_call() -> None:
    assert _SEARCH in _blocks(_HELLO, _answer(_TEXT, _SEARCH, stop_reason="pause"))


def test_a_result_in_the_next_answer_keeps_the_call() -> None:
    blocks = _blocks(_HELLO, _answer(_SEARCH, stop_reason="pause"), _answer(_FOUND, _TEXT), _MORE)
    assert blocks[1:4] == [_SEARCH, _FOUND, _TEXT]


def test_result_after_user_message_joins_its_call() -> None:
    blocks = _blocks(_HELLO, _answer(_TEXT, _SEARCH), _MORE, _answer(_FOUND, _TEXT), _MORE)
    assert [block["type"] for block in blocks] == ["text"] * 5


def test_a_result_without_its_call_is_left_out() -> None:
    assert _FOUND not in _blocks(_HELLO, _answer(_FOUND, _TEXT), _MORE)


def test_a_waiting_program_gets_the_results_of_its_calls() -> None:
    blocks = _blocks(_HELLO, _answer(_PROGRAM, _PAY, details={"container": {"id": "c"}}), _PAID)
    assert blocks[1:3] == [_PROGRAM, _PAY]


def test_calls_of_lost_program_become_model_calls() -> None:
    answer = _answer(_PROGRAM, _PAY, details={"container": {"id": "c"}})
    body = request(Prompt(model="m", entries=(_HELLO, answer, _PAID, _MORE)))
    blocks = [block for message in body["messages"] for block in message["content"]]
    assert _PROGRAM not in blocks
    assert {key: value for key, value in _PAY.items() if key != "caller"} in blocks
    assert "container" not in body
