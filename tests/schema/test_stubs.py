"""JSON Schemas as the Python text that a model reads."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.schema.stubs import type_text

PARCEL: dict[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "string"}, "grams": {"type": "integer"}, "fragile": {"type": "boolean"}},
}

TEXTS: dict[str, tuple[dict[str, Any], str]] = {
    "an object": (PARCEL, "{number: str, grams: int, fragile: bool}"),
    "a list of objects": ({"type": "array", "items": PARCEL}, "list[{number: str, grams: int, fragile: bool}]"),
    "lists within objects": (
        {"type": "object", "properties": {"labels": {"type": "array", "items": {"type": "string"}}}},
        "{labels: list[str]}",
    ),
    "an object with no type keyword": ({"properties": {"price": {"type": "number"}}}, "{price: float}"),
    "a key that may be absent": ({**PARCEL, "required": ["number"]}, "{number: str, grams?: int, fragile?: bool}"),
    "a key that is no name": ({"properties": {"net weight": {"type": "number"}}}, "{'net weight': float}"),
    "values by any key": ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
    "an object that says nothing": ({"type": "object"}, "dict"),
    "an array that says nothing": ({"type": "array"}, "list"),
    "a schema that says nothing": ({}, "Any"),
    "a tuple": ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, "tuple[int, str]"),
    "a set": ({"type": "array", "uniqueItems": True, "items": {"type": "string"}}, "set[str]"),
    "one of several": ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "int | str"),
    "something or nothing": ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "int | None"),
    "several types in one keyword": ({"type": ["string", "null"]}, "str | None"),
    "choices": ({"type": "string", "enum": ["air", "sea"]}, "'air' | 'sea'"),
    "one choice": ({"const": 3}, "3"),
    "choices or null": ({"type": ["string", "null"], "enum": ["air", None, "sea"]}, "'air' | 'sea' | None"),
    "choices or null of any type": ({"enum": [None, 1]}, "1 | None"),
    "choices with a null of another type": ({"type": "string", "enum": ["air", None]}, "'air'"),
    "choices beside null": ({"anyOf": [{"enum": ["air", None]}, {"type": "null"}]}, "'air' | None"),
    "null before choices": ({"oneOf": [{"enum": [None]}, {"enum": [""]}, {"enum": ["air"]}]}, "None | '' | 'air'"),
    "null alone": ({"enum": [None]}, "None"),
    "too many choices": ({"type": "integer", "enum": list(range(50))}, "int"),
    "times": ({"type": "string", "format": "date-time"}, "datetime"),
    "bytes": ({"type": "string", "contentEncoding": "base64"}, "bytes"),
    "an unknown format": ({"type": "string", "format": "hostname"}, "str"),
    "a reference": ({"$ref": "#/$defs/P", "$defs": {"P": PARCEL}}, "{number: str, grams: int, fragile: bool}"),
    "a field that is no schema": ({"properties": {"number": True}}, "{number: Any}"),
    "a reference to nothing": ({"$ref": "#/$defs/Gone"}, "Gone"),
    "a type within itself": (
        {"$ref": "#/$defs/Box", "$defs": {"Box": {"properties": {"inner": {"$ref": "#/$defs/Box"}}}}},
        "{inner: Box}",
    ),
}


@pytest.mark.parametrize(("schema", "text"), TEXTS.values(), ids=TEXTS.keys())
def test_a_schema_reads_as_python(schema: dict[str, Any], text: str) -> None:
    assert type_text(schema) == text


def test_definitions_that_double_at_each_level_stay_readable() -> None:
    """Thirty levels of two would be a thousand million fields."""
    definitions = {
        f"L{level}": {"properties": {side: {"$ref": f"#/$defs/L{level + 1}"} for side in ("left", "right")}}
        for level in range(30)
    }

    assert "{left: L8, right: L8}" in type_text({"$ref": "#/$defs/L0", "$defs": definitions})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["object", "array", "#/$defs/a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "enum", "$ref", "$defs", "required", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "$ref", "$defs", "enum", "items"]), JSON))
def test_any_schema_value_becomes_text(schema: dict[str, Any]) -> None:
    assert type_text(schema)
