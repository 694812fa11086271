"""Anthropic's Messages: a prompt as a request, and a response as an answer."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ArgumentsError, ProviderError
from ez_ptc.formats.anthropic.blocks import (
    PROVIDER,
    Turn,
    is_called_by_program,
    own_blocks,
    sent_back,
    without_lost_calls,
)
from ez_ptc.formats.anthropic.media import media_block, text_block
from ez_ptc.formats.anthropic.tools import KEYS, NAMES, describe, results
from ez_ptc.formats.cache import anthropic_mark, fit_marks
from ez_ptc.formats.json_reader import JsonObject, objects, read_body, text_or_empty, tool_call, with_unique_ids
from ez_ptc.formats.lowering.strict import ANTHROPIC, strict
from ez_ptc.formats.media import required
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.ordering import check_order, refuse_late_instructions, refuse_previous_response, split_instructions
from ez_ptc.formats.prompt import Prompt
from ez_ptc.formats.wire import encodable_body, encodable_text, is_count
from ez_ptc.messages import (
    Answer,
    Entry,
    MediaMessage,
    Message,
    MessageRole,
    TextMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
    Usage,
)
from ez_ptc.schema.arguments.json_text import parse_arguments
from ez_ptc.schema.safe_repr import shown, shown_with_type

__all__ = ["INVALID_JSON", "MAX_TOKENS", "PROVIDER", "answer", "request"]

MAX_TOKENS: Final = 16_384
"""What a request is limited to that says nothing of it, since Anthropic wants a limit; thinking comes on top."""

INVALID_JSON: Final = "INVALID_JSON"
"""The key under which a call's arguments stand that are no JSON: Anthropic takes nothing but an object there."""

_Json = dict[str, Any]

_REASONS: Final[Mapping[str, str]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
}
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})
# These answer that the role is not supported (platform.claude.com/docs/en/build-with-claude/mid-conversation-system-
# messages); so may others, with the API's own words.
_WITHOUT_LATE_SYSTEM: Final = re.compile(
    r"claude-(instant|\d|(sonnet|haiku)-4|opus-4(?!-[89](?!\d))|sonnet-5(?!-\d(?!\d)))"
)
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
# What `Answer` has fields of its own for.
_OWN: Final = frozenset({"content", "id", "model", "role", "type"})


def request(prompt: Prompt) -> _Json:
    """Return the body of a request for one answer.

    Of `options`, the `tools` are added to the prompt's own, which they replace where they have the same name;
    `output_config` and `container` are filled up, and everything else is sent as it is.

    Raises:
        ProviderError: Anthropic would refuse the conversation; the message says what is wrong where.
        SchemaError: A tool or the output's schema cannot be described.
        DuplicateToolError: Two tools have one name.
    """
    check_order(prompt.entries)
    refuse_previous_response("Anthropic", prompt.options)
    names = names_of(prompt.tools, NAMES, keys=KEYS)
    body: _Json = {"model": prompt.model, "max_tokens": _max_tokens(prompt)}
    instructions, said = split_instructions(prompt.entries)
    if system := _system(instructions):
        body["system"] = system
    if any(map(_is_system, said)) and _WITHOUT_LATE_SYSTEM.match(prompt.model):
        refuse_late_instructions(prompt.model)
    body["messages"] = _messages(said, names)
    if prompt.tools:
        body["tools"] = [describe(tool, strict=prompt.strict) for tool in prompt.tools]
        body["tools"][-1] |= anthropic_mark(prompt.cache_tools)
        if choice := _tool_choice(prompt, names):
            body["tool_choice"] = choice
    fit_marks(_in_order(body))
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    if prompt.output_schema is not None:
        schema = strict("the answer", prompt.output_schema, rules=ANTHROPIC)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if container := _container(prompt.entries):
        body["container"] = container
    return encodable_body(_merged(body, prompt.options))


def answer(body: Mapping[str, Any], prompt: Prompt) -> Answer:
    """Return the answer in a whole response.

    Its `content` is the list of blocks as it came, except that the input of a call is always an object. Thinking, and
    calls that Anthropic runs itself, are in no message. `details` has everything else that the response says: the
    reason for stopping in Anthropic's words, the usage with all its counts, the container. Raises ProviderError that
    says what is wrong where.
    """
    top = read_body(body, "answer")
    if (problem := top.object("error")) is not None:
        _refuse(f"an error instead of an answer: {shown(problem.fields.get('message', ''))}")
    if top.fields.get("content") is None:
        _refuse("something that is no message")
    given = [_with_object(block) for block in objects(top.fields["content"], "answer.content")]
    blocks = with_unique_ids(given, calls="tool_use", key="id", made=f"call_{len(prompt.entries)}_")
    messages = tuple(_heard(blocks, names_of(prompt.tools, NAMES, keys=KEYS)))
    return Answer(
        messages=messages,
        stop_reason=_stop_reason(top, messages),
        usage=_usage(top.object("usage")),
        provider=PROVIDER,
        model=top.identifier(prompt.model, "model"),
        content=[block.fields for block in blocks],
        id=top.identifier("", "id"),
        details={key: value for key, value in top.fields.items() if key not in _OWN},
    )


# Requests -------------------------------------------------------------------------------------------------------------


def _system(instructions: Iterable[TextMessage]) -> str | list[_Json]:
    said = [each for each in instructions if each.text.strip()]
    if said[1:] or any(each.cache for each in said):
        return [text_block(each.text) | anthropic_mark(each.cache) for each in said]
    return "".join(each.text for each in said)


def _in_order(body: _Json) -> Iterator[_Json]:
    """Give all that may be marked in a request."""
    yield from body.get("tools", ())
    if isinstance(system := body.get("system"), list):
        yield from cast("list[_Json]", system)
    for message in body["messages"]:
        yield from message["content"]


def _max_tokens(prompt: Prompt) -> int:
    if prompt.max_tokens is not None:
        return prompt.max_tokens
    thinking = prompt.options.get("thinking")
    budget = cast("_Json", thinking).get("budget_tokens") if isinstance(thinking, Mapping) else None
    return MAX_TOKENS + (budget if isinstance(budget, int) else 0)


def _tool_choice(prompt: Prompt, names: Names) -> _Json | None:
    choice = prompt.tool_choice
    kinds = {"auto": None, "none": {"type": "none"}, "required": {"type": "any"}}
    if choice in kinds:
        return kinds[choice]
    if choice not in {tool.name for tool in prompt.tools}:
        message = (
            f"tool_choice is {shown(choice)}, and there is no such tool: give 'auto', 'none', 'required' or a name"
        )
        raise ProviderError(message)
    return {"type": "tool", "name": names.to_provider(choice)}


def _container(entries: Sequence[Entry]) -> str | None:
    """Return the container in which a program waits for the results of its calls, or in which the model paused.

    An answer that is at an end, or that a person has spoken after, needs its container no more, which may be gone.
    """
    said = [each for each in entries if not isinstance(each, ToolResultMessage) and not _is_system(each)]
    last = said[-1] if said else None
    if not isinstance(last, Answer) or last.provider != PROVIDER:
        return None
    container = last.details.get("container")
    waits = last.stop_reason == "pause" or any(map(is_called_by_program, own_blocks(last)))
    identifier = cast("_Json", container).get("id") if isinstance(container, Mapping) and waits else None
    return identifier if isinstance(identifier, str) else None


def _is_system(entry: Entry) -> bool:
    return isinstance(entry, TextMessage) and entry.role is MessageRole.SYSTEM


def _merged(body: _Json, options: Mapping[str, Any]) -> _Json:
    merged = {**body, **options}
    if "tools" in body and isinstance(given := options.get("tools"), Sequence):
        replaced = {tool.get("name") for tool in cast("Sequence[_Json]", given)}
        merged["tools"] = [*(tool for tool in body["tools"] if tool["name"] not in replaced), *given]
    if isinstance(given := options.get("output_config"), Mapping):
        merged["output_config"] = {**body.get("output_config", {}), **given}
    if "container" in body and isinstance(given := options.get("container"), Mapping):
        merged["container"] = {"id": body["container"], **given}
    return merged


def _messages(entries: Sequence[Entry], names: Names) -> list[_Json]:
    """Return the turns; what one side says in a row is one message, in which the results of calls come first."""
    said = without_lost_calls([(role, block) for role, block in _turns(entries, names) if not _is_empty(block)])
    messages: list[_Json] = []
    for role, several in groupby(said, key=lambda each: each[0]):
        content = [block for _, block in several]
        # Anthropic refuses what it has said itself where that ends in a thought: the answer was cut off in it.
        while role == "assistant" and content and text_or_empty(content[-1].get("type")) in _THOUGHTS:
            content.pop()
        messages += [{"role": role, "content": content}] if content else []
    if not messages:
        message = "Anthropic expects at least one message with something in it, got none: add .request(...)"
        raise ProviderError(message)
    return messages


def _is_empty(block: _Json) -> bool:
    # Anthropic refuses what it has said itself where that is a text of nothing.
    return block.get("type") == "text" and not str(block.get("text")).strip()


def _turns(entries: Iterable[Entry], names: Names) -> Iterator[Turn]:
    used: set[str] = set()
    sent: dict[str, str] = {}
    for entry in _with_system_last(entries):
        if isinstance(entry, ToolResultMessage):
            result = _result(entry, sent.get(entry.tool_call_id, entry.tool_call_id))
            yield "user", result | anthropic_mark(entry.cache)
        elif isinstance(entry, Message):
            yield from ((entry.role.value, block) for block in _said(entry, names))
        elif own := own_blocks(entry):
            sent = {}
            used.update(call.id for call in entry.calls)
            yield from (("assistant", sent_back(block)) for block in own)
        else:
            sent = {call.id: _free_id(call.id, used) for call in entry.calls}
            yield from (("assistant", block) for each in entry.messages for block in _said(each, names, sent))


def _with_system_last(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Give entries with what the system says at the end of the turn in which it says so.

    Anthropic takes it there only: after what a person or a tool says, and before the model's next answer.
    """
    said: list[Entry] = []
    is_turn = False
    for entry in entries:
        if _is_system(entry):
            said.append(entry)
            continue
        if isinstance(entry, Answer) or entry.role is MessageRole.ASSISTANT:
            yield from _after_a_turn(said, is_turn=is_turn)
            said, is_turn = [], False
        else:
            is_turn = True
        yield entry
    yield from _after_a_turn(said, is_turn=is_turn)


def _after_a_turn(said: list[Entry], *, is_turn: bool) -> list[Entry]:
    if said and not is_turn:
        message = (
            "Anthropic does not take a system message between two answers of its model: put .request(...) before it"
        )
        raise ProviderError(message)
    return said


def _free_id(identifier: str, used: set[str]) -> str:
    """Return the id of another provider's call as Anthropic takes it, which wants each to be there once."""
    free, count = identifier, 0
    while free in used or _ID.fullmatch(free) is None:
        free, count = f"call_{len(used)}_{count}", count + 1
    used.add(free)
    return free


def _said(message: Message, names: Names, sent: Mapping[str, str] | None = None) -> list[_Json]:
    mark = anthropic_mark(message.cache)
    if isinstance(message, TextMessage):
        return [text_block(message.text) | mark]
    if isinstance(message, MediaMessage):
        return [required(media_block(message)) | mark]
    if isinstance(message, ToolCallMessage):
        call = {
            "type": "tool_use",
            "id": (sent or {}).get(message.tool_call_id, message.tool_call_id),
            "name": names.of_earlier(message.tool_name),
            "input": _input(message, names),
        }
        return [call | mark]
    problem = f"Anthropic has no block for a {type(message).__name__}: say it as a TextMessage"
    raise ProviderError(problem)


def _input(message: ToolCallMessage, names: Names) -> _Json:
    given = message.arguments
    if isinstance(given, str):
        try:
            given = parse_arguments(message.tool_name, given)
        except ArgumentsError:  # the call's result has told the model so
            return {INVALID_JSON: given}
    return names.to_sent(message.tool_name, given)


def _result(message: ToolResultMessage, identifier: str) -> _Json:
    ended = (
        ToolResult(success=True, output=message.result)
        if message.success
        else ToolResult(success=False, error=str(message.result))
    )
    (sent,) = results([(ToolCall(identifier, message.tool_name, {}), ended)])
    return sent["content"][0]


# Answers --------------------------------------------------------------------------------------------------------------


def _heard(blocks: Iterable[JsonObject], names: Names) -> Iterator[Message]:
    for block in blocks:
        kind = block.fields.get("type")
        if kind == "text":
            text = block.fields.get("text")
            if not isinstance(text, str):
                _refuse(f"{shown_with_type(text)} at {block.where}.text, where text is wanted")
            if text:
                yield TextMessage(encodable_text(text), role=MessageRole.ASSISTANT)
        elif kind == "tool_use":
            call = tool_call(block, block.text("id"), "input", names)
            yield ToolCallMessage(call.name, call.id, _arguments(call))


def _with_object(block: JsonObject) -> JsonObject:
    """Return a block whose input, if it is a call, is an object: Anthropic wants it so back, and others send text."""
    given = block.fields.get("input")
    if block.fields.get("type") != "tool_use" or not (given is None or isinstance(given, str)):
        return block
    try:
        read = parse_arguments("the call", given or "")
    except ArgumentsError:  # the call's result tells the model so
        read = {INVALID_JSON: given}
    return JsonObject({**block.fields, "input": read}, block.where)


def _arguments(call: ToolCall) -> _Json | str:
    if isinstance(call.arguments, dict) and [*call.arguments] == [INVALID_JSON]:
        return str(call.arguments[INVALID_JSON])
    return call.arguments


def _stop_reason(top: JsonObject, messages: Sequence[Message]) -> str:
    reason = top.identifier("", "stop_reason")
    if not reason:
        return "tool_calls" if any(isinstance(each, ToolCallMessage) for each in messages) else "end"
    return _REASONS.get(reason, reason)


def _usage(usage: JsonObject | None) -> Usage:
    """Return the tokens; Anthropic counts those of the cache beside the others."""
    if usage is None:
        return Usage()
    read = _count(usage, "cache_read_input_tokens")
    written = _count(usage, "cache_creation_input_tokens")
    details = usage.object("output_tokens_details")
    return Usage(
        input_tokens=_count(usage, "input_tokens") + read + written,
        output_tokens=_count(usage, "output_tokens"),
        cached_tokens=read,
        reasoning_tokens=0 if details is None else _count(details, "thinking_tokens"),
    )


def _count(usage: JsonObject, key: str) -> int:
    value = usage.fields.get(key) or 0
    if not is_count(value):
        _refuse(f"{shown_with_type(value)} at {usage.where}.{key}, where a number of tokens is wanted")
    return value


def _refuse(problem: str) -> NoReturn:
    message = f"Anthropic answered with {problem}: ask again"
    raise ProviderError(message)
