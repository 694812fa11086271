"""The document of tool chaining, statement by statement. Each test quotes what it runs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, cast

import pytest
from pydantic import BaseModel

from ez_ptc import Tool, Toolkit, ez_tool

AnyTool = Tool[..., Any]
PLAIN_DICT: Any = dict
PLAIN_LIST: Any = list


class Weather(TypedDict):
    location: str
    temp: int


class Model(BaseModel):
    location: str
    temp: int


class Product(TypedDict):
    id: int
    name: str


class ProductModel(BaseModel):
    id: int
    name: str


@ez_tool
def typed(location: str) -> Weather:
    """Get weather for a location."""
    return {"location": location, "temp": 22}


@ez_tool
def modelled(location: str) -> Model:
    """Get weather for a location."""
    return Model(location=location, temp=22)


@ez_tool
def plain(location: str) -> dict[str, Any]:
    """Get weather for a location."""
    return {"location": location, "temp": 22}


EXPLICIT = {"type": "object", "properties": {"location": {"type": "string"}, "temp": {"type": "integer"}}}


def texts(toolkit: Toolkit) -> list[str]:
    return [toolkit.prompt(), toolkit.as_tool().__doc__ or "", toolkit.tool_schema()["function"]["description"]]


def returning(annotation: object) -> AnyTool:
    def function() -> None:
        """Return something."""

    function.__annotations__["return"] = annotation
    return ez_tool(function)


@pytest.fixture(scope="module")
def told() -> Iterator[Toolkit]:
    with Toolkit([typed, replace(plain, name="untyped")], assist_tool_chaining=True) as toolkit:
        yield toolkit


def test_a_program_goes_on_with_a_result(told: Toolkit) -> None:
    """passes `get_weather()` result into conditional logic), it needs to know the **shape** of return values."""
    assert told.execute("w = typed('Oslo')\nprint('warm' if w['temp'] > 20 else 'cold')").output == "warm\n"


def test_it_is_opted_into() -> None:
    """
    The `assist_tool_chaining` feature adds opt-in return schema documentation
    toolkit = Toolkit([get_weather, search_products], assist_tool_chaining=True)
    """
    assert "Returns:" not in Toolkit([typed, replace(modelled, name="other")]).prompt()
    assert "Returns:" in Toolkit([typed, replace(modelled, name="other")], assist_tool_chaining=True).prompt()


def test_without_it_nothing_changes() -> None:
    """When `False` (default): no change to current behavior."""
    unsaid = ez_tool(typed.fn, return_schema={})
    assert texts(Toolkit([typed])) == texts(Toolkit([typed], assist_tool_chaining=False)) == texts(Toolkit([unsaid]))


@pytest.mark.parametrize("tool", [typed, modelled])
def test_chaining_describes_result_shapes(tool: AnyTool) -> None:
    """
    When `True`: return schema info is appended to tool listings in `prompt()`, `as_tool()`, and `tool_schema()`.
    This also works with Pydantic `BaseModel` return types.
    """
    assert all(
        "Returns: {location: str, temp: int}" in text for text in texts(Toolkit([tool], assist_tool_chaining=True))
    )


@pytest.mark.parametrize("tool", [typed, modelled, ez_tool(plain.fn, return_schema=EXPLICIT)])
def test_return_types_come_from_annotation_or_schema(tool: AnyTool) -> None:
    """
    There are two ways to document return types:
    Define a `TypedDict` for your return type and use it as the return annotation:
    For tools that return plain `dict`, you can pass the schema directly:
    """
    assert {name: each["type"] for name, each in (tool.return_schema or {})["properties"].items()} == {
        "location": "string",
        "temp": "integer",
    }


def test_fields_and_types_are_read() -> None:
    """ez-ptc reads the TypedDict's fields and types automatically."""
    properties = (typed.return_schema or {})["properties"]
    assert [(name, each["type"]) for name, each in properties.items()] == [("location", "string"), ("temp", "integer")]


def test_explicit_schema_takes_precedence() -> None:
    """An explicit `return_schema` always takes priority over auto-detection."""
    schema = {"type": "object", "properties": {"other": {"type": "string"}}}
    assert ez_tool(typed.fn, return_schema=schema).return_schema == schema


@pytest.mark.parametrize(
    "annotation",
    [PLAIN_DICT, PLAIN_LIST, str, int, float, bool, list[PLAIN_DICT]],
    ids=["dict", "list", "str", "int", "float", "bool", "list[dict]"],
)
def test_uninformative_type_has_no_schema(annotation: object) -> None:
    """
    Return types that aren't useful for chaining produce no schema:
    `-> dict` (plain dict, no structure info)
    `-> list` (plain list)
    `-> str`, `-> int`, `-> float`, `-> bool` (primitives)
    `-> list[dict]` (list of unstructured dicts)
    `-> dict` | No | —
    `-> list[dict]` | No | —
    `-> str` | No | —
    """
    assert returning(annotation).return_schema is None


def test_a_function_without_a_return_annotation_has_no_schema() -> None:
    """
    No return annotation
    No annotation | No | —
    """

    def function() -> None:
        """Return something."""

    del function.__annotations__["return"]
    assert ez_tool(function).return_schema is None


def test_uninformative_schema_is_not_announced() -> None:
    """These return `None` for `return_schema`, and no hint is shown to the LLM."""
    assert plain.return_schema is None
    assert texts(Toolkit([plain], assist_tool_chaining=True)) == texts(Toolkit([plain]))


@pytest.mark.parametrize(
    ("annotation", "example"),
    [
        (Weather, "{location: str, temp: int}"),
        (Model, "{location: str, temp: int}"),
        (list[Product], "list[{id: int, name: str}]"),
        (list[ProductModel], "list[{id: int, name: str}]"),
    ],
)
def test_structured_type_is_described_compactly(annotation: object, example: str) -> None:
    """
    `-> WeatherResult` (TypedDict) | Yes | `{location: str, temp: int, ...}`
    `-> WeatherModel` (Pydantic) | Yes | `{location: str, temp: int, ...}`
    `-> list[Product]` (list of TypedDict) | Yes | `list[{id: int, name: str, ...}]`
    `-> list[ProductModel]` (list of Pydantic) | Yes | `list[{id: int, name: str, ...}]`
    The `# Returns:` comment uses a compact, Python-dict-like notation
    """
    prompt = Toolkit([returning(annotation)], assist_tool_chaining=True).prompt()
    assert f"    # Returns: {example}\n" in prompt


def test_the_separator_is_a_bar(told: Toolkit) -> None:
    """Return info is appended with a `|` separator:"""
    assert "Get weather for a location. | Returns: {" in told.tool_schema()["function"]["description"]


def test_described_keys_work(told: Toolkit) -> None:
    """The LLM can now confidently write:"""
    assert told.execute("w = typed('x')\nprint(w['temp'], w['location'])").output == "22 x\n"


@pytest.mark.parametrize(
    ("use", "output", "error"),
    [
        ("weather.get('temperature')", "None\n", ""),
        ("weather['temperature']", "", "KeyError: 'temperature'"),
        ("weather['cost']", "", "KeyError: 'cost'"),
    ],
)
def test_a_guessed_key_finds_nothing(told: Toolkit, use: str, output: str, error: str) -> None:
    """
    Without this, the LLM might try `weather.get('temperature')` when the actual key is `'temp'`.
    Without chaining hints, the LLM might guess `weather["temperature"]` or `product["cost"]`
    """
    result = told.execute(f"weather = untyped('x')\nprint({use})")
    assert result.output == output
    assert error in (result.error or "")


def test_the_pages_that_it_names_begin_with_it(repository: Path) -> None:
    """[Getting Started](getting-started.md) — quick introduction to tool chaining"""
    assert "assist_tool_chaining" in (repository / "docs" / "getting-started.md").read_text(encoding="utf-8")


def test_pages_of_the_reference_and_of_examples_exist(repository: Path) -> None:
    """
    [API Reference](api-reference.md)
    [Framework Examples](examples.md)
    """
    assert (repository / "docs" / "api-reference.md").is_file()
    assert (repository / "docs" / "examples.md").is_file()


class Sized(BaseModel):
    size: int


class Station(TypedDict):
    location: str
    tags: list[str]


@dataclass
class Report:
    station: Station
    count: int


@ez_tool
def get_station(location: str) -> Station:
    """Get a station."""
    return cast("Station", {"location": location, "tags": ["a"], "humidity": 40})


@ez_tool
def get_stations() -> list[Station]:
    """List the stations."""
    return [cast("Station", {"location": "Oslo", "tags": ["a"], "humidity": 40})]


@ez_tool
def get_report() -> Report:
    """Get a report."""
    return Report(cast("Station", {"location": "Oslo", "tags": ["a"], "humidity": 40}), 1)


@ez_tool
def get_size() -> Sized:
    """Get the size."""
    return Sized(size=5)


@pytest.mark.parametrize(
    "program",
    [
        "get_station('Oslo')['humidity']",
        "get_station('Oslo').humidity",
        "get_station('Oslo').get('humidity')",
        "[station['humidity'] for station in get_stations()][0]",
        "get_report()['station']['humidity']",
        "get_report().station.humidity",
        "{**get_station('Oslo')}['humidity']",
        "get_station('Oslo').copy()['humidity']",
        "[value for value in get_station('Oslo').values()][2]",
    ],
)
def test_key_beyond_a_typed_dict_can_be_read(program: str) -> None:
    """leading to `KeyError` at runtime."""
    with Toolkit([get_station, get_stations, get_report, get_size], assist_tool_chaining=True) as toolkit:
        assert toolkit.check(program) == []
        assert toolkit.execute(f"print({program})").output == "40\n"


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        ("get_station('Oslo')['temperature']", 1),
        ("get_stations()[0]['temperature']", 1),
        ("get_size()['humidity']", 0),
        ("get_report()['humidity']", 0),
        ("get_station('Oslo')['location'] + 1", 0),
    ],
)
def test_missing_key_is_found_early_only_in_closed_shapes(program: str, calls: int) -> None:
    """leading to `KeyError` at runtime."""
    with Toolkit([get_station, get_stations, get_report, get_size]) as toolkit:
        result = toolkit.execute(f"print({program})")
    assert (result.success, len(result.tool_calls)) == (False, calls)
    if calls:
        assert "KeyError: 'temperature'" in result.error_output
        assert "the keys are" in result.error_output
