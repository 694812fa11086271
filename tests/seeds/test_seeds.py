"""The examples of the two documents this library began with, run as they are printed and held to what they promise."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Optional, TypedDict

import pytest
from pydantic import BaseModel

from ez_ptc import Tool, Toolkit, ez_tool

Names = dict[str, Any]


@dataclass(frozen=True)
class Seed:
    """A document: its sections by heading, each with its text and its code blocks as (language, code)."""

    sections: dict[str, str]
    blocks: dict[str, list[tuple[str, str]]]

    def python(self, heading: str, index: int = 0) -> str:
        return [code for language, code in self.blocks[heading] if language == "python"][index]

    def printed(self, heading: str, index: int = 0) -> str:
        return [code for language, code in self.blocks[heading] if not language][index]

    def rows(self, heading: str) -> list[list[str]]:
        lines = [line for line in self.sections[heading].splitlines() if line.startswith("|")]
        return [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def read(folder: Path, number: str) -> Seed:
    (path,) = folder.glob(f"seeds/{number}_*.txt")
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    text = path.read_text(encoding="utf-8")
    hidden = fence.sub(lambda block: block[0].replace("\n#", "\n\0"), text)  # a comment is no heading
    parts = re.split(r"^#+ (.+)$", hidden, flags=re.MULTILINE)
    sections = {heading: body.replace("\n\0", "\n#") for heading, body in zip(parts[1::2], parts[2::2], strict=True)}
    return Seed(sections, {heading: fence.findall(body) for heading, body in sections.items()})


@pytest.fixture(scope="module")
def concepts(shared_folder: Path) -> Seed:
    return read(shared_folder, "000")


@pytest.fixture(scope="module")
def chaining(shared_folder: Path) -> Seed:
    return read(shared_folder, "001")


@pytest.fixture(autouse=True)
def _close_toolkits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close what the printed examples leave open."""
    opened: list[Toolkit] = []
    begin = Toolkit.__post_init__

    def recorded(self: Toolkit) -> None:
        begin(self)
        opened.append(self)

    monkeypatch.setattr(Toolkit, "__post_init__", recorded)
    yield
    for toolkit in opened:
        toolkit.close()


def run(code: str, **names: object) -> Names:
    """Run an example as it is printed, after whatever its page has defined before it."""
    namespace: Names = {"__name__": "seed", "ez_tool": ez_tool, "Toolkit": Toolkit, **names}
    exec(compile(code, "<seed>", "exec", dont_inherit=True), namespace)
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
    return [{"id": 1, "name": query, "price": 49.5, "tags": []}][:limit]


def returning(annotation: object) -> Tool[..., Any]:
    def function() -> object:
        """Return something."""

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
    tool = run(concepts.python("Tools"))["get_weather"]
    assert isinstance(tool, Tool)
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


def test_the_types_of_the_table_become_the_schemas_beside_them(concepts: Seed) -> None:
    names: Names = {"X": int, "K": str, "V": int, "Optional": Optional, "Literal": Literal}
    names |= {"TypedDict": WeatherResult, "BaseModel": WeatherModel}
    rows = concepts.rows("Supported type hints")

    for python, described in rows:
        for hint in re.findall("`([^`]+)`", python):

            def function(value: Any) -> None:
                """Take a value."""

            function.__annotations__["value"] = eval(hint, names)
            schema = ez_tool(function).parameters["properties"]["value"]
            kind = re.search('"(.+?)"', described)
            if kind:
                assert schema["type"] == kind[1]
            for keyword in ("items", "additionalProperties", "enum", "properties"):
                assert keyword not in described or keyword in schema
            if "schema of X" in described:
                assert {"type": "integer"} in schema["anyOf"]
            if "model" in described:
                assert set(schema["properties"]) == {"location", "temp"}
    assert len(rows) == 10


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
    result = run(example, toolkit=Toolkit([get_weather]), code=code)["result"]

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

    result = Toolkit([get_weather]).execute(code)

    assert not result.success
    assert "PermissionError" in (result.error or "")


def test_a_timeout_ends_a_runaway_program(get_weather: Tool[..., Any]) -> None:
    result = Toolkit([get_weather], timeout=0.2).execute("while True: pass")

    assert not result.success
    assert "TimeoutError" in (result.error or "")


def test_a_guessed_key_fails_with_the_keys_there_are(concepts: Seed, get_weather: Tool[..., Any]) -> None:
    result = Toolkit([get_weather, search_products]).execute(concepts.python("Tool chaining"))

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
    told = Toolkit([tool], assist_tool_chaining=True)
    assert "    # Returns: {location: str, temp: int, unit: str, condition: str}\n" in told.prompt()
    assert "Returns:" not in Toolkit([tool]).prompt()
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
        tool = returning(eval(hint[1], names)) if hint else ez_tool(lambda_without_annotation)
        assert (tool.return_schema is not None) == (generated == "Yes")
        if generated == "Yes":
            told = Toolkit([tool], assist_tool_chaining=True).prompt()
            assert f"# Returns: {example.strip('`').partition(', ...')[0]}" in told
    assert len(rows) == 8


def lambda_without_annotation():  # type: ignore[no-untyped-def] # noqa: ANN201 - the row is about having none
    """Return something."""


def test_the_full_workflow_runs(chaining: Seed) -> None:
    heading = "Example: full workflow with chaining"
    toolkit = run(chaining.python(heading))["toolkit"]

    result = toolkit.execute(chaining.python(heading, 1))

    assert result.output == "Sunny! Found 1 products totaling $49.99\n"
    assert [call["name"] for call in result.tool_calls] == ["get_weather", "search_products"]
