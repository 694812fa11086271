"""The document of concepts on tools, statement by statement. Each test quotes what it runs."""

from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from ez_ptc import Tool, ez_tool


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
    """
    `description` | First line of docstring
    The first paragraph becomes the tool's `description`.
    """
    assert get_weather.description == "Get current weather for a location."


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
