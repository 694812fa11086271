"""Requests to Anthropic's Messages API, and its answers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, cast

from ez_ptc.errors import ArgumentsError, ProviderError
from ez_ptc.formats.anthropic.blocks import (
    PROVIDER,
    RoleBlock,
    container_of,
    is_accepted,
    original_blocks,
    sendable_block,
    without_lost_calls,
)
from ez_ptc.formats.anthropic.media import media_part, text_part
from ez_ptc.formats.anthropic.tools import KEYS, NAMES, defer, describe, describe_hosted, results
from ez_ptc.formats.cache import anthropic_mark, fit_marks
from ez_ptc.formats.content import result_of_message
from ez_ptc.formats.json_reader import (
    JsonObject,
    normal_stop_reason,
    objects,
    read_body,
    text_or_empty,
    tool_call,
    with_unique_ids,
)
from ez_ptc.formats.lowering.strict import ANTHROPIC, strict
from ez_ptc.formats.media import require
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.ordering import (
    check_order,
    is_system_text,
    refuse_late_instructions,
    refuse_previous_response,
    refuse_tool_choice,
    split_instructions,
)
from ez_ptc.formats.prompt import Prompt
from ez_ptc.formats.wire import encodable_body
from ez_ptc.messages import (
    Answer,
    Entry,
    MediaMessage,
    Message,
    MessageRole,
    TextMessage,
    ToolCall,
    ToolCallMessage,
    ToolResultMessage,
    Usage,
)
from ez_ptc.schema.arguments.json_text import parse_arguments
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["INVALID_JSON", "MAX_TOKENS", "PROVIDER", "answer", "request"]

# The `max_tokens` of a request without a limit, since Anthropic requires one; a thinking budget is added to it.
MAX_TOKENS: Final = 16_384

# The key that holds a call's arguments if they are not JSON: Anthropic accepts only an object there.
INVALID_JSON: Final = "INVALID_JSON"

_Json = dict[str, Any]

_STOP_REASONS: Final[Mapping[str, str]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
}
_TOOL_CHOICES: Final[Mapping[str, _Json]] = {"none": {"type": "none"}, "required": {"type": "any"}}
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
# These reject the role (platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages); other models
# may too, with an error of the API.
_WITHOUT_LATE_SYSTEM: Final = re.compile(
    r"claude-(instant|\d|(sonnet|haiku)-4|opus-4(?!-[89](?!\d))|sonnet-5(?!-\d(?!\d)))"
)
_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_ANSWER_FIELDS: Final = frozenset({"content", "id", "model", "role", "type"})


def request(prompt: Prompt) -> _Json:
    """Return the body of a request for one answer.

    Of `options`, `tools` are added to the prompt's tools and replace those of the same name; `output_config` and
    `container` are merged, and every other field is sent as it is.

    Raises:
        ProviderError: Anthropic would reject the conversation; the message names the entry.
        SchemaError: A tool or the output schema cannot be described.
        DuplicateToolError: Two tools have the same name.
    """
    check_order(prompt.entries)
    refuse_previous_response("Anthropic", prompt.options)
    names = names_of(prompt.tools, NAMES, keys=KEYS)
    body: _Json = {"model": prompt.model, "max_tokens": _max_tokens(prompt)}
    instructions, entries = split_instructions(prompt.entries)
    if system := _system(instructions):
        body["system"] = system
    if any(map(is_system_text, entries)) and _WITHOUT_LATE_SYSTEM.match(prompt.model):
        refuse_late_instructions(prompt.model)
    body["messages"] = _messages(entries, names)
    if prompt.tools:
        body["tools"] = [describe(tool, strict=prompt.strict) for tool in prompt.tools]
        others = prompt.options.get("tools", ())
        if prompt.hosted_tools:
            body["tools"] = describe_hosted(body["tools"], prompt.tools, prompt.hosted_tools, others)
        body["tools"] = defer(body["tools"], map(names.to_provider, prompt.deferred_tools), others)
        body["tools"][-1] |= anthropic_mark(prompt.cache_tools)
        if prompt.tool_choice != "auto":
            if prompt.tool_choice not in {*_TOOL_CHOICES, *names.sent}:
                refuse_tool_choice(prompt.tool_choice, names.sent)
            by_name = {"type": "tool", "name": names.to_provider(prompt.tool_choice)}
            body["tool_choice"] = {**_TOOL_CHOICES.get(prompt.tool_choice, by_name)}
    fit_marks(_markable_blocks(body))
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    if prompt.output_schema is not None:
        schema = strict("the answer", prompt.output_schema, rules=ANTHROPIC)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    body = _with_options(body, prompt.options)
    container = container_of(prompt.entries, body.get("tools", ()))
    options = body.get("container", {})
    if container is not None and isinstance(options, Mapping):
        body["container"] = {"id": container, **options} if options else container
    return encodable_body(body)


def answer(body: Mapping[str, Any], prompt: Prompt) -> Answer:
    """Return the answer in a complete response.

    `content` is the list of blocks as received, except that a call's input is always an object. Thinking and server
    tool calls are in `content` only. `details` holds the response's other fields: Anthropic's own stop reason, the full
    usage, the container. Raises ProviderError naming the invalid field.
    """
    top = read_body(body, "answer")
    if (problem := top.object("error")) is not None:
        message = f"Anthropic returned an error: {safe_repr(problem.fields.get('message', ''))}; ask again"
        raise ProviderError(message)
    if "content" not in top.fields:
        message = "expected a message from Anthropic, got an object without content; ask again"
        raise ProviderError(message)
    received: object = top.fields["content"] or []
    if isinstance(received, str):  # of a compatible server
        received = [text_part(received)]
    blocks = with_unique_ids(
        [_with_input_object(block) for block in objects(received, "answer.content")],
        prompt.entries,
        call_type="tool_use",
        id_key="id",
    )
    messages = _read_messages(blocks, names_of(prompt.tools, NAMES, keys=KEYS))
    reason = top.identifier("", "stop_reason")
    stop_reason = _STOP_REASONS.get(reason, reason)
    if stop_reason in ("", "end"):
        stop_reason = normal_stop_reason(messages)
    return Answer(
        messages=tuple(messages),
        stop_reason=stop_reason,
        usage=_usage(top.object("usage")),
        provider=PROVIDER,
        model=top.identifier(prompt.model, "model"),
        content=[block.fields for block in blocks],
        id=top.identifier("", "id"),
        details={key: value for key, value in top.fields.items() if key not in _ANSWER_FIELDS},
    )


# Requests -------------------------------------------------------------------------------------------------------------


def _system(instructions: Iterable[TextMessage]) -> str | list[_Json] | None:
    """Return `system`: one text as it is, several or marked ones as blocks, or None without any text."""
    messages = [message for message in instructions if message.text.strip()]
    if not messages:
        return None
    if len(messages) == 1 and not messages[0].cache:
        return messages[0].text
    return [text_part(message.text) | anthropic_mark(message.cache) for message in messages]


def _markable_blocks(body: _Json) -> Iterator[_Json]:
    """Yield all blocks of a request that may have a cache mark, in Anthropic's order."""
    yield from body.get("tools", ())
    if isinstance(system := body.get("system"), list):
        yield from cast("list[_Json]", system)
    for message in body["messages"]:
        yield from message["content"]


def _max_tokens(prompt: Prompt) -> int:
    if prompt.max_tokens is not None:
        return prompt.max_tokens
    thinking = prompt.options.get("thinking")
    if isinstance(thinking, Mapping):
        budget = cast("_Json", thinking).get("budget_tokens")
        if isinstance(budget, int):
            return MAX_TOKENS + budget
    return MAX_TOKENS


def _with_options(body: _Json, options: Mapping[str, Any]) -> _Json:
    merged = {**body, **options}
    if "tools" in body and isinstance(tools := options.get("tools"), Sequence):
        replaced = {tool.get("name") for tool in cast("Sequence[_Json]", tools)}
        merged["tools"] = [*(tool for tool in body["tools"] if tool["name"] not in replaced), *tools]
    if isinstance(output_config := options.get("output_config"), Mapping):
        merged["output_config"] = {**body.get("output_config", {}), **output_config}
    return merged


def _messages(entries: Sequence[Entry], names: Names) -> list[_Json]:
    """Return the messages: consecutive blocks of one role are one message."""
    blocks = [(role, block) for role, block in _blocks(entries, names) if is_accepted(block)]
    messages: list[_Json] = []
    for role, group in groupby(without_lost_calls(blocks), key=itemgetter(0)):
        content = [block for _, block in group]
        # Anthropic rejects its own message if that ends in thinking, as an answer does that was cut off there.
        while role == "assistant" and content and text_or_empty(content[-1].get("type")) in _THINKING:
            content.pop()
        if content:
            messages.append({"role": role, "content": content})
    if not messages:
        message = "Anthropic expects at least one non-empty message, got none: add .request(...)"
        raise ProviderError(message)
    last: _Json = messages[-1]["content"][-1]
    if messages[-1]["role"] == "assistant" and last.get("type") == "text":
        # The model continues this text, which Anthropic rejects if it ends in a space.
        messages[-1]["content"][-1] = {**last, "text": str(last["text"]).rstrip()}
    return messages


def _blocks(entries: Iterable[Entry], names: Names) -> Iterator[RoleBlock]:
    used: set[str] = set()
    sent_ids: dict[str, str] = {}
    for entry in _with_system_last(entries):
        if isinstance(entry, ToolResultMessage):
            call = ToolCall(sent_ids.get(entry.tool_call_id, entry.tool_call_id), entry.tool_name, {})
            [message] = results([(call, result_of_message(entry))])
            yield "user", message["content"][0] | anthropic_mark(entry.cache)
        elif isinstance(entry, Message):
            yield entry.role.value, _block(entry, names, {})
        elif blocks := original_blocks(entry):
            sent_ids = {}
            used.update(call.id for call in entry.calls)
            sent_names = iter([names.to_provider(call.name) for call in entry.calls])
            for block in blocks:
                sent_block = sendable_block(block)
                if block.get("type") == "tool_use":
                    sent_block = {**sent_block, "name": next(sent_names)}
                yield "assistant", sent_block
        else:
            sent_ids = {}
            for call in entry.calls:  # of another provider, whose ids Anthropic may reject
                sent_id, attempt = call.id, 0
                while sent_id in used or _CALL_ID.fullmatch(sent_id) is None:
                    sent_id, attempt = f"call_{len(used)}_{attempt}", attempt + 1
                used.add(sent_id)
                sent_ids[call.id] = sent_id
            yield from (("assistant", _block(message, names, sent_ids)) for message in entry.messages)


def _with_system_last(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Move system messages to the end of their turn: after user messages and results, before the model's next answer.

    Anthropic accepts them nowhere else. Raises ProviderError for one between two answers.
    """
    held: list[Entry] = []
    has_user_entry = False
    for entry in (*entries, None):
        if entry is not None and is_system_text(entry):
            held.append(entry)
        elif entry is not None and not isinstance(entry, Answer) and entry.role is not MessageRole.ASSISTANT:
            has_user_entry = True
            yield entry
        else:
            if held and not has_user_entry:
                message = (
                    "Anthropic does not accept a system message between two model answers: add .request(...) before it"
                )
                raise ProviderError(message)
            yield from held
            held, has_user_entry = [], False
            if entry is not None:
                yield entry


def _block(message: Message, names: Names, sent_ids: Mapping[str, str]) -> _Json:
    mark = anthropic_mark(message.cache)
    if isinstance(message, TextMessage):
        return text_part(message.text) | mark
    if isinstance(message, MediaMessage):
        return require(media_part(message)) | mark
    if isinstance(message, ToolCallMessage):
        return {
            "type": "tool_use",
            "id": sent_ids.get(message.tool_call_id, message.tool_call_id),
            "name": names.to_provider(message.tool_name),
            "input": _input(message, names),
            **mark,
        }
    problem = f"Anthropic has no block for a {type(message).__name__}: use a TextMessage"
    raise ProviderError(problem)


def _input(message: ToolCallMessage, names: Names) -> _Json:
    arguments = message.arguments
    if isinstance(arguments, str):
        try:
            arguments = parse_arguments(message.tool_name, arguments)
        except ArgumentsError:  # the call's result has told the model so
            return {INVALID_JSON: arguments}
    return names.to_sent(message.tool_name, arguments)


# Answers --------------------------------------------------------------------------------------------------------------


def _with_input_object(block: JsonObject) -> JsonObject:
    """Return a block whose input, if it is a call, is an object, as Anthropic requires; other servers send text."""
    call_input = block.fields.get("input")
    if block.fields.get("type") != "tool_use" or not (call_input is None or isinstance(call_input, str)):
        return block
    try:
        arguments = parse_arguments("the call", call_input or "")
    except ArgumentsError:  # the call's result tells the model so
        arguments = {INVALID_JSON: call_input}
    return JsonObject({**block.fields, "input": arguments}, block.where)


def _read_messages(blocks: Sequence[JsonObject], names: Names) -> list[Message]:
    messages: list[Message] = []
    for block in blocks:
        # Some servers send a null text beside a call.
        is_text = block.fields.get("type") == "text" and block.fields.get("text", "") is not None
        if is_text and (text := block.string("text")):
            messages.append(TextMessage(text, role=MessageRole.ASSISTANT))
        elif block.fields.get("type") == "tool_use":
            call = tool_call(block, block.text("id"), "input", names)
            arguments = call.arguments
            if isinstance(arguments, dict) and [*arguments] == [INVALID_JSON]:
                arguments = str(arguments[INVALID_JSON])
            messages.append(ToolCallMessage(call.name, call.id, arguments))
    return messages


def _usage(usage: JsonObject | None) -> Usage:
    """Return the token counts; Anthropic does not include cached tokens in `input_tokens`."""
    if usage is None:
        return Usage()
    cached = usage.count("cache_read_input_tokens")
    details = usage.object("output_tokens_details")
    return Usage(
        input_tokens=usage.count("input_tokens") + cached + usage.count("cache_creation_input_tokens"),
        output_tokens=usage.count("output_tokens"),
        cached_tokens=cached,
        reasoning_tokens=0 if details is None else details.count("thinking_tokens"),
    )
