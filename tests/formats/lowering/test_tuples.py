"""Tuples in tuples are described in proportion to their schemas, in every format."""

import json
from typing import Any

import pytest

from ez_ptc import SchemaError, Tool
from ez_ptc.formats.catalog import FORMATS

_Schema = dict[str, Any]


def accept(**_: object) -> None:
    """Take any arguments."""


def nested(depth: int, innermost: _Schema, *beside: _Schema, **more: object) -> _Schema:
    value = innermost
    for _ in range(depth):
        value = {"type": "array", "prefixItems": [*beside, value], **more}
    return value


TUPLES: dict[str, _Schema] = {
    "of one item": nested(12, {"type": "string"}, items=False),
    "of two items": nested(12, {"type": "string"}, {"type": "integer"}, maxItems=2),
    "of two equal items": nested(12, {"type": "string"}, {"type": "string"}, items=False, minItems=2),
    "of objects": nested(
        12, {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}, items=False
    ),
    "of a long text": nested(12, {"type": "string", "description": "x " * 2_000}, items=False),
    "of many items": nested(
        6,
        nested(1, {"type": "null"}, *({"type": "string", "maxLength": n} for n in range(100)), items=False),
        items=False,
    ),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("schema", TUPLES.values(), ids=TUPLES)
def test_nested_tuples_are_described_in_proportion(schema: _Schema, name: str, *, strict: bool) -> None:
    tool = Tool.from_schema("t", "Does it.", {"type": "object", "properties": {"x": schema}}, accept)
    try:
        described = json.dumps(tool.to_format(name, strict=strict))
    except SchemaError:  # strict modes have fewer levels
        return
    assert len(described) < 12 * len(json.dumps(schema)) + 4_000


def test_items_of_a_short_tuple_are_described_twice() -> None:
    """Some models read `items` alone."""
    pair = nested(1, {"type": "string"}, {"type": "integer"}, maxItems=2)
    tool = Tool.from_schema("t", "Does it.", {"type": "object", "properties": {"x": pair}}, accept)
    x = tool.to_format("openai")["function"]["parameters"]["properties"]["x"]
    assert x["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
