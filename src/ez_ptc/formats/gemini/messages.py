"""Requests to Gemini's generateContent API, and its answers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, cast

from ez_ptc.errors import ArgumentsError, ProviderError
from ez_ptc.formats.content import result_of_message
from ez_ptc.formats.describable import is_strict
from ez_ptc.formats.gemini.media import media_part, text_part
from ez_ptc.formats.gemini.tools import KEYS, LOCAL_ID_PREFIX, NAMES, describe, results
from ez_ptc.formats.json_reader import JsonObject, normal_stop_reason, read_body, tool_call, unique_ids
from ez_ptc.formats.lowering.portable import portable, without_one_of
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.ordering import (
    check_order,
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

__all__ = ["PROVIDER", "answer", "request"]

PROVIDER: Final = "gemini"

_Json = dict[str, Any]

_REFUSALS: Final = (
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
)
_NORMAL_ENDS: Final = frozenset({"", "STOP", "FINISH_REASON_UNSPECIFIED"})
_MALFORMED: Final = "malformed"
_STOP_REASONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_REFUSALS, "refusal"),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"), _MALFORMED),
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
}
_TOKEN: Final = "continuationToken"  # noqa: S105 - the name of a field
# Since Gemini 3 the first call of a model's turn must have a signature; this one is documented for calls that were made
# elsewhere (ai.google.dev/gemini-api/docs/thought-signatures, "FAQs").
_NO_SIGNATURE: Final = "skip_thought_signature_validator"
_BEFORE_GEMINI_3: Final = re.compile(r"gemini-[12]\b")
_MODES: Final[Mapping[str, str]] = {"none": "NONE", "required": "ANY"}
_ROLES: Final[Mapping[MessageRole, str]] = {MessageRole.USER: "user", MessageRole.ASSISTANT: "model"}


def request(prompt: Prompt) -> _Json:
    """Return the body of a request for one answer; the model is named in the request's address instead.

    Objects in `options` are merged into the body, `tools` are added to the prompt's, and every other option replaces
    the field. `strict` selects the mode in which Gemini checks calls against their declarations; one strict tool turns
    it on for all.

    Raises:
        ProviderError: Gemini would reject the conversation; the message names the entry.
        SchemaError: A tool or the output schema cannot be described.
        DuplicateToolError: Two tools have the same name.
    """
    check_order(prompt.entries)
    refuse_previous_response("Gemini", prompt.options)
    names = names_of(prompt.tools, NAMES, keys=KEYS)
    # The last answer's token stands for the final paused answers.
    end = len(prompt.entries)
    while end and _continuation_token(prompt.entries[end - 1]) is not None:
        end -= 1
    instructions, entries = split_instructions(prompt.entries[:end])
    if any(isinstance(entry, Message) and entry.role is MessageRole.SYSTEM for entry in entries):
        refuse_late_instructions("Gemini")
    is_recent = _BEFORE_GEMINI_3.search(prompt.model) is None
    body: _Json = {"contents": list(_contents(entries, names, is_recent=is_recent))}
    if system := _parts(instructions, names):
        body["systemInstruction"] = {"parts": system}
    if prompt.tools:
        spellings = {"parameters_json_schema": "parametersJsonSchema"}  # of the REST API
        descriptions = [describe(tool) for tool in prompt.tools]
        declarations = [{spellings.get(key, key): value for key, value in fields.items()} for fields in descriptions]
        body["tools"] = [{"functionDeclarations": declarations}]
        if (calling := _calling_config(prompt, names)) is not None:
            body["toolConfig"] = {"functionCallingConfig": calling}
    fields = {"maxOutputTokens": prompt.max_tokens, "temperature": prompt.temperature}
    generation: _Json = {key: value for key, value in fields.items() if value is not None}
    if prompt.output_schema is not None:
        schema = without_one_of(portable("the answer", prompt.output_schema))
        generation |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    if generation:
        body["generationConfig"] = generation
    if end < len(prompt.entries):
        body[_TOKEN] = _continuation_token(prompt.entries[-1])
    return encodable_body(_with_options(body, prompt.options))


def answer(body: Mapping[str, Any], prompt: Prompt) -> Answer:
    """Return the answer in a complete response.

    Thoughts are in `content` only. `details` holds the candidate's other fields, such as Gemini's own finish reason,
    safety ratings and sources. A blocked prompt has no content, and `details` says why. Raises ProviderError that names
    the invalid field.
    """
    top = read_body(body, "answer")
    if (problem := top.object("error")) is not None:
        message = f"Gemini returned an error: {safe_repr(problem.fields.get('message', ''))}; ask again"
        raise ProviderError(message)
    candidates = top.objects("candidates")
    feedback = top.object("promptFeedback")
    details: _Json = {}
    if candidates:
        candidate = candidates[0]
        details = {key: value for key, value in candidate.fields.items() if key not in ("content", "index")}
    elif feedback is not None and feedback.fields.get("blockReason"):
        candidate = JsonObject({"finishReason": "SAFETY"}, "answer")
    else:
        message = "expected a candidate or a block reason from Gemini, got neither; ask again"
        raise ProviderError(message)
    if feedback is not None:
        details["promptFeedback"] = dict(feedback.fields)
    messages: tuple[Message, ...] = ()
    content = candidate.object("content")
    if content is not None:
        messages = tuple(_read_messages(content, prompt))
    reason = candidate.identifier("", "finishReason")
    if reason not in _NORMAL_ENDS:
        stop_reason = _STOP_REASONS.get(reason, reason)
    else:
        stop_reason = normal_stop_reason(messages)
    return Answer(
        messages=messages,
        stop_reason=stop_reason,
        usage=_usage(top.object("usageMetadata")),
        provider=PROVIDER,
        model=top.identifier(prompt.model, "modelVersion"),
        content=None if content is None else dict(content.fields),
        id=top.identifier("", "responseId"),
        details=details,
    )


# Requests -------------------------------------------------------------------------------------------------------------


def _original_parts(answer: Answer) -> list[_Json] | None:
    """Return an answer's parts as Gemini sent them, or None if the answer was made or changed by hand."""
    content: object = answer.content
    if answer.provider != PROVIDER or not isinstance(content, Mapping):
        return None
    elements: object = cast("_Json", content).get("parts") or []
    if not isinstance(elements, list) or not all(
        isinstance(content_part, dict) for content_part in cast("list[object]", elements)
    ):
        return None
    parts = [content_part for content_part in cast("list[_Json]", elements) if content_part]
    functions = [content_part["functionCall"] for content_part in parts if content_part.get("functionCall") is not None]
    if len(functions) != len(answer.calls) or not all(isinstance(function, dict) for function in functions):
        return None
    return parts


def _sendable_parts(parts: Sequence[_Json], answer: Answer, names: Names) -> list[_Json]:
    """Return an answer's own parts with the provider's names in calls, whose arguments are objects."""
    calls = iter([message for message in answer.messages if isinstance(message, ToolCallMessage)])
    sendable: list[_Json] = []
    for content_part in parts:
        if content_part.get("functionCall") is None:
            sendable.append(content_part)
            continue
        call = next(calls)
        function = {**content_part["functionCall"], "name": names.to_provider(call.tool_name)}
        if call.tool_call_id.startswith(LOCAL_ID_PREFIX):
            function.pop("id", None)  # that of an earlier call: the result is sent without one
        if not isinstance(function.get("args", {}), dict):
            function["args"] = _arguments(call, names)
        sendable.append({**content_part, "functionCall": function})
    return sendable


def _continuation_token(entry: Entry) -> object:
    if isinstance(entry, Answer) and entry.provider == PROVIDER and entry.stop_reason == "pause":
        return entry.details.get(_TOKEN)
    return None


def _contents(entries: Sequence[Entry], names: Names, *, is_recent: bool) -> Iterator[_Json]:
    """Yield the contents: Gemini's own answers as received, and consecutive entries of one side together.

    `is_recent` is whether the model is Gemini 3 or later, which requires signatures and accepts media in results.
    """
    calls: tuple[ToolCall, ...] = ()
    for (entry_type, role), group in groupby(entries, key=_type_and_role):
        if entry_type is ToolResultMessage:
            results_by_id = {message.tool_call_id: message for message in cast("Iterator[ToolResultMessage]", group)}
            pairs = [(call, result_of_message(results_by_id[call.id])) for call in calls if call.id in results_by_id]
            [content] = results(pairs, names, takes_media=is_recent)
            parts = [{"functionResponse": content_part["function_response"]} for content_part in content["parts"]]
            yield {"role": "user", "parts": parts}
        elif entry_type is Answer:
            for answer in cast("Iterator[Answer]", group):
                original = _original_parts(answer)
                calls = answer.calls
                if original is None:
                    parts = _parts(answer.messages, names)
                    first_call = next((content_part for content_part in parts if "functionCall" in content_part), None)
                    if is_recent and first_call is not None:
                        first_call["thoughtSignature"] = _NO_SIGNATURE
                    if parts:
                        yield {"role": "model", "parts": parts}
                else:
                    # Gemini rejects content without parts, so an empty answer is left out. So is a malformed one,
                    # unless its calls have results.
                    is_lost = answer.stop_reason == _MALFORMED and not answer.calls
                    if not is_lost and any(content_part != {"text": ""} for content_part in original):
                        parts = _sendable_parts(original, answer, names)
                        yield {**cast("_Json", answer.content), "parts": parts, "role": "model"}
        elif parts := _parts(cast("Iterator[Message]", group), names):
            yield {"role": role, "parts": parts}


def _type_and_role(entry: Entry) -> tuple[type, str]:
    if isinstance(entry, Answer):
        return Answer, "model"
    if isinstance(entry, ToolResultMessage):
        return ToolResultMessage, _ROLES[entry.role]
    return Message, _ROLES[entry.role]


def _parts(messages: Iterable[Message], names: Names) -> list[_Json]:
    parts: list[_Json] = []
    for message in messages:
        if isinstance(message, TextMessage):
            if message.text:
                parts.append(text_part(message.text))
        elif isinstance(message, MediaMessage):
            parts.append(media_part(message))
        elif isinstance(message, ToolCallMessage):
            function = {"name": names.to_provider(message.tool_name), "args": _arguments(message, names)}
            if not message.tool_call_id.startswith(LOCAL_ID_PREFIX):
                function = {"id": message.tool_call_id, **function}
            parts.append({"functionCall": function})
        else:
            problem = f"Gemini has no part for a {type(message).__name__}: use a TextMessage"
            raise ProviderError(problem)
    return parts


def _arguments(message: ToolCallMessage, names: Names) -> _Json:
    arguments = message.arguments
    if isinstance(arguments, str):
        try:
            arguments = parse_arguments(message.tool_name, arguments)
        except ArgumentsError:  # the call's result has told the model so
            return {"arguments": arguments}
    keys = names.keys.get(message.tool_name)
    if keys is None:
        return arguments
    return cast("_Json", _with_sent_keys(arguments, keys.sent))


def _with_sent_keys(value: object, sent: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_with_sent_keys(element, sent) for element in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    return {sent.get(key, key): _with_sent_keys(field, sent) for key, field in cast("_Json", value).items()}


def _calling_config(prompt: Prompt, names: Names) -> _Json | None:
    """Return the mode in which tools are called, or None for Gemini's default."""
    choice = prompt.tool_choice
    if choice == "auto" and any(is_strict(tool, prompt.strict) for tool in prompt.tools):
        return {"mode": "VALIDATED"}
    if choice == "auto":
        return None
    if choice in _MODES:
        return {"mode": _MODES[choice]}
    if choice not in names.sent:
        refuse_tool_choice(choice, names.sent)
    return {"mode": "ANY", "allowedFunctionNames": [names.to_provider(choice)]}


def _with_options(body: _Json, options: Mapping[str, Any]) -> _Json:
    merged = dict(body)
    for key, value in options.items():
        present = merged.get(key)
        if isinstance(present, dict) and isinstance(value, Mapping):
            merged[key] = _with_options(cast("_Json", present), cast("Mapping[str, Any]", value))
        elif key == "tools" and isinstance(present, list) and isinstance(value, list):
            merged[key] = [*cast("list[object]", present), *cast("list[object]", value)]
        else:
            merged[key] = value
    return merged


_CALL_IN_PIECES: Final = (
    "expected a whole functionCall, got one in pieces (partialArgs), which are not read: leave "
    "streamFunctionCallArguments out of the functionCallingConfig"
)

# Answers --------------------------------------------------------------------------------------------------------------


def _read_messages(content: JsonObject, prompt: Prompt) -> Iterator[Message]:
    names = names_of(prompt.tools, NAMES, keys=KEYS)
    parts = [(content_part, content_part.object("functionCall")) for content_part in content.objects("parts")]
    identifiers = {
        index: function.identifier("", "id") for index, (_, function) in enumerate(parts) if function is not None
    }
    prefix = f"{LOCAL_ID_PREFIX}{len(prompt.entries)}-"
    unique = unique_ids(identifiers, prompt.entries, lambda number: f"{prefix}{number}")
    for index, (content_part, function) in enumerate(parts):
        if function is not None:
            if function.fields.get("partialArgs") or function.fields.get("willContinue"):
                raise ProviderError(_CALL_IN_PIECES)
            call = tool_call(function, unique[index], "args", names)
            yield ToolCallMessage(call.name, call.id, call.arguments)
        elif content_part.fields.get("text") is not None:
            text = content_part.string("text")
            if text and not content_part.fields.get("thought"):
                yield TextMessage(text, role=MessageRole.ASSISTANT)


def _usage(usage: JsonObject | None) -> Usage:
    """Return the token counts; Gemini counts thoughts, and the input of its own tools, separately."""
    if usage is None:
        return Usage()
    thoughts = usage.count("thoughtsTokenCount")
    return Usage(
        input_tokens=usage.count("promptTokenCount") + usage.count("toolUsePromptTokenCount"),
        output_tokens=usage.count("candidatesTokenCount") + thoughts,
        cached_tokens=usage.count("cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )
