"""Tools as formats see them, and schemas of every kind that a tool may come with."""

from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True)
class Described:
    """All that a format may look at."""

    name: str
    parameters: Schema
    prose: str = "Does something."
    return_schema: Schema | None = None
    read_only: bool | None = None
    strict: bool | None = None
    category: str | None = None


def an_object(required: list[str] | None = None, /, **properties: Any) -> Schema:
    """An object's schema, in which every property is required unless it is said which."""
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, **({"required": names} if names else {})}


NODE: Schema = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": None},
    },
    "required": ["value"],
}

# What strict modes can say.
TYPED: dict[str, Schema] = {
    "no parameters": {"type": "object", "properties": {}},
    "no properties": {"type": "object"},
    "scalars": an_object(
        a={"type": "string"}, b={"type": "integer"}, c={"type": "number"}, d={"type": "boolean"}, e={"type": "null"}
    ),
    "constraints": an_object(
        a={"type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$", "format": "email"},
        b={"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 3},
        c={"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 5, "uniqueItems": True},
        d={"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
        e={"type": "string", "format": "binary"},
        f={"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"},
    ),
    "defaults": an_object(
        [],
        a={"type": "integer", "default": 5, "description": "How many."},
        b={"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        c={"type": "array", "items": {"type": "string"}, "default": ["x"]},
    ),
    "choices": an_object(
        a={"type": "string", "enum": ["x", "y", ""]},
        b={"type": "integer", "enum": [1, 2]},
        c={"enum": ["a", 1, True, None, 1.5]},
        d={"const": "on"},
        e={"const": 3},
        f={"type": "string", "enum": ["x", "x"]},
        g={"type": ["string", "null"], "enum": ["x", None]},
    ),
    "unions": an_object(
        a={"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "Which."},
        b={"anyOf": [{"type": "string", "description": "A name."}, {"type": "null"}]},
        c={"type": ["string", "integer", "null"], "minimum": 3, "maxLength": 4},
        d={"anyOf": [{"anyOf": [{"type": "string"}, {"type": "number"}]}, {"type": "boolean"}]},
        e={"anyOf": [{"type": "integer"}]},
    ),
    "tuples": an_object(
        a={"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        b={"type": "array", "items": [{"type": "integer"}, {"type": "integer"}], "additionalItems": False},
        c={"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
    ),
    "nested": an_object(a=an_object(b=an_object([], c={"type": "array", "items": an_object(d={"type": "string"})}))),
    "recursive": {"$defs": {"Node": NODE}, **an_object(n={"$ref": "#/$defs/Node", "description": "The first."})},
    "shared definitions": {
        "definitions": {"A b": an_object(x={"type": "string", "nullable": True}), "C": {"$ref": "#/definitions/A%20b"}},
        **an_object([], a={"$ref": "#/definitions/A%20b"}, c={"$ref": "#/definitions/C"}),
    },
    "allOf": {
        "$defs": {"A": an_object(x={"type": "string"})},
        **an_object(
            a={"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"y": {"type": "integer"}}, "required": ["y"]}]},
            b={"allOf": [{"$ref": "#/$defs/A"}], "description": "Alone."},
            c={"allOf": [{"type": "number", "minimum": 1}, {"type": "integer", "maximum": 9}]},
        ),
    },
    "a union at the root": {"oneOf": [an_object(a={"type": "string"}), an_object(b={"type": "integer"})]},
    "required at the root": {
        **an_object([], a={"type": "string"}, b={"type": "string"}),
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "a reference at the root": {"$ref": "#/$defs/In", "$defs": {"In": an_object(a={"type": "string"})}},
    "no type at the root": {"properties": {"a": {"type": "string"}}},
    "conditions": {
        **an_object(["a"], a={"type": "string", "not": {"enum": ["x"]}}, b={"type": "integer"}),
        "if": {"properties": {"a": {"const": "y"}}},
        "then": {"required": ["b"]},
        "dependentRequired": {"b": ["a"]},
        "minProperties": 1,
    },
    "older drafts": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "$id": "https://example.com/schema",
        "title": "Old",
        "x-order": 3,
        **an_object(
            a={"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            b={"type": "number", "maximum": 1, "exclusiveMaximum": False, "x-unit": "m", "title": "B"},
            c={"type": "string", "example": "x", "examples": ["y"], "nullable": True, "readOnly": True},
            d={"type": "STRING", "deprecated": True},
        ),
    },
    "choices of lists and objects": an_object(
        a={"type": "array", "items": {"type": "integer"}, "enum": [[1], [1, 2]]},
        b={**an_object(x={"type": "string"}), "const": {"x": "y"}},
    ),
    "names that are keywords": an_object(
        **{each: {"type": "string"} for each in ("type", "properties", "$ref", "anyOf", "title", "items", "default")}
    ),
    "names that providers refuse": an_object(
        **{
            "a b": {"type": "string"},
            "a_b": {"type": "string"},
            "größe": {"type": "number"},
            "x" * 90: {"type": "null"},
        }
    ),
    "missing keys that are required": {**an_object(a={"type": "string"}), "required": ["a", "b", "a"]},
    "implied types": an_object(
        a={"properties": {"x": {"minLength": 1}}}, b={"items": {"minimum": 3}}, c={"enum": ["x"]}, d={"format": "date"}
    ),
    "union beside an object": an_object(
        a={
            "type": "object",
            "properties": {"x": {"type": "string"}},
            "anyOf": [{"required": ["x"], "properties": {"y": {"type": "integer"}}}, {"type": "null"}],
        }
    ),
    "a hundred parameters": an_object(**{f"p{at}": {"type": "string"} for at in range(100)}),
    "twenty optional parameters": an_object([], **{f"p{at}": {"type": "string"} for at in range(20)}),
}

# What strict modes have no way to say.
FREE: dict[str, Schema] = {
    "a dict": an_object(a={"type": "object", "additionalProperties": {"type": "integer"}}),
    "a bare dict": an_object(a={"type": "object"}),
    "patterns": an_object(a={"type": "object", "patternProperties": {"^x-": {"type": "string"}}}),
    "anything": an_object(a={}),
    "true and false": an_object([], a=True, b=False),
    "a bare list": an_object(a={"type": "array"}),
    "a list of anything": an_object(a={"type": "array", "items": True}),
    "an open tuple": an_object(a={"type": "array", "prefixItems": [{"type": "integer"}]}),
    "itself": {"type": "object", "properties": {"a": {"$ref": "#"}, "b": True}},
    "any arguments": {"type": "object", "additionalProperties": {"type": "string"}},
    "a union with anything": an_object(a={"anyOf": [{"type": "string"}, {}]}),
}

EVERY = {**TYPED, **FREE}
