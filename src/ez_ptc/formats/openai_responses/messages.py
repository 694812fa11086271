"""Requests to OpenAI's Responses API, and its answers."""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from operator import is_
from typing import Any, Final

from ez_ptc.errors import ProviderError
from ez_ptc.formats.cache import has_marks, openai_mark
from ez_ptc.formats.catalog import names_for
from ez_ptc.formats.content import result_of_message
from ez_ptc.formats.json_reader import JsonObject, normal_stop_reason, read_body, text_or_empty, with_unique_ids
from ez_ptc.formats.media import require
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.openai_responses.items import (
    PROVIDER,
    caller_of,
    count_stored,
    find_lost_calls,
    original_items,
    part_text,
    rename_calls,
    sendable_items,
)
from ez_ptc.formats.openai_responses.searching import Namespaces, defer, group_by_category
from ez_ptc.formats.openai_responses.tools import CALL, calls, describe, describe_hosted, media_part, results, text_part
from ez_ptc.formats.openai_shapes.answers import raise_reported_error, read_usage
from ez_ptc.formats.openai_shapes.requests import (
    arguments_text,
    limit_fields,
    output_format,
    refuse_message,
    shorten_id,
    tool_fields,
    with_options,
)
from ez_ptc.formats.openai_shapes.servers import OPENAI
from ez_ptc.formats.ordering import PREVIOUS, check_order, is_system_text
from ez_ptc.formats.prompt import Prompt
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
)
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["PROVIDER", "answer", "request"]

_Json = dict[str, Any]

_MAX_ID_LENGTH: Final = 64
_ENCRYPTED_REASONING: Final = "reasoning.encrypted_content"
# Other models have no encrypted reasoning, and reject a request for it.
_REASONING_MODELS: Final = re.compile(r"(ft:)?(o\d|gpt-([5-9]|\d\d)|codex)(?!.*-chat)")
_STOP_REASONS: Final[Mapping[str, str]] = {"max_output_tokens": "length", "content_filter": "refusal"}


def request(prompt: Prompt, *, server: str = OPENAI) -> _Json:
    """Return the body of a request, without `stream`, for a server given by its host name.

    Nothing is stored at the provider (`store` is false, unless the prompt's options override it): each request has the
    whole conversation, with encrypted reasoning. With the option `previous_response_id`, answers are stored, and a
    request has only what follows the last stored one; if the conversation has none, all of it follows the answer with
    that id. Raises the errors of `check_order` and `describe`, and ProviderError.
    """
    check_order(prompt.entries)
    previous, options = _split_previous(prompt.options)
    names = names_for(prompt.tools, "openai-responses")
    marks = has_marks(prompt.model, server)
    # `instructions` cannot have cache marks; a system message at the beginning means the same and can.
    leading = [*takewhile(lambda entry: is_system_text(entry) and not (marks and entry.cache), prompt.entries)]
    lost = find_lost_calls(prompt.entries, server)
    stored = count_stored(prompt.entries, server, lost) if previous else 0
    namespaces = group_by_category(prompt.tools, prompt.deferred_tools, names)
    builder = _ItemsBuilder(names, server, lost, namespaces, has_marks=marks)
    for entry in prompt.entries[len(leading) : stored]:
        if isinstance(entry, Answer):
            builder.remember_callers(original_items(entry, server) or ())
            previous = entry.id
    for entry in prompt.entries[max(len(leading), stored) :]:
        builder.add(entry)
    body: _Json = {"model": prompt.model, "input": builder.build(), "store": bool(previous)}
    if isinstance(previous, str):
        body[PREVIOUS] = previous
    if leading:
        body["instructions"] = "\n\n".join(entry.text for entry in leading if isinstance(entry, TextMessage))
    if not options.get("store", body["store"]) and _REASONING_MODELS.match(prompt.model):
        body["include"] = [_ENCRYPTED_REASONING]
    body |= {**tool_fields(prompt, names, describe, is_nested=False), **limit_fields(prompt, "max_output_tokens")}
    if prompt.hosted_tools:
        body["tools"] = describe_hosted(body["tools"], prompt.tools, prompt.hosted_tools)
    if prompt.deferred_tools:
        deferred = {*map(names.to_provider, prompt.deferred_tools)}
        body["tools"] = defer(body["tools"], deferred, namespaces, options.get("tools", ()))
    if prompt.output_schema is not None:
        body["text"] = {"format": {"type": "json_schema", **output_format(prompt.output_schema)}}
    return with_options(body, options)


def answer(body: Mapping[str, Any], prompt: Prompt, *, server: str = OPENAI) -> Answer:
    """Return the answer in a response.

    Reasoning and calls of the provider's own tools are in `content` only. Raises ProviderError that names the invalid
    field, also for an unfinished response.
    """
    top = read_body(body, "answer")
    raise_reported_error(top)
    status = text_or_empty(top.fields.get("status")) or "completed"
    if status not in ("completed", "incomplete"):
        message = (
            f"the provider's answer is not finished, its status is {safe_repr(status)}; ask again without background"
        )
        raise ProviderError(message)
    if not isinstance(top.fields.get("output"), list):
        message = "the provider's answer has no output; check that the address is of a responses API"
        raise ProviderError(message)
    received = top.objects("output")
    items = with_unique_ids(received, prompt.entries, call_type=CALL, id_key="call_id")
    # A stored answer has its calls under the ids of the server: results with other ones would be of unknown calls.
    is_stored = top.fields.get("store") is True and all(map(is_, items, received))
    messages, is_refusal = _read_messages(items, names_for(prompt.tools, "openai-responses"))
    details = top.object("incomplete_details")
    stop_reason = normal_stop_reason(messages)
    if stop_reason == "end" and is_refusal:
        stop_reason = "refusal"
    if status == "incomplete":
        cause = details and text_or_empty(details.fields.get("reason"))
        stop_reason = _STOP_REASONS.get(cause or "", cause or "incomplete")
    return Answer(
        messages=tuple(messages),
        stop_reason=stop_reason,
        usage=read_usage(top.fields.get("usage"), "input_tokens", "output_tokens"),
        provider=PROVIDER,
        model=text_or_empty(top.fields.get("model")) or prompt.model,
        content=[dict(item.fields) for item in items],
        id=text_or_empty(top.fields.get("id")),
        details={"server": server, "stored": is_stored},
    )


# Requests -------------------------------------------------------------------------------------------------------------


class _ItemsBuilder:
    """Builds the items of a request."""

    def __init__(
        self, names: Names, server: str, lost: frozenset[str], namespaces: Namespaces, *, has_marks: bool
    ) -> None:
        self._names = names
        self._namespaces = namespaces.of_tools
        self._server = server
        self._lost = lost
        self._has_marks = has_marks
        self._items: list[_Json] = []
        self._user_entries: list[TextMessage | MediaMessage] = []
        self._sent_ids: dict[str, str] = {}
        self._callers: dict[str, object] = {}

    def remember_callers(self, items: Sequence[_Json]) -> None:
        """Remember which programs made calls: their results are sent to them."""
        for item in items:
            if item.get("type") == CALL and (caller := caller_of(item, self._lost)):
                self._callers[text_or_empty(item.get("call_id"))] = caller

    def add(self, entry: Entry) -> None:
        if isinstance(entry, TextMessage | MediaMessage) and entry.role is MessageRole.USER:
            self._user_entries.append(entry)
            return
        self._add_user_messages()
        if isinstance(entry, Answer):
            self._add_answer(entry)
        elif isinstance(entry, ToolResultMessage):
            call = ToolCall(self._sent_ids.get(entry.tool_call_id, entry.tool_call_id), entry.tool_name, {})
            [item] = results([(call, result_of_message(entry))], self._names)
            if mark := self._mark(entry):
                output: str | list[_Json] = item["output"]
                *parts, last = [text_part(output)] if isinstance(output, str) else output
                item["output"] = [*parts, last | mark]
            if caller := self._callers.get(entry.tool_call_id):
                item["caller"] = caller
            self._items.append(item)
        elif isinstance(entry, TextMessage):
            content: str | list[_Json] = entry.text
            if entry.role is not MessageRole.ASSISTANT and (mark := self._mark(entry)):
                content = [text_part(entry.text) | mark]
            self._items.append({"role": entry.role.value, "content": content})
        else:
            refuse_message(entry)

    def build(self) -> list[_Json]:
        self._add_user_messages()
        return self._items

    def _add_user_messages(self) -> None:
        entries, self._user_entries = self._user_entries, []
        if any(isinstance(entry, MediaMessage) or self._mark(entry) for entry in entries):
            parts: list[_Json] = []
            for entry in entries:
                if isinstance(entry, TextMessage):
                    converted = text_part(entry.text)
                else:
                    converted = require(media_part(entry))
                parts.append(converted | self._mark(entry))
            self._items.append({"role": "user", "content": parts})
            return
        for entry in entries:
            if isinstance(entry, TextMessage):
                self._items.append({"role": "user", "content": entry.text})

    def _mark(self, message: Message) -> _Json:
        if self._has_marks:
            return openai_mark(message.cache)
        return {}

    def _add_answer(self, answer: Answer) -> None:
        original = original_items(answer, self._server)
        if original is not None:
            self.remember_callers(original)
            is_stored = bool(answer.details.get("stored"))
            items = rename_calls(original, [self._names.to_provider(call.name) for call in answer.calls])
            self._items += sendable_items(items, self._server, self._lost, is_stored=is_stored)
            return
        for message in answer.messages:
            if isinstance(message, TextMessage) and message.text:
                self._items.append({"role": "assistant", "content": message.text})
            elif isinstance(message, ToolCallMessage):
                sent_id = shorten_id(message.tool_call_id, _MAX_ID_LENGTH)
                self._sent_ids[message.tool_call_id] = sent_id
                name, arguments = self._names.to_provider(message.tool_name), arguments_text(message.arguments)
                item = {"type": CALL, "call_id": sent_id, "name": name, "arguments": arguments}
                if name in self._namespaces:
                    item["namespace"] = self._namespaces[name]
                self._items.append(item)


def _split_previous(options: Mapping[str, Any]) -> tuple[object, _Json]:
    """Return the id of the answer to continue from, or True for the last one here, or None; and the other options."""
    remaining = {name: value for name, value in options.items() if name != PREVIOUS}
    previous: object = options.get(PREVIOUS) or None
    if previous is not None and previous is not True and not isinstance(previous, str):
        message = (
            f"expected {PREVIOUS} to be the id of a response, or True for the last one here, got {safe_repr(previous)}"
        )
        raise ProviderError(message)
    return previous, remaining


# Answers --------------------------------------------------------------------------------------------------------------


def _read_messages(items: Sequence[JsonObject], names: Names) -> tuple[list[Message], bool]:
    """Return the messages in these items, and whether one of them is a refusal."""
    received_calls = iter(calls([item.fields for item in items], names))
    messages: list[Message] = []
    is_refusal = False
    for item in items:
        item_type = item.fields.get("type")
        if item_type == CALL:
            call = next(received_calls)
            messages.append(ToolCallMessage(call.name, call.id, call.arguments))
        elif item_type == "message" and isinstance(text := item.fields.get("content"), str):
            if text:  # a list at OpenAI
                messages.append(TextMessage(text_or_empty(text), role=MessageRole.ASSISTANT))
        elif item_type == "message":
            for content_part in item.objects("content"):
                is_refusal = is_refusal or content_part.fields.get("type") == "refusal"
                if text := part_text(content_part.fields):
                    messages.append(TextMessage(text, role=MessageRole.ASSISTANT))
    return messages, is_refusal
