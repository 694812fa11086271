"""The builder: what each step adds, and that no step changes what was there."""

from collections.abc import Callable
from typing import Any, NoReturn, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import Context, Tool, Toolkit, ToolRegistry, ez_tool
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.errors import SchemaError
from ez_ptc.messages import MessageRole, TextMessage, ToolCall, ToolCallMessage, ToolResultMessage, Usage
from ez_ptc.providers.scripted import ScriptedProvider

PIXEL = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def get_weather(location: str) -> str:
    """Get the weather."""
    return f"Rain in {location}"


def test_conversation_begins_empty() -> None:
    assert llm() == LLMPromptBuilder()
    assert llm().messages == []


def test_messages_keep_their_order() -> None:
    said = llm().agent("You help.").context("It is cold.").request("What to wear?").assistant("A hat.").messages
    assert [(each.role, str(each)) for each in said] == [
        (MessageRole.SYSTEM, "You help."),
        (MessageRole.USER, "It is cold."),
        (MessageRole.USER, "What to wear?"),
        (MessageRole.ASSISTANT, "A hat."),
    ]


def test_tools_accepts_functions_tools_and_registries() -> None:
    @ez_tool
    def find(city: str) -> str:
        """Find."""
        return city

    for builder in (
        llm().tool(get_weather).tool(find),
        llm().tools(get_weather, find),
        llm().tools([get_weather, find]),
        llm().tools(get_weather, ToolRegistry([find])),
    ):
        assert [each.name for each in builder.settings.tools] == ["get_weather", "find"]
        assert builder.settings.tools[1] is find
    assert isinstance(llm().tool(get_weather).settings.tools[0], Tool)


def test_invalid_tool_is_refused_at_once() -> None:
    def odd(when: Callable[[], int]) -> None:
        """Do."""

    with pytest.raises(SchemaError, match="'when'"):
        llm().tool(odd)


@pytest.mark.parametrize("thing", [3, "get_weather", None])
def test_non_function_is_refused_with_suggestion(thing: object) -> None:
    with pytest.raises(TypeError, match=r"expected a function, got \w+: .*\.tools\(find, book\)"):
        llm().tools(cast("Any", thing))


def test_message_must_be_str() -> None:
    with pytest.raises(TypeError, match="expected str, got int"):
        llm().request(cast("Any", 42))


@pytest.mark.parametrize("name", ["turns", "calls", "tokens", "cost"])
def test_limit_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"the limit `{name}` must be positive, got 0"):
        llm().limits(**cast("Any", {name: 0}))


def test_continuation_continues_conversation() -> None:
    provider = ScriptedProvider([ToolCall("c1", "get_weather", {"location": "Paris"})], "Rain.", "Sun in London.")
    messages, continuation = (
        llm().agent("You help.").tools([get_weather]).provider(provider).converse("What is it like in Paris?")
    )
    assert messages == [
        TextMessage("You help.", role=MessageRole.SYSTEM),
        TextMessage("What is it like in Paris?"),
        ToolCallMessage("get_weather", "c1", {"location": "Paris"}),
        ToolResultMessage("c1", "Rain in Paris", tool_name="get_weather"),
        TextMessage("Rain.", role=MessageRole.ASSISTANT),
    ]
    assert continuation.messages == messages
    more, _ = continuation.converse("And London?")
    assert more[: len(messages)] == messages
    assert any("London" in str(message) for message in more)
    assert [tool.name for tool in provider.prompts[-1].tools] == ["get_weather"]


async def test_aprompt_returns_text(anyio_backend: str) -> None:
    builder = llm().tool(get_weather)
    asked = builder.provider(ScriptedProvider([ToolCall("", "get_weather", '{"location": "Rome"}')], "Rain there."))
    assert await asked.aprompt("Rome?") == "Rain there."


def test_prompt_returns_text() -> None:
    assert llm().provider(ScriptedProvider("Hello.")).prompt("Hi") == "Hello."


def test_options_reach_the_request() -> None:
    provider = ScriptedProvider("a", "b")
    builder = llm().provider(provider).options(temperature=0, seed=7)
    builder.prompt("x", max_tokens=5)
    builder.prompt("x")
    first, second = provider.prompts
    assert (first.temperature, first.max_tokens, first.options) == (0, 5, {"seed": 7})
    assert (second.temperature, second.max_tokens) == (0, None)


def test_context_and_approval_reach_tools() -> None:
    @ez_tool(requires_approval=True)
    def pay(amount: int, user: Context[str]) -> str:
        """Pay."""
        return f"{user} pays {amount}"

    calls = [ToolCall("a", "pay", {"amount": 1}), ToolCall("b", "pay", {"amount": 500})]
    builder = llm().tool(pay).tool_context("Ada").provider(ScriptedProvider(calls, "Done."))
    messages, _ = builder.approve(lambda call: cast("Any", call.arguments)["amount"] < 9).converse("Pay.")
    assert [each.result for each in messages if isinstance(each, ToolResultMessage)] == [
        "Ada pays 1",
        "pay was not approved",
    ]


def test_usage_is_summed_up() -> None:
    from ez_ptc.messages import Answer

    said = (TextMessage("x", role=MessageRole.ASSISTANT),)
    provider = ScriptedProvider(*[Answer(messages=said, usage=Usage(10, 2, cached_tokens=3))] * 2)
    _, one = llm().provider(provider).converse("a")
    _, two = one.converse("b")
    assert (one.usage, two.usage) == (Usage(10, 2, 3), Usage(20, 4, 6))


steps = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from(["agent", "context", "request", "assistant"]), st.text(max_size=5)),
    max_size=30,
)


@given(steps)
def test_branches_share_no_messages(taken: list[tuple[int, str, str]]) -> None:
    builders = [llm()]
    expected: list[list[str]] = [[]]
    for at, step, text in taken:
        parent = at % len(builders)
        builders.append(getattr(builders[parent], step)(text))
        expected.append([*expected[parent], text])
    assert [[str(message) for message in builder.messages] for builder in builders] == expected


def test_branches_share_no_settings() -> None:
    root = llm().tool(get_weather).options(temperature=0)
    one, two = root.tool(ez_tool(name="more")(get_weather)), root.options(temperature=1).limits(calls=3)
    assert [len(each.settings.tools) for each in (root, one, two)] == [1, 2, 1]
    assert [each.settings.options["temperature"] for each in (root, one, two)] == [0, 0, 1]
    assert [each.settings.limits.calls for each in (root, one, two)] == [None, None, 3]


class _Secret:
    def __repr__(self) -> str:
        return "hunter2"

    def __call__(self, *_: object) -> NoReturn:
        raise NotImplementedError


def test_repr_hides_secrets() -> None:
    secret = _Secret()
    registry = ToolRegistry([ez_tool(get_weather)], context=secret, approve=secret)
    with Toolkit([ez_tool(get_weather)], context=secret, approve=secret, on_tool_call=secret) as toolkit:
        assert repr(toolkit) == "Toolkit(get_weather)"
        builder = llm().tools(get_weather).toolkit(toolkit).tool_context(secret).approve(secret).on_tool_call(secret)
        builder = builder.provider("anthropic").fallback("openai").options(api_key=secret).request("Hello")
        for shown in (repr(builder), str(builder), repr(builder.settings), repr(registry), f"{toolkit}"):
            assert "hunter2" not in shown
            assert "get_weather" in shown
        assert "Hello" in repr(builder)
        assert "anthropic" in repr(builder)
