"""The JSON of Anthropic's Messages."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.anthropic.media import media_block, text_block
from ez_ptc.formats.content import as_text, delivered, error_text, result_parts
from ez_ptc.formats.describable import Describable, is_strict
from ez_ptc.formats.json_reader import JsonObject, tool_call
from ez_ptc.formats.lowering.portable import portable, without_one_of
from ez_ptc.formats.lowering.strict import ANTHROPIC
from ez_ptc.formats.lowering.strict import strict as strict_parameters
from ez_ptc.formats.media import content_of_result
from ez_ptc.formats.naming.keys import KeyRules, keys_of
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "results"]

NAMES: Final = NameRules(characters="A-Za-z0-9_-", first="A-Za-z0-9_-", longest=64)
KEYS: Final = KeyRules(NameRules(characters="A-Za-z0-9_.-", first="A-Za-z0-9_.-", longest=64), everywhere=False)


def describe(tool: Describable, *, strict: bool = False) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`.

    A parameter with characters that Anthropic does not take has another name there, as `Names` has it. `strict` binds
    the model to the schema; what it cannot say raises `SchemaError` that names the parameter.
    """
    strict = is_strict(tool, strict)
    if strict:
        schema = strict_parameters(tool.name, tool.parameters, rules=ANTHROPIC)
    else:
        schema = without_one_of(portable(tool.name, tool.parameters))
    described: dict[str, Any] = {
        "name": names_of([tool], NAMES).to_provider(tool.name),
        "description": tool.description,
        "input_schema": keys_of(schema, KEYS).sent_schema(),
    }
    return {**described, "strict": True} if strict else described


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the calls that a model asks for in a message.

    Raises `ProviderError` that says what is wrong where.
    """
    top = JsonObject(answer, "answer")
    blocks = [] if isinstance(top.fields.get("content"), str) else top.objects("content")
    used = [block for block in blocks if block.fields.get("type") == "tool_use"]
    return [tool_call(block, block.text("id"), "input", names) for block in used]


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return the one user message that answers all calls; `names` are not needed, for its blocks name no tool."""
    del names
    blocks = [_block(call, result) for call, result in answered]
    return [{"role": "user", "content": blocks}] if blocks else []


def _block(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    result = delivered(call.name, result)
    return {
        "type": "tool_result",
        "tool_use_id": call.id,
        "content": _content(result.output) if result.success else error_text(result),
        "is_error": not result.success,
    }


def _content(output: object) -> str | list[dict[str, Any]]:
    parts = result_parts(output)
    return as_text(output) if parts is None else content_of_result(parts, text_block, media_block)
