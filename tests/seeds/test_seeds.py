"""The examples of the two documents this library began with, run as they are printed and held to what they promise."""

import ast
import re
from pathlib import Path
from typing import Any, TypedDict

import pytest

from ez_ptc import ExecutionResult, Tool, Toolkit, ez_tool
from tests.seeds.documents import Seed, read

Names = dict[str, Any]


@pytest.fixture(scope="module")
def concepts(shared_folder: Path) -> Seed:
    return read(shared_folder, "000")


@pytest.fixture(scope="module")
def chaining(shared_folder: Path) -> Seed:
    return read(shared_folder, "001")


def run(example: str, /, **names: object) -> Names:
    """Run an example as it is printed, after whatever its page has defined before it."""
    namespace: Names = {"__name__": "seed", "ez_tool": ez_tool, "Toolkit": Toolkit, **names}
    exec(compile(example, "<seed>", "exec", dont_inherit=True), namespace)
    return namespace


class ProductResult(TypedDict):
    id: int
    name: str
    price: float
    tags: list[str]


class WeatherResult(TypedDict):
    location: str
    temp: int
    unit: str
    condition: str


@ez_tool
def search_products(query: str, limit: int = 5) -> list[ProductResult]:
    """Search the product catalog."""
    found: list[ProductResult] = [{"id": 1, "name": query, "price": 49.5, "tags": []}]
    return found[:limit]


# --- seed 000 ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def get_weather(concepts: Seed) -> Tool[..., Any]:
    tool: Tool[..., Any] = run(concepts.python("Tools"))["get_weather"]
    return tool


def test_a_tool_has_the_attributes_of_the_table(concepts: Seed, get_weather: Tool[..., Any]) -> None:
    examples = {row[0].strip("`"): row[2] for row in concepts.rows("Tools")}
    said = {name: ast.literal_eval(text.strip("`")) for name, text in examples.items() if text.startswith('`"')}

    assert set(said) == {"name", "description", "signature"}
    assert all(getattr(get_weather, name) == value for name, value in said.items())
    assert set(examples) == {*said, "parameters", "return_schema", "fn"}
    location, unit = get_weather.parameters["properties"].values()
    assert (location["type"], unit["type"], unit["default"]) == ("string", "string", "celsius")
    assert location["description"].startswith("City and state")
    assert get_weather.parameters["required"] == ["location"]
    assert get_weather.return_schema is None
    assert not isinstance(get_weather.fn, Tool)


def test_docstrings_give_descriptions(concepts: Seed) -> None:
    tool = ez_tool(run(concepts.python("Docstring format"))["my_tool"])

    assert tool.description == "Short description goes here."
    assert {name: part["description"] for name, part in tool.parameters["properties"].items()} == {
        "query": "What to search for",
        "limit": "Maximum results to return",
    }


def test_a_toolkit_takes_the_settings_shown(concepts: Seed, get_weather: Tool[..., Any]) -> None:
    toolkit = run(concepts.python("Toolkit"), get_weather=get_weather, search_products=search_products)["toolkit"]

    assert toolkit.prompt().startswith("...\n\nAvailable tools:")
    assert "Returns:" not in toolkit.prompt()
    assert "def search_products(" in toolkit.prompt()


def test_an_execution_has_the_attributes_shown(concepts: Seed, get_weather: Tool[..., Any]) -> None:
    example = concepts.python("Execution engine")
    code = "import math, datetime, collections, itertools, re\nprint(get_weather('NYC')['temp'])\nmath.floor(2.5)"
    with Toolkit([get_weather]) as toolkit:
        result: ExecutionResult = run(example, toolkit=toolkit, code=code)["result"]

    promised = re.findall(r"^result\.(\w+) +# ([^:]+):", example, re.MULTILINE)
    assert len(promised) == 6
    for name, kind in promised:
        hint = eval(kind, {"Any": object})
        assert isinstance(getattr(result, name), list if name == "tool_calls" else hint)
    assert (result.output, result.return_value, result.success, result.error) == ("22\n", 2, True, None)
    (call,) = result.tool_calls
    assert (call["name"], call["args"], call["kwargs"]) == ("get_weather", ("NYC",), {})
    assert call["result"]["condition"] == "sunny"
    assert call["error"] is None


def test_a_guessed_key_fails_with_the_keys_there_are(concepts: Seed, get_weather: Tool[..., Any]) -> None:
    with Toolkit([get_weather, search_products]) as toolkit:
        result = toolkit.execute(concepts.python("Tool chaining"))

    assert not result.success
    assert "KeyError: 'temperature'" in (result.error or "")
    assert "temp, " in (result.error or "")


def test_chaining_prompt_lists_the_keys(concepts: Seed) -> None:
    heading = "The solution: `assist_tool_chaining`"
    toolkit = run(concepts.python(heading))["toolkit"]

    assert f"    {concepts.printed(heading).strip()}\n" in toolkit.prompt()
    assert "| Returns: {location: str, temp: int" in (toolkit.as_tool().__doc__ or "")
    assert "| Returns: {location: str, temp: int" in toolkit.tool_schema()["function"]["description"]


# --- seed 001 ---------------------------------------------------------------------------------------------------------

WAYS = ("1. Auto-detected via TypedDict", "2. Auto-detected via Pydantic BaseModel", "3. Explicit override")


def test_chaining_is_enabled_by_one_argument(chaining: Seed, get_weather: Tool[..., Any]) -> None:
    names = {"get_weather": get_weather, "search_products": search_products}
    toolkit = run(chaining.python("Enabling tool chaining"), **names)["toolkit"]

    for text in (toolkit.prompt(), toolkit.as_tool().__doc__ or "", toolkit.tool_schema()["function"]["description"]):
        assert "Returns: list[{id: int, name: str, price: float, tags: list[str]}]" in text


@pytest.mark.parametrize("heading", WAYS)
def test_return_schema_comes_from_three_sources(chaining: Seed, heading: str) -> None:
    tool = run(chaining.python(heading))["get_weather"]

    assert list(tool.return_schema["properties"]) == ["location", "temp", "unit", "condition"]
    assert "Returns:" not in Toolkit([tool]).prompt()
    with Toolkit([tool], assist_tool_chaining=True) as told:
        assert "    # Returns: {location: str, temp: int, unit: str, condition: str}\n" in told.prompt()
        result = told.execute("w = get_weather('NYC')\nprint(w['temp'], w.condition)")
    assert result.output == "22 sunny\n"


def test_the_prompt_lists_tools_exactly_as_shown(chaining: Seed) -> None:
    """The listing that is printed is Python: its own definitions, as tools, are listed just so."""
    listing = chaining.printed("In `prompt()` output")
    names = run(listing, WeatherResult=WeatherResult, ProductResult=ProductResult)
    tools = [ez_tool(names["get_weather"]), ez_tool(names["search_products"])]

    assert listing in Toolkit(tools, assist_tool_chaining=True).prompt() + "\n"
    assert re.sub(r"\n    # .*", "", listing) in Toolkit(tools).prompt() + "\n"


def test_tool_mode_lists_tools_exactly_as_shown(chaining: Seed) -> None:
    names = run(chaining.printed("In `prompt()` output"), WeatherResult=WeatherResult, ProductResult=ProductResult)
    shown = chaining.printed("In `as_tool()` docstring and `tool_schema()` description")
    toolkit = Toolkit([ez_tool(names["get_weather"])], assist_tool_chaining=True)

    assert f"\n{shown}" in (toolkit.as_tool().__doc__ or "")
    assert f"\n{shown}" in toolkit.tool_schema()["function"]["description"]


def test_the_full_workflow_runs(chaining: Seed) -> None:
    heading = "Example: full workflow with chaining"
    with run(chaining.python(heading))["toolkit"] as toolkit:
        result: ExecutionResult = toolkit.execute(chaining.python(heading, 1))

    assert result.output == "Sunny! Found 1 products totaling $49.99\n"
    assert [call["name"] for call in result.tool_calls] == ["get_weather", "search_products"]
