"""Unions of foreign schemas: which branch a value was meant for, and values that fit several."""

from typing import Any

import pytest

from ez_ptc.tools.tool import Tool
from tests.schema.suite.measure import FORMATS, accepted_by_description, echo

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
CIRCLE: Schema = {
    "type": "object",
    "properties": {"shape": {"const": "circle"}, "radius": NUMBER, "colors": {"type": "array", "items": TEXT}},
    "required": ["shape", "radius"],
}
BOX: Schema = {
    "type": "object",
    "properties": {"shape": {"enum": ["box", "cube"]}, "sides": {"type": "array", "items": NUMBER}},
    "required": ["shape", "sides"],
}
CITY: Schema = {"type": "object", "properties": {"name": TEXT, "mayor": TEXT}, "required": ["name"]}
RIVER: Schema = {"type": "object", "properties": {"name": TEXT, "length": NUMBER}, "required": ["name"]}


def draw_tool(schema: Schema) -> Tool[..., Any]:
    definitions = {"Box": BOX, "Base": {"type": "object", "properties": {"shape": {"const": "disc"}}}}
    root = {"type": "object", "properties": {"a": schema}, "required": ["a"], "$defs": definitions}
    return Tool.from_schema("draw", "Draw.", root, echo)


SHAPES: list[Schema] = [
    {"oneOf": [CIRCLE, BOX]},
    {"anyOf": [CIRCLE, {"$ref": "#/$defs/Box"}, {"type": "null"}]},
    {"oneOf": [{"allOf": [CIRCLE]}, {"$ref": "#/$defs/Box", "description": "A box."}]},
    {"oneOf": [{**CIRCLE, "title": "Circle"}, BOX], "discriminator": {"propertyName": "shape"}},
    {"anyOf": [{"type": "array", "items": TEXT}, CIRCLE, BOX, TEXT]},
]


PROBLEMS: list[tuple[Schema, str]] = [
    ({"shape": "circle"}, "'a.radius' is missing"),
    ({"shape": "circle", "radius": "wide"}, "'a.radius' must be int, got str 'wide'"),
    ({"shape": "cube", "sides": [1, {}]}, "'a.sides[1]' must be int, got dict of 0 {}"),
    ({"shape": 3}, "'a.shape' must be 'circle' | 'box' | 'cube', got int 3"),
    ({"shape": "disc", "radius": 1}, "'a.shape' must be 'circle' | 'box' | 'cube', got str 'disc'"),
]
ALTERNATIVES: list[tuple[list[Schema], list[Any], list[Any]]] = [
    ([{"type": "number"}, NUMBER], [5, 5.5], ["five"]),
    ([NUMBER, {"type": "number", "description": "Any."}, {"type": "null"}], [5, None], ["five"]),
    ([{"enum": ["a", "b"]}, TEXT], ["a", "c"], [3]),
    ([TEXT, {**TEXT, "format": "email"}, {**TEXT, "const": "me"}], ["me", "c"], [3]),
    ([{"type": "object"}, CITY], [{"name": "Bonn"}, {}], [3]),
    ([{**CITY, "description": "Old."}, {**CITY, "description": "New."}], [{"name": "Bonn"}], [{"name": 3}]),
    ([{"$ref": "#/$defs/Box"}, BOX, CIRCLE], [{"shape": "box", "sides": []}], [{"shape": "box"}]),
]


@pytest.mark.parametrize("schema", SHAPES)
@pytest.mark.parametrize(("value", "problem"), PROBLEMS)
def test_problem_of_the_branch_that_was_meant_is_named(schema: Schema, value: object, problem: str) -> None:
    assert draw_tool(schema).execute(a=value).error == f"draw: {problem}"


@pytest.mark.parametrize("schema", SHAPES)
def test_values_in_the_branch_that_was_meant_are_repaired(schema: Schema) -> None:
    result = draw_tool(schema).execute(a={"shape": "circle", "radius": "2", "colors": '["red"]'})
    assert result.output == {"a": {"shape": "circle", "radius": 2, "colors": ["red"]}}
    assert result.repairs == ("'a.radius' was JSON text and is read", "'a.colors' was JSON text and is read")


@pytest.mark.parametrize("value", [{"radius": 1}, 5, [1]])
def test_union_is_named_where_any_branch_may_be_meant(value: object) -> None:
    error = draw_tool({"oneOf": [CIRCLE, BOX]}).execute(a=value).error
    assert error is not None
    assert "'a' must be {shape: 'circle'" in error
    assert "{shape: 'box' | 'cube'" in error


@pytest.mark.parametrize("step", [{"$ref": "#/$defs/Loop"}, {"allOf": [{"$ref": "#/$defs/Loop"}]}])
def test_circular_branches_are_looked_at_once(step: Schema) -> None:
    loop = {"Loop": {"properties": {"next": step, "shape": {"const": "x"}}, "anyOf": [{"required": ["shape"]}, step]}}
    root = {"type": "object", "properties": {"a": {"anyOf": [step, NUMBER]}}, "$defs": loop}
    tool = Tool.from_schema("draw", "Draw.", root, echo)
    assert not tool.execute(a={"shape": "y"}).success
    assert tool.execute(a={"shape": "x"}).success


@pytest.mark.parametrize(
    ("branches", "value"),
    [
        ([CITY, RIVER], {"name": "Rhine"}),
        ([{"minimum": 2, **NUMBER}, {"maximum": 9, **NUMBER}], 5),
        ([{**TEXT, "minLength": 1}, {"pattern": "^a"}], "abc"),
    ],
)
def test_value_that_fits_several_branches_is_told_so(branches: list[Schema], value: object) -> None:
    error = draw_tool({"oneOf": branches}).execute(a=value).error
    assert error is not None
    assert "and fits 2 of these where only one may fit, got " in error
    assert draw_tool({"anyOf": branches}).execute(a=value).success


@pytest.mark.parametrize(("branches", "valid", "invalid"), ALTERNATIVES)
def test_branches_that_no_value_fits_alone_are_alternatives(
    branches: list[Schema], valid: list[Any], invalid: list[Any]
) -> None:
    tool = draw_tool({"oneOf": branches})
    assert [tool.execute(a=value).output for value in valid] == [{"a": value} for value in valid]
    assert not any(tool.execute(a=value).success for value in invalid)
    assert all(accepted_by_description(tool, name, {"a": value}) for name in FORMATS for value in valid)


@pytest.mark.parametrize("branches", [[{}, NUMBER], [True, True], [{"maximum": 5}, NUMBER]])
def test_branch_that_takes_anything_still_excludes(branches: list[Any]) -> None:
    assert not draw_tool({"oneOf": branches}).execute(a=3).success
