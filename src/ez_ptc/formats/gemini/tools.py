"""The JSON of Gemini's function declarations.

Gemini takes a tool's parameters as a part of OpenAPI 3.0 (`parameters`) or as JSON Schema (`parameters_json_schema`).
The first is used where it can say what the parameters are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.content import delivered, error_text, result_parts
from ez_ptc.formats.describable import Describable
from ez_ptc.formats.gemini.media import no_response_part, response_part, text_part
from ez_ptc.formats.json_reader import JsonObject, tool_call
from ez_ptc.formats.lowering.openapi import as_openapi
from ez_ptc.formats.lowering.portable import portable, without_one_of
from ez_ptc.formats.media import content_of_result
from ez_ptc.formats.naming.keys import KeyRules, keys_of
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "results"]

NAMES: Final = NameRules(characters="A-Za-z0-9_.:-", first="A-Za-z_", longest=128)
KEYS: Final = KeyRules(NameRules(characters="A-Za-z0-9_", first="A-Za-z_", longest=64), everywhere=True)

_MADE_ID: Final = "ez-ptc-call-"


def describe(tool: Describable, *, strict: bool = False) -> dict[str, Any]:
    """Return a tool as a function declaration. `strict` changes nothing: Gemini has no such mode.

    A key with characters that Gemini does not take has another name there, as `Names` has it. A tool without
    parameters has none in its declaration. What contains itself, takes any keys or may be of any type is described in
    `parameters_json_schema`.
    """
    del strict
    declared = {"name": names_of([tool], NAMES).to_provider(tool.name), "description": tool.description}
    schema = keys_of(portable(tool.name, tool.parameters), KEYS).sent_schema()
    parameters = as_openapi(tool.name, schema)
    if parameters is None:
        return {**declared, "parameters_json_schema": without_one_of(schema)}
    return {**declared, "parameters": parameters} if parameters.get("properties") else declared


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the calls that a model asks for, in a response, its first candidate, or that one's content.

    Keys may be written as `functionCall` or as `function_call`. A call without an id gets one of its position. Raises
    `ProviderError` that says what is wrong where.
    """
    top = JsonObject(answer, "answer")
    candidates = top.objects("candidates")
    candidate = candidates[0] if candidates else top
    content = candidate.object("content") or candidate
    found = [part.object("function_call", "functionCall") for part in content.objects("parts")]
    asked = [call for call in found if call is not None]
    return [tool_call(call, call.identifier(f"{_MADE_ID}{at}", "id"), "args", names) for at, call in enumerate(asked)]


def results(
    answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None, *, takes_media: bool = True
) -> list[dict[str, Any]]:
    """Return the one user content that answers all calls.

    `takes_media` is whether the model takes images and documents in a result, as models since Gemini 3 do.
    """
    known = Names() if names is None else names
    parts = [
        {"function_response": _response(call, result, known, takes_media=takes_media)} for call, result in answered
    ]
    return [{"role": "user", "parts": parts}] if parts else []


def _response(call: ToolCall, result: ToolResult, names: Names, *, takes_media: bool) -> dict[str, Any]:
    result = delivered(call.name, result)
    response = {"output": result.output} if result.success else {"error": error_text(result)}
    answer: dict[str, Any] = {"name": names.to_provider(call.name), "response": response}
    if result.success and (parts := result_parts(result.output)) is not None:
        content = content_of_result(parts, text_part, response_part if takes_media else no_response_part)
        texts = [part["text"] for part in content if "text" in part]
        answer |= {"response": {"output": "\n".join(texts)}}
        answer |= {"parts": media} if (media := [part for part in content if "text" not in part]) else {}
    return answer if call.id.startswith(_MADE_ID) else {"id": call.id, **answer}
