"""The order that providers insist on: what real ones answer with status 400 is found before it is sent."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ProviderError
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.ordering import check_order
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Entry, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage

_HELLO = TextMessage("Hello")
_SYSTEM = TextMessage("Be brief.", role=MessageRole.SYSTEM)


def _answer(*ids: str) -> Answer:
    said = TextMessage("I look.", role=MessageRole.ASSISTANT)
    return Answer(messages=(said, *(ToolCallMessage("look", each, {}) for each in ids)))


def _result(identifier: str) -> ToolResultMessage:
    return ToolResultMessage(identifier, "seen", tool_name="look")


# Conversations that providers take: questions and answers in any order, each answer's results right after it.
_CONVERSATIONS = st.lists(st.integers(0, 3), max_size=4).map(
    lambda turns: [
        _HELLO,
        *(
            entry
            for turn, count in enumerate(turns)
            for ids in [[f"call_{turn}_{number}" for number in range(count)]]
            for entry in (_answer(*ids), *map(_result, ids), *([] if turn % 2 else [TextMessage("Go on.")]))
        ),
    ]
)


@given(_CONVERSATIONS)
def test_ordered_conversation_is_accepted(entries: list[Entry]) -> None:
    check_order(entries)
    check_order([_SYSTEM, *entries, TextMessage("And?")])


@given(_CONVERSATIONS, st.data())
def test_missing_doubled_renamed_or_misplaced_result_is_found(entries: list[Entry], data: st.DataObject) -> None:
    results = [at for at, each in enumerate(entries) if isinstance(each, ToolResultMessage)]
    if not results:
        return
    at = data.draw(st.sampled_from(results))
    result = entries[at]
    before, after = entries[:at], entries[at + 1 :]
    slip = data.draw(st.sampled_from(["missing", "doubled", "renamed", "late", "early", "interrupted"]))
    asked = max(number for number in range(at) if isinstance(entries[number], Answer))
    wrong = {
        "missing": [*before, *after],
        "doubled": [*before, result, result, *after],
        "renamed": [*before, _result("another"), *after],
        "late": [*before, TextMessage("Wait."), result, *after],
        "early": [*entries[:asked], result, *entries[asked:at], *after],
        "interrupted": [*before, _answer(), result, *after],
    }
    with pytest.raises(ProviderError, match="a provider would refuse this conversation: "):
        check_order(wrong[slip])


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        # Anthropic: "`tool_use` ids were found without `tool_result` blocks immediately after: a"; and
        # OpenAI: "An assistant message with 'tool_calls' must be followed by tool messages responding to each
        # 'tool_call_id'", and of Responses: "No tool output found for function call a".
        ([_HELLO, _answer("a", "b"), _result("b"), TextMessage("?")], "entry 3 comes before the results of 'look'"),
        ([_HELLO, _answer("a")], "it ends before the results of 'look'"),
        # Anthropic: "unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block must have a
        # corresponding `tool_use` block in the previous message"; OpenAI: "messages with role 'tool' must be a response
        # to a preceding message with 'tool_calls'".
        ([_HELLO, _result("a")], "entry 1 is the result of a call 'a' that the answer before does not ask for"),
        ([_HELLO, _answer("a"), _result("a"), _answer(), _result("a")], "entry 4 is the result of a call 'a'"),
        # Anthropic: "`tool_use` ids must be unique".
        ([_HELLO, _answer("a", "a"), _result("a"), _result("a")], "entry 1 has two calls of one id"),
        # All of them: "at least one message is required", or words like these.
        ([], "it has no user message"),
        ([_SYSTEM], "it has no user message"),
        ([_HELLO, ToolCallMessage("look", "a", {}), _result("a")], "entry 1 is a call by itself"),
    ],
)
def test_orders_providers_refuse_are_refused_with_position(entries: list[Entry], complaint: str) -> None:
    with pytest.raises(ProviderError, match=complaint):
        check_order(entries)


@pytest.mark.parametrize(
    "request_of", [anthropic_turns.request, gemini_turns.request, openai_turns.request, responses_turns.request]
)
def test_every_format_checks_the_order_before_anything_is_sent(request_of: Callable[[Prompt], object]) -> None:
    prompt = Prompt(model="m", entries=(_HELLO, _answer("a")))
    with pytest.raises(ProviderError, match="ends before the results"):
        request_of(prompt)
    assert request_of(replace(prompt, entries=(*prompt.entries, _result("a"))))
