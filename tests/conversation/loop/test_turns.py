"""The loop over turns: calls side by side, slips that the model can mend, limits, pauses, fallbacks and cancelling."""

import anyio
import pytest

from ez_ptc import ToolError, Toolkit, ez_tool
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.conversation.loop.turns import MAX_ANSWER_CALLS
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, ProviderError, RateLimitError, TurnLimitError
from ez_ptc.formats.ordering import check_order
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.messages import (
    Answer,
    Entry,
    MessageRole,
    PendingCall,
    TextMessage,
    ToolCall,
    ToolCallMessage,
    ToolResultMessage,
    Usage,
)
from ez_ptc.providers.scripted import ScriptedProvider


@ez_tool
def double(number: int) -> int:
    """Double a number."""
    if number < 0:
        message = "negative numbers are not doubled"
        raise ToolError(message)
    return number * 2


def call(number: object, name: str = "double", id: str = "") -> ToolCall:  # noqa: A002 - as ToolCall has it
    return ToolCall(id, name, {"number": number})


def results(messages: list[object]) -> list[tuple[object, bool]]:
    return [(each.result, each.success) for each in messages if isinstance(each, ToolResultMessage)]


def asking(*script: object) -> LLMPromptBuilder:
    return llm().tool(double).provider(ScriptedProvider(*script))  # pyright: ignore[reportArgumentType] - each is a script


async def test_calls_run_side_by_side_with_ordered_results(anyio_backend: str) -> None:
    both = [anyio.Event(), anyio.Event()]

    @ez_tool
    async def meet(who: int) -> int:
        """Wait for the other one."""
        both[who].set()
        await both[1 - who].wait()
        return who

    provider = ScriptedProvider([ToolCall("a", "meet", {"who": 0}), ToolCall("b", "meet", {"who": 1})], "Met.")
    with anyio.fail_after(60):
        messages, _ = await llm().tool(meet).provider(provider).prompt_conversation("Meet.")
    assert [(each.tool_call_id, each.result) for each in messages if isinstance(each, ToolResultMessage)] == [
        ("a", 0),
        ("b", 1),
    ]


def test_model_reads_saved_results() -> None:
    provider = ScriptedProvider([call(1, id="a"), call(2, id="b")], [call(3)], "Done.")
    _, continuation = llm().tool(double).provider(provider).converse("Go.")
    asked = provider.prompts[-1].entries
    assert asked == continuation.entries[: len(asked)]
    assert len(asked) == len(continuation.entries) - 1
    told = {each.tool_call_id: each.result for each in asked if isinstance(each, ToolResultMessage)}
    assert (told["a"], told["b"]) == (2, 4)


def test_tool_mistakes_are_results_for_model() -> None:
    script = [call(1, "duble"), call("x"), call(-1), ToolCall("", "double", "{")]
    messages, _ = asking(script, "Sorry.").converse("Go.")
    told = results([*messages])
    assert [success for _, success in told] == [False] * 4
    assert [str(result)[:40] for result, _ in told] == [
        "unknown tool 'duble' (did you mean 'doub",
        "double: 'number' must be int, got str 'x",
        "negative numbers are not doubled",
        "double: the arguments are not usable JSO",
    ]


@pytest.mark.parametrize("name", ["functions.refund", "refund<|channel|>commentary", "Refund", "default_api.refund"])
def test_approval_asks_for_the_tool_that_a_misspelled_name_means(name: str) -> None:
    asked: list[tuple[str, object]] = []

    def approve(call: PendingCall) -> bool:
        asked.append((call.tool, call.arguments))
        return call.arguments["number"] != 3

    @ez_tool(requires_approval=True)
    def refund(number: int) -> int:
        """Refund."""
        return number

    provider = ScriptedProvider([call(2, name), call(3, name)], "Done.")
    messages, _ = llm().tool(refund).approve(approve).provider(provider).converse("Go.")

    assert sorted(asked, key=str) == [("refund", {"number": 2}), ("refund", {"number": 3})]
    assert results([*messages])[0] == (2, True)
    assert "refund was not approved" in str(results([*messages])[1][0])
    assert {each.tool_name for each in messages if isinstance(each, ToolCallMessage)} == {"refund"}


@pytest.mark.parametrize(("choice", "then"), [("required", "auto"), ("double", "auto"), ("none", "none")])
def test_required_call_is_required_once(choice: str, then: str) -> None:
    provider = ScriptedProvider(call(1), "Two.")
    llm().tool(double).provider(provider).options(tool_choice=choice).prompt("Go.")
    assert [each.tool_choice for each in provider.prompts] == [choice, then]


def test_turn_limit_error_can_be_continued() -> None:
    with pytest.raises(TurnLimitError, match="its limit of 2 answers") as caught:
        asking(call(1), call(2), "Four.").limits(turns=2).converse("Go.")
    continuation = caught.value.continuation
    assert isinstance(continuation, LLMPromptBuilder)
    assert results([*continuation.messages]) == [(2, True), (4, True)]
    _, ended = continuation.converse()
    assert ended.text == "Four."


def test_calls_beyond_limit_never_run() -> None:
    ran: list[int] = []

    def note(number: int) -> None:
        """Note a number."""
        ran.append(number)

    provider = ScriptedProvider([call(1, "note")], [call(2, "note"), call(3, "note")], "Done.")
    builder = llm().tool(note).provider(provider)
    with pytest.raises(TurnLimitError, match="limit of 2 calls") as caught:
        builder.call_limit(2).converse("Go.")
    assert ran == [1]
    continuation = caught.value.continuation
    assert isinstance(continuation, LLMPromptBuilder)
    check_order(continuation.entries)
    assert [success for _, success in results([*continuation.messages])] == [True, False, False]
    assert continuation.converse("Leave it.")[1].text == "Done."


def test_token_limit_is_checked_after_each_answer() -> None:
    wanted = (ToolCallMessage("double", "c", {"number": 1}),)
    answer = Answer(messages=wanted, stop_reason="tool_calls", usage=Usage(90, 20))
    with pytest.raises(TurnLimitError, match=r"limit of 100 tokens \(110 were used\)"):
        asking(answer).limits(tokens=100).converse("Go.")


def test_cost_limit_uses_price_table() -> None:
    wanted = (ToolCallMessage("double", "c", {"number": 1}),)
    answer = Answer(messages=wanted, stop_reason="tool_calls", usage=Usage(1_000_000, 0), model="o3")
    with pytest.raises(TurnLimitError, match=r"limit of 1.5 US dollars \(2.00 were spent\)"):
        asking(answer).limits(cost=1.5).converse("Go.")
    assert asking(answer, "Two.").limits(cost=2).prompt("Go.") == "Two."
    with pytest.raises(TurnLimitError, match="unknown price of 'scripted'"):
        asking(call(1)).limits(cost=1.5).converse("Go.")


def test_paused_model_is_continued() -> None:
    part = Answer(messages=(TextMessage("Let me", role=MessageRole.ASSISTANT),), stop_reason="pause")
    _, continuation = asking(part, "see.").converse("Go.")
    assert [type(each).__name__ for each in continuation.entries] == ["TextMessage", "Answer", "Answer"]
    assert continuation.text == "see."


def test_fallback_takes_over_after_failure() -> None:
    first = ScriptedProvider(call(1), RateLimitError("too many"), model="one")
    second = ScriptedProvider("Two.", model="two")
    _, continuation = llm().tool(double).provider(first).fallback(second).converse("Double 1.")
    assert continuation.text == "Two."
    assert results([*continuation.messages]) == [(2, True)]
    assert [len(each.prompts) for each in (first, second)] == [2, 1]
    assert second.prompts[0].model == "two"


def test_last_fallback_error_is_raised() -> None:
    providers = [ScriptedProvider(ConnectionFailedError("one is away")), ScriptedProvider(ProviderError("two is ill"))]
    with pytest.raises(ProviderError, match="two is ill"):
        llm().provider(providers[0]).fallback(providers[1]).prompt("x")


def test_missing_key_does_not_fall_back() -> None:
    other = ScriptedProvider("Hello.")
    with pytest.raises(AuthenticationError, match="no key"):
        llm().provider(ScriptedProvider(AuthenticationError("no key"))).fallback(other).prompt("x")
    assert other.prompts == []


async def test_cancellation_leaves_builder_unchanged(anyio_backend: str) -> None:
    started = anyio.Event()

    @ez_tool
    async def hang() -> None:
        """Never end."""
        started.set()
        await anyio.sleep_forever()

    builder = llm().tool(hang).provider(ScriptedProvider(ToolCall("", "hang", {}), "Here again."))
    before = builder.entries
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(builder.prompt_conversation, "Go.")
            await started.wait()
            group.cancel_scope.cancel()
        assert builder.entries == before
        assert await builder.aprompt("Are you there?") == "Here again."


def test_calls_beyond_limit_are_reported_as_not_run() -> None:
    stream = asking([call(1, id="a"), call(2, id="b")]).call_limit(1).stream("Go.")
    told: list[object] = []
    with pytest.raises(TurnLimitError) as caught:
        told.extend(stream)
    assert results([*stream.continuation.messages]) == [("not run: the conversation is limited to 1 calls", False)] * 2
    assert caught.value.continuation == stream.continuation
    assert caught.value.entries == stream.continuation.entries


def test_refusal_ignores_limits() -> None:
    calls = (ToolCallMessage("double", "a", {"number": 1}), ToolCallMessage("double", "b", {"number": 2}))
    refusal = Answer(messages=calls, stop_reason="refusal", usage=Usage(900, 200))
    _, continuation = asking(refusal).limits(calls=1, tokens=1000).converse("Go.")
    assert continuation.stop_reason == "refusal"
    assert [success for _, success in results([*continuation.messages])] == [False, False]


def test_program_beyond_limit_is_reported_as_not_run() -> None:
    said = Answer(
        messages=(TextMessage("```python\nprint(1)\n```", role=MessageRole.ASSISTANT),), usage=Usage(900, 200)
    )
    with Toolkit([double]) as toolkit:
        builder = llm().toolkit(toolkit, mode="prompt").provider(ScriptedProvider(said, tools=False))
        with pytest.raises(TurnLimitError) as caught:
            builder.limits(tokens=1000).converse("Go.")
    continuation = caught.value.continuation
    assert isinstance(continuation, LLMPromptBuilder)
    assert str(continuation.messages[-1])[:62] == "The program was not run: the conversation is limited to 1000 t"


# Programs -------------------------------------------------------------------------------------------------------------


def test_a_program_is_a_call_of_one_tool() -> None:
    with Toolkit([double]) as toolkit:
        provider = ScriptedProvider(
            ToolCall("", "execute_tools", {"code": "print(duble(2))"}),
            ToolCall("", "execute_tools", {"code": "print(double(2))"}),
            "It is 4.",
        )
        messages, continuation = llm().toolkit(toolkit).provider(provider).converse("Double 2.")
    assert continuation.text == "It is 4."
    (failed, _), (printed, _) = told = results([*messages])
    assert [success for _, success in told] == [False, True]
    assert "double" in str(failed)
    assert str(printed).strip() == "4"
    (tool,) = provider.prompts[0].tools
    assert (tool.name, list(tool.parameters["properties"])) == ("execute_tools", ["code"])


def test_a_model_without_tools_writes_programs_into_its_text() -> None:
    with Toolkit([double]) as toolkit:
        provider = ScriptedProvider("```python\nprint(double(21))\n```", "It is 42.", tools=False)
        messages, _ = llm().agent("Be brief.").toolkit(toolkit, mode="prompt").provider(provider).converse("Double 21.")
    assert [str(each).strip() for each in messages] == [
        "Be brief.",
        "Double 21.",
        "```python\nprint(double(21))\n```",
        "42",
        "It is 42.",
    ]
    assert toolkit.prompt() in str(provider.prompts[0].entries[0])
    assert provider.prompts[0].tools == ()


@pytest.mark.parametrize("mode", ["tool", "prompt"])
def test_approval_applies_to_programs(mode: str) -> None:
    @ez_tool(requires_approval=True)
    def pay(to: str) -> str:
        """Pay."""
        return f"{to} was paid"

    asked: list[PendingCall] = []

    def approve(wanted: PendingCall) -> bool:
        asked.append(wanted)
        return True

    program = "print(pay('Ada'))"
    text = f"```python\n{program}\n```"
    script = text if mode == "prompt" else ToolCall("", "execute_tools", {"code": program})
    with Toolkit([pay]) as toolkit:
        builder = llm().toolkit(toolkit, mode="prompt" if mode == "prompt" else "tool").approve(approve)
        messages, _ = builder.provider(ScriptedProvider(script, "Done.")).converse("Pay Ada.")
    assert any("Ada was paid" in str(each) for each in messages)
    assert [each.arguments for each in asked] == [{"to": "Ada"}]


def test_closed_toolkit_runs_no_program() -> None:
    toolkit = Toolkit([double])
    toolkit.close()
    call_of_program = ToolCall("", "execute_tools", {"code": "print(1)"})
    builder = llm().toolkit(toolkit).tool_context("Ada").provider(ScriptedProvider(call_of_program, "No."))
    messages, _ = builder.converse("Go.")
    assert results([*messages]) == [("this toolkit is closed: make a new one", False)]


# As it happens --------------------------------------------------------------------------------------------------------


async def test_events_are_yielded_as_they_happen(anyio_backend: str) -> None:
    stream = asking([call(4, id="c")], "It is 8.").astream("Double 4.")
    told = [each async for each in stream]
    assert [type(each).__name__ for each in told] == [
        "ToolCallMessage",
        "Answer",
        "ToolResultMessage",
        "TextDelta",
        "TextDelta",
        "TextDelta",
        "Answer",
    ]
    assert "".join(each.text for each in told if isinstance(each, TextDelta)) == "It is 8."
    assert stream.continuation.text == "It is 8."
    check_order(stream.continuation.entries)


def test_events_are_yielded_to_blocking_callers() -> None:
    with asking([call(4)], "It is 8.").stream("Double 4.") as stream:
        text = "".join(each.text for each in stream if isinstance(each, TextDelta))
    assert (text, stream.continuation.text) == ("It is 8.", "It is 8.")


def test_closed_stream_sends_no_request() -> None:
    provider = ScriptedProvider([call(1)], [call(2)], "Done.")
    with llm().tool(double).provider(provider).stream("Go.") as stream:
        assert isinstance(next(iter(stream)), ToolCallMessage)
    assert len(provider.prompts) == 1


def test_stream_error_reaches_its_consumer() -> None:
    with pytest.raises(ProviderError, match="is ill"), asking(ProviderError("it is ill")).stream("Go.") as stream:
        list(stream)


# The script -----------------------------------------------------------------------------------------------------------


def test_exhausted_script_raises_an_error() -> None:
    with pytest.raises(ProviderError, match="the script has no answer number 2"):
        asking("One.").converse("a")[1].converse("b")


def test_script_function_gets_the_prompt() -> None:
    def echo(prompt: Prompt) -> str:
        return f"You said {prompt.entries[-1]}"

    assert asking(echo).prompt("hello") == "You said hello"


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ([], "it has no user message"),
        ([TextMessage("x"), ToolResultMessage("c", 1)], "entry 1 is the result of a call 'c' that the answer before"),
        ([TextMessage("x"), Answer(messages=(ToolCallMessage("f", "c", {}),))], "it ends before the results of 'f'"),
        (
            [TextMessage("x"), Answer(messages=(ToolCallMessage("f", "c", {}),)), TextMessage("y")],
            "entry 2 comes before the results of 'f'",
        ),
        ([TextMessage("x"), ToolCallMessage("f", "c", {})], "entry 1 is a call by itself"),
        (
            [TextMessage("x"), Answer(messages=(ToolCallMessage("f", "c", {}), ToolCallMessage("f", "c", {})))],
            "entry 1 has two calls of one id",
        ),
    ],
)
def test_script_rejects_invalid_conversation(entries: list[Entry], complaint: str) -> None:
    with pytest.raises(ProviderError, match=complaint):
        asking("x").continued(*entries).prompt()


async def test_answer_runs_a_bounded_number_of_calls(anyio_backend: str) -> None:
    calls = [call(number, id=f"c{number}") for number in range(MAX_ANSWER_CALLS + 3)]
    messages, _ = await asking(calls, "Done.").prompt_conversation("Double them.")
    outcomes = results([*messages])
    assert outcomes[:MAX_ANSWER_CALLS] == [(2 * number, True) for number in range(MAX_ANSWER_CALLS)]
    assert outcomes[MAX_ANSWER_CALLS:] == [
        (f"not run: an answer has at most 128 calls, and this was call {number}", False) for number in (129, 130, 131)
    ]
