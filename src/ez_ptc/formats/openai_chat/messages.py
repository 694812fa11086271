"""Requests to OpenAI's Chat Completions API, and its answers; also for other servers that speak this format."""

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Final, cast

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.cache import has_marks, openai_mark
from ez_ptc.formats.catalog import names_for
from ez_ptc.formats.content import result_of_message
from ez_ptc.formats.json_reader import JsonObject, normal_stop_reason, read_body, text_or_empty, unique_ids
from ez_ptc.formats.media import require
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.openai_chat.media import media_part, text_part
from ez_ptc.formats.openai_chat.resending import function_call_of, sendable_message
from ez_ptc.formats.openai_chat.tools import describe
from ez_ptc.formats.openai_shapes.answers import raise_reported_error, read_usage
from ez_ptc.formats.openai_shapes.chat_tools import CHAT_API, call_objects, read_calls, result_message
from ez_ptc.formats.openai_shapes.dialects import ChatDialect
from ez_ptc.formats.openai_shapes.requests import (
    arguments_text,
    limit_fields,
    output_format,
    refuse_message,
    shorten_id,
    tool_fields,
    with_options,
)
from ez_ptc.formats.openai_shapes.servers import OPENAI, is_at, is_openai, is_original
from ez_ptc.formats.ordering import check_order, refuse_late_instructions, refuse_previous_response, split_instructions
from ez_ptc.formats.prompt import Prompt
from ez_ptc.formats.provider_table import PROVIDERS
from ez_ptc.formats.wire import encodable_text, join_pieces
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

__all__ = ["PROVIDER", "answer", "content_text", "request"]

_MAX_ID_LENGTH: Final = 40

_OPENAI: Final = ChatDialect(
    title=CHAT_API,
    media_part=media_part,
    call_id=partial(shorten_id, max_length=_MAX_ID_LENGTH),
    max_tokens_key="max_completion_tokens",
    is_strict_in_order=False,
    has_empty_answers=True,
)
_COMPATIBLE: Final = ChatDialect(title=CHAT_API, media_part=media_part)

PROVIDER: Final = "openai-chat"

_Json = dict[str, Any]

_STOP_REASONS: Final[Mapping[str, str]] = {
    "content_filter": "refusal",
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence"), "end"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), "end"),
}
# Reasons of Mistral, OpenRouter, vLLM, SGLang, Zhipu and DeepSeek: what came may be half a program or half a call.
_INTERRUPTIONS: Final = frozenset({"error", "abort", "cancelled", "network_error", "insufficient_system_resource"})


def request(prompt: Prompt, *, server: str = OPENAI) -> _Json:
    """Return the body of a request, without `stream`, for a server given by its host name.

    For OpenAI, system messages keep their place. For servers that are strict about the order of roles, the system
    messages before the first answer are one message at the beginning, and consecutive user messages are one message.
    Raises the errors of `check_order` and `describe`, and ProviderError for a message the server does not accept.
    """
    check_order(prompt.entries)
    dialect = _dialect_of(server)
    refuse_previous_response(dialect.title, prompt.options)
    names = names_for(prompt.tools, "openai-chat")
    builder = _MessagesBuilder(names, server, dialect, has_marks=has_marks(prompt.model, server))
    entries: Sequence[Entry] = prompt.entries
    if dialect.is_strict_in_order:
        instructions, entries = split_instructions(prompt.entries)
        builder.add_instructions("\n\n".join(message.text for message in instructions))
    for entry in entries:
        builder.add(entry)
    body: _Json = {"model": prompt.model, "messages": builder.build()}
    body |= {**tool_fields(prompt, names, describe, is_nested=True), **limit_fields(prompt, dialect.max_tokens_key)}
    if prompt.output_schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": output_format(prompt.output_schema)}
    return with_options(body, prompt.options)


def answer(body: Mapping[str, Any], prompt: Prompt, *, server: str = OPENAI) -> Answer:
    """Return the answer in the first choice of a completion.

    Calls without an id get one, in `content` too. Raises ProviderError naming the invalid field, ConnectionFailedError
    for an answer that its server broke off, and the errors of `raise_reported_error`.
    """
    top = read_body(body, "answer")
    choice = _first_choice(top)
    reason = choice.fields.get("finish_reason")
    received = choice.object("message")
    if received is None and reason != "content_filter":
        message = f"the provider's answer has no message at {choice.where}; ask again"
        raise ProviderError(message)
    id_prefix = f"c{len(prompt.entries):05d}x"
    content = None
    messages: list[Message] = []
    if received is not None:
        content = _with_call_ids(received, prompt.entries, id_prefix)
        messages = _read_messages(content, names_for(prompt.tools, "openai-chat"), id_prefix)
    word = text_or_empty(reason)
    stop_reason = _STOP_REASONS.get(word.lower(), word or safe_repr(reason))
    if not reason or stop_reason == "end":  # some servers send "stop" with calls, or "tool_calls" without
        stop_reason = normal_stop_reason(messages)
        if stop_reason == "end" and content and content.get("refusal"):
            stop_reason = "refusal"
    return Answer(
        messages=tuple(messages),
        stop_reason=stop_reason,
        usage=read_usage(top.fields.get("usage"), "prompt_tokens", "completion_tokens"),
        provider=PROVIDER,
        model=text_or_empty(top.fields.get("model")) or prompt.model,
        content=content,
        id=text_or_empty(top.fields.get("id")),
        details={"server": server},
    )


def content_text(content: object) -> str:
    """Return the text of a message's `content`, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts: list[str] = []
    for item in cast("Sequence[object]", content):
        if isinstance(item, str):  # as some servers send, instead of an object
            texts.append(item)
        elif isinstance(item, Mapping):
            fields = cast("Mapping[str, object]", item)
            text = fields.get("text")
            if fields.get("type") == "text" and isinstance(text, str):
                texts.append(text)
    return join_pieces(texts)


# Requests -------------------------------------------------------------------------------------------------------------


class _MessagesBuilder:
    """Builds the messages of a request."""

    def __init__(self, names: Names, server: str, dialect: ChatDialect, *, has_marks: bool) -> None:
        self._names = names
        self._server = server
        self._dialect = dialect
        self._has_marks = has_marks
        self._messages: list[_Json] = []
        self._user_entries: list[TextMessage | MediaMessage] = []
        self._sent_ids: dict[str, str] = {}
        self._function_ids: frozenset[str] = frozenset()

    def add_instructions(self, text: str) -> None:
        if text:
            self._messages.append({"role": "system", "content": text})

    def add(self, entry: Entry) -> None:
        if isinstance(entry, TextMessage | MediaMessage) and entry.role is MessageRole.USER:
            self._user_entries.append(entry)
            return
        self._add_user_message()
        if isinstance(entry, Answer):
            self._add_answer(entry)
        elif isinstance(entry, ToolResultMessage):
            call = ToolCall(self._sent_ids.get(entry.tool_call_id, entry.tool_call_id), entry.tool_name, {})
            message = result_message(call, result_of_message(entry), self._dialect.result_media_part)
            content = message["content"]
            if entry.tool_call_id in self._function_ids:
                name = self._names.to_provider(entry.tool_name)
                self._messages.append({"role": "function", "name": name, "content": content})
            else:
                self._messages.append({**message, "content": self._content(content, entry)})
        elif isinstance(entry, TextMessage):
            if entry.role is MessageRole.SYSTEM and not self._dialect.has_late_instructions:
                refuse_late_instructions(self._dialect.title)
            self._messages.append({"role": entry.role.value, "content": self._content(entry.text, entry)})
        else:
            refuse_message(entry)

    def build(self) -> list[_Json]:
        self._add_user_message()
        return self._messages

    def _add_user_message(self) -> None:
        entries, self._user_entries = self._user_entries, []
        filler = self._dialect.answer_after_results
        if filler is not None and entries and self._messages and self._messages[-1]["role"] == "tool":
            self._messages.append({"role": "assistant", "content": filler})
        if any(isinstance(entry, MediaMessage) or self._mark(entry) for entry in entries):
            parts: list[_Json] = []
            for entry in entries:
                if isinstance(entry, TextMessage):
                    converted = text_part(entry.text)
                else:
                    converted = require(self._dialect.media_part(entry))
                parts.append(converted | self._mark(entry))
            self._messages.append({"role": "user", "content": parts})
            return
        texts = [entry.text for entry in entries if isinstance(entry, TextMessage)]
        if texts and self._dialect.is_strict_in_order:
            texts = ["\n\n".join(texts)]
        self._messages += [{"role": "user", "content": text} for text in texts]

    def _mark(self, message: Message) -> _Json:
        if self._has_marks:
            return openai_mark(message.cache)
        return {}

    def _content(self, text: str, message: Message) -> str | list[_Json]:
        """Return text as the content of a message; only a part can have a cache mark."""
        mark = self._mark(message)
        if mark:
            return [text_part(text) | mark]
        return text

    def _add_answer(self, answer: Answer) -> None:
        original = None
        if is_original(answer, PROVIDER, self._server):
            original = _original_message(answer)
        if original is not None:
            has_function = bool(function_call_of(original)) and not original.get("tool_calls")
            self._function_ids = frozenset(call.id for call in answer.calls if has_function)
            message = sendable_message(original, [self._names.to_provider(call.name) for call in answer.calls])
            if self._dialect.has_empty_answers or message != {"role": "assistant", "content": ""}:
                self._messages.append(message)
            return
        self._function_ids = frozenset()
        sent_calls: list[_Json] = []
        for call in answer.calls:
            sent_id = self._dialect.call_id(call.id)
            self._sent_ids[call.id] = sent_id
            function = {"name": self._names.to_provider(call.name), "arguments": arguments_text(call.arguments)}
            sent_calls.append({"id": sent_id, "type": "function", "function": function})
        if sent_calls:
            self._messages.append({"role": "assistant", "content": answer.text or None, "tool_calls": sent_calls})
        elif answer.text:
            self._messages.append({"role": "assistant", "content": answer.text})


def _original_message(answer: Answer) -> Mapping[str, Any] | None:
    """Return an answer's message as received, or None if the answer was made or changed by hand."""
    content: object = answer.content
    if not isinstance(content, Mapping):
        return None
    message = cast("Mapping[str, Any]", content)
    calls: object = message.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        return None
    call_ids = [
        text_or_empty(cast("Mapping[str, object]", call).get("id"))
        for call in cast("Sequence[object]", calls)
        if isinstance(call, Mapping)
    ]
    is_function_call = not call_ids and bool(function_call_of(message)) and len(answer.calls) == 1
    if is_function_call or call_ids == [call.id for call in answer.calls]:
        return message
    return None


# Answers --------------------------------------------------------------------------------------------------------------


def _first_choice(top: JsonObject) -> JsonObject:
    """Return the first choice of a completion. Raises the errors of `answer`."""
    raise_reported_error(top)
    choices = top.objects("choices")
    if not choices:
        message = "the provider's answer has no choices; check that the address is of a chat completions API"
        raise ProviderError(message)
    raise_reported_error(choices[0])
    word = text_or_empty(choices[0].fields.get("finish_reason"))
    if word.lower() in _INTERRUPTIONS:
        message = f"the provider broke off its answer (finish_reason {safe_repr(word)}): ask again"
        raise ConnectionFailedError(message)
    return choices[0]


def _with_call_ids(message: JsonObject, entries: Sequence[Entry], prefix: str) -> _Json:
    """Return a message's fields, with `unique_ids`."""
    fields = dict(message.fields)
    if not fields.get("tool_calls"):
        return fields
    calls = [dict(call.fields) for call in call_objects(message)]
    identifiers = {index: text_or_empty(call.get("id")) for index, call in enumerate(calls)}
    for index, identifier in unique_ids(identifiers, entries, lambda number: f"{prefix}{number:02d}").items():
        calls[index]["id"] = identifier
    return {**fields, "tool_calls": calls}


def _read_messages(content: Mapping[str, Any], names: Names, id_prefix: str) -> list[Message]:
    texts = (encodable_text(content_text(content.get("content"))), text_or_empty(content.get("refusal")))
    messages: list[Message] = [TextMessage(text, role=MessageRole.ASSISTANT) for text in texts if text]
    function = function_call_of(content)
    if function and not content.get("tool_calls"):  # the older spelling of a single call
        content = {"tool_calls": [{"function": function}]}
    calls = read_calls(content, names, lambda index: f"{id_prefix}{index:02d}")
    return [*messages, *(ToolCallMessage(call.name, call.id, call.arguments) for call in calls)]


def _dialect_of(server: str) -> ChatDialect:
    """Return the dialect of a server, given by its host name: one that a format declares, or the common one."""
    if is_openai(server):
        return _OPENAI
    for entry in PROVIDERS:
        if is_at(server, entry.hosts):
            dialect: ChatDialect = import_module(f"ez_ptc.formats.{entry.folder}.dialect").DIALECT
            return dialect
    return _COMPATIBLE
