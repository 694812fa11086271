"""Tools, calls and results in Chat Completions, the format of more than one provider."""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ez_ptc.formats.content import deliverable_result, result_content
from ez_ptc.formats.describable import Describable, is_strict
from ez_ptc.formats.json_reader import JsonObject, tool_call
from ez_ptc.formats.lowering.portable import portable
from ez_ptc.formats.lowering.slow import describe_once
from ez_ptc.formats.lowering.strict import strict as strict_parameters
from ez_ptc.formats.media import Media, Unsupported
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.messages import MediaMessage, ToolCall, ToolResult

__all__ = [
    "CHAT_API",
    "NAMES",
    "call_objects",
    "describe",
    "no_media_in_result",
    "read_calls",
    "result_message",
    "text_part",
]

CHAT_API: Final = "OpenAI's Chat Completions API"

NAMES: Final = NameRules(characters="A-Za-z0-9_-", first="A-Za-z0-9_-", longest=64)


@describe_once
def describe(tool: Describable, *, strict: bool = False, left_out: list[str] | None = None) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`.

    With `strict`, the model is held to the schema, and optional parameters it omits are null; a schema the provider
    cannot enforce raises `SchemaError`, which names the parameter.
    """
    function: dict[str, Any] = {"name": names_of([tool], NAMES).to_provider(tool.name), "description": tool.prose}
    if is_strict(tool, strict):
        function |= {"parameters": strict_parameters(tool.name, tool.parameters, left_out), "strict": True}
    else:
        function["parameters"] = portable(tool.name, tool.parameters, left_out)
    return {"type": "function", "function": function}


def call_objects(message: JsonObject) -> list[JsonObject]:
    """Return the calls in a message or in a piece of one, as they are.

    Some servers send a single call without its list, null for an index without a call, and the name and the arguments
    without their `function`.
    """
    calls = message.fields.get("tool_calls")
    if isinstance(calls, Mapping):
        listed = [JsonObject(cast("object", calls), f"{message.where}.tool_calls")]
    else:
        if isinstance(calls, list):
            calls = [call for call in cast("list[object]", calls) if call is not None]
        listed = JsonObject({"tool_calls": calls}, message.where).objects("tool_calls")
    for call in listed:
        bare = {key: call.fields[key] for key in ("name", "arguments") if key in call.fields}
        if bare and call.fields.get("function") is None:
            others = {key: value for key, value in call.fields.items() if key not in bare}
            call.fields = {**others, "function": bare}
    return listed


def read_calls(answer: Mapping[str, Any], names: Names | None, id_at: Callable[[int], str]) -> list[ToolCall]:
    """Return the calls in a message, or in a completion's first choice; `id_at` returns the id for one without.

    Raises `ProviderError` naming the invalid field.
    """
    message: JsonObject | None = JsonObject(answer, "answer")
    choices = message.objects("choices")
    if "choices" in message.fields:
        message = choices[0].object("message") if choices else None
    if message is None:
        return []
    calls: list[ToolCall] = []
    for index, call in enumerate(call_objects(message)):
        function = call.object("function") or JsonObject(None, f"{call.where}.function")
        calls.append(tool_call(function, call.identifier(id_at(index), "id"), "arguments", names))
    return calls


def result_message(
    call: ToolCall, result: ToolResult, media_part: Callable[[MediaMessage], Media | Unsupported] | None = None
) -> dict[str, Any]:
    """Return the message with a call's result: only text, as OpenAI accepts it, or with `media_part` also media."""
    sent = deliverable_result(call.name, result)
    content = result_content(sent, text_part, media_part or no_media_in_result)
    if isinstance(content, list) and media_part is None:
        content = "\n".join(item["text"] for item in content)
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def text_part(text: str) -> Media:
    """Return a text part."""
    return {"type": "text", "text": text}


def no_media_in_result(media: MediaMessage) -> Unsupported:
    """Return the reason why a tool result has no media in Chat Completions."""
    return Unsupported.of(CHAT_API, media, " in the result of a call")
