"""Schemas of older drafts and of OpenAPI, as JSON Schema of draft 2020-12."""

from typing import Any

import pytest

from ez_ptc.errors import SchemaError
from ez_ptc.schema.standard.form import standard_form
from tests.formats.shapes import NODE, an_object

Schema = dict[str, Any]


SPELLINGS: list[tuple[Schema, Schema]] = [
    ({"type": "string", "title": "T", "x-a": 1, "$comment": "c", "xml": {}}, {"type": "string"}),
    ({"type": "STRING"}, {"type": "string"}),
    ({"type": ["string"]}, {"type": "string"}),
    ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
    ({"type": "integer", "maximum": 1, "exclusiveMaximum": False}, {"type": "integer", "maximum": 1}),
    (
        {"items": [{"type": "null"}], "additionalItems": {"type": "string"}},
        {"prefixItems": [{"type": "null"}], "items": {"type": "string"}},
    ),
    ({"items": [{"type": "null"}], "additionalItems": False}, {"prefixItems": [{"type": "null"}], "maxItems": 1}),
    ({"items": True}, {"items": {}}),
    ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
    (
        {"anyOf": [{"type": "string"}], "nullable": True, "description": "d"},
        {"anyOf": [{"anyOf": [{"type": "string"}]}, {"type": "null"}], "description": "d"},
    ),
    ({"type": "string", "nullable": False}, {"type": "string"}),
    ({"example": 1}, {"examples": [1]}),
    ({"examples": {"first": {"value": 1}}}, {}),
    (
        {"dependencies": {"a": ["b"], "c": {"minProperties": 2}}},
        {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"minProperties": 2}}},
    ),
    (
        {"properties": {"a": {"type": "string", "required": True}, "b": {"required": False}}},
        {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
    ),
    ({"properties": {"a": True, "b": False}}, {"properties": {"a": {}}}),
    ({"not": True}, {"not": {}}),
    ({"anyOf": [True, False]}, {"anyOf": [{}, {"not": {}}]}),
    ({"enum": []}, {}),
    ({"enum": [1, 1, True, 1.5]}, {"enum": [1, True, 1.5]}),
    ({"anyOf": []}, {}),
    ({"type": []}, {}),
    ({"default": float("nan"), "minimum": float("inf"), "minLength": -1, "maxItems": True}, {}),
    ({"default": "half \ud800", "description": "half \ud800"}, {"description": "half �"}),
    ({"required": "a", "description": 3, "pattern": None, "uniqueItems": "yes"}, {}),
    ({"const": None}, {"const": None}),
    ({"unevaluatedProperties": False}, {"unevaluatedProperties": False}),
]


@pytest.mark.parametrize(("old", "new"), SPELLINGS, ids=str)
def test_an_older_spelling_becomes_the_present_one(old: Schema, new: Schema) -> None:
    assert standard_form("brew", old) == new


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"Node": NODE}, **an_object(n={"$ref": "#/$defs/Node"})},
        an_object(
            a={"type": "string", "minLength": 1, "default": "x"}, b={"anyOf": [{"type": "null"}, {"type": "string"}]}
        ),
        an_object(a={"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {"maxLength": 3}}),
        an_object(
            a={"allOf": [{"type": "string"}], "not": {"const": "x"}, "if": {}, "then": {}, "else": {"maxLength": 1}}
        ),
        {**an_object(a={}), "additionalProperties": False},
    ],
    ids=str,
)
def test_current_schema_stays_unchanged(schema: Schema) -> None:
    assert standard_form("brew", schema) == schema


@pytest.mark.parametrize(
    "document",
    [
        {"definitions": {"A": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/A"}}},
        {"components": {"schemas": {"A": {"type": "string"}}}, "properties": {"a": {"$ref": "#/components/schemas/A"}}},
        {"$defs": {"x": {"$anchor": "A", "type": "string"}}, "properties": {"a": {"$ref": "#A"}}},
        {
            "$defs": {"x": {"$id": "https://e.org/A", "type": "string"}},
            "properties": {"a": {"$ref": "https://e.org/A"}},
        },
        {"$defs": {"x": {"id": "A", "type": "string"}}, "properties": {"a": {"$ref": "A#"}}},
        {"$defs": {"B": {"$ref": "#/$defs/A"}, "A": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/B"}}},
        {"$defs": {"A": {"type": "string"}}, "properties": {"a": {"$dynamicRef": "#/$defs/A"}}},
        {"properties": {"a": {"$ref": "#/$defs/~1A"}}, "$defs": {"/A": {"type": "string"}}},
        {"properties": {"a": {"$ref": "#/x-types/0/A"}}, "x-types": [{"A": {"type": "string"}}]},
    ],
    ids=str,
)
def test_a_reference_is_found_wherever_it_leads(document: Schema) -> None:
    schema = standard_form("brew", document)
    [name] = schema["$defs"]

    assert schema["properties"]["a"] == {"$ref": f"#/$defs/{name}"}
    assert schema["$defs"][name] == {"type": "string"}


def test_names_of_definitions_that_would_meet_stay_apart() -> None:
    document = {
        "definitions": {"A": {"type": "string"}},
        "$defs": {"A": {"type": "null"}, "unused": {"type": "null"}},
        "properties": {"a": {"$ref": "#/definitions/A"}, "b": {"$ref": "#/$defs/A"}},
    }

    assert standard_form("brew", document)["$defs"] == {"A": {"type": "string"}, "A_2": {"type": "null"}}


@pytest.mark.sampled(every=0)
def test_chain_of_ten_thousand_definitions_is_resolved() -> None:
    definitions = {f"D{at}": {"type": "array", "items": {"$ref": f"#/$defs/D{at + 1}"}} for at in range(10_000)}
    document = {"$defs": {**definitions, "D10000": {"type": "null"}}, "properties": {"a": {"$ref": "#/$defs/D0"}}}

    assert len(standard_form("brew", document)["$defs"]) == 10_001


def deep(levels: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def cyclic() -> Schema:
    schema: Schema = {"type": "array"}
    schema["items"] = schema
    return schema


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ({"$ref": "#/$defs/Nowhere"}, r"brew: its schema at '\$ref': '#/\$defs/Nowhere' leads nowhere: put"),
        ({"items": {"$ref": "#/$defs/a/b"}, "$defs": {"a": 3}}, r"at 'items.\$ref': .* leads nowhere"),
        (
            {"$ref": "https://example.com/x.json"},
            r"leads out of the schema, and nothing is fetched: put what it refers to into its \$defs",
        ),
        ({"$ref": "#anchor"}, r"'#anchor' leads out of the schema"),
        ({"$ref": 3}, r"a \$ref is text, got 3"),
        (
            {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "items": {"$ref": "#/$defs/A"}},
            "back to itself",
        ),
        ({"type": "dict"}, r"at 'type': 'dict' is not a JSON Schema type: write one of array, boolean, integer"),
        ({"type": None}, "None is not a JSON"),
        ({"properties": []}, r"at 'properties': expected an object of schemas there, got \[\]"),
        ({"properties": {"a": "string"}}, r"at 'properties.a': 'string' is not a JSON Schema: write an object"),
        ({"anyOf": {"type": "string"}}, r"at 'anyOf': expected a list"),
        ({"anyOf": [3]}, r"at 'anyOf\[0\]': 3 is not a JSON Schema"),
        ({"enum": [{1, 2}]}, r"at 'enum': .* values that JSON has no form for"),
        ({"properties": {"\ud800": {}}}, "lone surrogate"),
        (deep(200), "nested more than 100 levels deep"),
        (cyclic(), "nested more than 100 levels deep"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_invalid_schema_is_refused_with_its_position(schema: Schema, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint) as refused:
        standard_form("brew", schema)

    assert str(refused.value).startswith("brew: its schema")
