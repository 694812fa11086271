"""The document of concepts, statement by statement. Each test quotes what it runs."""

from pathlib import Path
from typing import Literal, TypedDict

from pydantic import BaseModel

from ez_ptc import Tool, Toolkit, ez_tool
from tests.seeds.documents import misquoted


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
    """
    return {"location": location, "temp": 22 if unit == "celsius" else 72}


@ez_tool
def order(product: Product, to: Weather, size: Literal["a", "b"], tags: list[str], notes: dict[str, int]) -> str:
    """Order it."""
    return f"{product.id} {to} {size} {tags} {notes}"


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


def test_descriptions_of_parameters_come_from_the_docstring() -> None:
    """Each `Args:` entry becomes a parameter description in the JSON schema."""
    assert get_weather.parameters["properties"]["location"]["description"].startswith("City and state")


def test_a_return_schema_comes_from_the_annotation() -> None:
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


def test_a_prompt_begins_and_ends_as_it_is_told() -> None:
    """
    preamble="...",              # Optional: custom intro text
    postamble="...",             # Optional: custom instruction text
    """
    prompt = Toolkit([get_weather], preamble="First.", postamble="Last.").prompt()
    assert prompt.startswith("First.\n")
    assert "\nLast.\n" in prompt


def test_a_model_writes_code_that_is_found_and_run() -> None:
    """You extract and execute it."""
    with Toolkit([get_weather]) as toolkit:
        code = toolkit.extract_code("So:\n```python\nprint(get_weather('Oslo')['temp'])\n```")
        assert toolkit.execute(code or "").output == "22\n"


def test_a_framework_registers_one_callable() -> None:
    """The toolkit provides a single meta-tool callable that any framework can register."""
    with Toolkit([get_weather]) as toolkit:
        assert toolkit.as_tool()("print(get_weather('Oslo')['temp'])") == "22\n"


def test_the_tool_says_how_to_be_called_once() -> None:
    """the tool schema and `as_tool()` docstring already include instructions for single-call consolidation."""
    toolkit = Toolkit([get_weather])
    for text in (toolkit.as_tool().__doc__ or "", toolkit.tool_schema()["function"]["description"]):
        assert "Combine ALL operations into a SINGLE program" in text


def test_every_call_is_logged_with_its_values() -> None:
    """Every tool call is logged with arguments and return values"""
    with Toolkit([get_weather]) as toolkit:
        (call,) = toolkit.execute("get_weather('Oslo', unit='f')").tool_calls
    assert (call["args"], call["kwargs"]) == (("Oslo",), {"unit": "f"})
    assert call["result"] == {"location": "Oslo", "temp": 72}


def test_output_and_errors_are_captured() -> None:
    """stdout/stderr are captured"""
    with Toolkit([get_weather]) as toolkit:
        result = toolkit.execute("import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (result.output, result.error_output) == ("out\n", "err\n")


def test_the_value_of_the_last_expression_is_returned() -> None:
    """result.return_value # Any: last expression value"""
    with Toolkit([get_weather]) as toolkit:
        assert toolkit.execute("1 + 1").return_value == 2


def test_without_chaining_nothing_is_said_of_results() -> None:
    """When `assist_tool_chaining=False` (the default), output is identical to a toolkit without any return schemas"""
    plain = ez_tool(get_weather.fn, return_schema={})
    assert Toolkit([plain]).tool_prompt() == Toolkit([get_weather]).tool_prompt()


def test_the_quotes_are_the_documents(shared_folder: Path) -> None:
    assert misquoted(shared_folder, "000", globals()) == []
