"""Tools, calls and results in OpenAI's Responses API."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.content import deliverable_result, result_content
from ez_ptc.formats.describable import Describable, is_strict
from ez_ptc.formats.json_reader import JsonObject, objects, tool_call
from ez_ptc.formats.lowering.portable import portable
from ez_ptc.formats.lowering.slow import describe_once
from ez_ptc.formats.lowering.strict import strict as strict_parameters
from ez_ptc.formats.media import Media, Unsupported, data_url, file_name
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import DocumentMessage, ImageMessage, MediaMessage, ToolCall, ToolResult

__all__ = ["CALL", "KEYS", "NAMES", "calls", "describe", "describe_hosted", "media_part", "results", "text_part"]

NAMES: Final = NameRules(characters="A-Za-z0-9_-", first="A-Za-z0-9_-", longest=64)
KEYS: Final = None

# The type of an item that is a call of one of our tools.
CALL: Final = "function_call"
# The type of the tool that runs the model's programs at OpenAI.
_PROGRAMS: Final = "programmatic_tool_calling"


@describe_once
def describe(tool: Describable, *, strict: bool = False, left_out: list[str] | None = None) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`.

    With `strict`, the model is held to the schema, and optional parameters it omits are null; a schema OpenAI cannot
    enforce raises `SchemaError`, which names the parameter.
    """
    strict = is_strict(tool, strict)
    lower = portable
    if strict:
        lower = strict_parameters
    return {
        "type": "function",
        "name": names_of([tool], NAMES).to_provider(tool.name),
        "description": tool.prose,
        "parameters": lower(tool.name, tool.parameters, left_out),
        "strict": strict,  # always present: this API's default is true
    }


def describe_hosted(
    described: Sequence[dict[str, Any]], tools: Sequence[Describable], hosted: Collection[str]
) -> list[dict[str, Any]]:
    """Return described tools, those in `hosted` for the calls of OpenAI's programs, with the tool that runs these."""
    changed: list[dict[str, Any]] = []
    for tool, shape in zip(described, tools, strict=True):
        if shape.name in hosted:
            tool = {**tool, "allowed_callers": ["programmatic"]}  # noqa: PLW2901 - the tool with its callers
            if shape.return_schema is not None:
                tool["output_schema"] = shape.return_schema
        changed.append(tool)
    return [*changed, {"type": _PROGRAMS}]


def calls(answer: Mapping[str, Any] | Sequence[Mapping[str, Any]], names: Names | None = None) -> list[ToolCall]:
    """Return the tool calls in a response, a list of items or one item, with their arguments as received.

    Raises `ProviderError` naming the invalid field.
    """
    if isinstance(answer, Sequence):
        items = objects(answer, "answer")
    else:
        top = JsonObject(answer, "answer")
        items = [top] if top.fields.get("type") == CALL else top.objects("output")
    return [
        tool_call(item, item.text("call_id"), "arguments", names) for item in items if item.fields.get("type") == CALL
    ]


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return one item for each result; `names` is unused, since the items name no tool."""
    del names
    items: list[dict[str, Any]] = []
    for call, result in answered:
        output = result_content(deliverable_result(call.name, result), text_part, media_part)
        items.append({"type": "function_call_output", "call_id": call.id, "output": output})
    return items


def text_part(text: str) -> Media:
    """Return a text part."""
    return {"type": "input_text", "text": text}


def media_part(media: MediaMessage) -> Media | Unsupported:
    """Return the part for an image or a document, or the reason why the API accepts no such part."""
    if isinstance(media, ImageMessage):
        return {"type": "input_image", "image_url": data_url(media), "detail": "auto"}
    if not isinstance(media, DocumentMessage):
        return Unsupported.of("OpenAI's Responses API", media)
    url = data_url(media)
    if not url.startswith("data:"):
        return {"type": "input_file", "file_url": url}
    return {"type": "input_file", "filename": file_name(media), "file_data": url}
