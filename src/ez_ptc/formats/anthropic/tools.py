"""Tools, calls and results in Anthropic's Messages API."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, cast

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

__all__ = ["KEYS", "NAMES", "calls", "defer", "describe", "describe_hosted", "results"]

NAMES: Final = NameRules(characters="A-Za-z0-9_-", first="A-Za-z0-9_-", longest=64)
_CODE_EXECUTION: Final = "code_execution_"
_CODE_EXECUTION_TOOL: Final[Mapping[str, str]] = {"type": "code_execution_20260120", "name": "code_execution"}
_SEARCH: Final = "tool_search_tool_"
_SEARCH_TOOL: Final[Mapping[str, str]] = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
_MAX_EXAMPLES: Final = 5
_MAX_EXAMPLES_TEXT: Final = 4_000
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


def defer(described: list[dict[str, Any]], names: Iterable[str], options: object = ()) -> list[dict[str, Any]]:
    """Return described tools, those with these names for Anthropic's search only, with the tool that searches.

    The examples in the schema of a tool that is searched for become `input_examples`, as the model reads them.
    `options` are further tools of the request: if one that searches is among them, it is the one.
    """
    deferred = {*names}
    if not deferred:
        return described
    changed = [
        _with_examples({**tool, "defer_loading": True}) if tool["name"] in deferred else tool for tool in described
    ]
    versions = (text_or_empty(tool.fields.get("type")) for tool in objects(options, "options.tools"))
    if any(version.startswith(_SEARCH) for version in versions):
        return changed
    return [*changed, {**_SEARCH_TOOL}]


def _with_examples(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool with the examples of its schema as such, if they are arguments of it: others would be refused."""
    schema: dict[str, Any] = tool["input_schema"]
    examples = schema.get("examples")
    if not isinstance(examples, list) or not examples:
        return tool
    listed = cast("list[object]", examples)[:_MAX_EXAMPLES]
    rest = {key: value for key, value in schema.items() if key != "examples"}
    if not _are_arguments(listed, rest) or len(json.dumps(listed)) > _MAX_EXAMPLES_TEXT:
        return tool
    return {**tool, "input_schema": rest, "input_examples": listed}


def _are_arguments(examples: Sequence[object], schema: dict[str, Any]) -> bool:
    import jsonschema_rs

    names = set(schema.get("properties", ()))
    if not all(isinstance(example, dict) and example.keys() <= names for example in examples):
        return False
    try:
        validator = jsonschema_rs.Draft202012Validator(
            schema, offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )
        return all(map(validator.is_valid, examples))
    except ValueError:  # a schema, or a pattern of it, that cannot be read here
        return False


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
