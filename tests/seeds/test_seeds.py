"""The examples of the two documents this library began with, run as they are printed and held to what they promise."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any, Literal, Optional, TypedDict

import pytest
from pydantic import BaseModel

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


class ProductModel(BaseModel):
    id: int
    name: str


class WeatherModel(BaseModel):
    location: str
    temp: int


@ez_tool
def search_products(query: str, limit: int = 5) -> list[ProductResult]:
    """Search the product catalog."""
    found: list[ProductResult] = [{"id": 1, "name": query, "price": 49.5, "tags": []}]
    return found[:limit]


def returning(annotation: object) -> Tool[..., Any]:
    def function() -> object:
        """Return something."""

    if annotation is inspect.Signature.empty:
        del function.__annotations__["return"]
    else:
        function.__annotations__["return"] = annotation
    return ez_tool(function)


def test_no_example_of_the_seeds_is_left_out(concepts: Seed, chaining: Seed) -> None:
    """The tests below name every heading that has Python under it, and how many blocks."""

    def counted(seed: Seed) -> dict[str, int]:
        found = {
            heading: sum(language == "python" for language, _ in blocks) for heading, blocks in seed.blocks.items()
        }
        return {heading: number for heading, number in found.items() if number}

    assert counted(concepts) == {
        "Tools": 1,
        "Docstring format": 1,
        "Toolkit": 1,
        "Execution engine": 1,
        "Tool chaining": 1,
        "The solution: `assist_tool_chaining`": 1,
    }
    assert counted(chaining) == {
        "Enabling tool chaining": 1,
        "1. Auto-detected via TypedDict": 1,
        "2. Auto-detected via Pydantic BaseModel": 1,
        "3. Explicit override": 1,
        "Example: full workflow with chaining": 2,
    }


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


def test_a_tool_is_still_its_function(get_weather: Tool[..., Any]) -> None:
    result = get_weather("NYC")

    assert result == get_weather.fn("NYC")
    assert (result["location"], result["temp"], result["unit"]) == ("NYC", 22, "celsius")


def schema_of(annotation: object) -> Names:
    def function(value: object) -> None:
        """Take a value."""

    function.__annotations__["value"] = annotation
    parameters = ez_tool(function).parameters
    schema: Names = parameters["properties"]["value"]
    return parameters["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def test_the_types_of_the_table_become_the_schemas_beside_them(concepts: Seed) -> None:
    names: Names = {"X": int, "K": str, "V": int, "Optional": Optional, "Literal": Literal}
    names |= {"TypedDict": WeatherResult, "BaseModel": WeatherModel}
    rows = [(hint, row[1]) for row in concepts.rows("Supported type hints") for hint in re.findall("`(.+?)`", row[0])]

    for hint, described in rows:
        schema = schema_of(eval(hint, names))
        for kind in re.findall('"(.+?)"', described):
            assert schema["type"] == kind
        for keyword in ("items", "additionalProperties", "enum", "properties"):
            assert keyword not in described or keyword in schema
        assert "schema of X" not in described or {"type": "integer"} in schema["anyOf"]
        assert "model" not in described or set(schema["properties"]) == {"location", "temp"}
    assert len(rows) == 11


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


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd').read()",
        "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
        "import subprocess; subprocess.run(['ls'])",
    ],
    ids=["files", "networking", "shell"],
)
def test_the_engine_gives_no_access_to_the_machine(concepts: Seed, get_weather: Tool[..., Any], code: str) -> None:
    assert "no file I/O, no networking, no shell access" in concepts.sections["Execution engine"]

    with Toolkit([get_weather]) as toolkit:
        result = toolkit.execute(code)

    assert not result.success
    assert "PermissionError" in (result.error or "")


def test_a_timeout_ends_a_runaway_program(get_weather: Tool[..., Any]) -> None:
    with Toolkit([get_weather], timeout=0.2) as toolkit:
        result = toolkit.execute("while True: pass")

    assert not result.success
    assert "TimeoutError" in (result.error or "")


def test_a_guessed_key_fails_with_the_keys_there_are(concepts: Seed, get_weather: Tool[..., Any]) -> None:
    with Toolkit([get_weather, search_products]) as toolkit:
        result = toolkit.execute(concepts.python("Tool chaining"))

    assert not result.success
    assert "KeyError: 'temperature'" in (result.error or "")
    assert "temp, " in (result.error or "")


def test_with_chaining_a_model_is_told_the_keys(concepts: Seed) -> None:
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
def test_a_return_schema_comes_in_three_ways(chaining: Seed, heading: str) -> None:
    tool = run(chaining.python(heading))["get_weather"]

    assert list(tool.return_schema["properties"]) == ["location", "temp", "unit", "condition"]
    assert "Returns:" not in Toolkit([tool]).prompt()
    with Toolkit([tool], assist_tool_chaining=True) as told:
        assert "    # Returns: {location: str, temp: int, unit: str, condition: str}\n" in told.prompt()
        result = told.execute("w = get_weather('NYC')\nprint(w['temp'], w.condition)")
    assert result.output == "22 sunny\n"


def test_an_explicit_return_schema_comes_first() -> None:
    explicit = {"type": "object", "properties": {"temp": {"type": "number"}}}

    @ez_tool(return_schema=explicit)
    def get_weather(location: str) -> WeatherResult:
        """Get weather."""
        raise NotImplementedError

    assert get_weather.return_schema == explicit


def test_return_types_that_say_nothing_are_skipped(chaining: Seed) -> None:
    hints = re.findall("`-> ([^`]+)`", chaining.sections["What gets skipped"])

    assert len(hints) == 7
    for hint in hints:
        assert returning(eval(hint)).return_schema is None


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


def test_the_structures_of_the_table_have_schemas_or_none(chaining: Seed) -> None:
    names: Names = {"WeatherResult": WeatherResult, "WeatherModel": WeatherModel}
    names |= {"Product": ProductResult, "ProductModel": ProductModel}
    rows = chaining.rows("Supported return type structures")

    for annotation, generated, example in rows:
        hint = re.match("`-> ([^`]+)`", annotation)
        tool = returning(eval(hint[1], names) if hint else inspect.Signature.empty)
        assert (tool.return_schema is not None) == (generated == "Yes")
        if generated == "Yes":
            told = Toolkit([tool], assist_tool_chaining=True).prompt()
            assert f"# Returns: {example.strip('`').partition(', ...')[0]}" in told
    assert len(rows) == 8


def test_the_full_workflow_runs(chaining: Seed) -> None:
    heading = "Example: full workflow with chaining"
    with run(chaining.python(heading))["toolkit"] as toolkit:
        result: ExecutionResult = toolkit.execute(chaining.python(heading, 1))

    assert result.output == "Sunny! Found 1 products totaling $49.99\n"
    assert [call["name"] for call in result.tool_calls] == ["get_weather", "search_products"]
