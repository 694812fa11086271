"""Schemas as other languages write them: the tool stays, with what is meant."""

from __future__ import annotations

import copy
from typing import Any

from ez_ptc import Tool
from ez_ptc.schema.imported.parameters import check_result_schema, repair_slips

TEXT = {"type": "string"}
VALUES: list[dict[str, Any]] = [
    {"properties": {"required": {"type": "boolean"}, "type": TEXT}, "required": ["type"]},
    {"properties": {"a": {"enum": [None, {"required": True}], "default": {"type": "STRING", "x": None}}}},
    {"properties": {"a": {"const": None}}, "examples": [{"properties": []}]},
    {"properties": {"a": {"type": "file"}}, "required": "a"},
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


def test_values_and_names_are_no_keywords() -> None:
    for schema in VALUES:
        assert repair_slips(copy.deepcopy(schema)) == schema
