"""Given schemas are compiled on first use, unless they may be invalid."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import SchemaError
from ez_ptc.tools.tool import Tool

VALUES: list[Any] = json.loads(
    r"""[null, true, 0, -1, 2, 1.5, 1152921504606846976, Infinity, "", "string", "object", "\ud800", [], {}, [[]], [1],
    ["a"], ["a", "a"], ["string", "null"], [{}], {"a": 1}, [{"a": 1}], {"a": {"type": "strin"}}, {"\ud800": {}},
    "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#"]"""
)
KEYWORDS = (
    "type title description format enum const default properties required items additionalProperties anyOf allOf oneOf "
    "minimum exclusiveMaximum minLength maxItems uniqueItems deprecated $schema $ref pattern nullable x-other"
)
KEYWORD = st.sampled_from(KEYWORDS.split(" "))


def larger(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)}),
    )


SCHEMA = st.recursive(st.dictionaries(KEYWORD, st.sampled_from(VALUES), max_size=3), larger, max_leaves=4)


def echo(**arguments: object) -> dict[str, object]:
    return arguments


@given(schema=SCHEMA)
def test_invalid_schema_is_refused_before_any_call(schema: dict[str, Any]) -> None:
    try:
        tool = Tool.from_schema("find", "Find.", {"type": "object", "properties": {"x": schema}}, echo)
    except SchemaError:
        return
    assert "not a valid JSON Schema" not in (tool.execute(x=1).error or "")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"type": []},
        {"type": ["string", 1]},
        {"required": "a"},
        {"required": ["a", 1]},
        {"properties": ["a"]},
        {"properties": {"a": {"type": 1}}},
        {"items": {"enum": 1}},
        {"anyOf": []},
        {"minimum": "1"},
        {"maxLength": -1},
        {"$ref": "#/missing"},
    ],
)
def test_schema_with_one_mistake_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match=r"find: its (parameters are not a valid JSON Schema|schema at)"):
        Tool.from_schema("find", "Find.", {"type": "object", "properties": {"x": schema}}, echo)


def test_common_schema_is_not_compiled_before_a_call() -> None:
    program = """
import sys
from ez_ptc.tools.tool import Tool

text = {"type": "string", "title": "Text", "maxLength": 9007199254740991, "enum": ["a", "b"]}
choice = {"anyOf": [{"type": "array", "items": {"type": ["string", "null"]}}, {"type": "null"}], "default": None}
schema = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"text": text, "choice": choice},
    "required": ["text"],
    "additionalProperties": False,
}
tool = Tool.from_schema("find", "Find.", schema, lambda **arguments: arguments)
print("jsonschema_rs" in sys.modules, tool.call({"text": "a"}), "jsonschema_rs" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "False {'text': 'a'} True\n"
