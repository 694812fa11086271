"""Parameters as an object, whatever their schema was at its root."""

from typing import Any

import pytest

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.portable import portable, without_one_of
from ez_ptc.schema.standard.roots import with_object_root
from tests.formats.shapes import NODE, an_object

Schema = dict[str, Any]
A: Schema = {"type": "string"}
B: Schema = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        ({"type": ["object", "null"], "properties": {"a": A}}, {"type": "object", "properties": {"a": A}}),
        ({"$ref": "#/$defs/X", "$defs": {"X": an_object(a=A)}}, an_object(a=A)),
        ({"allOf": [an_object(a=A), an_object(b=B)]}, an_object(a=A, b=B)),
        ({"allOf": [{"$ref": "#/$defs/X"}], "$defs": {"X": an_object(a=A)}, "required": []}, an_object(a=A)),
        ({"anyOf": [an_object(a=A), {"type": "null"}]}, an_object(a=A)),
        ({"oneOf": [an_object(a=A), an_object(a=A)]}, an_object(a=A)),
        ({"oneOf": [an_object(a=A), an_object(a=B)]}, an_object(a={"anyOf": [A, B]})),
        (
            {"anyOf": [{**an_object(a=A), "additionalProperties": False}]},
            {**an_object(a=A), "additionalProperties": False},
        ),
        ({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}, {**NODE, "$defs": {"Node": NODE}}),
        ({**an_object(a=A), "$defs": {"Unused": B}}, an_object(a=A)),
    ],
    ids=str,
)
def test_the_root_is_an_object_without_a_union(schema: Schema, expected: Schema) -> None:
    assert with_object_root("brew", schema) == expected


def test_root_union_requires_common_properties_and_describes_the_rest() -> None:
    schema = with_object_root(
        "brew", {"oneOf": [an_object(["x", "a"], x=A, a=A, c=A), an_object(["x", "b"], x=A, b=B)], "required": ["r"]}
    )

    assert schema["properties"] == {"x": A, "a": A, "c": A, "b": B}
    assert schema["required"] == ["r", "x"]
    assert schema["description"] == "Give one of these sets of arguments: x, a; or x, b."


def test_root_conditions_become_sentences() -> None:
    schema = with_object_root("brew", {**an_object(a=A), "not": {"required": ["b"]}, "description": "D."})

    assert schema["description"] == 'D. Further rules, as JSON Schema: {"not": {"required": ["b"]}}'
    assert "not" not in schema


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": ["array", "null"]}, {"anyOf": [{"type": "string"}]}])
def test_non_object_parameters_are_refused(schema: Schema) -> None:
    with pytest.raises(
        SchemaError, match=r"brew: its parameters are of type .*, and a model passes its arguments as an"
    ):
        with_object_root("brew", schema)


@pytest.mark.parametrize(
    ("schema", "items"),
    [
        ({"type": "array"}, {}),
        ({"type": ["array", "null"]}, {}),
        ({"type": "array", "items": A}, A),
        ({"type": "array", "prefixItems": [A, A], "maxItems": 2}, A),
        ({"type": "array", "prefixItems": [A, B, A], "maxItems": 3}, {"anyOf": [A, B]}),
        ({"type": "array", "prefixItems": [A, B]}, {}),
    ],
    ids=str,
)
def test_every_array_has_items(schema: Schema, items: Schema) -> None:
    made = portable("brew", an_object(a={"anyOf": [schema, {"type": "null"}]}))

    assert made["properties"]["a"]["anyOf"][0] == {**schema, "items": items}


def test_one_of_becomes_any_of_and_keeps_siblings() -> None:
    assert without_one_of({"oneOf": [A, {"oneOf": [B]}]}) == {"anyOf": [A, {"anyOf": [B]}]}
    assert without_one_of({"oneOf": [A], "anyOf": [B]}) == {"anyOf": [B], "allOf": [{"anyOf": [A]}]}
