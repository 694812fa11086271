"""Tools, calls and results in the Model Context Protocol: the contents of `tools/list` and `tools/call`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.content import as_text, deliverable_result, error_text, json_output, result_parts, to_json_types
from ez_ptc.formats.describable import Describable
from ez_ptc.formats.encoding import NotEncodableError, undeliverable
from ez_ptc.formats.json_reader import JsonObject, tool_call
from ez_ptc.formats.lowering.slow import describe_once
from ez_ptc.formats.media import Media, Unsupported, content_of_result, inline_data
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import AudioMessage, ImageMessage, MediaMessage, ToolCall, ToolResult
from ez_ptc.schema.standard.form import standard_form
from ez_ptc.schema.standard.roots import with_object_root

__all__ = ["KEYS", "NAMES", "calls", "describe", "results", "structured_content"]

NAMES: Final = NameRules(characters="A-Za-z0-9._-", first="A-Za-z0-9._-", longest=128)
KEYS: Final = None


@describe_once
def describe(tool: Describable, *, strict: bool = False, left_out: list[str] | None = None) -> dict[str, Any]:
    """Return a tool as an element of `tools/list`; `strict` is ignored, since the protocol has no such mode.

    `outputSchema` is present if the tool is known to return an object, and `annotations` if `read_only` is declared.
    """
    del strict
    input_schema = standard_form(tool.name, tool.parameters)
    if input_schema.get("type") != "object":
        input_schema = with_object_root(tool.name, tool.parameters, left_out)
    described: dict[str, Any] = {
        "name": names_of([tool], NAMES).to_provider(tool.name),
        "description": tool.prose,
        "inputSchema": input_schema,
    }
    if tool.read_only is not None:
        described["annotations"] = {"readOnlyHint": tool.read_only}
    if tool.return_schema is not None and tool.return_schema.get("type") == "object":
        described["outputSchema"] = standard_form(tool.name, tool.return_schema)
    return described


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the one call in a `tools/call` request or in its `params`, with the request's id.

    Raises `ProviderError` naming the invalid field.
    """
    request = JsonObject(answer, "request")
    params = request.object("params")
    call_id = "call-0"
    if params is not None and request.fields.get("id") is not None:
        call_id = str(request.fields["id"])
    return [tool_call(params or request, call_id, "arguments", names)]


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return one `CallToolResult` for each result; `names` is unused, since the results name no tool."""
    del names
    answers: list[dict[str, Any]] = []
    for call, result in answered:
        sent = deliverable_result(call.name, result)
        if not sent.success:
            answers.append({"content": [_text_part(error_text(sent))], "isError": True})
        elif (parts := result_parts(sent.output)) is not None:
            answers.append({"content": content_of_result(parts, _text_part, _media_part), "isError": False})
        else:
            answers.append({"content": [_text_part(as_text(sent.output))], "isError": False})
            # Clients write it as JSON again, in which a form of our notes would have no escape.
            structured = json_output(sent.output)
            if isinstance(structured, dict):
                answers[-1]["structuredContent"] = structured
    return answers


def structured_content(tool: str, output: object) -> dict[str, Any]:
    """Return the fields of a `CallToolResult` for the whole output of a call, as a declared schema requires it.

    They are those of an error if it is too large, and none if it is no object.
    """
    try:
        structured = to_json_types(output)
    except NotEncodableError as error:
        return {"content": [_text_part(undeliverable(tool, str(error)))], "isError": True}
    if isinstance(structured, dict):
        return {"structuredContent": structured}
    return {}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _media_part(media: MediaMessage) -> Media | Unsupported:
    inline = inline_data(media)
    if inline is None:
        return Unsupported.of("MCP", media, " by its address")
    media_type, data = inline
    if isinstance(media, ImageMessage | AudioMessage):
        return {"type": media.KIND, "mimeType": media_type, "data": data}
    resource = {"uri": f"attachment:{media.KIND}", "mimeType": media_type, "blob": data}
    return {"type": "resource", "resource": resource}
