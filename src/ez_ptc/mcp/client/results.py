"""A server's answers as values: structured data, text, media and resources."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Final, cast

import mcp_types as types

from ez_ptc.errors import ToolError
from ez_ptc.mcp.client.definitions import WRAPPER_KEY
from ez_ptc.mcp.client.texts import clean_text, error_line
from ez_ptc.messages import AudioMessage, ImageMessage, MediaMessage, MessageRole, TextMessage
from ez_ptc.schema.arguments.json_text import parse_value
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import ValidationError

    from ez_ptc.messages import Message

__all__ = ["bare_result", "content_value", "describe_resource", "prompt_messages", "resource_value", "value_of_result"]

_MAX_ERROR: Final = 4_000
_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")


def bare_result(error: ValidationError) -> types.CallToolResult | None:
    """Return the result of a call whose server sent the tool's object itself, or nothing, without `content`.

    `error` is the SDK's refusal of the result; None if it has another reason.
    """
    first = error.errors(include_url=False)[0]
    sent: object = first["input"]
    if first["type"] != "missing" or first["loc"] != ("content",) or not isinstance(sent, dict):
        return None
    fields = cast("dict[str, object]", sent)
    value = {key: item for key, item in fields.items() if key not in ("_meta", "isError")}
    return types.CallToolResult(content=[], structured_content=value or None, is_error=fields.get("isError") is True)


def value_of_result(
    tool: str,
    result: types.CallToolResult,
    *,
    find_problem: Callable[[object], str | None] | None = None,
    is_wrapped: bool = False,
) -> object:
    """Return the value of a call's result.

    With a declared output schema, whose `find_problem` is given, that is the structured content. Otherwise it is the
    structured content if there is any, or the text or JSON, the media and the resources of the content: one of them,
    or a list.

    Raises ToolError if the server says that the call failed, or its result does not fit the schema.
    """
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    text = "\n".join(texts).strip()
    structured: object = result.structured_content
    if result.is_error:
        if not text and structured:
            text = f"{tool} failed: {json.dumps(structured, ensure_ascii=False)}"
        raise ToolError(clean_text(text, _MAX_ERROR) or error_line(f"{tool} failed and did not say why"))
    if find_problem is not None:
        if structured is None and len(result.content) == 1:
            # Older servers declare a schema, and send the JSON of its value as text alone.
            data = parse_value(text)
            wrapped = ({WRAPPER_KEY: data}, {WRAPPER_KEY: text}) if is_wrapped else ()
            structured = next((value for value in (data, *wrapped) if find_problem(value) is None), None)
        problem = "it is missing" if structured is None else find_problem(structured)
        if problem is not None:
            if structured is None and text:
                problem += f"; there is only the text {safe_repr(text)}"
            message = (
                f"{tool} has run, but its structured result does not fit the schema that its server declares: "
                f"{problem}; do not call it again for the result"
            )
            raise ToolError(message)
        return cast("dict[str, object]", structured)[WRAPPER_KEY] if is_wrapped else structured
    if structured is not None:
        # The text repeats the structured content, as the protocol asks of servers.
        media = [block for block in result.content if not isinstance(block, types.TextContent)]
        return [structured, *map(content_value, media)] if media else structured
    values = [content_value(block) for block in result.content]
    if not values:
        return None
    return values[0] if len(values) == 1 else values


def content_value(block: types.ContentBlock) -> object:
    """Return the value of one content block: text, the data in JSON text, a media message, or a resource as a dict."""
    if isinstance(block, types.TextContent):
        return _text_or_data(block.text)
    if isinstance(block, types.ImageContent):
        return ImageMessage(_bytes(block.data), media_type=block.mime_type)
    if isinstance(block, types.AudioContent):
        return AudioMessage(_bytes(block.data), media_type=block.mime_type)
    if isinstance(block, types.ResourceLink):
        return describe_resource(block)
    return {"uri": block.resource.uri, "mime_type": block.resource.mime_type, "content": resource_value(block.resource)}


def describe_resource(resource: types.Resource) -> dict[str, object]:
    """Return the listing of a resource, or a link to it, as a dict without what is not set."""
    fields = {
        "uri": resource.uri,
        "name": resource.name,
        "description": resource.description,
        "mime_type": resource.mime_type,
    }
    return {key: value for key, value in fields.items() if value is not None}


def resource_value(contents: types.TextResourceContents | types.BlobResourceContents) -> object:
    """Return the contents of a resource: text, the data in JSON text, or bytes."""
    if isinstance(contents, types.BlobResourceContents):
        return _bytes(contents.blob)
    return _text_or_data(contents.text)


def prompt_messages(messages: Sequence[types.PromptMessage]) -> list[Message]:
    """Return a prompt's messages. A resource in them becomes its text."""
    converted: list[Message] = []
    for message in messages:
        role = MessageRole(message.role)
        value: object = message.content.text if isinstance(message.content, types.TextContent) else None
        if value is None:
            value = content_value(message.content)
        if isinstance(value, MediaMessage):
            converted.append(type(value)(value.data, media_type=value.media_type, role=role))
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            converted.append(TextMessage(text, role=role))
    return converted


def _text_or_data(text: str) -> object:
    """Return the data of JSON text, if it is an object or an array, or else the text."""
    # A number or a word may be text that happens to be JSON, as a postcode is; objects and arrays are data.
    stripped = text.strip()
    if not (stripped.startswith(("{", "[")) and stripped.endswith(("}", "]"))):
        return text
    data = parse_value(stripped)
    return text if data is None else data


def _bytes(data: str) -> bytes:
    """Return the bytes of base64 in either alphabet, also with line breaks, without padding or as a data URL."""
    if data.startswith("data:"):
        data = data.partition(";base64,")[2]
    data = "".join(data.split()).translate(_STANDARD_ALPHABET)
    if not data.endswith("="):
        data += "=" * (-len(data) % 4)
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        message = f"its server sent media that is not base64: {error}"
        raise ToolError(message) from error
