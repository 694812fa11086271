"""Schemas as other languages write them: the tool stays, with what is meant."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ez_ptc import Tool
from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.imported.parameters import check_result_schema, repair_slips

TEXT = {"type": "string"}
VALUES: list[dict[str, Any]] = [
    {"properties": {"required": {"type": "boolean"}, "type": TEXT}, "required": ["type"]},
    {"properties": {"a": {"enum": [None, {"required": True}], "default": {"type": "STRING", "x": None}}}},
    {"properties": {"a": {"const": None}}, "examples": [{"properties": []}]},
    {"properties": {"a": {"type": "file"}}, "required": "a"},
    {"properties": {"a": TEXT}, "required": ["b"]},
    {"properties": {"a": TEXT}, "required": ["b"], "additionalProperties": {}},
    {"properties": {"a": TEXT}, "required": ["b"], "additionalProperties": False, "patternProperties": {"^b": TEXT}},
    {"required": ["b"], "additionalProperties": False},
]


def find(**arguments: object) -> str:
    return f"{arguments}"


SLIPS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "object", "properties": None, "required": None}, {"type": "object"}),
    ({"type": "object", "properties": []}, {"type": "object", "properties": {}}),
    ({"type": None, "properties": {"a": TEXT}, "additionalProperties": None}, {"properties": {"a": TEXT}}),
    ({"properties": {"a": {**TEXT, "enum": None, "description": None}}}, {"properties": {"a": TEXT}}),
    ({"properties": {"a": {**TEXT, "default": None}}}, {"properties": {"a": {**TEXT, "default": None}}}),
    (
        {"type": "OBJECT", "properties": {"a": {"type": ["STRING", "NULL"]}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
    ),
    (
        {"properties": {"a": {**TEXT, "required": True}, "b": {**TEXT, "required": False}}, "required": ["b"]},
        {"properties": {"a": TEXT, "b": TEXT}, "required": ["b", "a"]},
    ),
    (
        {"properties": {"a": {"type": "array", "items": {"properties": [], "required": None}}}},
        {"properties": {"a": {"type": "array", "items": {"properties": {}}}}},
    ),
    (
        {"properties": {"a": {"items": [], "contains": []}, "b": {"not": {"additionalProperties": []}}}},
        {"properties": {"a": {"items": {}, "contains": {}}, "b": {"not": {"additionalProperties": {}}}}},
    ),
    (
        {"properties": {"a": {**TEXT, "required": True}, "b": {**TEXT, "required": False}}, "required": {}},
        {"properties": {"a": TEXT, "b": TEXT}, "required": ["a"]},
    ),
    ({"properties": {"a": TEXT}, "required": {}}, {"properties": {"a": TEXT}}),
    ({"properties": {"a": {"type": ["any", "null"]}, "b": {"type": ["any"]}}}, {"properties": {"a": {}, "b": {}}}),
    (
        {"properties": {"a": {"type": "int"}, "b": {"type": ["str", "none"]}, "c": {"type": "any"}}},
        {"properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}, "c": {}}},
    ),
    (
        {"type": "dict", "properties": {"a": {"type": "list", "items": {"type": "Float"}}, "b": {"type": "bool"}}},
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "number"}}, "b": {"type": "boolean"}},
        },
    ),
    ({"properties": {"a": TEXT}, "required": ["a", "a"]}, {"properties": {"a": TEXT}, "required": ["a"]}),
    (
        {"properties": {"a": TEXT}, "required": ["a", "context"], "additionalProperties": False},
        {"properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False},
    ),
    (
        {"properties": {"a": {"properties": {}, "required": ["context"], "additionalProperties": False}}},
        {"properties": {"a": {"properties": {}, "required": [], "additionalProperties": False}}},
    ),
    (
        {"properties": {"a": {**TEXT, "required": True}}, "required": ["b"], "additionalProperties": False},
        {"properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False},
    ),
    ({"properties": {"a": {**TEXT, "description": ["A"], "title": 5}}}, {"properties": {"a": TEXT}}),
    (
        {"anyOf": [{"required": None}], "$defs": {"b": {"not": {"type": "ARRAY"}}}},
        {"anyOf": [{}], "$defs": {"b": {"not": {"type": "array"}}}},
    ),
]


def test_slips_are_read_as_what_they_mean() -> None:
    for schema, meant in SLIPS:
        given = copy.deepcopy(schema)
        tool = Tool.from_schema("find", "Find.", given, find)
        assert given == schema
        assert repair_slips(copy.deepcopy(schema)) == meant, schema
        assert tool.to_format("openai") == Tool.from_schema("find", "Find.", meant, find).to_format("openai"), schema
        assert check_result_schema("find", schema)({"other": 1}) == check_result_schema("find", meant)({"other": 1})


def test_tool_whose_schema_forbids_a_required_name_is_called_without_it() -> None:
    schema = {"properties": {"a": TEXT}, "required": ["a", "context"], "additionalProperties": False}
    tool = Tool.from_schema("find", "Find.", schema, find)

    assert tool.call({"a": "x"}) == "{'a': 'x'}"
    assert tool.signature == "find(a: str)"
    with pytest.raises(ArgumentsError, match=r"unknown argument 'context' \(it takes a\)"):
        tool.call({"a": "x", "context": {}})


@pytest.mark.parametrize("draft", ["draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema#", "schema#"])
def test_old_spelling_counts_whatever_draft_is_named(draft: str) -> None:
    pair = {"type": "array", "items": [{"type": "number"}, TEXT]}
    above = {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}
    schema = {"$schema": f"https://json-schema.org/{draft}", "properties": {"pair": pair, "above": above}}
    tool = Tool.from_schema("find", "Find.", schema, find)

    assert tool.call({"pair": [1, "x"], "above": 9}) == "{'pair': [1, 'x'], 'above': 9}"
    for arguments in ({"pair": ["x", "x"]}, {"pair": [1, 2]}, {"above": 0}, {"above": 10}):
        with pytest.raises(ArgumentsError):
            tool.call(arguments)


def test_values_and_names_are_no_keywords() -> None:
    for schema in VALUES:
        assert repair_slips(copy.deepcopy(schema)) == schema
