"""The document of concepts on tools, statement by statement. Each test quotes what it runs."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional, TypedDict

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from ez_ptc import Tool, Toolkit, ez_tool, tool

Maybe = TypeAliasType("Maybe", int | None)


class Weather(TypedDict):
    location: str
    temp: int


class Product(BaseModel):
    id: int
    name: str


@ez_tool
def get_weather(location: str, unit: str = "celsius") -> Weather:
    """Get current weather for a location.

    Args:
        location: City and state, e.g. "San Francisco, CA"
        unit: Temperature unit - "celsius" or "fahrenheit"
    """
    return {"location": location, "temp": 22 if unit == "celsius" else 72}


@ez_tool
def order(product: Product, to: Weather, size: Literal["a", "b"], tags: list[str], notes: dict[str, int]) -> str:
    """Order it."""
    return f"{product.id} {to} {size} {tags} {notes}"


def property_of(annotation: object) -> dict[str, Any]:
    def function(value: object) -> None:
        """Take a value."""

    function.__annotations__["value"] = annotation
    schema: dict[str, Any] = ez_tool(function).parameters["properties"]["value"]
    return schema


def test_a_tool_is_a_function_that_was_wrapped() -> None:
    """A **Tool** is a Python function wrapped with `@ez_tool`."""
    assert isinstance(get_weather, Tool)
    assert get_weather.__wrapped__ is get_weather.fn


def test_tool_carries_function_description() -> None:
    """
    It carries metadata extracted from the function's signature and docstring:
    The resulting `Tool` object has:
    """
    kept = (get_weather.name, get_weather.description, get_weather.signature)
    assert kept == (
        "get_weather",
        "Get current weather for a location.",
        "get_weather(location: str, unit: str = 'celsius') -> Weather",
    )


def test_a_tool_has_a_name() -> None:
    """`name` | Function name"""
    assert get_weather.name == get_weather.fn.__name__ == "get_weather"


def test_a_tool_has_a_description() -> None:
    """`description` | First line of docstring"""
    assert get_weather.description == "Get current weather for a location."


def test_first_paragraph_is_the_description_and_models_read_more() -> None:
    """The first paragraph becomes the tool's `description`."""

    @ez_tool
    def find(what: str) -> str:
        """Find something,
        wherever it is.

        It looks everywhere.

        Args:
            what: What it is
        """
        return what

    assert find.description == "Find something, wherever it is."
    sent = "Find something, wherever it is.\n\nIt looks everywhere."
    assert find.to_openai_format()["function"]["description"] == sent
    for format_ in ("openai-responses", "anthropic", "gemini", "mcp"):
        assert find.to_format(format_)["description"] == sent
    for text in (Toolkit([find]).prompt(), str(Toolkit([find]).tool_schema()), Toolkit([find]).as_tool().__doc__ or ""):
        assert "It looks everywhere." in text


@pytest.mark.parametrize("entry", [ez_tool, tool, Tool.from_function])
def test_optional_parameter_has_the_schema_of_its_type(entry: Callable[[Any], Tool[..., Any]]) -> None:
    r"""`Optional[X]` / `X \| None` | schema of X"""

    class Place(TypedDict):
        name: str
        floor: int | None

    def look(
        near: Optional[str],  # noqa: UP045 - as printed
        limit: int | None,
        place: Place | None,
        either: int | list[str] | None,
        unit: Literal["m", "km"] | None = None,
        *,
        several: Annotated[list[int] | None, "how many"] = None,
    ) -> object:
        """Look."""
        return near, limit, place, either, unit, several

    made = entry(look)
    floor = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    properties = {"name": {"type": "string"}, "floor": floor}
    assert made.parameters == {
        "type": "object",
        "properties": {
            "near": {"type": "string"},
            "limit": {"type": "integer"},
            "place": {"type": "object", "properties": properties, "required": ["name", "floor"]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
            "unit": {"type": "string", "enum": ["m", "km"]},
            "several": {"type": "array", "items": {"type": "integer"}, "description": "how many"},
        },
    }
    assert made.execute().output == (None,) * 6
    assert made.execute(**dict.fromkeys(made.parameter_names)).output == (None,) * 6
    assert made.execute(near="here", limit=3).output == ("here", 3, None, None, None, None)
    with Toolkit([made]) as toolkit:
        assert toolkit.execute("print(look(), look(None, limit=None))").success


def test_optional_alias_has_the_schema_of_its_type() -> None:
    """Type hints + docstring"""

    def look(first: Maybe, second: Maybe, others: list[Maybe]) -> object:
        """Look."""
        return first, second, others

    parameters = ez_tool(look).parameters
    assert parameters["properties"]["first"] == parameters["properties"]["second"] == {"type": "integer"}
    assert "null" in str(parameters["properties"]["others"]) + str(parameters.get("$defs"))
    assert parameters["required"] == ["others"]
    with Toolkit([ez_tool(look)]) as toolkit:
        assert toolkit.execute("print(look(others=[1]))").output == "(None, None, [1])\n"


def test_strict_tools_may_leave_optional_parameters_null() -> None:
    r"""schema of X"""

    @ez_tool(strict=True)
    def look(near: str | None, limit: int = 5, count: int | None = 5) -> object:
        """Look."""
        return near, limit, count

    sent = look.to_openai_format()["function"]
    assert (sent["strict"], sent["parameters"]["required"]) == (True, ["near", "limit", "count"])
    assert look.parameters["properties"]["count"] == {"type": "integer", "default": 5}
    assert look.call({"near": None, "limit": None, "count": None}) == (None, 5, None)


def test_a_tool_has_parameters() -> None:
    """`parameters` | Type hints + docstring | JSON schema with types, descriptions, defaults"""
    described = 'Temperature unit - "celsius" or "fahrenheit"'
    assert get_weather.parameters["properties"]["unit"] == {
        "type": "string",
        "description": described,
        "default": "celsius",
    }
    assert get_weather.parameters["required"] == ["location"]


def test_a_tool_has_a_signature() -> None:
    """`signature` | Full signature"""
    assert get_weather.signature == "get_weather(location: str, unit: str = 'celsius') -> Weather"


def test_a_tool_has_the_function() -> None:
    """`fn` | Original function | The unwrapped callable"""
    assert not isinstance(get_weather.fn, Tool)
    assert get_weather.fn("Oslo") == get_weather("Oslo")


def test_a_tool_is_called_as_the_function_is() -> None:
    """A `Tool` is still callable — `get_weather("NYC")` works exactly like calling the original function."""
    assert get_weather("NYC") == {"location": "NYC", "temp": 22}


def test_parameter_descriptions_come_from_docstring() -> None:
    """Each `Args:` entry becomes a parameter description in the JSON schema."""
    assert get_weather.parameters["properties"]["location"]["description"].startswith("City and state")


def test_return_schema_comes_from_annotation() -> None:
    """`return_schema` | Return type annotation | JSON schema (for TypedDict/Pydantic), or `None`"""
    assert list((get_weather.return_schema or {})["properties"]) == ["location", "temp"]
    assert order.return_schema is None


def test_a_typed_dict_is_an_object_with_properties() -> None:
    """`TypedDict` | `"object"` with properties"""
    schema = order.parameters["properties"]["to"]
    assert (schema["type"], list(schema["properties"])) == ("object", ["location", "temp"])


def test_a_model_has_its_whole_schema() -> None:
    """Pydantic `BaseModel` | Full model schema"""
    schema = order.parameters["properties"]["product"]
    assert (list(schema["properties"]), schema["required"]) == (["id", "name"], ["id", "name"])


def test_a_literal_is_text_with_an_enum() -> None:
    """`Literal["a", "b"]` | `"string"` with enum"""
    assert order.parameters["properties"]["size"] == {"type": "string", "enum": ["a", "b"]}


def test_a_list_has_items_and_a_dict_additional_properties() -> None:
    """
    `list[X]` | `"array"` with items
    `dict[K, V]` | `"object"` with additionalProperties
    """
    assert order.parameters["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert order.parameters["properties"]["notes"] == {"type": "object", "additionalProperties": {"type": "integer"}}


def test_google_docstrings_are_parsed() -> None:
    """ez-ptc parses Google-style docstrings:"""
    descriptions = [each["description"] for each in get_weather.parameters["properties"].values()]
    assert descriptions == ['City and state, e.g. "San Francisco, CA"', 'Temperature unit - "celsius" or "fahrenheit"']


@pytest.mark.parametrize(
    ("annotation", "name"), [(str, "string"), (int, "integer"), (float, "number"), (bool, "boolean")]
)
def test_plain_types_become_those_of_json_schema(annotation: type, name: str) -> None:
    """
    ez-ptc converts these Python types to JSON schema automatically:
    `str` | `"string"`
    `int` | `"integer"`
    `float` | `"number"`
    `bool` | `"boolean"`
    """
    assert property_of(annotation) == {"type": name}
