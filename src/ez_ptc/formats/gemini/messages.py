"""Gemini's `generateContent`: a prompt as its request, and its response as an answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NoReturn, cast

from ez_ptc.errors import ArgumentsError, ProviderError
from ez_ptc.formats.describable import is_strict
from ez_ptc.formats.gemini.media import media_part, text_part
from ez_ptc.formats.gemini.tools import KEYS, NAMES, describe, results
from ez_ptc.formats.json_reader import JsonObject, read_body, tool_call
from ez_ptc.formats.lowering.portable import portable, without_one_of
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

__all__ = ["PROVIDER", "answer", "request"]

PROVIDER: Final = "gemini"

_Json = dict[str, Any]

_MADE_ID: Final = "ez-ptc-call-"
_REFUSALS: Final = frozenset(
    {
        "BLOCKLIST",
        "ESCALATION",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_SAFETY",
        "LANGUAGE",
        "MODEL_ARMOR",
        "PROHIBITED_CONTENT",
        "PUP_LIMITED_DISABLED",
        "RECITATION",
        "SAFETY",
        "SPII",
    }
)
_ENDS: Final = frozenset({"", "STOP", "FINISH_REASON_UNSPECIFIED"})
_MALFORMED: Final = "malformed"
_REASONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_REFUSALS, "refusal"),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"), _MALFORMED),
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
}
_TOKEN: Final = "continuationToken"  # noqa: S105 - the name of a field
# Since Gemini 3 the first call of a model's turn must have a signature; this one is documented for calls that were made
# elsewhere (ai.google.dev/gemini-api/docs/thought-signatures, "FAQs").
_UNSIGNED: Final = "skip_thought_signature_validator"
_BEFORE_GEMINI_3: Final = re.compile(r"gemini-[12]\b")
_ROLES: Final[Mapping[MessageRole, str]] = {MessageRole.USER: "user", MessageRole.ASSISTANT: "model"}


def request(prompt: Prompt) -> _Json:
    """Return the body of a request for one answer; the model's name is not in it but in the request's address.

    Of `options`, objects are merged with those that are there already, and `tools` are added to them; anything else
    takes its place. `strict` is the mode in which Gemini checks each call against its declaration; one tool that is
    strict has it check them all.

    Raises:
        ProviderError: Gemini would refuse the conversation; the message says what is wrong where.
        SchemaError: A tool or the output's schema cannot be described.
        DuplicateToolError: Two tools have one name.
    """
    check_order(prompt.entries)
    refuse_previous_response("Gemini", prompt.options)
    names = names_of(prompt.tools, NAMES, keys=KEYS)
    entries, resumed = _resumed(prompt.entries)
    instructions, said = split_instructions(entries)
    if any(map(_is_system, said)):
        refuse_late_instructions("Gemini")
    system = _parts(instructions, names)
    is_recent = _BEFORE_GEMINI_3.search(prompt.model) is None
    body: _Json = {"contents": list(_contents(said, names, is_recent=is_recent))}
    if system:
        body["systemInstruction"] = {"parts": system}
    if prompt.tools:
        body["tools"] = [{"functionDeclarations": [_declaration(describe(tool)) for tool in prompt.tools]}]
        if calling := _calling(prompt, names):
            body["toolConfig"] = {"functionCallingConfig": calling}
    if generation := _generation(prompt):
        body["generationConfig"] = generation
    return encodable_body(_merged({**body, **resumed}, prompt.options))


def answer(body: Mapping[str, Any], prompt: Prompt) -> Answer:
    """Return the answer in a whole response.

    Thoughts are in its `content` and in no message. `details` has what is said of the answer: its finish reason as
    Gemini names it, safety ratings, sources. Where the prompt was blocked there is no content, and `details` says why.
    Raises ProviderError that says what is wrong where.
    """
    top = read_body(body, "answer")
    if (problem := top.object("error")) is not None:
        _refuse(f"an error instead of an answer: {shown(problem.fields.get('message', ''))}")
    candidates = top.objects("candidates")
    feedback = top.object("promptFeedback")
    if not candidates and (feedback is None or not feedback.fields.get("blockReason")):
        _refuse("no candidate and no reason why there is none")
    candidate = candidates[0] if candidates else JsonObject({"finishReason": "SAFETY"}, "answer")
    content = candidate.object("content")
    messages = () if content is None else tuple(_messages(content, prompt))
    feedbacks = {} if feedback is None else {"promptFeedback": dict(feedback.fields)}
    details = {key: value for key, value in candidate.fields.items() if key not in ("content", "index")}
    return Answer(
        messages=messages,
        stop_reason=_stop_reason(candidate, messages),
        usage=_usage(top.object("usageMetadata")),
        provider=PROVIDER,
        model=top.identifier(prompt.model, "modelVersion"),
        content=None if content is None else dict(content.fields),
        id=top.identifier("", "responseId"),
        details={**(details if candidates else {}), **feedbacks},
    )


# Requests -------------------------------------------------------------------------------------------------------------


def _is_system(entry: Entry) -> bool:
    return isinstance(entry, Message) and entry.role is MessageRole.SYSTEM


def _own_parts(entry: Answer) -> list[_Json] | None:
    """Return the parts of what Gemini said to the letter; None where an answer was made, or changed, by hand."""
    content: object = entry.content
    if entry.provider != PROVIDER or not isinstance(content, Mapping):
        return None
    listed: object = cast("_Json", content).get("parts") or []
    if not isinstance(listed, list) or not all(isinstance(part, dict) for part in cast("list[object]", listed)):
        return None
    parts = cast("list[_Json]", listed)
    called = [part["functionCall"] for part in parts if part.get("functionCall") is not None]
    is_same = len(called) == len(entry.calls) and all(isinstance(call, dict) for call in called)
    return parts if is_same else None


def _resumed(entries: tuple[Entry, ...]) -> tuple[tuple[Entry, ...], _Json]:
    """Return what is sent to have Gemini go on with an answer that it paused in: a token stands for the answer."""
    paused = 0
    while paused < len(entries) and _token(entries[-1 - paused]) is not None:
        paused += 1
    return (entries[:-paused], {_TOKEN: _token(entries[-1])}) if paused else (entries, {})


def _token(entry: Entry) -> object:
    is_paused = isinstance(entry, Answer) and entry.provider == PROVIDER and entry.stop_reason == "pause"
    return cast("Answer", entry).details.get(_TOKEN) if is_paused else None


def _contents(entries: Sequence[Entry], names: Names, *, is_recent: bool) -> Iterator[_Json]:
    """Give the turns: an answer of Gemini's own as it came, and what one side says in a row as one.

    `is_recent` is whether the model is Gemini 3 or later, which wants signatures and takes media in results.
    """
    asked: tuple[ToolCall, ...] = ()
    for (kind, role), group in groupby(entries, key=_turn):
        several = list(group)
        if kind is ToolResultMessage:
            yield _answered(asked, cast("list[ToolResultMessage]", several), names, takes_media=is_recent)
        elif kind is Answer:
            for each in cast("list[Answer]", several):
                own = _own_parts(each)
                asked = tuple(_named(call, names) for call in each.calls) if own is None else each.calls
                yield from _made(each, names, signs=is_recent) if own is None else _own(each, own)
        elif parts := _parts(cast("list[Message]", several), names):
            yield {"role": role, "parts": parts}


def _named(call: ToolCall, names: Names) -> ToolCall:
    # Its result names it as the call does that is sent.
    return replace(call, name=names.to_tool(names.of_earlier(call.name)))


def _turn(entry: Entry) -> tuple[type, str]:
    if isinstance(entry, Answer):
        return Answer, "model"
    kind = ToolResultMessage if isinstance(entry, ToolResultMessage) else Message
    return kind, _ROLES[entry.role]


def _own(entry: Answer, parts: list[_Json]) -> Iterator[_Json]:
    # An answer may have nothing in it, and Gemini takes no content without parts; one that came to nothing is left out,
    # but not one whose calls have results.
    is_nothing = entry.stop_reason == _MALFORMED and not entry.calls
    if not is_nothing and any(part != {"text": ""} for part in parts):
        yield {**cast("_Json", entry.content), "role": "model"}


def _made(entry: Answer, names: Names, *, signs: bool) -> Iterator[_Json]:
    parts = _parts(entry.messages, names)
    first = next((part for part in parts if "functionCall" in part), None)
    if signs and first is not None:
        first["thoughtSignature"] = _UNSIGNED
    if parts:
        yield {"role": "model", "parts": parts}


def _parts(messages: Sequence[Message], names: Names) -> list[_Json]:
    made = [_part(each, names) for each in messages]
    return [part for part in made if part is not None]


def _part(message: Message, names: Names) -> _Json | None:
    if isinstance(message, TextMessage):
        return text_part(message.text) if message.text else None
    if isinstance(message, MediaMessage):
        return media_part(message)
    if isinstance(message, ToolCallMessage):
        called = {"name": names.of_earlier(message.tool_name), "args": _arguments(message, names)}
        is_made = message.tool_call_id.startswith(_MADE_ID)
        return {"functionCall": called if is_made else {"id": message.tool_call_id, **called}}
    problem = f"Gemini has no part for a {type(message).__name__}: say it as a TextMessage"
    raise ProviderError(problem)


def _arguments(message: ToolCallMessage, names: Names) -> _Json:
    given = message.arguments
    if isinstance(given, str):
        try:
            given = parse_arguments(message.tool_name, given)
        except ArgumentsError:  # the call's result has told the model so
            return {"arguments": given}
    keys = names.keys.get(message.tool_name)
    return given if keys is None else cast("_Json", _renamed(given, keys.sent))


def _renamed(value: object, sent: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_renamed(each, sent) for each in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    return {sent.get(key, key): _renamed(each, sent) for key, each in cast("_Json", value).items()}


def _answered(
    asked: Sequence[ToolCall], messages: Sequence[ToolResultMessage], names: Names, *, takes_media: bool
) -> _Json:
    by_id = {each.tool_call_id: each for each in messages}
    pairs = [(call, _result(by_id[call.id])) for call in asked if call.id in by_id]
    (content,) = results(pairs, names, takes_media=takes_media)
    parts = [{"functionResponse": part["function_response"]} for part in content["parts"]]
    return {"role": "user", "parts": parts}


def _result(message: ToolResultMessage) -> ToolResult:
    if message.success:
        return ToolResult(success=True, output=message.result)
    return ToolResult(success=False, error=str(message.result))


def _declaration(described: _Json) -> _Json:
    return {"parametersJsonSchema" if key == "parameters_json_schema" else key: each for key, each in described.items()}


def _calling(prompt: Prompt, names: Names) -> _Json:
    choice = prompt.tool_choice
    strict = any(is_strict(tool, prompt.strict) for tool in prompt.tools)
    modes = {"auto": "VALIDATED" if strict else "AUTO", "none": "NONE", "required": "ANY"}
    if choice not in modes:
        if choice not in {tool.name for tool in prompt.tools}:
            message = (
                f"tool_choice is {shown(choice)}, and there is no such tool: give 'auto', 'none', 'required' or a name"
            )
            raise ProviderError(message)
        return {"mode": "ANY", "allowedFunctionNames": [names.to_provider(choice)]}
    return {} if modes[choice] == "AUTO" else {"mode": modes[choice]}


def _generation(prompt: Prompt) -> _Json:
    given = {"maxOutputTokens": prompt.max_tokens, "temperature": prompt.temperature}
    generation: _Json = {key: value for key, value in given.items() if value is not None}
    if prompt.output_schema is not None:
        schema = without_one_of(portable("the answer", prompt.output_schema))
        generation |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    return generation


def _merged(body: _Json, options: Mapping[str, Any]) -> _Json:
    merged = dict(body)
    for key, value in options.items():
        there = merged.get(key)
        if isinstance(there, dict) and isinstance(value, Mapping):
            merged[key] = _merged(cast("_Json", there), cast("Mapping[str, Any]", value))
        elif key == "tools" and isinstance(there, list) and isinstance(value, list):
            merged[key] = [*cast("list[object]", there), *cast("list[object]", value)]
        else:
            merged[key] = value
    return merged


# Answers --------------------------------------------------------------------------------------------------------------


def _messages(content: JsonObject, prompt: Prompt) -> Iterator[Message]:
    names = names_of(prompt.tools, NAMES, keys=KEYS)
    # Calls without an id of their own get one that no other call of this conversation has.
    made = f"{_MADE_ID}{len(prompt.entries)}-"
    taken: set[str] = set()
    for at, part in enumerate(content.objects("parts")):
        call = part.object("functionCall")
        text = part.fields.get("text")
        if call is not None:
            own = call.identifier(f"{made}{at}", "id")
            found = tool_call(call, f"{made}{at}" if own in taken else own, "args", names)
            taken.add(own)
            yield ToolCallMessage(found.name, found.id, found.arguments)
        elif text is not None and not isinstance(text, str):
            _refuse(f"{shown_with_type(text)} at {part.where}.text, where text is wanted")
        elif text and not part.fields.get("thought"):
            yield TextMessage(encodable_text(text), role=MessageRole.ASSISTANT)


def _stop_reason(candidate: JsonObject, messages: Sequence[Message]) -> str:
    reason = candidate.identifier("", "finishReason")
    if reason in _ENDS:
        return "tool_calls" if any(isinstance(each, ToolCallMessage) for each in messages) else "end"
    return _REASONS.get(reason, reason)


def _usage(usage: JsonObject | None) -> Usage:
    """Return the tokens; Gemini counts neither thoughts nor what its own tools read where the others are."""
    if usage is None:
        return Usage()
    thoughts = _count(usage, "thoughtsTokenCount")
    return Usage(
        input_tokens=_count(usage, "promptTokenCount") + _count(usage, "toolUsePromptTokenCount"),
        output_tokens=_count(usage, "candidatesTokenCount") + thoughts,
        cached_tokens=_count(usage, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )


def _count(usage: JsonObject, key: str) -> int:
    value = usage.fields.get(key) or 0
    if not is_count(value):
        _refuse(f"{shown_with_type(value)} at {usage.where}.{key}, where a number of tokens is wanted")
    return value


def _refuse(problem: str) -> NoReturn:
    message = f"Gemini answered with {problem}: ask again"
    raise ProviderError(message)
