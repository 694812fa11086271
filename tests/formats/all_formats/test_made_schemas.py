"""Schemas made at random: each export is what its provider takes, and allows what the schema allowed."""

import re
from collections.abc import Mapping
from typing import Any, cast

import jsonschema_rs
import pytest
from hypothesis import example, given

from ez_ptc.errors import SchemaError
from ez_ptc.formats import mcp
from ez_ptc.formats.anthropic import tools as anthropic
from ez_ptc.formats.catalog import describe_all, names_for
from ez_ptc.formats.gemini import tools as gemini
from ez_ptc.formats.openai_chat import tools as openai
from tests.formats.all_formats.made import MANY_UNIONS, tools
from tests.formats.refusals import refusals
from tests.formats.shapes import Described

Schema = dict[str, Any]


def allows(schema: Schema, value: object) -> bool:
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@given(tools())
def test_arguments_that_were_allowed_stay_allowed(made: tuple[Schema, dict[str, Any]]) -> None:
    parameters, arguments = made
    tool = Described("brew", parameters)

    assert allows(openai.describe(tool)["function"]["parameters"], arguments)
    assert allows(mcp.describe(tool)["inputSchema"], arguments)
    assert allows(anthropic.describe(tool)["input_schema"], _as_sent(tool, "anthropic", arguments))


@given(tools())
def test_no_export_is_refused(made: tuple[Schema, dict[str, Any]]) -> None:
    parameters, _ = made
    tool = Described("brew", parameters)

    for format_name in ("openai-chat", "openai-responses", "mistral", "anthropic", "gemini", "mcp"):
        assert refusals(format_name, describe_all([tool], format_name)[0]) == []


@given(tools())
@example(MANY_UNIONS)
@pytest.mark.parametrize("format_name", ["openai-chat", "anthropic"])
def test_strict_schema_allows_the_same_or_is_refused(format_name: str, made: tuple[Schema, dict[str, Any]]) -> None:
    parameters, arguments = made
    tool = Described("brew", parameters)
    try:
        [described] = describe_all([tool], format_name, strict=True)
    except SchemaError as error:
        # One that is too large as a whole has no parameter that is to blame.
        assert re.search("parameter '|strict mode takes at most", str(error))  # noqa: PT017 - either ending is right, and each is checked
        return
    schema = described["function"]["parameters"] if format_name == "openai-chat" else described["input_schema"]

    assert refusals(format_name, described, strict=True) == []
    assert allows(schema, _as_sent(tool, format_name, arguments))


@given(tools())
def test_gemini_schema_allows_the_same_values(made: tuple[Schema, dict[str, Any]]) -> None:
    parameters, arguments = made
    tool = Described("brew", parameters)
    described = gemini.describe(tool)
    schema = _json_schema(described["parameters"]) if "parameters" in described else described["parameters_json_schema"]

    assert allows(schema, _as_sent(tool, "gemini", arguments))


@given(tools())
@pytest.mark.parametrize("format_name", ["anthropic", "gemini"])
def test_arguments_return_under_original_parameter_names(format_name: str, made: tuple[Schema, dict[str, Any]]) -> None:
    parameters, arguments = made
    tool = Described("brew", parameters)
    names = names_for([tool], format_name)
    sent = names.to_sent("brew", arguments)

    assert sent == _as_sent(tool, format_name, arguments)
    assert names.to_parameters("brew", sent) == arguments


def _as_sent(tool: Described, format_name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    names = names_for([tool], format_name)
    sent: Mapping[str, str] = names.keys[tool.name].sent if tool.name in names.keys else {}
    renamed = {sent.get(name, name): value for name, value in arguments.items()}
    return _renamed(renamed, sent) if format_name == "gemini" else renamed


def _renamed(value: Any, sent: Mapping[str, str]) -> Any:  # noqa: ANN401 - any part of some arguments
    if isinstance(value, list):
        return [_renamed(each, sent) for each in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    return {sent.get(key, key): _renamed(each, sent) for key, each in cast("dict[str, object]", value).items()}


def _json_schema(part: object) -> Any:  # noqa: ANN401 - any part of a schema
    """Gemini's OpenAPI as JSON Schema: `nullable` is a union with null."""
    if isinstance(part, list):
        return [_json_schema(each) for each in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    schema = {key: _json_schema(value) for key, value in cast("Schema", part).items()}
    nullable = schema.pop("nullable", None) is True
    return {"anyOf": [schema, {"type": "null"}]} if nullable else schema
