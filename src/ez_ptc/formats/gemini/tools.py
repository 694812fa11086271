"""Tools, calls and results in Gemini's generateContent API.

Gemini accepts a tool's parameters as a subset of OpenAPI 3.0 (`parameters`) or as JSON Schema
(`parameters_json_schema`). The first is used if it can express the parameters.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.content import deliverable_result, error_text, json_output, result_parts
from ez_ptc.formats.describable import Describable
from ez_ptc.formats.gemini.media import no_media_in_result, result_media_part, text_part
from ez_ptc.formats.json_reader import JsonObject, tool_call
from ez_ptc.formats.lowering.openapi_subset import as_openapi
from ez_ptc.formats.lowering.portable import portable, without_one_of
from ez_ptc.formats.lowering.slow import describe_once
from ez_ptc.formats.media import content_of_result
from ez_ptc.formats.naming.keys import KeyRules, keys_of
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "LOCAL_ID_PREFIX", "NAMES", "calls", "describe", "results"]

NAMES: Final = NameRules(characters="A-Za-z0-9_.:-", first="A-Za-z_", longest=128)
KEYS: Final = KeyRules(NameRules(characters="A-Za-z0-9_", first="A-Za-z_", longest=64), everywhere=True)

# The prefix of ids for calls that Gemini sent without one; such an id is never sent.
LOCAL_ID_PREFIX: Final = "ez-ptc-call-"


@describe_once
def describe(tool: Describable, *, strict: bool = False, left_out: list[str] | None = None) -> dict[str, Any]:
    """Return a tool as a function declaration; `strict` is ignored, since Gemini has no such mode for a tool.

    Keys with characters that Gemini rejects are renamed, as `Names` records. The declaration of a tool without
    parameters has none. Recursive parameters, and values with any keys or of any type, are described in
    `parameters_json_schema`.
    """
    del strict
    declaration: dict[str, Any] = {"name": names_of([tool], NAMES).to_provider(tool.name), "description": tool.prose}
    schema = keys_of(portable(tool.name, tool.parameters, left_out), KEYS).sent_schema()
    parameters = as_openapi(tool.name, schema, left_out)
    if parameters is None:
        return {**declaration, "parameters_json_schema": without_one_of(schema)}
    if parameters.get("properties"):
        declaration["parameters"] = parameters
    return declaration


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the tool calls in a response's first candidate, in a candidate or in its content.

    Accepts both `functionCall` and `function_call`; a call without an id gets one from its index. Raises
    `ProviderError` that names the invalid field.
    """
    top = JsonObject(answer, "answer")
    candidates = top.objects("candidates")
    candidate = top
    if candidates:
        candidate = candidates[0]
    content = candidate.object("content") or candidate
    optional = [content_part.object("function_call", "functionCall") for content_part in content.objects("parts")]
    functions = [function for function in optional if function is not None]
    return [
        tool_call(function, function.identifier(f"{LOCAL_ID_PREFIX}{index}", "id"), "args", names)
        for index, function in enumerate(functions)
    ]


def results(
    answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None, *, takes_media: bool = True
) -> list[dict[str, Any]]:
    """Return the one user content with all results.

    `takes_media` is whether the model accepts images and documents in a result, as models since Gemini 3 do.
    """
    names = names or Names()
    parts = [
        {"function_response": _response(call, result, names, takes_media=takes_media)} for call, result in answered
    ]
    if parts:
        return [{"role": "user", "parts": parts}]
    return []


def _response(call: ToolCall, result: ToolResult, names: Names, *, takes_media: bool) -> dict[str, Any]:
    result = deliverable_result(call.name, result)
    response: dict[str, Any] = {"name": names.to_provider(call.name)}
    if not call.id.startswith(LOCAL_ID_PREFIX):
        response = {"id": call.id, **response}
    if not result.success:
        return {**response, "response": {"error": error_text(result)}}
    parts = result_parts(result.output)
    if parts is None:
        return {**response, "response": {"output": json_output(result.output)}}
    content = content_of_result(parts, text_part, result_media_part if takes_media else no_media_in_result)
    response["response"] = {
        "output": "\n".join(content_part["text"] for content_part in content if "text" in content_part)
    }
    if media := [content_part for content_part in content if "text" not in content_part]:
        response["parts"] = media
    return response
