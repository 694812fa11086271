"""The document of concepts on chaining, statement by statement. Each test quotes what it runs."""

from pathlib import Path
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ToolResultMessage, ez_tool, llm


class WeatherResult(TypedDict):
    location: str
    temp: int


class ProductResult(TypedDict):
    name: str
    price: float


class ProductModel(BaseModel):
    name: str


@ez_tool
def get_weather(location: str) -> WeatherResult:
    """Get weather for a location."""
    return {"location": location, "temp": 22}


@ez_tool
def search_products(query: str) -> list[ProductResult]:
    """Search the product catalog."""
    return [{"name": query, "price": 49.5}]


@ez_tool
def find_product(name: str) -> ProductModel:
    """Find a product."""
    return ProductModel(name=name)


@ez_tool(return_schema={"type": "object", "properties": {"sold": {"type": "integer"}}})
def count_sales(name: str) -> dict[str, Any]:
    """Count the sales of a product."""
    return {"sold": len(name)}


TOOLS = [get_weather, search_products, find_product, count_sales]


def texts(toolkit: Toolkit) -> list[str]:
    return [toolkit.prompt(), toolkit.as_tool().__doc__ or "", toolkit.tool_schema()["function"]["description"]]


def test_result_is_used_in_another_call_and_branch() -> None:
    """feeding one tool's result into another tool's input, or branching on a value."""
    program = "w = get_weather('Oslo')\nif w['temp'] > 20: print(search_products(w['location'])[0]['name'])"
    with Toolkit(TOOLS) as toolkit:
        assert toolkit.execute(program).output == "Oslo\n"


def test_guessed_key_error_lists_the_real_ones() -> None:
    """
    Consider this LLM-generated code:
    The LLM guessed `"temperature"` but the real key is `"temp"`.
    This is a common failure mode when tools return dicts.
    """
    with Toolkit(TOOLS) as toolkit:
        error = toolkit.execute("get_weather('NYC')['temperature']").error or ""
    assert "KeyError: 'temperature'" in error
    assert "temp" in error.partition("KeyError: 'temperature'")[2]


def test_with_chaining_every_tool_has_its_shape_beside_it() -> None:
    """
    When you use structured return types (`TypedDict` or Pydantic `BaseModel`)
    Now when the LLM sees the tool listing, it also sees:
    When `assist_tool_chaining=True`, return info shows up in all three output methods:
    """
    for text in texts(Toolkit(TOOLS, assist_tool_chaining=True)):
        assert "Returns: {location: str, temp: int}" in text
        assert "Returns: list[{name: str, price: float}]" in text
        assert "Returns: {name: str}" in text


def test_documented_keys_work() -> None:
    """The LLM knows the exact keys and types, so it writes `weather["temp"]` instead of guessing."""
    with Toolkit(TOOLS, assist_tool_chaining=True) as toolkit:
        assert toolkit.execute('weather = get_weather("NYC")\nprint(weather["temp"])').output == "22\n"


@pytest.mark.parametrize(
    ("tool", "shape"),
    [(get_weather, "{location: str, temp: int}"), (find_product, "{name: str}"), (count_sales, "{sold: int}")],
)
def test_there_are_three_ways_to_give_a_shape(tool: Any, shape: str) -> None:  # noqa: ANN401 - a tool of any function
    """
    `TypedDict` return type | Recommended default
    Pydantic `BaseModel` return type | When you already use Pydantic models
    `@ez_tool(return_schema={...})` | Explicit override for tools returning plain `dict`
    """
    assert f"# Returns: {shape}\n" in Toolkit([tool], assist_tool_chaining=True).prompt()


def test_prompt_has_schema_comment_below_docstring() -> None:
    """**`prompt()`** — as a `# Returns: {...}` comment after each tool's docstring"""
    listed = '    """Get weather for a location."""\n    # Returns: {location: str, temp: int}\n'
    assert listed in Toolkit([get_weather], assist_tool_chaining=True).prompt()


def test_tool_mode_has_it_in_the_tools_line() -> None:
    """
    **`as_tool()`** — appended to each tool's line in the meta-tool docstring
    **`tool_schema()`** — appended to each tool's line in the description field
    """
    listed = "  Get weather for a location. | Returns: {location: str, temp: int}\n"
    assert all(listed in text for text in texts(Toolkit([get_weather], assist_tool_chaining=True))[1:])


def test_without_chaining_results_are_not_described() -> None:
    """When `assist_tool_chaining=False` (the default), output is identical to a toolkit without any return schemas"""
    plain = ez_tool(get_weather.fn, return_schema={})
    assert texts(Toolkit([plain])) == texts(Toolkit([get_weather]))
    assert Toolkit([plain]).tool_prompt() == Toolkit([get_weather]).tool_prompt()


def test_a_page_is_the_full_guide(repository: Path) -> None:
    """See [Tool Chaining](tool-chaining.md) for the full guide."""
    assert (repository / "docs" / "tool-chaining.md").is_file()


def test_the_parts_fit_together() -> None:
    """
    Your application
    @ez_tool                  @ez_tool
    def get_weather()         def search_products()
    -> WeatherResult          -> list[ProductResult]
    Toolkit([...], assist_tool_chaining=True)
    prompt()        as_tool() + tool_schema()
    + return        + return schema in
    schema          docstring & description
    comments      + tool_prompt() (optional)
    (text block)     (native tool calling)
    Prompt Mode      Tool Mode
    """
    toolkit = Toolkit([get_weather, search_products], assist_tool_chaining=True)
    prompt, docstring, description = texts(toolkit)
    assert prompt.count("\n    # Returns: ") == 2
    for text in (docstring, description, toolkit.tool_prompt()):
        assert text.count(" | Returns: ") == 2


def test_both_sides_meet_in_one_result() -> None:
    """
    execute()
    Sandboxed Python
    execution engine
    ExecutionResult
    (output, tool_calls, errors)
    """
    with Toolkit([get_weather, search_products], assist_tool_chaining=True) as toolkit:
        program = "print(get_weather('Oslo')['temp'])"
        result = toolkit.execute(program)
        provider = ScriptedProvider(ToolCall("", "execute_tools", {"code": program}), "22.")
        messages, _ = llm().toolkit(toolkit).provider(provider).converse("?")
    assert (result.output, len(result.tool_calls), result.error, result.error_output) == ("22\n", 1, None, "")
    assert [each.result for each in messages if isinstance(each, ToolResultMessage)] == [result.output]
