"""Refusals of foreign schemas with conditions: they say what is missing or wrong, and not only that something is."""

from typing import Any

import pytest

from ez_ptc.tools.tool import Tool
from tests.schema.suite.measure import echo

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
IS_WEB: Schema = {"properties": {"mode": {"const": "web"}}, "required": ["mode"]}
FETCH: Schema = {"properties": {"mode": TEXT, "url": TEXT, "depth": NUMBER}}
WEB_NEEDS_URL: Schema = {"if": IS_WEB, "then": {"required": ["url"]}, "else": {"properties": {"depth": {"maximum": 3}}}}
URL_NEEDS_DEPTH: Schema = {
    "dependentSchemas": {"url": {"required": ["depth"], "properties": {"depth": {"minimum": 1}}}}
}

CONDITIONS: list[tuple[Schema, Schema, str]] = [
    (WEB_NEEDS_URL, {"mode": "web"}, "'a.url' is missing"),
    (WEB_NEEDS_URL, {"mode": "disk", "depth": 4}, "'a.depth' is greater than the maximum of 3, got int 4"),
    ({"allOf": [WEB_NEEDS_URL, URL_NEEDS_DEPTH]}, {"mode": "web", "url": "u"}, "'a.depth' is missing"),
    (URL_NEEDS_DEPTH, {"url": "u", "depth": 0}, "'a.depth' is less than the minimum of 1, got int 0"),
    ({"properties": {"mode": {"const": "web"}}}, {"mode": "disk"}, "'a.mode' must be 'web', got str 'disk'"),
    ({"propertyNames": {"pattern": "^[a-z]+$"}}, {"mode": "x", "Url": "u"}, "'a' has the key 'Url', which its schema"),
    (
        {"properties": {"l": {"contains": NUMBER}}},
        {"l": ["x"]},
        "'a.l' does not contain the items that its schema asks",
    ),
]


def fetch_tool(schema: Schema) -> Tool[..., Any]:
    properties = {**FETCH["properties"], **schema.get("properties", {})}
    root = {"type": "object", "properties": {"a": {"type": "object", **schema, "properties": properties}}}
    return Tool.from_schema("fetch", "Fetch.", root, echo)


@pytest.mark.parametrize(("schema", "value", "problem"), CONDITIONS)
def test_refusal_by_a_condition_says_what_is_wrong(schema: Schema, value: Schema, problem: str) -> None:
    error = fetch_tool(schema).execute(a=value).error
    assert error is not None
    assert error.startswith(f"fetch: {problem}")


@pytest.mark.parametrize("condition", [WEB_NEEDS_URL, {"allOf": [WEB_NEEDS_URL]}])
def test_condition_about_the_arguments_says_which_is_missing(condition: Schema) -> None:
    tool = Tool.from_schema("fetch", "Fetch.", {"type": "object", **FETCH, **condition}, echo)
    assert tool.execute(mode="web").error == "fetch: 'url' is missing"
    assert tool.execute(mode="web", url="u").success


@pytest.mark.parametrize(
    ("condition", "value"),
    [({"then": NUMBER}, ["x"]), ({"then": NUMBER}, "x"), ({"then": {"allOf": [NUMBER]}}, {"b": 1})],
)
def test_argument_with_a_type_by_a_condition_alone_must_be_of_that_type(condition: Schema, value: object) -> None:
    root = {"type": "object", "properties": {"a": {"if": {"not": {"type": "null"}}, **condition}}}
    error = Tool.from_schema("fetch", "Fetch.", root, echo).execute(a=value).error
    assert error is not None
    assert error.startswith("fetch: 'a' must be int, got ")


def test_text_in_a_condition_is_repaired() -> None:
    schema = {"if": IS_WEB, "then": {"properties": {"tags": {"type": "array", "items": TEXT}}}}
    result = fetch_tool(schema).execute(a={"mode": "web", "tags": '["x"]'})
    assert result.output == {"a": {"mode": "web", "tags": ["x"]}}
    assert result.repairs == ("'a.tags' was JSON text and is read",)
