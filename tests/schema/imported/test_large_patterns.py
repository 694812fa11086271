"""Patterns that would take long with a value: it is checked without them."""

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


# Each part is tried at each letter: a message of one text, or of many, would take minutes.
COSTLY = r"\p{L}{1,96}[!?]"
WORDS = {"c": "é" * 50_000, "d": ["é" * 100] * 500, "e": {"é" * 100 + str(number): 1 for number in range(500)}}
COSTLY_SCHEMAS: dict[str, dict[str, Any]] = {
    "one text": {"properties": {"c": {"pattern": COSTLY}}},
    "many texts": {"properties": {"d": {"items": {"pattern": COSTLY}}}},
    "many keys": {"properties": {"e": {"patternProperties": {COSTLY: False, "é": False}}}},
    "names of keys": {"properties": {"e": {"propertyNames": {"pattern": COSTLY}}}},
    "many patterns": {"properties": {"d": {"items": {"allOf": [{"pattern": rf"\pL{{9}}{end}"} for end in range(20)]}}}},
    "references": {
        "properties": {"d": {"items": {"$ref": "#/$defs/l0"}}},
        "$defs": {
            **{f"l{level}": {"allOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(4)},
            "l4": {"pattern": r"\p{L}{9}[!?]"},
        },
    },
    "a definition that leads to itself": {
        "properties": {"d": {"$ref": "#/$defs/tree"}},
        "$defs": {"tree": {"pattern": COSTLY, "items": {"$ref": "#/$defs/tree"}}},
    },
}


@pytest.mark.parametrize("schema", COSTLY_SCHEMAS.values(), ids=COSTLY_SCHEMAS.keys())
def test_patterns_of_many_steps_are_left_to_the_server(schema: dict[str, Any]) -> None:
    tool = _tool(schema)
    few: dict[str, Any] = {"c": "é", "d": ["é"], "e": {"é": 1}}

    assert tool.call(WORDS) == WORDS
    with pytest.raises(ArgumentsError):
        tool.call({key: few[key] for key in schema["properties"]})


REVERSING: dict[str, dict[str, Any]] = {
    "not": {"not": {"pattern": LARGE}},
    "not, behind a reference": {"not": {"$ref": "#/$defs/V"}},
    "only one of": {"oneOf": [{"pattern": LARGE}, {"pattern": "!$"}]},
    "if": {"if": {"pattern": LARGE}, "then": {"maxLength": 9}, "else": {"minLength": 9}},
}


@pytest.mark.parametrize("schema", REVERSING.values(), ids=REVERSING.keys())
def test_valid_long_text_is_not_refused_for_missing_patterns(schema: dict[str, Any]) -> None:
    find_problem = check_result_schema("t", {"properties": {"v": schema}, "$defs": {"V": {"pattern": LARGE}}})

    assert find_problem({"v": LONG}) is None


def test_items_and_keys_are_not_refused_for_missing_patterns() -> None:
    items = {"type": "array", "contains": {"pattern": LARGE}, "minContains": 0, "maxContains": 0}
    keys = {"allOf": [{"patternProperties": {"!$": True}}], "unevaluatedProperties": False}
    find_problem = check_result_schema("t", {"properties": {"v": items, "w": keys, "x": {"pattern": LARGE}}})

    assert find_problem({"v": [LONG], "w": {LONG: 1}, "x": LONG}) is None
    assert find_problem({"v": [1], "w": {"!": 1}, "x": LONG}) is None
    assert find_problem({"v": ["a"], "x": "a"}) is not None


OTHERS: dict[str, dict[str, Any]] = {
    "not": {"not": {"required": ["a"], "unevaluatedProperties": False}},
    "only one of": {"oneOf": [{"unevaluatedProperties": False}, {"required": ["a"]}]},
    "if": {"if": {"unevaluatedProperties": False}, "then": {"maxProperties": 1}},
    "contains": {"properties": {"b": {"contains": {"unevaluatedItems": False}, "maxContains": 0, "minContains": 0}}},
}


@pytest.mark.parametrize("schema", OTHERS.values(), ids=OTHERS.keys())
def test_valid_long_text_is_not_refused_for_missing_rules_for_other_keys(schema: dict[str, Any]) -> None:
    find_problem = check_result_schema("t", {"properties": {"a": {"pattern": LARGE}}, "allOf": [schema]})

    assert find_problem({"a": "aa", "b": [[1]]}) is None
    assert find_problem({"a": LONG, "b": [[1]]}) is None


def test_costly_pattern_beside_a_long_text_is_checked() -> None:
    tool = _tool({"properties": {"v": {"pattern": LARGE}, "w": {"type": "string"}, "x": {"items": {"pattern": "a"}}}})

    with pytest.raises(ArgumentsError):
        tool.call({"v": SHORT, "w": "a" * 1_000_000, "x": ["a"] * 1_000})


@pytest.mark.parametrize("length", [1, 100_000])
def test_small_pattern_is_checked_on_long_texts(length: int) -> None:
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


def test_key_that_is_no_text_is_refused_beside_a_long_text() -> None:
    tool = _tool({"properties": {"v": {"type": "object", "patternProperties": {LARGE: {"pattern": LARGE}}}}})

    for text in (SHORT, LONG):
        with pytest.raises(ValueError, match="key must be str"):
            tool.call({"v": {1: text}})
