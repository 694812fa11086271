"""The provider's own search among tools. The traffic is constructed from the SDKs' types."""

from __future__ import annotations

from typing import Any

import pytest

from ez_ptc import OpenAIProvider, ProviderError, ScriptedProvider, Tool, ToolCall, Toolkit, ez_tool, llm
from ez_ptc.providers.anthropic import AnthropicProvider
from tests.providers.anthropic.server import anthropic_server, message
from tests.providers.loopback import LoopbackServer, Reply
from tests.providers.openai.replies import response

_Json = dict[str, Any]


@ez_tool(read_only=True)
def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return f"{len(city)} degrees in {city}"


@ez_tool
def pay(to: str) -> str:
    """Pay someone."""
    return f"paid {to}"


SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
SEARCHED: list[_Json] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "weather"}},
    {
        "type": "tool_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "get_weather"}],
        },
    },
]
FOUND: _Json = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_tools_are_sent_for_anthropics_search(is_streamed: bool) -> None:
    with anthropic_server(message([*SEARCHED, FOUND]), "4 degrees.") as server, Toolkit([pay]) as toolkit:
        provider = AnthropicProvider("claude-sonnet-5-5", api_key="key", base_url=server.url)
        asked = llm().provider(provider).tools(get_weather, pay).toolkit(toolkit).options(tool_search="provider")
        if is_streamed:
            stream = asked.stream("How warm?")
            list(stream)
            text = stream.continuation.text
        else:
            text = asked.prompt("How warm?")
    assert text == "4 degrees."
    for body in server.bodies:
        assert {tool["name"] for tool in body["tools"] if tool.get("defer_loading")} == {"get_weather", "pay"}
        assert {"execute_tools", "tool_search_tool_bm25"} < {tool["name"] for tool in body["tools"]}
        assert body["tools"][-1] == SEARCH
    *_, said, results = server.bodies[1]["messages"]
    assert said["content"] == [*SEARCHED, FOUND]
    assert results["content"][0]["content"] == "4 degrees in Oslo"


def test_tools_are_sent_for_openais_search() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
    call |= {"arguments": '{"city": "Oslo"}', "status": "completed"}
    found: _Json = {"type": "function", "name": "get_weather", "parameters": {}, "strict": False, "defer_loading": True}
    searched: list[_Json] = [
        {
            "type": "tool_search_call",
            "id": "tsc_1",
            "call_id": None,
            "execution": "server",
            "arguments": {"paths": []},
            "status": "completed",
        },
        {
            "type": "tool_search_output",
            "id": "tso_1",
            "call_id": None,
            "execution": "server",
            "tools": [found],
            "status": "completed",
        },
    ]
    answers = iter([response(*searched, call), response("4 degrees.")])
    with LoopbackServer(lambda request: Reply(body=next(answers))) as server:
        provider = OpenAIProvider("gpt-5.5", base_url=server.url)
        asked = llm().provider(provider).tools(get_weather, pay).options(tool_search="provider")
        assert asked.prompt("How warm?") == "4 degrees."
    for body in server.bodies:
        assert [tool.get("defer_loading") for tool in body["tools"]] == [True, True, None]
        assert body["tools"][-1] == {"type": "tool_search"}
    assert server.bodies[1]["input"][1:3] == searched
    assert server.bodies[1]["input"][-1]["output"] == "4 degrees in Oslo"


def test_tools_of_a_category_are_a_namespace_at_openai() -> None:
    def book(number: int) -> str:
        """Book something."""
        return f"booked {number}"

    names = ["fly", "stay", "drive", *(f"book{number}" for number in range(12))]
    booking = [ez_tool(book, name=name, category="Travel & more") for name in names[:3]]
    booking += [ez_tool(book, name=name, category="get_weather") for name in names[3:]]
    alone = ez_tool(book, name="cancel", category="alone")
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "stay", "namespace": "Travel___more"}
    call |= {"arguments": '{"number": 3}', "status": "completed"}
    answers = iter([response(call), response("Booked."), response("Yes.")])
    with LoopbackServer(lambda request: Reply(body=next(answers))) as server:
        provider = OpenAIProvider("gpt-5.5", base_url=server.url)
        asked = llm().provider(provider).tools(*booking, alone, get_weather).options(tool_search="provider")
        assert asked.options(tool_choice="fly").prompt("Book a room.") == "Booked."
        other = llm().provider(ScriptedProvider(ToolCall("call_2", "drive", {"number": 2}), "Driven.")).tools(*booking)
        _, other = other.converse("Drive.")
        assert other.provider(provider).options(tool_search="provider").prompt("Really?") == "Yes."
    first, second, third = server.bodies
    chosen, travel, weather, single, last, search = first["tools"]
    assert (chosen["name"], chosen.get("defer_loading")) == ("fly", None)
    assert (travel["type"], travel["name"]) == ("namespace", "Travel___more")
    assert travel["description"] == "Travel & more: stay, drive"
    assert [(tool["name"], tool["defer_loading"]) for tool in travel["tools"]] == [("stay", True), ("drive", True)]
    assert weather["name"] != last["name"] == "get_weather"  # no function and namespace of one name
    assert weather["description"].endswith("book8, book9 and 2 more")
    assert (single["name"], single["defer_loading"], search) == ("cancel", True, {"type": "tool_search"})
    assert second["input"][1] == call
    assert second["input"][2]["output"] == "booked 3"
    assert [item.get("namespace") for item in third["input"]][1] == "Travel___more"


def test_tool_of_the_choice_and_a_given_search_are_sent_as_they_are() -> None:
    given = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    with anthropic_server("Hello.") as server:
        provider = AnthropicProvider("claude-sonnet-5-5", api_key="key", base_url=server.url)
        asked = llm().provider(provider).tools(get_weather, pay)
        asked.options(tool_search="provider", tool_choice="pay", tools=[given]).prompt("Hi")
    assert {tool["name"]: tool.get("defer_loading") for tool in server.bodies[0]["tools"]} == {
        "get_weather": True,
        "pay": None,
        "tool_search_tool_regex": None,
    }


def test_examples_of_a_schema_are_sent_to_anthropic() -> None:
    def book(**arguments: object) -> str:
        return str(arguments)

    schema: _Json = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
    others: list[_Json] = [{"date": "x"}, {"day": 5}, {}, {"day": "x" * 5_000}]
    given = [{**schema, "examples": [{"day": "2026-05-01"}, *more]} for more in ([], *([other] for other in others))]
    tools = [Tool.from_schema(f"book{number}", "Book.", each, book) for number, each in enumerate(given)]
    with anthropic_server("Hello.") as server:
        provider = AnthropicProvider("claude-sonnet-5-5", api_key="key", base_url=server.url)
        llm().provider(provider).tools(*tools).options(tool_search="provider").prompt("Hi")
    first, *rest, _ = server.bodies[0]["tools"]
    assert (first["input_schema"], first["input_examples"]) == (schema, [{"day": "2026-05-01"}])
    assert len(rest) == 4
    assert not any("input_examples" in other for other in rest)


def test_provider_without_search_is_refused() -> None:
    asked = llm().provider(ScriptedProvider("Hello.")).tools(get_weather)
    with pytest.raises(ProviderError, match=r"searches among tools .* got scripted: .* search_tools\(\.\.\.\)"):
        asked.options(tool_search="provider").prompt("Hi")
    with pytest.raises(ProviderError, match="tool_search: expected 'provider', got str 'ours'"):
        asked.options(tool_search="ours")
    with pytest.raises(TypeError, match="did you mean 'tool_search'"):
        asked.options(tool_serch="provider")
