"""A provider of one method: what it gets, and what it may return."""

from typing import Any, cast

import pytest

from ez_ptc import (
    Answer,
    LLMProvider,
    MessageRole,
    Prompt,
    ProviderError,
    TextDelta,
    TextMessage,
    ToolCall,
    ToolCallMessage,
    Usage,
    llm,
)
from ez_ptc.providers.lookup import choose

INTERFACE: Any = LLMProvider
"""As those know it who check no types: to a type checker, its other methods are missing in a subclass."""


class Mine:
    name = "mine"
    model = "m"

    def __init__(self, *said: object) -> None:
        self.said = list(said)
        self.asked: list[tuple[str, Prompt, list[Any], dict[str, Any]]] = []

    def supports_tools(self) -> bool:
        return True

    async def prompt_with_tools(self, model: str, p: Prompt, tools: list[Any], **kwargs: Any) -> object:
        self.asked.append((model, p, tools, kwargs))
        return self.said.pop(0)


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def asking(provider: object) -> Any:  # noqa: ANN401 - a builder, whatever the provider is
    return llm().tools(double).provider(cast("Any", provider))


def test_it_gets_the_prompt_its_tools_and_the_options() -> None:
    mine = Mine("Hello.")
    assert asking(mine).prompt("Hi", max_tokens=5, top_k=3) == "Hello."
    ((model, prompt, tools, options),) = mine.asked
    assert (model, [tool.name for tool in tools]) == ("m", ["double"])
    assert str(prompt.entries[-1]) == "Hi"
    assert options == {"max_tokens": 5, "top_k": 3}


def test_mistral_calls_run_with_distinct_ids() -> None:
    mine = Mine([ToolCall("", "double", {"number": 2}), "and"], ToolCall("", "double", {"number": 3}), "4 and 6.")
    messages, continuation = asking(mine).converse("?")
    assert continuation.text == "4 and 6."
    calls = [each for each in messages if isinstance(each, ToolCallMessage)]
    assert len({each.tool_call_id for each in calls}) == 2
    again = Mine(ToolCall("", "double", {"number": 4}), "8.")
    messages, _ = continuation.provider(cast("Any", again)).converse("and 4?")
    assert len({each.tool_call_id for each in messages if isinstance(each, ToolCallMessage)}) == 3


@pytest.mark.parametrize(
    "said",
    [
        TextMessage("Yes.", role=MessageRole.ASSISTANT),
        ["Y", "es."],
        Answer(messages=(TextMessage("Yes.", role=MessageRole.ASSISTANT),), usage=Usage(3, 1)),
    ],
)
def test_subclass_may_answer_in_several_forms(said: object) -> None:
    assert asking(Mine(said)).prompt("?") == "Yes."


@pytest.mark.parametrize("said", [None, 5, {"content": "x"}, [7], {"a"}])
def test_invalid_answer_error_names_the_problem(said: object) -> None:
    with pytest.raises(ProviderError, match="expected text, a ToolCall, a list of both, or an Answer"):
        asking(Mine(said)).prompt("?")


def test_interface_subclass_needs_only_its_method() -> None:
    class Subclass(INTERFACE):
        def __init__(self) -> None:
            self.name = "subclass"

        async def prompt_with_tools(self, model: str, p: Prompt, tools: list[Any], **kwargs: Any) -> str:
            return f"{model}: {kwargs}"

        def supports_tools(self) -> bool:
            return True

    assert asking(Subclass()).model("big").prompt("?") == "big: {}"


def test_it_streams_in_one_piece() -> None:
    with asking(Mine("Hello there.")).stream("?") as stream:
        assert [event.text for event in stream if isinstance(event, TextDelta)] == ["Hello there."]


def test_a_class_with_neither_method_is_refused() -> None:
    class Empty(INTERFACE):
        """Nothing."""

    with pytest.raises(TypeError, match="an object with prompt_with_tools or connect"):
        choose(cast("Any", Empty()), None)
