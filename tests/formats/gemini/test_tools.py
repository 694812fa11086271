"""Gemini's function declarations."""

from typing import Any

import pytest

from ez_ptc.formats.gemini.tools import describe
from tests.formats.shapes import NODE, Described, an_object

Schema = dict[str, Any]


def parameters(schema: Schema) -> Schema:
    return describe(Described("brew", schema))["parameters"]


def of_a(schema: Schema, **definitions: Schema) -> Schema:
    return parameters({**an_object(a=schema), "$defs": definitions})["properties"]["a"]


def test_a_tool_is_declared_with_its_parameters() -> None:
    tool = Described("brew", an_object(["cups"], cups={"type": "integer"}, kind={"type": "string"}), "Brew tea.")

    assert describe(tool) == {
        "name": "brew",
        "description": "Brew tea.",
        "parameters": {
            "type": "object",
            "properties": {"cups": {"type": "integer"}, "kind": {"type": "string"}},
            "required": ["cups"],
        },
    }


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "nullable": True}),
        ({"type": ["integer", "null"]}, {"type": "integer", "nullable": True}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "D."},
            {
                "anyOf": [
                    {"type": "string", "nullable": True, "description": "D."},
                    {"type": "integer", "nullable": True},
                ]
            },
        ),
        (
            {"oneOf": [{"type": "string", "description": "S."}, {"type": "integer"}], "description": "D."},
            {"anyOf": [{"type": "string", "description": "D. S."}, {"type": "integer"}]},
        ),
        ({"type": "null"}, {"type": "string", "nullable": True, "description": "Always null."}),
        ({"const": "on"}, {"type": "string", "enum": ["on"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "description": "One of: 1, 2."}),
        ({"type": "string", "enum": ["", "a"]}, {"type": "string", "description": 'One of: "", "a".'}),
        ({"type": "boolean", "const": True}, {"type": "boolean", "description": "One of: true."}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "string", "format": "date"}, {"type": "string", "description": "Format: date."}),
        ({"type": "string", "minLength": 1, "pattern": "^a"}, {"type": "string", "minLength": 1, "pattern": "^a"}),
        (
            {"type": "string", "pattern": "(?=a)"},
            {"type": "string", "description": "Matches the regular expression (?=a)"},
        ),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "description": "More than 0."}),
        (
            {"type": "number", "minimum": 0, "default": 1},
            {"type": "number", "minimum": 0, "description": "Default: 1."},
        ),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            {"type": "array", "items": {"type": "string"}, "description": "No item twice."},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
            {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 2,
                "maxItems": 2,
                "description": "The items in order: string, string.",
            },
        ),
        (
            {**an_object(x={"type": "string"}), "additionalProperties": False},
            {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
        ),
    ],
    ids=str,
)
def test_schema_is_written_in_gemini_openapi(schema: Schema, sent: Schema) -> None:
    assert of_a(schema) == sent


def test_definitions_are_written_out_where_they_are_referred_to() -> None:
    definition = {**an_object(x={"type": "string"}), "description": "An X."}

    assert of_a({"$ref": "#/$defs/X", "description": "Which."}, X=definition) == {
        "type": "object",
        "properties": {"x": {"type": "string"}},
        "required": ["x"],
        "description": "Which. An X.",
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"Node": NODE}, **an_object(a={"$ref": "#/$defs/Node"})},
        an_object(a={"type": "object", "additionalProperties": {"type": "string"}}),
        an_object(a={"type": "object"}),
        an_object(a={}),
        an_object(a={"type": "array", "items": {}}),
        {"type": "object", "additionalProperties": {"type": "string"}, "properties": {}},
    ],
    ids=str,
)
def test_schema_beyond_gemini_openapi_is_json_schema(schema: Schema) -> None:
    described = describe(Described("brew", schema))

    assert described["parameters_json_schema"] == schema
    assert "parameters" not in described


@pytest.mark.parametrize(
    "schema", [an_object(), {"type": "object"}, {}, {**an_object(), "additionalProperties": False}]
)
def test_a_tool_without_parameters_has_none(schema: Schema) -> None:
    assert describe(Described("brew", schema)) == {"name": "brew", "description": "Does something."}
