"""An answer that is no text but a value of a type."""

from __future__ import annotations

import json
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from ez_ptc.conversation.stream import Asked, ConversationStream
from ez_ptc.errors import ArgumentsError, ProviderError, SchemaError
from ez_ptc.formats.content import as_text
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolResultMessage, Usage
from ez_ptc.schema.json_text import parse_arguments
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ez_ptc.messages import Entry, ToolCall

__all__ = ["ask_for_type"]

T = TypeVar("T")
B = TypeVar("B", bound=Asked)

_FIELD: Final = "answer"
_NAMES: Final = ("give_answer", "give_the_final_answer", "ez_ptc_give_answer")
_DESCRIPTION: Final = "Give your answer. Call this once, at the end, instead of writing the answer as text."
_CALL_IT: Final = "When you know the answer, give it by calling {name}."
_CALL_IT_NOW: Final = "You have not given your answer yet: give it by calling {name}."
_WRITE_JSON: Final = "Answer with one JSON object that fits this JSON Schema, and with nothing else:\n{schema}"
_WRONG: Final = (
    "That is not the answer that was asked for: {problem}. Answer again, with the whole of the corrected JSON."
)
_NOT_CALLED: Final = "it did not call the tool that takes the answer"
_THANKS: Final = "The answer has been taken."
_FENCE: Final = "```"
_SHOWN: Final = 500


@overload
async def ask_for_type(asked: B, kind: type[T]) -> tuple[T, B]: ...
@overload
async def ask_for_type(asked: B, kind: object) -> tuple[Any, B]: ...
async def ask_for_type(asked: B, kind: object) -> tuple[object, B]:
    """Ask, and return an answer of a type, with the conversation that goes on after it.

    Any type will do that a tool's parameter may have. Providers that can be held to a JSON Schema are; another's model,
    and one whose provider has no way to say the schema, gives the answer by calling a tool; a model that can do neither
    is asked to write JSON. Tools and programs of the conversation run as ever before the answer comes. An answer that
    does not fit is asked for once more, with what is wrong with it.

    Raises:
        SchemaError: The type cannot be described.
        ProviderError: The model did not answer so; the message has what it said last.
        EzPtcError: Whatever `prompt_conversation` raises.
    """
    wanted = _Wanted.of(asked, kind)
    providers = asked.settings.providers()
    if all(each.supports_output_schema() for each in providers):
        settings = replace(asked.settings, output_schema=wanted.schema)
        with suppress(_UnsaidError):
            value, entries = await _written(asked.changed(settings=settings), wanted)
            return value, asked.changed(entries=entries)
    if all(each.supports_tools() for each in providers):
        value, entries = await _called(asked, wanted)
    else:
        text = _WRITE_JSON.format(schema=json.dumps(wanted.schema, ensure_ascii=False))
        value, entries = await _written(asked.continued(TextMessage(text)), wanted)
    return value, asked.changed(entries=entries)


class _UnsaidError(Exception):
    """Nothing was asked, for the provider has no way to say what is wanted of the answer, or of a tool."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked for: a tool that takes it checks it, whether it is called or not.

    `schema` is that of the object that the answer's text has to be: the type's own, where it `is_object`.
    """

    tool: Tool[..., Any]
    schema: dict[str, Any]
    is_object: bool

    @classmethod
    def of(cls, asked: Asked, kind: object) -> _Wanted:
        def take(answer: object) -> str:
            del answer
            return _THANKS

        take.__annotations__ = {_FIELD: kind, "return": str}
        used = {tool.name for tool in asked.settings.tools}
        name = next((name for name in _NAMES if name not in used), _NAMES[-1])
        tool = Tool.from_function(take, name=name, description=_DESCRIPTION)
        whole = {**tool.parameters, "required": [_FIELD]}
        inner = _object_within(whole)
        return cls(tool, whole if inner is None else inner, inner is not None)

    def read(self, text: str) -> object:
        """Return the value that an answer's text has. Raises ArgumentsError that says what is wrong."""
        if not text.strip():
            problem = "there is no text in it"
            raise ArgumentsError(problem, problems=[problem])
        given = parse_arguments("the answer", _unfenced(text))
        return self.value({_FIELD: given} if self.is_object else given)

    def value(self, arguments: dict[str, object] | str) -> object:
        """Return the value in the arguments of a call. Raises ArgumentsError that says what is wrong."""
        given = parse_arguments(self.tool.name, arguments) if isinstance(arguments, str) else arguments
        return self.tool.bind((), given).kwargs[_FIELD]


def _unfenced(text: str) -> str:
    """Take away the fence of a Markdown block that is all of a text."""
    text = text.strip()
    mark, line_end, rest = text.partition("\n")
    is_block = line_end and mark.rstrip() in {_FENCE, f"{_FENCE}json"} and rest.endswith(_FENCE)
    return rest.removesuffix(_FENCE) if is_block else text


def _object_within(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the one field, where that is an object with fields of its own."""
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    field: dict[str, Any] = schema["properties"][_FIELD]
    if "$ref" in field:
        field = {**definitions[field["$ref"].removeprefix("#/$defs/")], **field}
        del field["$ref"]
    if field.get("type") != "object" or not field.get("properties"):
        return None
    return {**field, "$defs": definitions} if definitions else field


async def _written(asked: Asked, wanted: _Wanted) -> tuple[object, tuple[Entry, ...]]:
    """Ask for the answer as JSON text."""
    entries = await _answered(asked)
    try:
        return wanted.read(_last(entries).text), entries
    except ArgumentsError as error:
        problem = "; ".join(error.problems)
        if _last(entries).stop_reason == "refusal":
            raise _refusal(entries, problem) from error
    entries = await _answered(asked.changed(entries=(*entries, TextMessage(_WRONG.format(problem=problem)))))
    try:
        return wanted.read(_last(entries).text), entries
    except ArgumentsError as error:
        raise _refusal(entries, "; ".join(error.problems)) from error


async def _answered(asked: Asked) -> tuple[Entry, ...]:
    stream = ConversationStream(asked, streaming=False)
    try:
        async for _ in stream:
            pass
    except SchemaError as error:
        # Once something was asked, it is not asked again: there may have been effects.
        if asked.settings.output_schema is None or stream.continuation.entries != asked.entries:
            raise
        raise _UnsaidError from error
    return stream.continuation.entries


async def _called(asked: Asked, wanted: _Wanted) -> tuple[object, tuple[Entry, ...]]:
    """Ask for the answer as a call of a tool, which ends the conversation.

    The call is not forced: there are models that refuse to be, and others that may use their tools before.
    """
    name = wanted.tool.name
    settings = replace(asked.settings, tools=(*asked.settings.tools, wanted.tool))
    asking = asked.changed(settings=settings).continued(TextMessage(_CALL_IT.format(name=name)))
    entries, problem = await _until_taken(asking, wanted)
    if problem == _NOT_CALLED and _last(entries).stop_reason != "refusal":
        asking = asking.changed(entries=(*entries, TextMessage(_CALL_IT_NOW.format(name=name))))
        entries, problem = await _until_taken(asking, wanted)
    if problem:
        raise _refusal(entries, problem)
    call = _taken(entries, wanted)
    return wanted.value(call.arguments), _without_tool(asked, entries, call)


async def _until_taken(asking: Asked, wanted: _Wanted) -> tuple[tuple[Entry, ...], str]:
    """Go on until the answer has been taken, or refused twice; return the conversation, and what is wrong with it."""
    waiting: set[str] = set()
    is_taken, problems = False, list[str]()
    stream = ConversationStream(asking, streaming=False)
    async with aclosing(stream):
        async for told in stream:
            if isinstance(told, Answer):
                waiting = {call.id for call in told.calls}
            elif isinstance(told, ToolResultMessage):
                waiting.discard(told.tool_call_id)
                if told.tool_name == wanted.tool.name:
                    is_taken = is_taken or told.success
                    problems += [] if told.success else [str(told.result)]
                # All results of a turn are part of the conversation, also those of other tools.
                if not waiting and (is_taken or len(problems) > 1):
                    break
    return stream.continuation.entries, "" if is_taken else problems[-1] if problems else _NOT_CALLED


def _taken(entries: Sequence[Entry], wanted: _Wanted) -> ToolCall:
    """Return the call that the answer was taken from: the first that was right, of those in the last turn."""
    # Of this turn only: there are servers that give each answer's calls the same ids.
    results = takewhile(lambda each: isinstance(each, ToolResultMessage), reversed(entries))
    taken = {each.tool_call_id for each in results if isinstance(each, ToolResultMessage) and each.success}
    return next(call for call in _last(entries).calls if call.name == wanted.tool.name and call.id in taken)


def _without_tool(asked: Asked, entries: tuple[Entry, ...], taken: ToolCall) -> tuple[Entry, ...]:
    """Return the conversation as if the answer had been written, where no other tool was called.

    There are providers that refuse a conversation with calls in it which comes without tools.
    """
    grown = [entry for entry in entries[len(asked.entries) :] if isinstance(entry, Answer)]
    if any(call.name != taken.name for answer in grown for call in answer.calls):
        return entries
    given = taken.arguments if isinstance(taken.arguments, str) else as_text(taken.arguments.get(_FIELD))
    written = Answer(
        messages=(TextMessage(given, role=MessageRole.ASSISTANT),),
        usage=sum((answer.usage for answer in grown), Usage()),
        model=grown[-1].model,
    )
    return (*asked.entries, written)


def _last(entries: Sequence[Entry]) -> Answer:
    return next(entry for entry in reversed(entries) if isinstance(entry, Answer))


def _refusal(entries: Sequence[Entry], problem: str) -> ProviderError:
    last = _last(entries)
    said = last.text or ", ".join(as_text(call.arguments) for call in last.calls)
    said = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}…"
    message = (
        f"{last.model or 'the model'} did not give the answer that was asked for: {problem}. It stopped with "
        f"{last.stop_reason!r}, and said last: {said!r}. Ask again, or for a simpler type"
    )
    return ProviderError(message)
