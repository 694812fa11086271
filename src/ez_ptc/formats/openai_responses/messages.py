"""Turns of a conversation in OpenAI's Responses: the request for the next answer, and the answer."""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

from ez_ptc.errors import ProviderError
from ez_ptc.formats.cache import has_marks, openai_mark
from ez_ptc.formats.catalog import names_for
from ez_ptc.formats.json_reader import JsonObject, read_body, text_or_empty, with_unique_ids
from ez_ptc.formats.media import required
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.openai_responses.items import (
    CALL,
    PROVIDER,
    caller_of,
    items_back,
    lost_calls,
    own_items,
    stored_until,
    text_of_part,
)
from ez_ptc.formats.openai_responses.media import input_media, input_text
from ez_ptc.formats.openai_responses.tools import calls, describe, results
from ez_ptc.formats.openai_shapes.parts import (
    OPENAI,
    arguments_text,
    fitted_id,
    output_format,
    raise_error,
    tool_choice_name,
    usage_of,
    with_options,
)
from ez_ptc.formats.ordering import PREVIOUS, check_order
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import (
    Answer,
    Entry,
    MediaMessage,
    Message,
    MessageRole,
    TextMessage,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
)
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["PROVIDER", "answer", "request"]

_LONGEST_ID: Final = 64
_ENCRYPTED: Final = "reasoning.encrypted_content"
# Others refuse to be asked for their encrypted reasoning, for they have none.
_REASONS: Final = re.compile(r"(ft:)?(o\d|gpt-([5-9]|\d\d)|codex)(?!.*-chat)")
_STOPS: Final[Mapping[str, str]] = {"max_output_tokens": "length", "content_filter": "refusal"}


def request(prompt: Prompt, *, server: str = OPENAI) -> dict[str, Any]:
    """Return the body of a request, but for `stream`. `server` is the name of the host that it is for.

    Nothing is kept at the provider (`store` is false, unless the prompt's options say otherwise): each request has the
    whole conversation, and reasoning goes to and fro encrypted. With the option `previous_response_id` answers are
    stored, and a request has what came after the last of them; where none is in the conversation, everything comes
    after the answer of that id. Raises what `check_order` and `describe` raise, and ProviderError.
    """
    check_order(prompt.entries)
    previous, options = _previous(prompt.options)
    names = names_for(prompt.tools, "openai-responses")
    marks = has_marks(prompt.model, server)
    # Instructions have no parts that could be marked; what the system says first as an item means the same.
    is_instruction = _is_unmarked_system if marks else _is_system
    leading = [*takewhile(is_instruction, prompt.entries)]
    lost = lost_calls(prompt.entries, server)
    known = stored_until(prompt.entries, server, lost) if previous else 0
    items = _Items(names, server, lost, has_marks=marks)
    for entry in prompt.entries[len(leading) : known]:
        items.know(entry)
        previous = entry.id if isinstance(entry, Answer) else previous
    for entry in prompt.entries[max(len(leading), known) :]:
        items.add(entry)
    body: dict[str, Any] = {"model": prompt.model, "input": items.done(), "store": bool(previous)}
    if isinstance(previous, str):
        body[PREVIOUS] = previous
    if leading:
        body["instructions"] = "\n\n".join(each.text for each in leading if isinstance(each, TextMessage))
    if not options.get("store", body["store"]) and _REASONS.match(prompt.model):
        body["include"] = [_ENCRYPTED]
    body |= {**_tools(prompt, names), **_limits(prompt)}
    if prompt.output_schema is not None:
        body["text"] = {"format": {"type": "json_schema", **output_format(prompt.output_schema)}}
    return with_options(body, options)


def answer(body: Mapping[str, Any], prompt: Prompt, *, server: str = OPENAI) -> Answer:
    """Return the answer in a response.

    What the provider runs itself, and what it reasons, is in `content` only. Raises ProviderError that says what is
    wrong where, for a response that is not finished as well.
    """
    top = read_body(body, "answer")
    if top.fields.get("error"):
        raise_error(top.fields["error"])
    status = text_or_empty(top.fields.get("status")) or "completed"
    if status not in ("completed", "incomplete"):
        message = (
            f"the provider's answer is not finished, its status is {safe_repr(status)}: "
            "ask again, and not in background"
        )
        raise ProviderError(message)
    if not isinstance(top.fields.get("output"), list):
        message = "the provider's answer has no output: is it the address of an API for responses?"
        raise ProviderError(message)
    items = with_unique_ids(
        top.objects("output"), call_type=CALL, id_key="call_id", prefix=f"call_{len(prompt.entries)}_"
    )
    messages, refused = _messages(items, names_for(prompt.tools, "openai-responses"))
    has_calls = any(isinstance(each, ToolCallMessage) for each in messages)
    why = top.object("incomplete_details")
    return Answer(
        messages=tuple(messages),
        stop_reason=_cut_short(why) if status == "incomplete" else _ended(has_calls=has_calls, refused=refused),
        usage=usage_of(top.fields.get("usage"), "input_tokens", "output_tokens"),
        provider=PROVIDER,
        model=text_or_empty(top.fields.get("model")) or prompt.model,
        content=[dict(item.fields) for item in items],
        id=text_or_empty(top.fields.get("id")),
        details={"server": server, "stored": top.fields.get("store") is True},
    )


class _Items:
    """The items of a request, as they are written."""

    def __init__(self, names: Names, server: str, lost: frozenset[str], *, has_marks: bool) -> None:
        self._names = names
        self._server = server
        self._lost = lost
        self._has_marks = has_marks
        self._made: list[dict[str, Any]] = []
        self._person: list[TextMessage | MediaMessage] = []
        self._ids: dict[str, str] = {}
        self._callers: dict[str, object] = {}

    def know(self, entry: Entry) -> None:
        """Take note of an entry that the provider has already."""
        if isinstance(entry, Answer):
            self._note(own_items(entry, self._server) or ())

    def add(self, entry: Entry) -> None:
        if isinstance(entry, TextMessage | MediaMessage) and entry.role is MessageRole.USER:
            self._person.append(entry)
            return
        self._end_person()
        if isinstance(entry, Answer):
            own = own_items(entry, self._server)
            self._made += self._foreign(entry) if own is None else self._own(entry, own)
        elif isinstance(entry, ToolResultMessage):
            self._made.append(self._result(entry))
        elif isinstance(entry, TextMessage):
            mark = self._mark(entry) if entry.role is not MessageRole.ASSISTANT else {}
            content = [input_text(entry.text) | mark] if mark else entry.text
            self._made.append({"role": entry.role.value, "content": content})
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
        if any(isinstance(each, MediaMessage) or self._mark(each) for each in said):
            self._made.append({"role": "user", "content": [_part(each) | self._mark(each) for each in said]})
        else:
            self._made += [{"role": "user", "content": each.text} for each in said if isinstance(each, TextMessage)]

    def _mark(self, said: Message) -> dict[str, Any]:
        return openai_mark(said.cache) if self._has_marks else {}

    def _own(self, answer: Answer, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self._note(items)
        return items_back(items, self._server, self._lost, is_stored=bool(answer.details.get("stored")))

    def _note(self, items: Sequence[dict[str, Any]]) -> None:
        called = [item for item in items if item.get("type") == CALL]
        callers = {text_or_empty(item.get("call_id")): caller_of(item, self._lost) for item in called}
        self._callers |= {identifier: caller for identifier, caller in callers.items() if caller}

    def _foreign(self, answer: Answer) -> list[dict[str, Any]]:
        self._ids |= {call.id: fitted_id(call.id, _LONGEST_ID) for call in answer.calls}
        made: list[dict[str, Any]] = []
        for said in answer.messages:
            if isinstance(said, TextMessage) and said.text:
                made.append({"role": "assistant", "content": said.text})
            elif isinstance(said, ToolCallMessage):
                name, text = self._names.of_earlier(said.tool_name), arguments_text(said.arguments)
                identifier = self._ids[said.tool_call_id]
                made.append({"type": "function_call", "call_id": identifier, "name": name, "arguments": text})
        return made

    def _result(self, entry: ToolResultMessage) -> dict[str, Any]:
        identifier = self._ids.get(entry.tool_call_id, entry.tool_call_id)
        call = ToolCallMessage(entry.tool_name, identifier, {}).call
        error = None if entry.success else str(entry.result)
        [item] = results([(call, ToolResult(entry.success, entry.result, error))], self._names)
        if mark := self._mark(entry):
            output: str | list[dict[str, Any]] = item["output"]
            *parts, last = [input_text(output)] if isinstance(output, str) else output
            item = {**item, "output": [*parts, last | mark]}
        caller = self._callers.get(entry.tool_call_id)
        return {**item, "caller": caller} if caller else item


def _previous(options: Mapping[str, Any]) -> tuple[object, dict[str, Any]]:
    """Return the answer to go on from, which may be True for any, and the other options."""
    others = {name: value for name, value in options.items() if name != PREVIOUS}
    previous: object = options.get(PREVIOUS) or None
    if previous is not None and previous is not True and not isinstance(previous, str):
        message = (
            f"expected {PREVIOUS} to be the id of a response, or True for the last one here, got {safe_repr(previous)}"
        )
        raise ProviderError(message)
    return previous, others


def _is_system(entry: Entry) -> bool:
    return isinstance(entry, TextMessage) and entry.role is MessageRole.SYSTEM


def _is_unmarked_system(entry: Entry) -> bool:
    return isinstance(entry, TextMessage) and _is_system(entry) and not entry.cache


def _part(said: TextMessage | MediaMessage) -> dict[str, Any]:
    if isinstance(said, TextMessage):
        return input_text(said.text)
    return required(input_media(said))


def _tools(prompt: Prompt, names: Names) -> dict[str, Any]:
    if not prompt.tools:
        return {}
    tools = [describe(tool, strict=prompt.strict) for tool in prompt.tools]
    name = tool_choice_name(prompt.tool_choice, names.sent)
    if name is not None:
        return {"tools": tools, "tool_choice": {"type": "function", "name": name}}
    return {"tools": tools} if prompt.tool_choice == "auto" else {"tools": tools, "tool_choice": prompt.tool_choice}


def _limits(prompt: Prompt) -> dict[str, Any]:
    values = {"max_output_tokens": prompt.max_tokens, "temperature": prompt.temperature}
    return {name: value for name, value in values.items() if value is not None}


def _messages(items: Sequence[JsonObject], names: Names) -> tuple[list[Message], bool]:
    """Return what was said, and whether some of it is a refusal."""
    asked = iter(calls([item.fields for item in items], names))
    messages: list[Message] = []
    refused = False
    for item in items:
        kind = item.fields.get("type")
        if kind == CALL:
            call = next(asked)
            messages.append(ToolCallMessage(call.name, call.id, call.arguments))
        elif kind == "message" and not isinstance(item.fields.get("content"), str):
            parts = item.objects("content")
            refused = refused or any(part.fields.get("type") == "refusal" for part in parts)
            messages += [
                TextMessage(text, role=MessageRole.ASSISTANT) for part in parts if (text := text_of_part(part.fields))
            ]
    return messages, refused


def _cut_short(why: JsonObject | None) -> str:
    reason = "" if why is None else text_or_empty(why.fields.get("reason"))
    return _STOPS.get(reason, reason or "incomplete")


def _ended(*, has_calls: bool, refused: bool) -> str:
    return "tool_calls" if has_calls else "refusal" if refused else "end"
