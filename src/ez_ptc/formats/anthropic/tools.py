"""Tools, calls and results in Anthropic's Messages API."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.anthropic.media import media_part, text_part
from ez_ptc.formats.content import deliverable_result, result_content
from ez_ptc.formats.describable import Describable, is_strict
from ez_ptc.formats.json_reader import JsonObject, objects, text_or_empty, tool_call
from ez_ptc.formats.lowering.portable import portable, without_one_of
from ez_ptc.formats.lowering.slow import describe_once
from ez_ptc.formats.lowering.strict import ANTHROPIC
from ez_ptc.formats.lowering.strict import strict as strict_parameters
from ez_ptc.formats.naming.keys import KeyRules, keys_of
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "describe_hosted", "results"]

NAMES: Final = NameRules(characters="A-Za-z0-9_-", first="A-Za-z0-9_-", longest=64)
_CODE_EXECUTION: Final = "code_execution_"
_CODE_EXECUTION_TOOL: Final[Mapping[str, str]] = {"type": "code_execution_20260120", "name": "code_execution"}
_MAX_RETURN_SCHEMA: Final = 4_000  # characters

KEYS: Final = KeyRules(NameRules(characters="A-Za-z0-9_.-", first="A-Za-z0-9_.-", longest=64), everywhere=False)


@describe_once
def describe(tool: Describable, *, strict: bool = False, left_out: list[str] | None = None) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`.

    Parameters with characters that Anthropic rejects are renamed, as `Names` records. With `strict`, the model is held
    to the schema; a schema Anthropic cannot enforce raises `SchemaError`, which names the parameter.
    """
    described: dict[str, Any] = {"name": names_of([tool], NAMES).to_provider(tool.name), "description": tool.prose}
    if is_strict(tool, strict):
        schema = strict_parameters(tool.name, tool.parameters, left_out, rules=ANTHROPIC)
        return {**described, "input_schema": keys_of(schema, KEYS).sent_schema(), "strict": True}
    schema = without_one_of(portable(tool.name, tool.parameters, left_out))
    return {**described, "input_schema": keys_of(schema, KEYS).sent_schema()}


def describe_hosted(
    described: Sequence[dict[str, Any]], tools: Sequence[Describable], hosted: Collection[str], options: object = ()
) -> list[dict[str, Any]]:
    """Return described tools, those in `hosted` for the calls of Anthropic's programs, with the tool that runs these.

    A strict tool is left to the model, since Anthropic does not let programs call it. `options` are further tools of
    the request: if the tool that runs programs is among them, its version counts.
    """
    versions = (text_or_empty(tool.fields.get("type")) for tool in objects(options, "options.tools"))
    version = next((version for version in versions if version.startswith(_CODE_EXECUTION)), None)
    changed: list[dict[str, Any]] = []
    for tool, shape in zip(described, tools, strict=True):
        if shape.name not in hosted or "strict" in tool:
            changed.append(tool)
            continue
        callers: dict[str, Any] = {"allowed_callers": [version or _CODE_EXECUTION_TOOL["type"]]}
        if shape.return_schema is not None:
            schema = json.dumps(shape.return_schema, ensure_ascii=False, separators=(",", ":"))
            if len(schema) <= _MAX_RETURN_SCHEMA:
                # Anthropic has no field for it, and the program parses what it gets.
                callers["description"] = f"{tool['description']}\n\nReturns JSON with this schema: {schema}"
        changed.append({**tool, **callers})
    if version is None:
        changed.append({**_CODE_EXECUTION_TOOL})
    return changed


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the tool calls in a message. Raises `ProviderError` naming the invalid field."""
    message = JsonObject(answer, "answer")
    if isinstance(message.fields.get("content"), str):
        return []
    blocks = [block for block in message.objects("content") if block.fields.get("type") == "tool_use"]
    return [tool_call(block, block.text("id"), "input", names) for block in blocks]


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return the one user message with all results; `names` is unused, since its blocks name no tool."""
    del names
    blocks: list[dict[str, Any]] = []
    for call, result in answered:
        sent = deliverable_result(call.name, result)
        content = result_content(sent, text_part, media_part)
        blocks.append({"type": "tool_result", "tool_use_id": call.id, "content": content, "is_error": not sent.success})
    if blocks:
        return [{"role": "user", "content": blocks}]
    return []
