"""Patterns that are large with their repetitions written out: long texts are checked without them."""

from __future__ import annotations

from typing import Any

import pytest

from ez_ptc import Tool
from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.imported.parameters import check_result_schema

LARGE = "^(?:a{0,60}){0,60}$"
LONG = "a" * 2_000 + "!"
SHORT = "aa!"


def _echo(**arguments: Any) -> object:
    return arguments


def _tool(schema: dict[str, Any]) -> Tool[..., Any]:
    return Tool.from_schema("t", "T.", {"type": "object", **schema}, _echo)


SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"properties": {"v": {"type": "string", "pattern": LARGE}}},
    "in a list": {"properties": {"v": {"anyOf": [{"type": "integer"}, {"pattern": LARGE}]}}},
    "behind a reference": {"properties": {"v": {"$ref": "#/$defs/V"}}, "$defs": {"V": {"pattern": LARGE}}},
    "beside small ones": {"properties": {"v": {"allOf": [{"pattern": "a"}, {"pattern": LARGE}]}}},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_long_text_is_left_to_its_server(schema: dict[str, Any]) -> None:
    tool = _tool(schema)

    assert tool.call({"v": LONG}) == {"v": LONG}
    assert tool.call({"v": "aa"}) == {"v": "aa"}
    with pytest.raises(ArgumentsError):
        tool.call({"v": SHORT})


@pytest.mark.parametrize("length", [1, 100_000])
def test_small_pattern_is_checked_at_any_length(length: int) -> None:
    tool = _tool({"properties": {"v": {"pattern": "^a{1,9}+$"}, "w": {"pattern": LARGE}}})

    with pytest.raises(ArgumentsError):
        tool.call({"v": "a" * length + "!"})


def test_long_keys_are_left_to_their_server() -> None:
    rules = {"patternProperties": {LARGE: {"type": "integer"}}, "additionalProperties": False}
    tool = _tool({"properties": {"v": {"type": "object", **rules}}})

    assert tool.call({"v": {LONG: 1}}) == {"v": {LONG: 1}}
    for refused in ({"aa": "text"}, {SHORT: 1}):
        with pytest.raises(ArgumentsError):
            tool.call({"v": refused})


def test_what_only_looks_like_a_pattern_is_checked() -> None:
    named = {"pattern": {"type": "integer"}, "v": {"enum": [{"pattern": LARGE}, "x"]}, "w": {"pattern": LARGE}}
    tool = _tool({"properties": named})

    assert tool.call({"v": {"pattern": LARGE}, "w": LONG})
    for refused in ({"pattern": "text"}, {"v": {"pattern": "other"}}):
        with pytest.raises(ArgumentsError):
            tool.call({**refused, "w": LONG})


def test_long_text_of_a_result_is_not_refused() -> None:
    find_problem = check_result_schema("t", {"properties": {"v": {"pattern": LARGE}, "n": {"type": "integer"}}})

    assert find_problem({"v": LONG}) is None
    assert find_problem({"v": SHORT}) is not None
    assert find_problem({"v": LONG, "n": "text"}) is not None
