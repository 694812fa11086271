"""Tools, calls and results in Anthropic's Messages API."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.anthropic.media import media_part, text_part
from ez_ptc.formats.content import deliverable_result, result_content
from ez_ptc.formats.describable import Describable, is_strict
from ez_ptc.formats.json_reader import JsonObject, tool_call
from ez_ptc.formats.lowering.portable import portable, without_one_of
from ez_ptc.formats.lowering.strict import ANTHROPIC
from ez_ptc.formats.lowering.strict import strict as strict_parameters
from ez_ptc.formats.naming.keys import KeyRules, keys_of
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "results"]

NAMES: Final = NameRules(characters="A-Za-z0-9_-", first="A-Za-z0-9_-", longest=64)
KEYS: Final = KeyRules(NameRules(characters="A-Za-z0-9_.-", first="A-Za-z0-9_.-", longest=64), everywhere=False)


def describe(tool: Describable, *, strict: bool = False) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`.

    Parameters with characters that Anthropic rejects are renamed, as `Names` records. With `strict`, the model is held
    to the schema; a schema Anthropic cannot enforce raises `SchemaError`, which names the parameter.
    """
    described: dict[str, Any] = {
        "name": names_of([tool], NAMES).to_provider(tool.name),
        "description": tool.description,
    }
    if is_strict(tool, strict):
        schema = strict_parameters(tool.name, tool.parameters, rules=ANTHROPIC)
        return {**described, "input_schema": keys_of(schema, KEYS).sent_schema(), "strict": True}
    schema = without_one_of(portable(tool.name, tool.parameters))
    return {**described, "input_schema": keys_of(schema, KEYS).sent_schema()}


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
