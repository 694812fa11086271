"""The JSON of the Model Context Protocol: what `tools/list` and `tools/call` carry."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.content import as_text, delivered, encoded, error_text, result_parts
from ez_ptc.formats.describable import Describable
from ez_ptc.formats.json_reader import JsonObject, tool_call
from ez_ptc.formats.lowering.roots import rooted
from ez_ptc.formats.lowering.upgrade import upgraded
from ez_ptc.formats.media import Media, Unsupported, content_of_result, inline_data
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import AudioMessage, ImageMessage, MediaMessage, ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "results"]

NAMES: Final = NameRules(characters="A-Za-z0-9._-", first="A-Za-z0-9._-", longest=128)
KEYS: Final = None


def describe(tool: Describable, *, strict: bool = False) -> dict[str, Any]:
    """Return a tool as `tools/list` lists it; `strict` changes nothing: the protocol has no such mode.

    `outputSchema` is there where the tool is known to return an object, and `annotations` where `read_only` is
    declared.
    """
    del strict
    described: dict[str, Any] = {
        "name": names_of([tool], NAMES).to_provider(tool.name),
        "description": tool.description,
        "inputSchema": _object_schema(tool.name, tool.parameters),
    }
    if tool.read_only is not None:
        described["annotations"] = {"readOnlyHint": tool.read_only}
    returned = _output_schema(tool)
    return described if returned is None else {**described, "outputSchema": returned}


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the one call that a `tools/call` request, or its `params`, asks for.

    Its id is the request's, where that is given. Raises `ProviderError` that says what is wrong where.
    """
    top = JsonObject(answer, "request")
    params = top.object("params") or top
    identifier = top.fields.get("id") if params is not top else None
    return [tool_call(params, "call-0" if identifier is None else str(identifier), "arguments", names)]


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return one `CallToolResult` for each call; `names` are not needed, for the results name no tool."""
    del names
    return [_result(call.name, result) for call, result in answered]


def _result(tool: str, result: ToolResult) -> dict[str, Any]:
    sent = delivered(tool, result)
    if sent.success and (parts := result_parts(sent.output)) is not None:
        return {"content": content_of_result(parts, _text, _media), "isError": False}
    text = as_text(sent.output) if sent.success else error_text(sent)
    answer: dict[str, Any] = {"content": [_text(text)], "isError": not sent.success}
    structured = encoded(result.output) if sent.success else None
    return {**answer, "structuredContent": structured} if isinstance(structured, dict) else answer


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _media(media: MediaMessage) -> Media | Unsupported:
    found = inline_data(media)
    if found is None:
        return Unsupported.of("MCP", media, " by its address")
    media_type, data = found
    if isinstance(media, ImageMessage | AudioMessage):
        return {"type": media.KIND, "mimeType": media_type, "data": data}
    resource = {"uri": f"attachment:{media.KIND}", "mimeType": media_type, "blob": data}
    return {"type": "resource", "resource": resource}


def _output_schema(tool: Describable) -> dict[str, Any] | None:
    if tool.return_schema is None or tool.return_schema.get("type") != "object":
        return None
    return upgraded(tool.name, tool.return_schema)


def _object_schema(tool: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    whole = upgraded(tool, schema)
    return whole if whole.get("type") == "object" else rooted(tool, schema)
