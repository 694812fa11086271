"""The tools that the official conformance suite expects of a server, as far as a toolkit can offer them."""

from typing import Any

from ez_ptc import AudioMessage, DocumentMessage, ImageMessage, TextMessage, Tool, ToolError, Toolkit, ez_tool

_PNG = b"\x89PNG\r\n\x1a\n"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


@ez_tool
def test_simple_text() -> str:
    """Return text."""
    return "This is a simple text response for testing."


@ez_tool
def test_image_content() -> ImageMessage:
    """Return an image."""
    return ImageMessage(_PNG)


@ez_tool
def test_audio_content() -> AudioMessage:
    """Return audio."""
    return AudioMessage(b"RIFF")


@ez_tool
def test_embedded_resource() -> DocumentMessage:
    """Return a resource."""
    return DocumentMessage(b"This is an embedded resource content.", media_type="text/plain")


@ez_tool
def test_multiple_content_types() -> list[TextMessage | ImageMessage | DocumentMessage]:
    """Return text, an image and a resource."""
    data = DocumentMessage(b'{"test":"data","value":123}', media_type="application/json")
    return [TextMessage("Multiple content types test:"), ImageMessage(_PNG), data]


@ez_tool
def test_error_handling() -> str:
    """Fail."""
    message = "This tool intentionally returns an error for testing"
    raise ToolError(message)


def _schema_tool(**arguments: Any) -> str:
    return str(arguments)


_SCHEMA = {
    "$schema": _DRAFT,
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}

toolkit = Toolkit(
    [
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        Tool.from_schema("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", _SCHEMA, _schema_tool),
    ]
)
