"""The input of a call in an answer, whatever a server that speaks Anthropic's language sends there."""

from typing import Any

import pytest

from ez_ptc.formats.anthropic.messages import INVALID_JSON, answer, request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import TextMessage, ToolResultMessage


@pytest.mark.parametrize(
    ("given", "arguments", "sent"),
    [
        ("not an object", "not an object", {INVALID_JSON: "not an object"}),
        ('{"location": "Rome"}', {"location": "Rome"}, {"location": "Rome"}),
        ("[1]", "[1]", {INVALID_JSON: "[1]"}),
        (None, {}, {}),
        ("", {}, {}),
    ],
)
def test_call_input_returns_as_an_object(given: object, arguments: object, sent: dict[str, Any]) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": given}
    said = answer({"content": [block], "stop_reason": "tool_use"}, Prompt(model="m", entries=()))
    (call,) = said.calls
    assert call.arguments == arguments

    result = ToolResultMessage(call.id, "no", success=False)
    body = request(Prompt(model="m", entries=(TextMessage("Hi"), said, result)))
    assert body["messages"][1]["content"][0]["input"] == sent
