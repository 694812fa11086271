"""An answer that is no text but a value of a type."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from ez_ptc.conversation.loop.continuations import Continuing
from ez_ptc.conversation.loop.goals import Goal
from ez_ptc.conversation.loop.stream import Asked, ConversationStream
from ez_ptc.errors import ArgumentsError, ProviderError, SchemaError
from ez_ptc.formats.content import as_text
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCall, ToolCallMessage, ToolResultMessage, Usage
from ez_ptc.schema.arguments.json_text import parse_arguments
from ez_ptc.schema.safe_repr import shown
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ez_ptc.messages import Entry

__all__ = ["ask_for_type"]

T = TypeVar("T")
B = TypeVar("B", bound=Asked)

_FIELD: Final = "answer"
_NAMES: Final = ("give_answer", "give_the_final_answer", "ez_ptc_give_answer")
_DESCRIPTION: Final = "Give your answer. Call this once, at the end, instead of writing the answer as text."
_CALL_IT: Final = "When you know the answer, give it by calling {name}."
_CALL_IT_NOW: Final = "You have not given your answer yet: give it by calling {name}."
_NOT_YET: Final = "You have not given your answer yet."
_WRITE_JSON: Final = "Answer with one JSON object that fits this JSON Schema, and with nothing else:\n{schema}"
_WRONG: Final = (
    "That is not the answer that was asked for: {problem}. Answer again, with the whole of the corrected JSON."
)
_NOT_CALLED: Final = "it did not call the tool that takes the answer"
_THANKS: Final = "The answer has been taken."
_REFUSED: Final = "refusal"
_FENCE: Final = "```"
_MAX_QUOTED: Final = 500
_MAX_WRONG_CALLS: Final = 2


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
    with Continuing(lambda: asked):
        typed = _TypedAnswer.of(asked, kind)
        providers = asked.settings.providers()
    if all(each.supports_output_schema() for each in providers):
        with suppress(_UnsaidError):
            return await _ask(asked, _WrittenGoal(typed, output_schema=typed.schema))
    if all(each.supports_tools() for each in providers):
        return await _ask(asked, _CalledGoal(typed))
    text = _WRITE_JSON.format(schema=json.dumps(typed.schema, ensure_ascii=False))
    return await _ask(asked, _WrittenGoal(typed, instructions=(TextMessage(text),)))


class _UnsaidError(Exception):
    """Nothing was asked, for the provider has no way to say what is wanted of the answer, or of a tool."""


async def _ask(asked: B, goal: _TypedGoal) -> tuple[object, B]:
    stream = ConversationStream(asked, streaming=False, goal=goal)
    with Continuing(lambda: stream.continuation):
        try:
            async for _ in stream:
                pass
        except SchemaError as error:
            # Once something was asked, it is not asked again: there may have been effects.
            if goal.output_schema is None or stream.continuation.entries != asked.entries:
                raise
            raise _UnsaidError from error
        if goal.problem is not None:
            raise _not_given(stream.continuation.entries, goal.problem)
    return goal.value, stream.continuation


@dataclass(frozen=True, slots=True)
class _TypedAnswer:
    """An answer of a type: a tool that takes it checks it, whether it is called or not.

    `schema` is that of the object that the answer's text has to be: the type's own, where it `is_object`.
    """

    tool: Tool[..., Any]
    schema: dict[str, Any]
    is_object: bool

    @classmethod
    def of(cls, asked: Asked, kind: object) -> _TypedAnswer:
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


class _TypedGoal(Goal):
    """An answer of a type: `value`, once it `is_given`; before that, the `problem` with what was given last."""

    def __init__(self, typed: _TypedAnswer) -> None:
        self.typed: Final = typed
        self.value: object = None
        self.is_given = False
        self.problem: str | None = None

    def give(self, value: object) -> None:
        """Take the answer."""
        self.value, self.is_given, self.problem = value, True, None

    def kept(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the conversation; after a wrong answer the model is told so, for it to answer again."""
        last = entries[-1] if entries else None
        if self.problem is None or not isinstance(last, Answer) or last.calls or last.stop_reason == _REFUSED:
            return entries
        return (*entries, TextMessage(_NOT_YET if self.problem == _NOT_CALLED else _WRONG.format(problem=self.problem)))


class _WrittenGoal(_TypedGoal):
    """An answer that is written as JSON text."""

    def __init__(
        self,
        typed: _TypedAnswer,
        *,
        output_schema: dict[str, Any] | None = None,
        instructions: tuple[TextMessage, ...] = (),
    ) -> None:
        super().__init__(typed)
        self.output_schema = output_schema
        self.instructions = instructions

    def reply(self, answer: Answer) -> str | None:
        """Return what is wrong with the answer, once, or None."""
        is_first = self.problem is None
        try:
            self.give(self.typed.read(answer.text))
        except ArgumentsError as error:
            self.problem = "; ".join(error.problems)
            return _WRONG.format(problem=self.problem) if is_first and answer.stop_reason != _REFUSED else None
        return None


class _CalledGoal(_TypedGoal):
    """An answer that is given by calling a tool.

    The call is not forced: there are models that refuse to be, and others that may use their tools before. What stays
    in the conversation is as if the answer had been asked for and given in words: there are providers that refuse a
    conversation with calls in it which comes without tools.
    """

    def __init__(self, typed: _TypedAnswer) -> None:
        super().__init__(typed)
        self.tool = typed.tool
        self.instructions = (TextMessage(_CALL_IT.format(name=typed.tool.name)),)
        self._reminder: Final = _CALL_IT_NOW.format(name=typed.tool.name)
        self._is_reminded = False
        self._wrong_calls = 0

    def is_reached(self, answer: Answer, results: Sequence[ToolResultMessage]) -> bool:
        """Whether the answer has been given, or was wrong as often as it may be."""
        calls = {call.id: call for call in answer.calls}
        own = [result for result in results if result.tool_name == self.tool_name]
        for result in own:
            if result.success:
                self.give(self.typed.value(calls[result.tool_call_id].arguments))
                return True
            self.problem = str(result.result)
        self._wrong_calls += len(own)
        return self._wrong_calls >= _MAX_WRONG_CALLS

    def reply(self, answer: Answer) -> str | None:
        """Return a reminder, once, or None."""
        self.problem = _NOT_CALLED
        if self._is_reminded or answer.stop_reason == _REFUSED:
            return None
        self._is_reminded = True
        return self._reminder

    def kept(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the conversation without the tool: one answer, where nothing but the right one came of it."""
        words = tuple(word for head, *results in _turns(entries) for word in self._in_words(head, results))
        answers = [word for word in words if isinstance(word, Answer)]
        if not self.is_given or any(answer.calls for answer in answers):
            return super().kept(words)
        last = answers[-1]
        usage = sum((answer.usage for answer in answers), Usage())
        return (Answer(messages=last.messages[-1:], usage=usage, model=last.model),)

    def _in_words(self, head: Entry, results: Sequence[Entry]) -> Iterator[Entry]:
        """Give an entry and the results that follow it without calls of the tool."""
        if isinstance(head, TextMessage) and head.text == self._reminder:
            yield TextMessage(_NOT_YET)
            return
        own = [call for call in head.calls if call.name == self.tool_name] if isinstance(head, Answer) else []
        if not isinstance(head, Answer) or not own:
            yield from (head, *results)
            return
        ended = {result.tool_call_id: result for result in results if isinstance(result, ToolResultMessage)}
        call = next((call for call in own if call.id in ended and ended[call.id].success), own[-1])
        given = TextMessage(_given_text(call), role=MessageRole.ASSISTANT)
        rest = [each for each in head.messages if not isinstance(each, ToolCallMessage) or each.call not in own]
        if len(own) < len(head.calls):
            yield Answer(messages=tuple(rest), stop_reason="tool_calls", usage=head.usage, model=head.model)
            yield from (result for result in ended.values() if result.tool_name != self.tool_name)
            yield Answer(messages=(given,), model=head.model)
        else:
            yield Answer(messages=(*rest, given), usage=head.usage, model=head.model)
        if call.id in ended and not ended[call.id].success:
            problem = str(ended[call.id].result).removeprefix(f"{self.tool_name}: ")
            yield TextMessage(_WRONG.format(problem=problem))


def _turns(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return entries with the results that follow each."""
    turns: list[list[Entry]] = []
    for entry in entries:
        if isinstance(entry, ToolResultMessage) and turns:
            turns[-1].append(entry)
        else:
            turns.append([entry])
    return turns


def _given_text(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else as_text(call.arguments.get(_FIELD))


def _not_given(entries: Sequence[Entry], problem: str) -> ProviderError:
    last = next(entry for entry in reversed(entries) if isinstance(entry, Answer))
    said = last.text if len(last.text) <= _MAX_QUOTED else f"{last.text[:_MAX_QUOTED]}…"
    message = (
        f"{shown(last.model) if last.model else 'the model'} did not give the answer that was asked for: "
        f"{problem}. It stopped with {shown(last.stop_reason)}, and said last: {said!r}. "
        f"Ask again, or for a simpler type"
    )
    return ProviderError(message)
