"""Answers that are not whole: what nobody can read, what was cut off, and what was refused."""

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.errors import ProviderError
from ez_ptc.formats.ordering import check_order
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCall, ToolCallMessage, ToolResultMessage, Usage
from ez_ptc.providers.scripted import ScriptedProvider


@ez_tool
def double(number: int) -> int:
    """Double a number."""
    return number * 2


def call(number: int, id: str = "") -> ToolCall:  # noqa: A002 - as ToolCall has it
    return ToolCall(id, "double", {"number": number})


def results(messages: list[object]) -> list[tuple[object, bool]]:
    return [(each.result, each.success) for each in messages if isinstance(each, ToolResultMessage)]


def asking(*script: object) -> LLMPromptBuilder:
    return llm().tool(double).provider(ScriptedProvider(*script))  # pyright: ignore[reportArgumentType] - each is a script


def ended(reason: str, *calls: ToolCall, text: str = "", **details: object) -> Answer:
    said = [TextMessage(text, role=MessageRole.ASSISTANT)] if text else []
    asked = [ToolCallMessage(each.name, each.id, each.arguments) for each in calls]
    return Answer(messages=(*said, *asked), stop_reason=reason, usage=Usage(10, 1), model="m-1", details=details)


def test_malformed_call_is_retried_once() -> None:
    provider = ScriptedProvider(ended("malformed"), call(1), ended("malformed"), "Two.")
    _, continuation = llm().tool(double).provider(provider).options(tool_choice="double").converse("Double 1.")
    assert continuation.text == "Two."
    assert results([*continuation.messages]) == [(2, True)]
    # The call that must be made has not been made yet.
    assert [each.tool_choice for each in provider.prompts] == ["double", "double", "auto", "auto"]
    assert continuation.usage == Usage(20, 2)


def test_second_malformed_call_raises_provider_reason() -> None:
    twice = [ended("malformed", finishMessage="Malformed function call: double(") for _ in range(2)]
    with pytest.raises(
        ProviderError, match=r"malformed one from 'm-1' twice \(Malformed function call: double\(\): describe"
    ):
        asking(*twice, "Two.").converse("Double 1.")


@pytest.mark.parametrize("reason", ["length", "incomplete"])
def test_last_call_of_truncated_answer_never_runs(reason: str) -> None:
    cut = ended(reason, call(1, id="a"), call(2, id="b"))
    provider = ScriptedProvider(cut, call(2), "Done.")
    _, continuation = llm().tool(double).provider(provider).converse("Double 1 and 2.")
    one, two, three = results([*continuation.messages])
    assert (one, three) == ((2, True), (4, True))
    assert (str(two[0])[:7], two[1]) == ("not run", False)
    check_order(continuation.entries)


def test_refusal_ends_conversation_without_running_calls() -> None:
    _, continuation = asking(ended("refusal", call(1, id="a"), text="I will"), "Hello.").converse("Double 1.")
    assert (continuation.text, continuation.stop_reason) == ("I will", "refusal")
    assert [success for _, success in results([*continuation.messages])] == [False]
    assert continuation.converse("Hi?")[1].text == "Hello."


def test_silent_refusal_differs_from_answer() -> None:
    _, continuation = asking(ended("refusal")).converse("Go.")
    assert (continuation.text, continuation.stop_reason) == ("", "refusal")
    assert llm().stop_reason == ""


@pytest.mark.parametrize("reason", ["length", "incomplete", "refusal"])
def test_program_in_truncated_answer_never_runs(reason: str) -> None:
    ran: list[int] = []

    @ez_tool
    def note(number: int) -> None:
        """Note a number."""
        ran.append(number)

    provider = ScriptedProvider(ended(reason, text="```python\nnote(1)\n```"), "Done.")
    with Toolkit([note]) as toolkit:
        _, continuation = llm().toolkit(toolkit, mode="prompt").provider(provider).converse("Go.")
    assert ran == []
    assert [continuation.text == "Done.", len(provider.prompts)] == ([False, 1] if reason == "refusal" else [True, 2])
    if reason != "refusal":
        assert "was not run" in str(continuation.messages[-2])
