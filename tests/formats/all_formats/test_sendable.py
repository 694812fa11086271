"""Whatever a conversation has in it, the request made of it is text that can be sent."""

import json
from types import ModuleType

import pytest

from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage

HALF = "a\ud800b"


@pytest.mark.parametrize("form", [anthropic_turns, gemini_turns, openai_turns, responses_turns])
def test_lone_surrogate_does_not_prevent_a_request(form: ModuleType) -> None:
    asked = Answer(messages=(ToolCallMessage("find", "c", {"city": HALF}),), stop_reason="tool_calls")
    entries = (
        TextMessage(HALF, role=MessageRole.SYSTEM),
        TextMessage(HALF),
        asked,
        ToolResultMessage("c", {"where": HALF}, tool_name="find"),
    )
    body = form.request(Prompt(model="m", entries=entries))
    assert json.dumps(body, ensure_ascii=False).encode()
