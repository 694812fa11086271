"""Tools whose parameters are written by hand."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, cast

import pytest

from ez_ptc.errors import SchemaError
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.definitions.parameters import ParameterType, ToolParameter, parameter_list, parameters_schema
from ez_ptc.tools.tool import Tool


def test_the_types_are_those_of_json_schema() -> None:
    assert {each.name: each.value for each in ParameterType} == {
        "STRING": "string",
        "INTEGER": "integer",
        "NUMBER": "number",
        "BOOLEAN": "boolean",
        "ARRAY": "array",
        "OBJECT": "object",
    }


def test_parameter_defaults_to_required_and_any_value() -> None:
    parameter = ToolParameter("city", ParameterType.STRING, "Where")
    assert (parameter.required, parameter.enum, parameter.default, parameter.items_type) == (True, None, None, None)


def test_parameter_list_becomes_object_schema() -> None:
    listed = [
        ToolParameter("city", ParameterType.STRING, "Where", enum=["Oslo", "Rome"]),
        ToolParameter("days", ParameterType.ARRAY, "When", required=False, items_type=ParameterType.INTEGER),
        ToolParameter("limit", ParameterType.INTEGER, "How many", required=False, default=5),
    ]
    schema = parameters_schema("find", listed)
    assert schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where", "enum": ["Oslo", "Rome"]},
            "days": {"type": "array", "description": "When", "items": {"type": "integer"}},
            "limit": {"type": "integer", "description": "How many", "default": 5},
        },
        "required": ["city"],
    }
    assert parameter_list(schema) == listed


def test_schema_without_required_parameters_omits_required() -> None:
    schema = parameters_schema("find", [ToolParameter("limit", ParameterType.INTEGER, "", required=False)])
    assert "required" not in schema
    assert parameters_schema("ping", []) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        (["city"], "find: expected a ToolParameter, got str"),
        (
            [ToolParameter("city", cast("Any", "string"), "")],
            r"parameter 'city' has the type 'string': write Parameter",
        ),
        (
            [ToolParameter("cities", ParameterType.ARRAY, "", items_type=cast("Any", str))],
            "parameter 'cities' has the type <class 'str'>",
        ),
        ([ToolParameter("city", ParameterType.STRING, "")] * 2, "two parameters are called 'city'"),
    ],
)
def test_invalid_parameter_list_is_refused(parameters: list[Any], complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        parameters_schema("find", parameters)


def test_every_tool_tells_its_parameters_as_a_list() -> None:
    @ez_tool
    def book(
        room: Literal["small", "large"], nights: int | None = None, guests: list[str] | None = None, note: object = ""
    ) -> str:
        """Book a room.

        Args:
            room: Which one
        """
        return room

    assert book.parameter_list == [
        ToolParameter("room", ParameterType.STRING, "Which one", enum=["small", "large"]),
        ToolParameter("nights", ParameterType.INTEGER, "", required=False),
        ToolParameter("guests", ParameterType.ARRAY, "", required=False, items_type=ParameterType.STRING),
        ToolParameter("note", ParameterType.STRING, "", required=False, default=""),
    ]


def test_parameter_type_is_first_known_of_several() -> None:
    schema = {"properties": {"size": {"type": ["null", "number"]}, "other": {"oneOf": [{}, {"type": "boolean"}]}}}
    assert [each.param_type for each in parameter_list(schema)] == [ParameterType.NUMBER, ParameterType.BOOLEAN]


def test_referenced_type_becomes_the_parameter_type() -> None:
    class Size(Enum):
        """How large."""

        SMALL = "s"
        LARGE = "l"

    @dataclass
    class Address:
        street: str
        next: "Address | None" = None

    @ez_tool
    def ship(size: Size, to: Address, others: list[Address], back: Address | None = None) -> str:
        """Ship it."""
        raise NotImplementedError

    size, to, others, back = ship.parameter_list

    assert (size.param_type, size.enum) == (ParameterType.STRING, ["s", "l"])
    assert to.param_type is back.param_type is others.items_type is ParameterType.OBJECT


def returned(number: object) -> object:
    return number


def collected(**given: object) -> dict[str, object]:
    return given


def counted(number: int, by: int = 99) -> tuple[int, int]:
    return number, by


def listing(values: list[Any], kind: ParameterType = ParameterType.INTEGER) -> list[ToolParameter]:
    return [ToolParameter("number", kind, "Which", enum=values)]


def test_declared_default_is_passed_to_function() -> None:
    by = ToolParameter("by", ParameterType.INTEGER, "By", required=False, default=7)
    tool = Tool("count", "Count.", [ToolParameter("number", ParameterType.INTEGER, "Which"), by], counted)
    assert tool.signature == "count(number: int, by: int = 7)"
    assert (tool.execute(number=1).output, tool.execute(number=1, by=2).output) == ((1, 7), (1, 2))
    assert tool.execute(number=1, by=None).output == (1, 7)


def test_declared_default_is_passed_to_variadic_function() -> None:
    by = ToolParameter("by", ParameterType.INTEGER, "By", required=False, default=7)
    assert Tool("count", "Count.", [by], collected).execute().output == {"by": 7}


def test_no_call_changes_the_default_of_the_next() -> None:
    def add(tags: list[str]) -> list[str]:
        tags.append("new")
        return tags

    tags = ToolParameter("tags", ParameterType.ARRAY, "Tags", required=False, default=["old"])
    tool = Tool("add", "Add.", [tags], add)
    assert [tool.execute().output for _ in range(2)] == [["old", "new"]] * 2


def test_no_default_leaves_it_to_the_function() -> None:
    by = ToolParameter("by", ParameterType.INTEGER, "By", required=False)
    tool = Tool("count", "Count.", [ToolParameter("number", ParameterType.INTEGER, "Which"), by], counted)
    assert tool.execute(number=1).output == (1, 99)


@pytest.mark.parametrize(
    ("kind", "given", "values"),
    [
        (ParameterType.INTEGER, ["1", "2"], [1, 2]),
        (ParameterType.INTEGER, [1, 2], [1, 2]),
        (ParameterType.NUMBER, ["1", "2.5"], [1, 2.5]),
        (ParameterType.BOOLEAN, ["true"], [True]),
        (ParameterType.ARRAY, ["[1]"], [[1]]),
        (ParameterType.OBJECT, ['{"a": 1}'], [{"a": 1}]),
        (ParameterType.STRING, ["1", "true"], ["1", "true"]),
    ],
)
def test_an_enumeration_has_values_of_the_parameters_type(
    kind: ParameterType, given: list[Any], values: list[object]
) -> None:
    tool = Tool("pick", "Pick.", listing(given, kind), returned)
    assert tool.parameters["properties"]["number"]["enum"] == values
    assert [tool.execute(number=value).output for value in values] == values
    again = Tool("pick", "Pick.", tool.parameter_list, returned)
    assert again.parameters == tool.parameters


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ParameterType.INTEGER, "one"),
        (ParameterType.INTEGER, "1.5"),
        (ParameterType.INTEGER, True),
        (ParameterType.NUMBER, "true"),
        (ParameterType.BOOLEAN, "1"),
        (ParameterType.STRING, 1),
        (ParameterType.OBJECT, "[1]"),
    ],
)
def test_a_value_that_no_call_can_pass_is_refused(kind: ParameterType, value: object) -> None:
    with pytest.raises(SchemaError, match=f"'number' is of the type {kind.name}, but its enum has "):
        Tool("pick", "Pick.", listing([value], kind), returned)
