"""Turns of a conversation in OpenAI's Chat Completions: the request for the next answer, and the answer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.errors import ProviderError
from ez_ptc.formats.cache import has_marks, openai_mark
from ez_ptc.formats.catalog import names_for
from ez_ptc.formats.json_reader import JsonObject, read_body, text_or_empty
from ez_ptc.formats.media import required
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.openai_chat.tools import describe
from ez_ptc.formats.openai_shapes.calls import chat_calls, tool_message
from ez_ptc.formats.openai_shapes.media import chat_media, chat_text, mistral_media
from ez_ptc.formats.openai_shapes.parts import (
    OPENAI,
    arguments_text,
    came_from,
    fitted_id,
    is_mistral,
    is_openai,
    output_format,
    raise_error,
    short_id,
    tool_choice_name,
    usage_of,
    with_options,
)
from ez_ptc.formats.ordering import check_order, refuse_late_instructions, refuse_previous_response, split_instructions
from ez_ptc.formats.prompt import Prompt
from ez_ptc.formats.wire import encodable_text, joined
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
)
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["PROVIDER", "answer", "request", "text_of"]

PROVIDER: Final = "openai-chat"
_LONGEST_ID: Final = 40
# Mistral lets nobody but the model speak after a tool.
_SEEN: Final = "OK."
_STOPS: Final[Mapping[str, str]] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}


def request(prompt: Prompt, *, server: str = OPENAI) -> dict[str, Any]:
    """Return the body of a request, but for `stream`. `server` is the name of the host that it is for.

    What the system says stays where it stands, and the limit is called `max_completion_tokens`. For other servers than
    OpenAI's, what the system says before the model first speaks is one message at the beginning, what a person says in
    one go is one message, and the limit is `max_tokens`. Raises what `check_order` and `describe` raise, and
    ProviderError for what the server does not take.
    """
    check_order(prompt.entries)
    refuse_previous_response("Mistral" if is_mistral(server) else "OpenAI's Chat Completions API", prompt.options)
    names = names_for(prompt.tools, "openai-chat")
    instructions, said = ([], prompt.entries) if is_openai(server) else split_instructions(prompt.entries)
    messages = _Messages(names, server, "\n\n".join(each.text for each in instructions), model=prompt.model)
    for entry in said:
        messages.add(entry)
    body = {"model": prompt.model, "messages": messages.done(), **_tools(prompt, names), **_limits(prompt, server)}
    if prompt.output_schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": output_format(prompt.output_schema)}
    return with_options(body, prompt.options)


def answer(body: Mapping[str, Any], prompt: Prompt, *, server: str = OPENAI) -> Answer:
    """Return the answer in a completion: that of its first choice.

    Calls without an id get one, in `content` as well. Raises ProviderError that says what is wrong where.
    """
    top = read_body(body, "answer")
    if top.fields.get("error"):
        raise_error(top.fields["error"])
    choices = top.objects("choices")
    if not choices:
        message = "the provider's answer has no choices: is it the address of an API for chat completions?"
        raise ProviderError(message)
    reason = choices[0].fields.get("finish_reason")
    said = choices[0].object("message")
    if said is None and reason != "content_filter":
        message = f"the provider's answer has no message at {choices[0].where}: ask again"
        raise ProviderError(message)
    prefix = f"c{len(prompt.entries):05d}x"
    content = None if said is None else _with_ids(said, prefix)
    messages = [] if content is None else _messages(content, names_for(prompt.tools, "openai-chat"), prefix)
    has_calls = any(isinstance(each, ToolCallMessage) for each in messages)
    return Answer(
        messages=tuple(messages),
        stop_reason=_stop_reason(reason, has_calls=has_calls, refused=bool(content and content.get("refusal"))),
        usage=usage_of(top.fields.get("usage"), "prompt_tokens", "completion_tokens"),
        provider=PROVIDER,
        model=text_or_empty(top.fields.get("model")) or prompt.model,
        content=content,
        id=text_or_empty(top.fields.get("id")),
        details={"server": server},
    )


def text_of(content: object) -> str:
    """Return the text in a message's content, which may have other parts, as it came."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = [
        cast("Mapping[str, object]", each) for each in cast("Sequence[object]", content) if isinstance(each, Mapping)
    ]
    texts = [each.get("text") for each in parts if each.get("type") == "text"]
    return joined(text for text in texts if isinstance(text, str))


class _Messages:
    """The messages of a request, as they are written."""

    def __init__(self, names: Names, server: str, instructions: str, *, model: str) -> None:
        self._names = names
        self._server = server
        self._is_openai = is_openai(server)
        self._has_marks = has_marks(model, server)
        self._made: list[dict[str, Any]] = [{"role": "system", "content": instructions}] if instructions else []
        self._person: list[TextMessage | MediaMessage] = []
        self._ids: dict[str, str] = {}
        self._functions: frozenset[str] = frozenset()

    def add(self, entry: Entry) -> None:
        if isinstance(entry, TextMessage | MediaMessage) and entry.role is MessageRole.USER:
            self._person.append(entry)
            return
        self._end_person()
        if isinstance(entry, Answer):
            self._made += self._answered(entry)
        elif isinstance(entry, ToolResultMessage):
            self._made.append(self._result(entry))
        elif isinstance(entry, TextMessage):
            # Its templates take one after a person only, and none at the end.
            if entry.role is MessageRole.SYSTEM and is_mistral(self._server):
                refuse_late_instructions("Mistral")
            self._made.append({"role": entry.role.value, "content": self._content(entry.text, entry)})
        else:
            message = (
                f"OpenAI takes no {type(entry).__name__} from the {entry.role.value}: say it as the user, or as text"
            )
            raise ProviderError(message)

    def done(self) -> list[dict[str, Any]]:
        self._end_person()
        return self._made

    def _end_person(self) -> None:
        said, self._person = self._person, []
        if said and self._made and self._made[-1]["role"] == "tool" and is_mistral(self._server):
            self._made.append({"role": "assistant", "content": _SEEN})
        if any(isinstance(each, MediaMessage) or self._mark(each) for each in said):
            self._made.append({"role": "user", "content": [self._part(each) | self._mark(each) for each in said]})
            return
        texts = [each.text for each in said if isinstance(each, TextMessage)]
        if texts and not self._is_openai:
            texts = ["\n\n".join(texts)]
        self._made += [{"role": "user", "content": text} for text in texts]

    def _part(self, said: TextMessage | MediaMessage) -> dict[str, Any]:
        if isinstance(said, TextMessage):
            return chat_text(said.text)
        return required(mistral_media(said) if is_mistral(self._server) else chat_media(said))

    def _mark(self, said: Message) -> dict[str, Any]:
        return openai_mark(said.cache) if self._has_marks else {}

    def _content(self, text: str, said: Message) -> str | list[dict[str, Any]]:
        """Return text as the content of a message; only a part of one can be marked."""
        mark = self._mark(said)
        return [chat_text(text) | mark] if mark else text

    def _answered(self, answer: Answer) -> list[dict[str, Any]]:
        content = _own(answer) if came_from(answer, PROVIDER, self._server) else None
        if content is not None:
            self._functions = frozenset(call.id for call in answer.calls if _function_call(content))
            return [_as_sent(content)]
        self._functions = frozenset()
        self._ids |= {call.id: self._fitted(call.id) for call in answer.calls}
        calls = [self._call(call) for call in answer.calls]
        if not calls and not answer.text:
            return []
        message = {"role": "assistant", "content": answer.text or None}
        return [{**message, "tool_calls": calls} if calls else message]

    def _fitted(self, identifier: str) -> str:
        return fitted_id(identifier, _LONGEST_ID) if self._is_openai else short_id(identifier)

    def _call(self, call: ToolCall) -> dict[str, Any]:
        function = {"name": self._names.of_earlier(call.name), "arguments": arguments_text(call.arguments)}
        return {"id": self._ids[call.id], "type": "function", "function": function}

    def _result(self, entry: ToolResultMessage) -> dict[str, Any]:
        call = ToolCall(self._ids.get(entry.tool_call_id, entry.tool_call_id), entry.tool_name, {})
        error = None if entry.success else str(entry.result)
        ended = ToolResult(entry.success, entry.result, error)
        message = tool_message(call, ended, for_mistral=is_mistral(self._server))
        if entry.tool_call_id not in self._functions:
            return {**message, "content": self._content(message["content"], entry)}
        return {"role": "function", "name": self._names.to_provider(entry.tool_name), "content": message["content"]}


def _as_sent(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of the model's as it may go back: without what is null or empty, which servers do not take."""
    kept = {key: value for key, value in content.items() if value is not None and value != []}
    if isinstance(called := kept.get("tool_calls"), list):
        kept["tool_calls"] = [_called(each) for each in cast("list[object]", called)]
    kept.pop("function_call", None)
    if function := _function_call(content):
        kept["function_call"] = _with_json(function)
    if "content" in content and "content" not in kept:
        kept["content"] = None if len(kept.keys() - {"role"}) else ""
    return {**kept, "role": "assistant"}


def _own(answer: Answer) -> Mapping[str, Any] | None:
    """Return what the model said to the letter; None where the answer was made, or changed, by hand."""
    content: object = answer.content
    if not isinstance(content, Mapping):
        return None
    message = cast("Mapping[str, Any]", content)
    listed: object = message.get("tool_calls") or ()
    if not isinstance(listed, list | tuple):
        return None
    called = [
        text_or_empty(cast("Mapping[str, object]", each).get("id"))
        for each in cast("Sequence[object]", listed)
        if isinstance(each, Mapping)
    ]
    is_function = not called and bool(_function_call(message)) and len(answer.calls) == 1
    return message if is_function or called == [call.id for call in answer.calls] else None


def _called(call: object) -> object:
    if not isinstance(call, dict) or "function" not in call:
        return cast("object", call)
    fields = cast("dict[str, Any]", call)
    return {**fields, "function": _with_json(fields["function"])}


def _with_json(function: object) -> object:
    """Return the function of a call with arguments that are JSON."""
    if not isinstance(function, dict):
        return function
    fields = cast("dict[str, Any]", function)
    if not isinstance(fields.get("arguments"), str):
        return fields
    return {**fields, "arguments": arguments_text(fields["arguments"])}


def _tools(prompt: Prompt, names: Names) -> dict[str, Any]:
    if not prompt.tools:
        return {}
    tools = [describe(tool, strict=prompt.strict) for tool in prompt.tools]
    name = tool_choice_name(prompt.tool_choice, names.sent)
    if name is not None:
        return {"tools": tools, "tool_choice": {"type": "function", "function": {"name": name}}}
    return {"tools": tools} if prompt.tool_choice == "auto" else {"tools": tools, "tool_choice": prompt.tool_choice}


def _limits(prompt: Prompt, server: str) -> dict[str, Any]:
    limit = "max_completion_tokens" if is_openai(server) else "max_tokens"
    values = {limit: prompt.max_tokens, "temperature": prompt.temperature}
    return {name: value for name, value in values.items() if value is not None}


def _with_ids(said: JsonObject, prefix: str) -> dict[str, Any]:
    """Return a message in which each call has an id of its own."""
    message = dict(said.fields)
    if not message.get("tool_calls"):
        return message
    given: list[dict[str, Any]] = []
    taken: set[str] = set()
    for at, call in enumerate(said.objects("tool_calls")):
        own = text_or_empty(call.fields.get("id"))
        identifier = own if own and own not in taken else f"{prefix}{at:02d}"
        taken.add(identifier)
        given.append({**call.fields, "id": identifier})
    return {**message, "tool_calls": given}


def _messages(content: Mapping[str, Any], names: Names, prefix: str) -> list[Message]:
    texts = (encodable_text(text_of(content.get("content"))), text_or_empty(content.get("refusal")))
    said: list[Message] = [TextMessage(text, role=MessageRole.ASSISTANT) for text in texts if text]
    return [*said, *(ToolCallMessage(call.name, call.id, call.arguments) for call in _calls(content, names, prefix))]


def _calls(content: Mapping[str, Any], names: Names, prefix: str) -> list[ToolCall]:
    asked: Mapping[str, Any] = content
    function = _function_call(content)
    if function and not content.get("tool_calls"):  # how calls were written before there were tools
        asked = {"tool_calls": [{"function": function}]}
    return chat_calls(asked, names, lambda at: f"{prefix}{at:02d}")


def _function_call(content: Mapping[str, Any]) -> object:
    """Return a message's `function_call`, or None for one with nothing in it, which some servers always send."""
    function: object = content.get("function_call")
    if not isinstance(function, Mapping):
        return function or None
    fields = cast("Mapping[str, object]", function)
    return fields if any(fields.values()) else None


def _stop_reason(reason: object, *, has_calls: bool, refused: bool) -> str:
    if reason is None or reason == "stop":  # some servers stop where they ask for calls
        return "tool_calls" if has_calls else "refusal" if refused else "end"
    return _STOPS.get(text_or_empty(reason), text_or_empty(reason) or safe_repr(reason))
