"""What the system says after the model has spoken: in its place, or an error that names the provider."""

from dataclasses import replace
from typing import Any

import pytest

from ez_ptc.errors import ProviderError
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Entry, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage
from tests.formats.gemini.bodies import check as check_gemini
from tests.formats.openai_types import check_chat, check_responses
from tests.providers.anthropic.refusals import problems

_Json = dict[str, Any]

HELLO = TextMessage("Hello")
FIRST = TextMessage("Be brief.", role=MessageRole.SYSTEM)
LATE = TextMessage("In French.", role=MessageRole.SYSTEM)
LATER = TextMessage("Slowly.", role=MessageRole.SYSTEM)
SAID = TextMessage("Yes?", role=MessageRole.ASSISTANT)
BYE = TextMessage("Bye")
CALLED = Answer(messages=(ToolCallMessage("look", "call_1", {}),))
RESULT = ToolResultMessage("call_1", "sunny", tool_name="look")


def _prompt(*entries: Entry, model: str = "m") -> Prompt:
    return Prompt(model=model, entries=entries)


def to_anthropic(*entries: Entry, model: str = "claude-opus-5") -> _Json:
    body = anthropic_turns.request(_prompt(*entries, model=model))
    assert problems(body) == []
    return body


def _roles(messages: list[_Json]) -> list[str]:
    return [each["role"] for each in messages]


def test_anthropic_hears_it_at_the_end_of_the_turn() -> None:
    body = to_anthropic(FIRST, HELLO, SAID, LATE, TextMessage("And?"), LATER, SAID, BYE)

    assert body["system"] == "Be brief."
    assert _roles(body["messages"]) == ["user", "assistant", "user", "system", "assistant", "user"]
    said = [{"type": "text", "text": "In French."}, {"type": "text", "text": "Slowly."}]
    assert body["messages"][3]["content"] == said


def test_anthropic_hears_it_after_results() -> None:
    assert _roles(to_anthropic(HELLO, CALLED, RESULT, LATE)["messages"]) == ["user", "assistant", "user", "system"]


@pytest.mark.parametrize("entries", [(HELLO, SAID, LATE, SAID, BYE), (HELLO, SAID, LATE)])
def test_system_message_in_position_anthropic_refuses_is_error(entries: tuple[Entry, ...]) -> None:
    with pytest.raises(ProviderError, match="Anthropic does not accept a system message between two model answers"):
        to_anthropic(*entries)


@pytest.mark.parametrize(
    ("model", "is_taken"),
    [
        ("claude-opus-4-8", True),
        ("claude-opus-5-20260801", True),
        ("claude-sonnet-5-5", True),
        ("claude-fable-5", True),
        ("claude-sonnet-5", False),
        ("claude-sonnet-5-20260301", False),
        ("claude-sonnet-4-6", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-opus-4-20250514", False),
        ("claude-3-5-haiku-latest", False),
    ],
)
def test_anthropic_model_without_system_messages_is_named(model: str, is_taken: bool) -> None:
    if is_taken:
        assert _roles(to_anthropic(HELLO, SAID, BYE, LATE, model=model)["messages"])[-1] == "system"
    else:
        with pytest.raises(ProviderError, match=rf"^{model} does not take a system message after its model has spoken"):
            to_anthropic(HELLO, SAID, BYE, LATE, model=model)


@pytest.mark.parametrize("server", ["api.openai.com", "localhost"])
def test_chat_completions_gets_system_message_in_place(server: str) -> None:
    body = openai_turns.request(_prompt(FIRST, HELLO, SAID, LATE, BYE), server=server)
    check_chat(body)

    assert _roles(body["messages"]) == ["system", "user", "assistant", "system", "user"]


def test_responses_gets_system_message_in_place() -> None:
    body = responses_turns.request(_prompt(FIRST, HELLO, SAID, LATE, BYE))
    check_responses(body)

    assert body["instructions"] == "Be brief."
    assert _roles(body["input"]) == ["user", "assistant", "system", "user"]


@pytest.mark.parametrize("said", [SAID, Answer(messages=(SAID,))])
def test_gemini_and_mistral_are_named_in_an_error(said: Entry) -> None:
    with pytest.raises(ProviderError, match=r"^Gemini does not take a system message after its model has spoken"):
        gemini_turns.request(_prompt(HELLO, said, LATE, BYE))
    with pytest.raises(ProviderError, match=r"^Mistral does not take a system message after its model has spoken"):
        openai_turns.request(_prompt(HELLO, said, LATE, BYE), server="api.mistral.ai")


def test_system_message_before_first_answer_is_an_instruction() -> None:
    entries = (HELLO, FIRST, TextMessage("Are you there?"), LATE)
    body = gemini_turns.request(_prompt(*entries, model="gemini-3.8-flash"))
    check_gemini(body)

    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}, {"text": "In French."}]}
    assert [each["text"] for each in to_anthropic(*entries)["system"]] == ["Be brief.", "In French."]
    assert _roles(openai_turns.request(_prompt(*entries), server="api.mistral.ai")["messages"]) == ["system", "user"]


def test_a_system_message_of_nothing_is_left_out() -> None:
    blank = replace(LATE, text=" ")

    assert _roles(to_anthropic(HELLO, SAID, blank, BYE)["messages"]) == ["user", "assistant", "user"]
    check_gemini(gemini_turns.request(_prompt(HELLO, SAID, blank, BYE, model="gemini-3.8-flash")))
