"""Hostile schemas of a tool cost time and memory linear in their size, for everything that is made of them."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc import Tool, Toolkit
from ez_ptc.errors import ArgumentsError, SchemaError
from tests.costs.growth import check_growth

pytestmark = pytest.mark.security

_Schema = dict[str, Any]
_Make = Callable[[int], _Schema]
STRING: _Schema = {"type": "string"}
MANY: _Schema = {"$ref": "#/$defs/many"}


def _object(properties: _Schema, **more: object) -> _Schema:
    return {"type": "object", "properties": properties, **more}


def _numbered(size: int, make: _Make) -> _Schema:
    return {f"p{number}": make(number) for number in range(size)}


def _shared(properties: _Schema, definition: _Schema, **more: object) -> _Schema:
    return {"type": "object", "properties": properties, "$defs": {"many": definition}, **more}


SHAPES: dict[str, _Make] = {
    "properties that share a definition of many": lambda size: _shared(
        _numbered(size, lambda _: MANY), _object(_numbered(size, lambda _: STRING))
    ),
    "properties that extend a definition of many": lambda size: _shared(
        _numbered(size, lambda number: {**MANY, "minProperties": number}), _object(_numbered(size, lambda _: STRING))
    ),
    "properties that share an enum of many": lambda size: _shared(
        _numbered(size, lambda _: MANY), {"enum": [f"v{number}" for number in range(size)]}
    ),
    "properties that share a definition of many rules": lambda size: _shared(
        _numbered(size, lambda number: {**MANY, "minProperties": number}),
        {"allOf": [{"maxProperties": number} for number in range(size)]},
    ),
    "properties that extend a long text": lambda size: _shared(
        _numbered(size, lambda number: {**MANY, "maxLength": number}),
        {"type": "string", "description": "x y " * size * 8},
    ),
    "properties with a definition each": lambda size: {
        **_object(_numbered(size, lambda number: {"$ref": f"#/$defs/p{number}"})),
        "$defs": _numbered(size, lambda _: _object({"a": STRING})),
    },
    "branches at the root that share a definition of many rules": lambda size: _shared(
        {},
        {"allOf": [{"maxProperties": number} for number in range(size)]},
        anyOf=[{**MANY, "required": [f"y{number}"]} for number in range(size)],
    ),
    "branches at the root with a schema each for one property": lambda size: _object(
        {}, anyOf=[{"properties": {"a": {"maxLength": number}}} for number in range(size)]
    ),
    "alternatives": lambda size: _object({"x": {"anyOf": [{"maxLength": number} for number in range(size)]}}),
    "properties that share a union of many": lambda size: _shared(
        _numbered(size, lambda number: {**MANY, "description": f"{number}"}),
        {"anyOf": [_object({f"q{number}": STRING}) for number in range(size)]},
    ),
    "properties that share a union of unknown types": lambda size: _shared(
        _numbered(size, lambda _: MANY), {"anyOf": [{"maxLength": number} for number in range(size)]}
    ),
    "properties that share a secret": lambda size: _shared(
        _numbered(size, lambda _: {**MANY, "default": {}}),
        _object({**_numbered(size, lambda _: STRING), "z": {"type": "string", "writeOnly": True}}),
    ),
    "enums of many that hold at once": lambda size: _object(
        {"x": {"allOf": [{"enum": [f"v{number}" for number in range(10 * size)]}] * 2}}
    ),
    "described properties": lambda size: _object(
        _numbered(size, lambda number: {"type": "string", "description": f"The value {number} of all."})
    ),
}


def _accept(**_: object) -> None:
    """Take any arguments."""


def _make(schema: _Schema) -> Tool[..., Any] | None:
    try:
        return Tool.from_schema("t", "Does it.", schema, _accept)
    except SchemaError:
        return None


def _describe(schema: _Schema) -> None:
    if (tool := _make(schema)) is None:
        return
    assert len(tool.signature) < 1_000_000
    toolkit = Toolkit([tool], assist_tool_chaining=True)
    toolkit.prompt()
    toolkit.stubs()
    toolkit.check("print(t(p0=1).a, t(zz=2))")
    assert tool.parameter_list


def _convert(schema: _Schema) -> None:
    if (tool := _make(schema)) is None:
        return
    for name, strict in (("openai", False), ("anthropic", True), ("gemini", False)):
        with contextlib.suppress(SchemaError):
            tool.to_format(name, strict=strict)


def _call(schema: _Schema) -> None:
    if (tool := _make(schema)) is None:
        return
    with contextlib.suppress(ArgumentsError):
        tool.call({"p0": 1, "p1": {"z": 1}, "x": 1.5, "unknown": 3})


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("run", [_describe, _convert, _call], ids=["describing", "converting", "calling"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_tool_of_any_schema_takes_linear_time(shape: _Make, run: Callable[[_Schema], None]) -> None:
    check_growth(shape, run, start=400, most=400, bytes_each=150_000)
