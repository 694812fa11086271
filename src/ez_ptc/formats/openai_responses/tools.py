"""The JSON of OpenAI's Responses."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.content import as_text, delivered, error_text, result_parts
from ez_ptc.formats.describable import Describable, is_strict
from ez_ptc.formats.json_reader import JsonObject, objects, tool_call
from ez_ptc.formats.lowering.portable import portable
from ez_ptc.formats.lowering.strict import strict as strict_parameters
from ez_ptc.formats.media import content_of_result
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.formats.openai_responses.media import input_media, input_text
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "results"]

NAMES: Final = NameRules(characters="A-Za-z0-9_-", first="A-Za-z0-9_-", longest=64)
KEYS: Final = None

_CALL: Final = "function_call"


def describe(tool: Describable, *, strict: bool = False) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`.

    `strict` binds the model to the schema; what it cannot say raises `SchemaError` that names the parameter. What was
    optional is null where the model leaves it out.
    """
    strict = is_strict(tool, strict)
    make = strict_parameters if strict else portable
    return {
        "type": "function",
        "name": names_of([tool], NAMES).to_provider(tool.name),
        "description": tool.description,
        "parameters": make(tool.name, tool.parameters),
        "strict": strict,  # said in any case: here a tool is strict where nothing is said
    }


def calls(answer: Mapping[str, Any] | Sequence[Mapping[str, Any]], names: Names | None = None) -> list[ToolCall]:
    """Return the calls that a model asks for, in a response, its list of items, or one item.

    Arguments stay as they came. Raises `ProviderError` that says what is wrong where.
    """
    found = [item for item in _items(answer) if item.fields.get("type") == _CALL]
    return [tool_call(item, item.text("call_id"), "arguments", names) for item in found]


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return one item for each call; `names` are not needed, for the items name no tool."""
    del names
    return [_result(call, delivered(call.name, result)) for call, result in answered]


def _result(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    output = _output(result.output) if result.success else error_text(result)
    return {"type": "function_call_output", "call_id": call.id, "output": output}


def _output(output: object) -> str | list[dict[str, Any]]:
    parts = result_parts(output)
    return as_text(output) if parts is None else content_of_result(parts, input_text, input_media)


def _items(answer: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    if isinstance(answer, Sequence):
        return objects(answer, "answer")
    top = JsonObject(answer, "answer")
    return [top] if top.fields.get("type") == _CALL else top.objects("output")
