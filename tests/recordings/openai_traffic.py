"""The recorded traffic of OpenAI's two APIs, and its requests as conversations of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.formats.describable import ToolShape
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_chat import stream as openai_stream
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.openai_responses import stream as responses_stream
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, Entry, ImageMessage, Message, MessageRole, TextMessage, ToolResultMessage
from tests.recordings.cassettes import Interaction, interactions, sse_events

__all__ = [
    "ASKED",
    "SERVER_SIDE_INPUT",
    "answer_of",
    "chat",
    "chat_prompt",
    "events",
    "is_chat",
    "responses",
    "responses_prompt",
]

ASKED: Final = Prompt(model="m", entries=(TextMessage("?"),))
_PACKAGES: Final = ("langchain_openai-1.7.4", "opentelemetry_instrumentation_openai-0.62.4")
_TOOL_FIELDS: Final = ("type", "name", "description", "parameters")
_DONE: Final = "[DONE]"
_OTHER_APIS: Final = ("/threads", "/embeddings", "/assistants")

SERVER_SIDE_INPUT: Final = frozenset(
    {
        "additional_tools",
        "apply_patch_call_output",
        "configuration_update",
        "custom_tool_call_output",
        "mcp_approval_response",
        "tool_search_output",
    }
)
"""What a caller may say in Responses beside text, images and results, and no entry of a conversation of ours says."""


def chat() -> list[Interaction]:
    """Return every recorded interaction of Chat Completions."""
    return [each for each in _posts() if is_chat(each)]


def responses() -> list[Interaction]:
    """Return every recorded interaction of Responses."""
    return [each for each in _posts() if not is_chat(each) and "encoding_format" not in each.request]


def is_chat(interaction: Interaction) -> bool:
    """Say which of the two it is."""
    return "messages" in interaction.request


def events(interaction: Interaction) -> list[dict[str, Any]]:
    """Return the events of a streamed response."""
    return [json.loads(data) for data in sse_events(interaction.body) if data != _DONE]


def answer_of(interaction: Interaction, prompt: Prompt = ASKED) -> tuple[Answer, str]:
    """Return the answer that an interaction has, and the text that came in pieces; raise what it has instead."""
    if not interaction.is_stream:
        answer = (openai_turns if is_chat(interaction) else responses_turns).answer(interaction.json, prompt)
        return answer, answer.text
    stream = (openai_stream if is_chat(interaction) else responses_stream).AnswerStream(prompt)
    deltas = [delta.text for event in events(interaction) for delta in stream.feed(event)]
    return stream.answer(), "".join(deltas)


def chat_prompt(body: Mapping[str, Any]) -> Prompt:
    """Return a recorded request as a prompt of ours."""
    entries = [entry for message in body["messages"] for entry in _chat_entries(message)]
    return _prompt(body, entries, [each["function"] for each in body.get("tools", [])], "messages")


def responses_prompt(body: Mapping[str, Any], earlier: Sequence[Answer]) -> Prompt:
    """Return a recorded request as a prompt of ours, with the answers that were recorded before it."""
    items = [{"role": "user", "content": body["input"]}] if isinstance(body["input"], str) else body["input"]
    entries: list[Entry] = []
    if "instructions" in body:
        entries.append(TextMessage(body["instructions"], role=MessageRole.SYSTEM))
    said: list[dict[str, Any]] = []
    for item in items:
        asked = _asked(item)
        if asked is None:
            said.append(item)
            continue
        entries += _answered(said, earlier, is_stored=body.get("store") is not False)
        entries += asked
        said = []
    rest = {name: value for name, value in body.items() if name != "instructions"}
    return _prompt(rest, entries, [each for each in body.get("tools", []) if _is_tool(each)], "input")


def _is_tool(tool: Mapping[str, Any]) -> bool:
    """Say whether one of a request's tools is a function and nothing more; others are the provider's own matter."""
    return tool["type"] == "function" and not tool.keys() - {*_TOOL_FIELDS, "function"}


def _posts() -> list[Interaction]:
    return [each for each in interactions(*_PACKAGES) if _is_of_an_api(each)]


def _is_of_an_api(interaction: Interaction) -> bool:
    body: object = interaction.request
    return isinstance(body, dict) and bool({"messages", "input"} & body.keys()) and (
        not any(path in interaction.uri for path in _OTHER_APIS)
    )  # fmt: skip


def _prompt(body: Mapping[str, Any], entries: Iterable[Entry], functions: Iterable[Any], history: str) -> Prompt:
    known = ("model", "stream", "temperature", history)
    options = {name: value for name, value in body.items() if name not in known}
    options["tools"] = [each for each in options.get("tools", []) if not _is_tool(each)]
    return Prompt(
        model=body["model"],
        entries=tuple(entries),
        tools=tuple(ToolShape(each["name"], each.get("description", ""), each["parameters"]) for each in functions),
        temperature=body.get("temperature"),
        options={name: value for name, value in options.items() if value != []},
    )


def _chat_entries(message: Mapping[str, Any]) -> list[Entry]:
    content = message.get("content")
    if message["role"] == "assistant":
        return [openai_turns.answer({"choices": [{"message": message}]}, ASKED)]
    if message["role"] == "tool":
        return [ToolResultMessage(message["tool_call_id"], content)]
    role = MessageRole(message["role"])
    if isinstance(content, str):
        return [TextMessage(content, role=role)]
    parts = cast("list[dict[str, Any]]", content)
    return [_part(part, lambda part: part["image_url"]["url"]) for part in parts]


def _part(part: Mapping[str, Any], address: Callable[[Mapping[str, Any]], str]) -> Message:
    return TextMessage(part["text"]) if "text" in part else ImageMessage(url=address(part))


def _asked(item: Mapping[str, Any]) -> list[Entry] | None:
    """Return what a caller says with an item; None for an item of the model's."""
    if item.get("type") == "function_call_output":
        return [ToolResultMessage(item["call_id"], item["output"])]
    if item.get("role") != "user":
        return None
    if isinstance(item["content"], str):
        return [TextMessage(item["content"])]
    return [_part(part, lambda part: part["image_url"]) for part in item["content"]]


def _answered(said: Sequence[dict[str, Any]], earlier: Sequence[Answer], *, is_stored: bool) -> list[Entry]:
    """Return the recorded answer that these items are from or, where there is none, an answer made of them."""
    if not said:
        return []
    names = {name for item in said for name in (item.get("id"), item.get("call_id"), _text(item)) if name}
    for answer in earlier:
        if any({item.get("id"), item.get("call_id"), _text(item)} & names for item in answer.content):
            return [answer]
    return [responses_turns.answer({"output": said, "store": is_stored}, ASKED)]


def _text(item: Mapping[str, Any]) -> str:
    content: object = item.get("content")
    parts = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
    return "".join(part.get("text", "") for part in parts)
