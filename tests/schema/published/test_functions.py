"""A function as the tool definition that OpenAI's models read."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, TypeVar

import pytest
from jsonschema_rs import validator_for
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import Doc

from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.context import Context
from ez_ptc.schema.published_form import function_to_tool, type_to_json_schema
from ez_ptc.tools.decorators import ez_tool

if TYPE_CHECKING:

    class Missing:
        """A type that is there for checkers only."""


Schema = dict[str, Any]
T = TypeVar("T")
OLD: Any = __import__("typing")  # under a name by which no tool modernises what is tested


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Session:
    pass


class Node(TypedDict):
    children: list["Node"]


def get_weather(location: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Get weather information for a location."""
    return f"{location} {unit}"


def parameters_of(function: Callable[..., object]) -> Schema:
    parameters: Schema = function_to_tool(function)["function"]["parameters"]
    return parameters


def described(annotation: object) -> str:
    """Return what is said of a parameter `it` with this annotation."""

    def function(it: object) -> None:
        """Take it."""

    function.__annotations__["it"] = annotation
    text: str = parameters_of(function)["properties"]["it"]["description"]
    return text


def test_a_function_is_a_tool_definition() -> None:
    assert function_to_tool(get_weather) == {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get weather information for a location.",
            "parameters": {
                "type": "object",
                "properties": {
                    "location": {"type": "string", "description": "Parameter location of type str"},
                    "unit": {
                        "type": "string",
                        "enum": ["celsius", "fahrenheit"],
                        "description": "Parameter unit of type Literal['celsius', 'fahrenheit']",
                    },
                },
                "required": ["location"],
            },
        },
    }


def test_definition_is_accepted_by_the_sdk() -> None:
    from openai.types.chat import ChatCompletionFunctionToolParam

    tool = function_to_tool(get_weather)

    assert TypeAdapter(ChatCompletionFunctionToolParam).validate_python(tool, strict=True) == tool


# --- the function's words ---------------------------------------------------------------------------------------------


def test_function_without_docstring_is_refused_by_name() -> None:
    def undocumented(x: int) -> int:
        return x

    def blank(x: int) -> int:
        """ """
        return x

    for function in (undocumented, blank, functools.partial(undocumented, 1)):
        with pytest.raises(ValueError, match=r"(undocumented|blank) has no docstring.*: write one"):
            function_to_tool(function)


def test_the_description_is_the_prose_of_the_docstring() -> None:
    def search(query: str, limit: int = 5) -> list[str]:
        """Search the catalogue
        of the shop.

        Takes a while.

        Args:
            query: What to look for.
            limit: How many.

        Returns:
            What was found.
        """
        return [query] * limit

    assert function_to_tool(search)["function"]["description"] == "Search the catalogue of the shop.\n\nTakes a while."


def test_a_docstring_of_sections_alone_is_the_description() -> None:
    def search(query: str) -> str:
        """:param query: What to look for."""
        return query

    assert function_to_tool(search)["function"]["description"] == ":param query: What to look for."


class Shop:
    """Where things are sold."""

    def find(self, name: str) -> str:
        """Find a thing."""
        return name

    @classmethod
    def build(cls, size: int) -> int:
        """Build a shop."""
        return size

    @staticmethod
    def count(first: int) -> int:
        """Count things."""
        return first

    def __call__(self, name: str) -> str:
        return name


async def wait(seconds: float) -> float:
    """Wait."""
    return seconds


@functools.wraps(get_weather)
def wrapper(*args: Any, **kwargs: Any) -> str:
    return get_weather(*args, **kwargs)


FUNCTIONS: list[tuple[Callable[..., object], str, str, list[str]]] = [
    (Shop().find, "find", "Find a thing.", ["name"]),
    (Shop.build, "build", "Build a shop.", ["size"]),
    (Shop.count, "count", "Count things.", ["first"]),
    (Shop(), "Shop", "Where things are sold.", ["name"]),
    (wait, "wait", "Wait.", ["seconds"]),
    (wrapper, "get_weather", "Get weather information for a location.", ["location", "unit"]),
    (functools.partial(get_weather, "Rome"), "get_weather", "Get weather information for a location.", ["unit"]),
    (functools.lru_cache(get_weather), "get_weather", "Get weather information for a location.", ["location", "unit"]),
    (ez_tool(get_weather), "get_weather", "Get weather information for a location.", ["location", "unit"]),
    (ez_tool(name="w")(get_weather), "get_weather", "Get weather information for a location.", ["location", "unit"]),
]


@pytest.mark.parametrize(("function", "name", "description", "parameters"), FUNCTIONS)
def test_any_callable_is_described(
    function: Callable[..., object], name: str, description: str, parameters: list[str]
) -> None:
    tool = function_to_tool(function)["function"]

    assert (tool["name"], tool["description"]) == (name, description)
    assert list(tool["parameters"]["properties"]) == parameters


def test_callable_unusable_by_model_is_refused() -> None:
    for function, message in [
        (Shop.find, "find: parameter 'self' makes it a method without its object"),
        (int, "int: its parameters cannot be read"),
        (3, "expected a function, got int"),
    ]:
        with pytest.raises(SchemaError, match=message):
            function_to_tool(function)  # pyright: ignore[reportArgumentType] - a number is no function


# --- its parameters ---------------------------------------------------------------------------------------------------


def test_variadic_parameters_are_skipped() -> None:
    def search(query: str, /, *terms: str, limit: int, **options: str) -> None:
        """Search."""

    assert list(parameters_of(search)["properties"]) == ["query", "limit"]


def test_a_parameter_is_required_where_it_has_no_default() -> None:
    def search(
        query: str | None, limit: int = 3, deep: bool | None = None, *, fast: bool, order: str = Field(min_length=1)
    ) -> None:
        """Search."""

    def browse(page: int = 1, size: int = Field(default=3)) -> None:
        """Browse."""

    assert parameters_of(search)["required"] == ["query", "fast", "order"]
    assert parameters_of(browse)["required"] == []
    assert "default" not in str(parameters_of(browse))


def test_a_function_may_have_no_parameters() -> None:
    def now() -> str:
        """Tell the time."""
        return ""

    assert parameters_of(now) == {"type": "object", "properties": {}, "required": []}


def test_a_parameter_without_an_annotation_is_text() -> None:
    def search(query: object) -> None:
        """Search."""

    del search.__annotations__["query"]
    assert parameters_of(search)["properties"]["query"] == {
        "type": "string",
        "description": "Parameter query of type str",
    }


def test_context_parameter_is_not_described() -> None:
    def buy(item: str, session: Context[Session], other: "Context[Missing] | None" = None, bare: object = None) -> None:
        """Buy."""

    buy.__annotations__["bare"] = Context
    assert list(parameters_of(buy)["properties"]) == ["item"]
    assert parameters_of(buy)["required"] == ["item"]


def test_a_type_that_is_not_there_is_text() -> None:
    def search(query: "Missing", more: "list[Missing]", rest: "Missing | int" = 3, text: object = "") -> None:
        """Search."""

    search.__annotations__["text"] = "no type"
    properties = parameters_of(search)["properties"]

    assert [each.get("type") for each in properties.values()] == ["string", "array", None, "string"]
    assert properties["more"]["items"] == {"type": "string"}
    assert properties["rest"]["oneOf"] == [{"type": "string"}, {"type": "integer"}]
    assert properties["more"]["description"] == "Parameter more of type list[Missing]"
    assert parameters_of(search)["required"] == ["query", "more"]


def test_postponed_annotations_resolve_also_to_local_classes() -> None:
    @dataclass
    class Address:
        street: str

    class Order(BaseModel):
        to: "Address"

    def send(order: "Order", *, cc: "list[Address] | None" = None) -> None:
        """Send."""

    address = {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]}
    properties = parameters_of(send)["properties"]
    assert properties["order"]["properties"]["to"] == address
    assert properties["cc"]["items"] == address


def test_a_parameter_may_have_any_name() -> None:
    def odd(self: int, cls: int, type: int, properties: int, description: int, _x: int, größe: int) -> None:  # noqa: A002, PLC2401 - odd names are what is tested
        """Take odd names."""

    assert parameters_of(odd)["required"] == ["self", "cls", "type", "properties", "description", "_x", "größe"]


def test_recursive_type_is_defined_where_reference_resolves() -> None:
    def plant(root: Node, others: list[Node]) -> None:
        """Plant."""

    parameters = parameters_of(plant)

    assert parameters["properties"]["root"] == {"$ref": "#/$defs/Node", "description": "Parameter root of type Node"}
    assert validator_for(parameters).is_valid({"root": {"children": [{"children": []}]}, "others": []})
    assert not validator_for(parameters).is_valid({"root": {"children": [{"children": 3}]}, "others": []})


def test_text_annotation_is_resolved_at_the_caller() -> None:
    @dataclass
    class Local:
        size: int

    local = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
    assert type_to_json_schema("Local") == local
    assert type_to_json_schema(list["Local"]) == {"type": "array", "items": local}
    assert type_to_json_schema("list[Unit]")["items"]["enum"] == ["celsius", "kelvin"]


# --- what is said of them ---------------------------------------------------------------------------------------------

SPELLED: list[tuple[object, str]] = [
    (str, "str"),
    (None, "None"),
    (Any, "Any"),
    (Session, "Session"),
    (list[int], "list[int]"),
    (OLD.List[Session], "List[Session]"),
    (Sequence[Session], "Sequence[Session]"),
    (dict[str, list[Node]], "dict[str, list[Node]]"),
    (tuple[int, ...], "tuple[int, ...]"),
    (str | None, "str | None"),
    (OLD.Optional[str], "Optional[str]"),
    (OLD.Union[int, str, None], "Union[int, str, None]"),
    (Callable[[int], str], "Callable[[int], str]"),
    (Literal["a.b", 1, True], "Literal['a.b', 1, True]"),
    (Literal[Unit.KELVIN], "Literal['kelvin']"),
    (T, "T"),
    (Annotated[list[Annotated[int, 3]], 4], "list[int]"),
    ("Nowhere.Else[int]", "Else"),
    ("no type", "no type"),
]


@pytest.mark.parametrize(("annotation", "spelled"), SPELLED, ids=lambda value: str(value)[:60])
def test_a_type_is_spelled_without_modules(annotation: object, spelled: str) -> None:
    assert described(annotation) == f"Parameter it of type {spelled}"


def test_the_text_in_an_annotation_is_added() -> None:
    assert described(Annotated[str, "The city."]) == "Parameter it of type str: The city."
    assert described(Annotated[int, Field(ge=1, description="How many.")]) == "Parameter it of type int: How many."
    assert described(Annotated[int, Doc("How many."), 3]) == "Parameter it of type int: How many."
    assert described(Annotated[Annotated[int, "One"], "Two", Field(ge=1)]) == "Parameter it of type int: One; Two"

    def search(query: str = Field("tea", description="What to look for.")) -> None:
        """Search."""

    assert parameters_of(search)["properties"]["query"] == {
        "type": "string",
        "description": "Parameter query of type str: What to look for.",
    }


def test_constraints_in_an_annotation_are_dropped() -> None:
    def search(limit: Annotated[int, Field(ge=1, le=9)] = 3) -> None:
        """Search."""

    assert parameters_of(search)["properties"]["limit"] == {
        "type": "integer",
        "description": "Parameter limit of type int",
    }
