"""Calls in Responses whose output never came."""

from typing import Any

import pytest

from ez_ptc.formats.openai_responses.messages import request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Entry, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage

_Json = dict[str, Any]

_HELLO = TextMessage("Hello")
_MORE = TextMessage("Go on.")
_SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Let me see."}],
}
_REASONING: _Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
_SHELL: _Json = {"type": "shell_call", "id": "sh_1", "call_id": "call_9", "action": {}}
_PROGRAM = {"type": "program", "id": "p_1", "call_id": "prog_1", "code": "pay()"}
_PROGRAM_OUTPUT = {"type": "program_output", "id": "po_1", "call_id": "prog_1", "output": "1"}
_CALLER = {"type": "program", "caller_id": "prog_1"}
_PAY = {"type": "function_call", "id": "f", "call_id": "a", "name": "pay", "arguments": "{}", "caller": _CALLER}
_PAID = ToolResultMessage("a", "paid", tool_name="pay")


def _answer(*items: _Json) -> Answer:
    calls = [ToolCallMessage("pay", item["call_id"], "{}") for item in items if item["type"] == "function_call"]
    text = TextMessage("Let me see.", role=MessageRole.ASSISTANT)
    details = {"server": "api.openai.com", "stored": False}
    return Answer(messages=(text, *calls), provider="openai", content=list(items), details=details)


def _items(*entries: Entry) -> list[_Json]:
    return request(Prompt(model="gpt-5.5", entries=entries))["input"]


@pytest.mark.parametrize("following", [(), (_MORE,)])
def test_unanswered_call_is_dropped_with_its_reasoning(following: tuple[Entry, ...]) -> None:
    items = _items(_HELLO, _answer(_REASONING, _SAID, _SHELL), *following)
    assert _SHELL not in items
    assert _REASONING not in items
    assert {"role": "assistant", "content": "Let me see."} in items


def test_a_waiting_program_gets_the_outputs_of_its_calls() -> None:
    items = _items(_HELLO, _answer(_PROGRAM, _PAY), _PAID)
    assert items[1:3] == [_PROGRAM, _PAY]
    assert items[3]["caller"] == _CALLER


def test_a_program_with_its_output_goes_back() -> None:
    items = _items(_HELLO, _answer(_PROGRAM, _PAY), _PAID, _answer(_PROGRAM_OUTPUT, _SAID), _MORE)
    assert [item for item in items if item in (_PROGRAM, _PAY, _PROGRAM_OUTPUT)] == [_PROGRAM, _PAY, _PROGRAM_OUTPUT]


def test_calls_of_lost_program_become_model_calls() -> None:
    items = _items(_HELLO, _answer(_PROGRAM, _PAY), _PAID, _MORE)
    assert _PROGRAM not in items
    assert [item["type"] for item in items if "call_id" in item] == ["function_call", "function_call_output"]
    assert not any("caller" in item for item in items)
