"""Schemas that hold at once, as one."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.strict import strict
from ez_ptc.schema.standard.merging import flatten, merge
from tests.formats.all_formats.made import PAIRS
from tests.formats.shapes import an_object

Schema = dict[str, Any]


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({"minimum": 1, "maximum": 9}, {"minimum": 3, "maximum": 12}, {"minimum": 3, "maximum": 9}),
        ({"type": "number"}, {"type": "integer"}, {"type": "integer"}),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": "string"}, {"type": "string"}),
        ({"type": "string"}, {"type": "null"}, {"type": "string"}),
        ({"enum": [1, 2]}, {"enum": [2, True]}, {"enum": [2]}),
        ({"const": 1}, {"const": 1}, {"enum": [1]}),
        ({"const": 1, "type": "integer"}, {"enum": [1, 2]}, {"type": "integer", "enum": [1]}),
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        ({"description": "A."}, {"description": "B."}, {"description": "A. B."}),
        ({"description": "A."}, {"description": "A."}, {"description": "A."}),
        ({"default": 1}, {"default": 2}, {"default": 1}),
        ({"additionalProperties": True}, {"additionalProperties": False}, {"additionalProperties": False}),
        (
            {"additionalProperties": True},
            {"additionalProperties": {"minimum": 1}},
            {"additionalProperties": {"minimum": 1}},
        ),
        (
            {"additionalProperties": {"minimum": 1}},
            {"additionalProperties": True},
            {"additionalProperties": {"minimum": 1}},
        ),
        ({"items": {"minimum": 1}}, {"items": {"maximum": 2}}, {"items": {"allOf": [{"minimum": 1}, {"maximum": 2}]}}),
        (
            {"additionalProperties": {"minimum": 1}},
            {"additionalProperties": {"maximum": 2}},
            {"additionalProperties": {"allOf": [{"minimum": 1}, {"maximum": 2}]}},
        ),
        ({"pattern": "a"}, {"pattern": "b"}, {"pattern": "a", "description": "Matches the regular expression b"}),
        ({"format": "date"}, {"format": "date"}, {"format": "date"}),
    ],
    ids=str,
)
def test_two_schemas_merge_to_their_intersection(one: Schema, other: Schema, both: Schema) -> None:
    assert merge(one, other) == both


@given(PAIRS, PAIRS)
def test_merged_schema_allows_what_both_allow(first: tuple[Schema, object], second: tuple[Schema, object]) -> None:
    from ez_ptc.schema.standard.form import standard_form

    one, other = standard_form("brew", first[0]), standard_form("brew", second[0])
    both = jsonschema_rs.Draft202012Validator(flatten({"allOf": [one, other]}, {}))
    validators = [jsonschema_rs.Draft202012Validator(each) for each in (one, other)]
    values: list[object] = [first[1], second[1], None, {}, [], "", 0]
    for value in values:
        if all(each.is_valid(value) for each in validators):
            assert both.is_valid(value)


@pytest.mark.sampled(every=0)
def test_unbounded_expansion_is_refused() -> None:
    wide = {
        f"D{at}": an_object(**{f"p{each}": {"$ref": f"#/$defs/D{at + 1}", "minProperties": 1} for each in range(8)})
        for at in range(9)
    }
    schema = {"$defs": {**wide, "D9": an_object(x={"type": "string"})}, **an_object(a={"$ref": "#/$defs/D0"})}

    with pytest.raises(SchemaError, match=r"^brew: parameter .* more than 20000 parts.*strict=False"):
        strict("brew", schema)


def test_two_adjacent_unions_become_one_and_a_sentence() -> None:
    text, number = {"type": "string"}, {"type": "integer"}
    schema = strict("brew", an_object(a={"anyOf": [text, number], "oneOf": [text, {"type": "null"}]}))

    assert schema["properties"]["a"]["anyOf"] == [text, number]
    assert '"oneOf"' in schema["properties"]["a"]["description"]
