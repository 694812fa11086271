"""Where each provider wants a tool's name, description and schema."""

from typing import Any

import pytest

from ez_ptc.formats import mcp
from ez_ptc.formats.anthropic import tools as anthropic
from ez_ptc.formats.mistral import tools as mistral
from ez_ptc.formats.openai_chat import tools as openai
from ez_ptc.formats.openai_responses import tools as responses
from tests.formats.refusals import refusals
from tests.formats.shapes import NODE, Described, an_object

PARAMETERS = an_object(cups={"type": "integer"})
TOOL = Described("brew", PARAMETERS, "Brew tea.")


def test_chat_completions_and_mistral_want_a_function() -> None:
    function = {"name": "brew", "description": "Brew tea.", "parameters": PARAMETERS}

    assert openai.describe(TOOL) == {"type": "function", "function": function}
    assert mistral.describe(TOOL) == {"type": "function", "function": function}


def test_responses_want_it_flat() -> None:
    assert responses.describe(TOOL) == {
        "type": "function",
        "name": "brew",
        "description": "Brew tea.",
        "parameters": PARAMETERS,
        "strict": False,
    }


def test_anthropic_wants_an_input_schema() -> None:
    assert anthropic.describe(TOOL) == {"name": "brew", "description": "Brew tea.", "input_schema": PARAMETERS}


@pytest.mark.parametrize(
    ("returned", "listed"),
    [
        (an_object(kind={"type": "string"}), an_object(kind={"type": "string"})),
        ({"$defs": {"Node": NODE}, **an_object(n={"$ref": "#/$defs/Node"})},) * 2,
        ({"type": "array", "items": an_object()}, None),
        ({"type": "string"}, None),
        (None, None),
    ],
)
def test_mcp_lists_output_schema_only_for_objects(
    returned: dict[str, Any] | None, listed: dict[str, Any] | None
) -> None:
    described = mcp.describe(Described("brew", PARAMETERS, "Brew tea.", returned))

    assert described.pop("outputSchema", None) == listed
    assert described == {"name": "brew", "description": "Brew tea.", "inputSchema": PARAMETERS}


def test_mcp_keeps_all_of_json_schema() -> None:
    schema = {
        **an_object(
            a={"type": "array", "prefixItems": [{"const": 1}]}, b={"oneOf": [{"type": "string"}, {"type": "null"}]}
        ),
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }

    assert mcp.describe(Described("brew", schema))["inputSchema"] == schema


SENT: dict[str, Any] = {"type": "function", "function": {"name": "a", "description": "A.", "parameters": an_object()}}


def _function(strict: bool = False, **parameters: Any) -> dict[str, Any]:
    function: dict[str, Any] = {**SENT["function"], "parameters": {"type": "object", "properties": {}, **parameters}}
    return {"type": "function", "function": {**function, "strict": True} if strict else function}


@pytest.mark.parametrize(
    ("format_name", "strict", "described"),
    [
        ("openai-chat", False, {**SENT, "function": {**SENT["function"], "name": "a.b"}}),
        ("openai-chat", False, _function(anyOf=[{}])),
        ("openai-chat", False, _function(properties={"a": {"type": "array"}})),
        ("openai-chat", False, _function(properties={"a": {"type": "any"}})),
        ("openai-chat", False, _function(properties={"a": {"$ref": "#/$defs/X"}})),
        ("openai-chat", True, _function(strict=True)),
        (
            "openai-chat",
            True,
            _function(strict=True, additionalProperties=False, properties={"a": {"type": "null"}}, required=[]),
        ),
        ("openai-chat", True, _function(strict=True, additionalProperties=False, properties={"a": {}}, required=["a"])),
        ("anthropic", False, {"name": "a", "input_schema": an_object(**{"a b": {}})}),
        ("anthropic", False, {"name": "a", "input_schema": an_object(a={"oneOf": [{}]})}),
        ("gemini", False, {"name": "1"}),
        ("gemini", False, {"name": "a", "parameters": {"type": "object", "properties": {}}}),
        ("gemini", False, {"name": "a", "parameters": an_object(a={"type": "integer", "enum": [1]})}),
        ("gemini", False, {"name": "a", "parameters": an_object(a={"type": "string", "default": "x"})}),
        (
            "gemini",
            False,
            {"name": "a", "parameters": an_object(a={"anyOf": [{"type": "string"}] * 2, "nullable": True})},
        ),
        ("mcp", False, {"name": "a b", "inputSchema": {}}),
    ],
)
def test_the_checker_that_these_tests_trust_does_refuse(
    format_name: str, strict: bool, described: dict[str, Any]
) -> None:
    assert refusals(format_name, described, strict=strict) != []
