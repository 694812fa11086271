"""Tools that say for themselves whether they are strict: what each provider is sent."""

from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc import SchemaError, Tool, ToolRegistry, ez_tool
from ez_ptc.conversation.builder import llm
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.catalog import describe_all
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import TextMessage
from ez_ptc.providers.anthropic import AnthropicProvider
from tests.formats.gemini.bodies import check as check_gemini
from tests.formats.openai_types import check_chat, check_responses
from tests.formats.refusals import refusals
from tests.providers.anthropic.refusals import problems
from tests.providers.anthropic.server import anthropic_server

_Json = dict[str, Any]


@ez_tool(strict=True)
def pay(amount: int, note: str = "") -> str:
    """Pay."""
    return f"paid {amount} {note}"


@ez_tool
def look(where: str, more: bool = False) -> str:
    """Look."""
    return f"{where} {more}"


@ez_tool(strict=False)
def note(fields: dict[str, Any]) -> str:
    """Keep a note of any form."""
    return str(fields)


TOOLS = (pay, look, note)


def _prompt(*, strict: bool, tools: tuple[Tool[..., Any], ...] = TOOLS) -> Prompt:
    return Prompt(model="gemini-3.8-flash", entries=(TextMessage("Hello"),), tools=tools, strict=strict)


def to_chat(prompt: Prompt) -> list[_Json]:
    body = openai_turns.request(prompt)
    check_chat(body)
    return [tool["function"] for tool in body["tools"]]


def to_responses(prompt: Prompt) -> list[_Json]:
    body = responses_turns.request(prompt)
    check_responses(body)
    return body["tools"]


def to_anthropic(prompt: Prompt) -> list[_Json]:
    body = anthropic_turns.request(prompt)
    assert problems(body) == []
    return body["tools"]


@pytest.mark.parametrize("send", [to_chat, to_responses, to_anthropic])
@pytest.mark.parametrize("strict", [False, True])
def test_tool_declared_strict_is_strict_beside_others(send: Callable[[Prompt], list[_Json]], strict: bool) -> None:
    tools = send(_prompt(strict=strict))

    assert [bool(tool.get("strict")) for tool in tools] == [True, strict, False]


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "mistral", "anthropic"])
def test_each_tool_is_described_by_its_own_rules(name: str) -> None:
    described = describe_all(TOOLS, name, strict=True)

    for tool, is_strict in zip(described, (True, True, False), strict=True):
        assert refusals(name, tool, strict=is_strict) == []
    assert ToolRegistry(TOOLS).to_format(name, strict=True) == described
    assert [tool.to_format(name, strict=True) for tool in TOOLS] == described


def test_one_strict_tool_has_gemini_check_all_calls() -> None:
    modes: list[object] = []
    for tools in ((pay, look), (look, note)):
        body = gemini_turns.request(_prompt(strict=False, tools=tools))
        check_gemini(body)
        modes.append(body.get("toolConfig"))

    assert modes == [{"functionCallingConfig": {"mode": "VALIDATED"}}, None]


def test_inexpressible_strict_schema_is_error_naming_parameter() -> None:
    with pytest.raises(SchemaError, match=r"^note: .*parameter 'fields.*strict=False"):
        ez_tool(note.fn, strict=True).to_format("openai-chat")


@pytest.mark.parametrize("strict", [True, False, None])
def test_strict_applies_to_tools_of_any_origin(strict: bool | None) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    made = [
        ez_tool(look.fn, strict=strict),
        Tool.from_function(look.fn, strict=strict),
        Tool("pay", "Pay.", schema, pay.fn, strict=strict),
    ]
    assert [tool.strict for tool in made] == [strict] * 3


def test_non_boolean_strict_is_refused() -> None:
    with pytest.raises(SchemaError, match="look: expected strict to be True, False or None, got 'yes'"):
        ez_tool(look.fn, strict="yes")  # pyright: ignore[reportArgumentType] - a caller may not check types


def test_strict_tool_call_runs_with_nulls_as_omitted() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {"amount": 5, "note": None}}
    with anthropic_server([call], "Done.") as server:
        asked = llm().tools(pay, look).provider(AnthropicProvider(api_key="key", base_url=server.url))
        assert asked.prompt("Pay 5.") == "Done."
    assert [tool.get("strict") for tool in server.bodies[0]["tools"]] == [True, None]
    assert server.bodies[1]["messages"][2]["content"][0]["content"] == "paid 5 "
