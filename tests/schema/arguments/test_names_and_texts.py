"""Names of members, names of fields, and texts, which models send where values, aliases, and numbers are expected."""

from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pydantic.dataclasses
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field, Json, Strict

from ez_ptc import SchemaError, Tool, ToolResult


class Route(Enum):
    AIR = "a"
    SEA = "s"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Stock(BaseModel):
    left: dict[Route, int]


def sent(annotation: object, value: object) -> ToolResult:
    def receive(it: object) -> object:
        return it

    receive.__annotations__["it"] = annotation
    return Tool.from_function(receive, description="Receive.").execute(it=value)


def received(annotation: object, value: object) -> Any:  # noqa: ANN401 - of the annotated type
    got: list[object] = []

    def receive(it: object) -> None:
        got.append(it)

    receive.__annotations__["it"] = annotation
    result = Tool.from_function(receive, description="Receive.").execute(it=value)
    assert result.success, result.error
    return got[0]


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (dict[Route, int], {"AIR": 1, "s": 2}, {Route.AIR: 1, Route.SEA: 2}),
        (dict[Size, int], {"SMALL": 1, "2": 2}, {Size.SMALL: 1, Size.LARGE: 2}),
        (dict[Route, dict[Route, str]], {"AIR": {"SEA": "x"}}, {Route.AIR: {Route.SEA: "x"}}),
        (list[Stock], ['{"left": {"AIR": "3"}}'], [Stock(left={Route.AIR: 3})]),
        (dict[Literal[Route.AIR], int], {"AIR": 1}, {Route.AIR: 1}),
        (dict[Route, int] | list[int], {"AIR": 1}, {Route.AIR: 1}),
    ],
)
def test_names_of_members_are_read_as_keys(annotation: object, value: object, expected: object) -> None:
    assert received(annotation, value) == expected
    repairs = sent(annotation, value).repairs
    assert any("of members as keys, not with their values" in repair for repair in repairs)
    assert len({*repairs}) == len(repairs)


class Temper(Enum):
    CALM = "calm"
    QUIET = CALM
    ANGRY = "angry"
    CROSS = ANGRY


class Grade(IntEnum):
    GOOD = 1
    FINE = GOOD
    POOR = 2


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (Temper, "QUIET", Temper.CALM),
        (Grade, "FINE", Grade.GOOD),
        (list[Temper], ["CROSS", "CALM"], [Temper.ANGRY, Temper.CALM]),
        (Temper | None, "QUIET", Temper.CALM),
        (Literal[Temper.CALM, 5], "QUIET", Temper.CALM),
        (dict[Temper, int], {"QUIET": 1}, {Temper.CALM: 1}),
        (dict[Grade, int], {"FINE": 1, "2": 2}, {Grade.GOOD: 1, Grade.POOR: 2}),
    ],
)
def test_member_is_known_by_all_its_names(annotation: object, value: object, expected: object) -> None:
    assert received(annotation, value) == expected


def test_member_is_listed_once_for_all_its_names() -> None:
    assert str(sent(Temper, "mild").error) == "receive: 'it' must be 'calm' or 'angry', got str 'mild'"
    assert str(sent(Grade, 3).error) == "receive: 'it' must be 1 or 2, got int 3"
    assert "must be 'calm', got" in str(sent(Literal[Temper.CALM], "CROSS").error)


@pytest.mark.parametrize("value", [{"QUIET": 1, "CALM": 2}, {"QUIET": 1, "calm": 2}])
def test_two_names_of_one_member_are_left_to_the_model(value: object) -> None:
    assert "': the key must be 'calm' or 'angry'" in str(sent(dict[Temper, int], value).error)


@pytest.mark.parametrize("value", [{"AIR": 1, "a": 2}, {"AIR": 1, Route.AIR: 2}, {"RAIL": 1}])
def test_two_keys_for_one_member_are_left_to_the_model(value: object) -> None:
    assert "': the key must be 'a' or 's', got str " in str(sent(dict[Route, int], value).error)


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (Literal[1, 2], "2", 2),
        (Literal[1.5, 2], "1.5", 1.5),
        (list[Literal[1, 2]], ["1", 2], [1, 2]),
        (Literal[True, "auto"], "true", True),
        (Literal[False, "auto"], "False", False),
        (Literal[1, 2] | None, "1", 1),
        (Literal[1, "1"], "1", "1"),
        (Literal[1] | str, "1", "1"),
        (Size, "2", Size.LARGE),
    ],
)
def test_text_of_a_number_is_read_for_a_choice_of_numbers(annotation: object, value: object, expected: object) -> None:
    result = received(annotation, value)
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(Literal[1, 2], "3"), (Literal[1, 2], "true"), (Literal[True, "auto"], "1"), (Literal[1] | None, "null")],
)
def test_other_text_is_no_choice_of_numbers(annotation: object, value: object) -> None:
    assert f"got str {value!r}" in str(sent(annotation, value).error)


def test_text_without_quotes_is_read_as_text_in_json() -> None:
    for value, expected in (("tea", "tea"), ('"tea"', "tea"), ("5", "5"), ('"5"', "5")):
        assert received(Json[str], value) == expected
    for annotation in (Json[list[int]], Json[Any], Json[int]):
        assert "Invalid JSON" in str(sent(annotation, '{"cut": ').error)


@pytest.mark.parametrize("value", ['"tea', ' "tea', '"tea" and', '"', '"a\\'])
def test_text_that_opens_quotes_and_is_cut_off_is_refused(value: str) -> None:
    for annotation in (Json[str], Json[str] | None, list[Json[str]], Json[int | str]):
        argument = [value] if annotation == list[Json[str]] else value
        assert "Invalid JSON" in str(sent(annotation, argument).error)


class Nested(BaseModel):
    number: int = Field(validation_alias=AliasChoices(AliasPath("box", "n"), AliasPath("list", 0)))
    size: int = Field(1, validation_alias=AliasChoices(AliasPath("box", "s"), "length"))


@pydantic.dataclasses.dataclass
class NestedData:
    number: int = Field(validation_alias=AliasPath("box", "n"))
    size: int = Field(1, validation_alias=AliasChoices("length", "width"))


@pytest.mark.parametrize("cls", [Nested, NestedData])
def test_fields_with_alias_paths_are_passed_by_name_or_path(cls: Any) -> None:  # noqa: ANN401 - a class
    for value in ({"number": 4, "length": 2}, {"box": {"n": 4}, "size": 2}, {"number": 4, "size": 2}):
        made = received(cls, value)
        assert (made.number, made.size) == (4, 2)
    assert "it takes number, length" in str(sent(cls, {"number": 4, "colour": "red"}).error)


def test_constraint_that_pydantic_cannot_apply_is_a_schema_error() -> None:
    with pytest.raises(SchemaError, match="parameter 'it' cannot be of type"):
        sent(Annotated[Literal[1], Strict()], 1)


def test_text_within_a_text_is_read_by_given_schemas() -> None:
    def count(**arguments: object) -> None:
        got.append(arguments)

    got: list[object] = []
    numbers = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    schema = {"properties": {"box": {"type": "object", "properties": {"numbers": numbers, "k": {"type": "integer"}}}}}
    tool = Tool.from_schema("count", "Count.", schema, count)

    result = tool.execute(box='{"numbers": "[{\\"n\\": \\"5\\"}]", "k": null}')

    assert got == [{"box": {"numbers": [{"n": 5}]}}]
    assert len(result.repairs) == 4
