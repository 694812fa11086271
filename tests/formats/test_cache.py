"""Marks for a provider's cache: where they stand in a request, and where they cannot."""

from typing import Any

import pytest

from ez_ptc import ez_tool
from ez_ptc.errors import ProviderError
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, DocumentMessage, Entry, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage
from tests.formats.gemini.bodies import check as check_gemini
from tests.formats.openai_types import check_chat, check_responses
from tests.providers.anthropic.refusals import problems

_Json = dict[str, Any]

SYSTEM = TextMessage("Be brief.", role=MessageRole.SYSTEM, cache=True)
PLAN = DocumentMessage(b"%PDF-1.7", name="plan.pdf", cache="1h")
HELLO = TextMessage("Hello")
CALLED = Answer(messages=(ToolCallMessage("look", "call_1", {}),))
RESULT = ToolResultMessage("call_1", "sunny", tool_name="look", cache=True)
SAID = TextMessage("Yes?", role=MessageRole.ASSISTANT, cache=True)
CONTROL = {"type": "ephemeral"}
BREAKPOINT = {"mode": "explicit"}


@ez_tool
def look() -> str:
    """Look at the sky."""
    return "sunny"


@ez_tool
def listen() -> str:
    """Listen to the wind."""
    return "calm"


def prompt(*entries: Entry, model: str = "gpt-5.6", **fields: Any) -> Prompt:
    return Prompt(model=model, entries=entries, tools=(look, listen), **fields)


def to_anthropic(*entries: Entry, **fields: Any) -> _Json:
    body = anthropic_turns.request(prompt(*entries, **fields))
    assert problems(body) == []
    return body


def to_chat(*entries: Entry, **fields: Any) -> list[_Json]:
    body = openai_turns.request(prompt(*entries, **fields))
    check_chat(body)
    return body["messages"]


def to_responses(*entries: Entry, **fields: Any) -> _Json:
    body = responses_turns.request(prompt(*entries, **fields))
    check_responses(body)
    return body


def test_anthropic_gets_marks_on_tools_instructions_parts_and_results() -> None:
    system = TextMessage("Be brief.", role=MessageRole.SYSTEM, cache="1h")
    body = to_anthropic(system, PLAN, HELLO, CALLED, RESULT, cache_tools="1h")
    control = {**CONTROL, "ttl": "1h"}

    assert [tool.get("cache_control") for tool in body["tools"]] == [None, control]
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": control}]
    document, hello = body["messages"][0]["content"]
    assert document["cache_control"] == control
    assert "cache_control" not in hello
    assert body["messages"][-1]["content"][0]["cache_control"] == CONTROL


def test_anthropic_gets_last_marks_up_to_its_maximum() -> None:
    asked = [TextMessage(f"Question {number}", cache=True) for number in range(5)]
    body = to_anthropic(SYSTEM, *asked, cache_tools=True)

    assert "cache_control" not in str([body["tools"], body["system"]])
    assert ["cache_control" in block for block in body["messages"][0]["content"]] == [False, True, True, True, True]


def test_long_mark_after_short_one_is_refused() -> None:
    with pytest.raises(ProviderError, match="Anthropic does not take a mark for 1h after one for 5m"):
        to_anthropic(SYSTEM, PLAN, HELLO)


def test_chat_completions_get_marks_on_parts() -> None:
    system, user, said, called, result = to_chat(SYSTEM, TextMessage("Look!", cache="30m"), SAID, CALLED, RESULT)

    assert system["content"] == [{"type": "text", "text": "Be brief.", "prompt_cache_breakpoint": BREAKPOINT}]
    assert user["content"][0]["prompt_cache_breakpoint"] == {**BREAKPOINT, "ttl": "30m"}
    assert said["content"] == [{"type": "text", "text": "Yes?", "prompt_cache_breakpoint": BREAKPOINT}]
    assert "prompt_cache_breakpoint" not in str(called)
    assert result["content"] == [{"type": "text", "text": "sunny", "prompt_cache_breakpoint": BREAKPOINT}]


def test_responses_get_marks_on_parts() -> None:
    document = DocumentMessage(b"%PDF-1.7", cache="12h")
    body = to_responses(SYSTEM, document, HELLO, CALLED, RESULT)
    system, user, _, result = body["input"]

    assert "instructions" not in body
    assert system == {
        "role": "system",
        "content": [{"type": "input_text", "text": "Be brief.", "prompt_cache_breakpoint": BREAKPOINT}],
    }
    assert user["content"][0]["prompt_cache_breakpoint"] == {**BREAKPOINT, "ttl": "12h"}
    assert result["output"] == [{"type": "input_text", "text": "sunny", "prompt_cache_breakpoint": BREAKPOINT}]
    assert to_responses(HELLO, SAID, HELLO)["input"][1] == {"role": "assistant", "content": "Yes?"}


@pytest.mark.parametrize("server", ["api.openai.com", "localhost", "api.mistral.ai"])
def test_no_marks_are_sent_without_any(server: str) -> None:
    entries = (SYSTEM, TextMessage("Look!", cache="1h"), CALLED, RESULT)
    unmarked = (TextMessage("Be brief.", role=MessageRole.SYSTEM), TextMessage("Look!"), CALLED)
    last = ToolResultMessage("call_1", "sunny", tool_name="look")
    for make in (openai_turns.request, responses_turns.request):
        body = make(prompt(*entries, model="gpt-5.5"), server=server)
        assert body == make(prompt(*unmarked, last, model="gpt-5.5"), server=server)
    body = gemini_turns.request(prompt(*entries, model="gemini-3.8-flash", cache_tools=True))
    check_gemini(body)
    assert body == gemini_turns.request(prompt(*unmarked, last, model="gemini-3.8-flash"))


@pytest.mark.parametrize(
    ("send", "lifetime", "problem"),
    [
        (to_anthropic, "30m", "Anthropic keeps what is marked for 5m or 1h, got '30m'"),
        (to_chat, "1h", "OpenAI keeps what is marked for 30m or 12h, got '1h'"),
        (to_responses, "5m", "OpenAI keeps what is marked for 30m or 12h, got '5m'"),
    ],
)
def test_unsupported_lifetime_is_named(send: Any, lifetime: str, problem: str) -> None:  # noqa: ANN401 - one of three functions
    with pytest.raises(ProviderError, match=problem):
        send(TextMessage("Hello", cache=lifetime))
