import ast
from math import inf, nan
from typing import Any

import pytest

from ez_ptc.toolkit.prompting.sample_values import sample_arguments


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "some size"),
        ({"type": "string", "format": "date"}, "2025-01-31"),
        ({"type": "string", "description": "A size (e.g. 'XL')"}, "XL"),
        ({"type": "string", "examples": ["S"]}, "S"),
        ({"enum": [3, 4]}, 3),
        ({"const": "S"}, "S"),
        ({"type": "integer", "minimum": 7}, 7),
        ({"type": "number"}, 1.5),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array"}, ["some size"]),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"$ref": "#/$defs/Size"}, {"width": 1, "unit": "cm"}),
        ({"$ref": "#/$defs/Nowhere"}, "some size"),
        ({}, "some size"),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "integer", "minimum": 3, "multipleOf": 5}, 5),
        ({"type": "integer", "minimum": 10, "multipleOf": 7}, 14),
        ({"type": "integer", "minimum": 2.5, "maximum": 4}, 4),
        ({"type": "integer", "minimum": 2.5}, 3),
        ({"type": "integer", "minimum": 10**400}, 1),
        ({"type": "integer", "minimum": 10**400, "maximum": 10**400 + 1}, 1),
        ({"type": "number", "multipleOf": 10**400}, 1.5),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "string", "maxLength": 2}, "so"),
        ({"type": "string", "contentEncoding": "base64"}, b"some size"),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}]}, [1, True]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "array", "maxItems": 0}, []),
    ],
)
def test_sample_argument_is_documented_or_of_its_type(schema: dict[str, Any], value: object) -> None:
    size = {"type": "object", "properties": {"width": {"type": "integer"}, "unit": {"const": "cm"}}}
    parameters = {"properties": {"size": schema}, "required": ["size"], "$defs": {"Size": size}}

    assert sample_arguments(parameters, ("size",)) == repr(value)


def test_a_type_that_contains_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    looped = {"properties": {"a": {"$ref": "#/$defs/Node"}}, "required": ["a"], "$defs": {"Node": node}}
    endless = {"properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"], "$defs": {"A": {"$ref": "#/$defs/A"}}}

    assert sample_arguments(looped, ("a",)).count("next") == 4
    assert sample_arguments(endless, ("a",)) == "'some a'"


def test_optional_record_fields_are_omitted() -> None:
    node = {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}}}
    parameters = {"properties": {"node": {"$ref": "#/$defs/Node"}}, "required": ["node"]}
    definitions = {"Node": {**node, "required": ["value"]}}

    assert sample_arguments({**parameters, "$defs": definitions}, ("node",)) == "{'value': 1}"


def test_arguments_after_an_optional_one_go_by_name() -> None:
    parameters = {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["b"]}

    assert sample_arguments(parameters, ("a", "b")) == "b=1"


@pytest.mark.parametrize(
    "value",
    [
        10**5_000,
        -(10**400),
        nan,
        inf,
        "x" * 1_000,
        "a\nb",
        "\u2028",
        "\x1b[2J",
        "```",
        {"a": {"b": {"c": {"d": {"e": 1}}}}},
    ],
    ids=range(10),
)
@pytest.mark.parametrize("keyword", ["examples", "enum", "const"])
@pytest.mark.parametrize("kind", ["string", "integer", "number", "array", "object", "boolean", ["string", "null"]])
def test_long_or_structured_value_is_in_no_sample(value: object, keyword: str, kind: object) -> None:
    for documented in (value, [value], {"a": value}):
        schema = {"type": kind, keyword: documented if keyword == "const" else [documented]}
        text = sample_arguments({"properties": {"a": schema}, "required": ["a"]}, ["a"])
        assert isinstance(ast.literal_eval(text), object)
        assert len(text) < 60


def test_first_plain_documented_value_is_used() -> None:
    schema = {"properties": {"a": {"enum": ["x\ny", "z" * 100, "open"]}}, "required": ["a"]}
    assert sample_arguments(schema, ["a"]) == "'open'"
