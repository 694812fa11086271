"""Structured output: an answer that is a value of a type."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ez_ptc.conversation.loop.continuations import Continuing
from ez_ptc.conversation.loop.goals import Goal
from ez_ptc.conversation.loop.pausing import require_answer
from ez_ptc.conversation.loop.stream import ConversationStream
from ez_ptc.errors import ArgumentsError, ProviderError, SchemaError
from ez_ptc.formats.content import as_text
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCall, ToolCallMessage, ToolResultMessage, Usage
from ez_ptc.sandbox.check.reading.reasoning import remove_reasoning
from ez_ptc.schema.arguments.json_text import parse_arguments, parse_value, read_container
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ez_ptc.conversation.settings import BuilderSettings
    from ez_ptc.messages import Entry

__all__ = ["ask_for_type"]

B = TypeVar("B")
_SourceT = TypeVar("_SourceT")

_FIELD: Final = "answer"
_TOOL_NAMES: Final = ("give_answer", "give_the_final_answer", "ez_ptc_give_answer")
_DESCRIPTION: Final = "Give your answer. Call this once, at the end, instead of writing the answer as text."
_CALL_IT: Final = "When you know the answer, give it by calling {name}."
_CALL_IT_NOW: Final = "You have not given your answer yet: give it by calling {name}."
_NOT_YET: Final = "You have not given your answer yet."
_WRITE_JSON: Final = "Answer with one JSON object that fits this JSON Schema, and with nothing else:\n{schema}"
_WRONG: Final = (
    "That is not the answer that was asked for: {problem}. Answer again, with the whole of the corrected JSON."
)
_NOT_CALLED: Final = "it did not call the tool that takes the answer"
_ACKNOWLEDGEMENT: Final = "The answer has been taken."
_REFUSED: Final = "refusal"
_BLOCK: Final = re.compile(r"```[^`\n]*+\n(.*?)```", re.DOTALL)
_LAST_OBJECT: Final = re.compile(r"^\{.*\}\Z", re.DOTALL | re.MULTILINE)
_JSON_BEGINNINGS: Final = ("{", "[", '"')
# What models write around an object that was asked for.
_WRAPPERS: Final = frozenset({_FIELD, "response", "result", "output", "data"})
_MAX_QUOTED: Final = 500
_MAX_WRONG_CALLS: Final = 2


async def ask_for_type(
    entries: tuple[Entry, ...], settings: BuilderSettings, continue_with: Callable[..., B], type_: object
) -> tuple[Any, B]:
    """Ask for an answer of a type; return its value, and the builder that continues after it.

    The type may be any type of a tool's parameter. Providers that enforce a JSON Schema get it. Another model, or a
    provider that cannot express the schema, gives the answer by calling a tool. A model that supports neither is asked
    to write JSON. The conversation's tools and programs run as usual before the answer. An answer that does not fit is
    asked for once more, with its problems.

    Raises:
        SchemaError: The type cannot be described.
        ProviderError: The model did not give such an answer; the message quotes its last text.
        PausedError: A call waits for a decision.
        EzPtcError: Whatever `prompt_conversation` raises.
    """

    async def ask(goal: _TypedGoal) -> tuple[Any, B]:
        stream = ConversationStream(entries, settings, continue_with, streaming=False, goal=goal)
        with Continuing(lambda: stream.continuation):
            try:
                async for _ in stream:
                    pass
            except SchemaError as error:
                # A question that was asked is not asked again: there may have been effects.
                if goal.output_schema is None or stream.new_entries:
                    raise
                raise _NotExpressibleError from error
            require_answer(stream.new_entries)
            if goal.problem is not None:
                raise _missing_answer_error(stream.new_entries, goal.problem)
        return goal.value, stream.continuation

    with Continuing(continue_with):
        typed = _TypedAnswer.of(settings.tools, type_)
        providers = settings.providers()
    if all(provider.supports_output_schema() for provider in providers):
        with suppress(_NotExpressibleError):
            return await ask(_WrittenGoal(typed, output_schema=typed.schema))
    if all(provider.supports_tools() for provider in providers):
        return await ask(_CalledGoal(typed))
    text = _WRITE_JSON.format(schema=json.dumps(typed.schema, ensure_ascii=False))
    return await ask(_WrittenGoal(typed, instructions=(TextMessage(text),)))


class _NotExpressibleError(Exception):
    """Nothing was asked: the provider cannot express the schema of the answer, or of a tool."""


def _read_first(read: Callable[[_SourceT], object], sources: Iterable[_SourceT]) -> object:
    """Return the value of the first source with a valid one. Raises the ArgumentsError of the first source."""
    first_error: ArgumentsError | None = None
    for source in sources:
        try:
            return read(source)
        except ArgumentsError as error:
            first_error = first_error or error
    raise cast("ArgumentsError", first_error)


@dataclass(frozen=True, slots=True)
class _TypedAnswer:
    """An answer of a type. Its value is validated as the argument of a tool, whether the tool is called or not.

    `schema` describes the object in the answer's text: it is the schema of the type itself if it `is_object`, and else
    of an object with one field.
    """

    tool: Tool[..., Any]
    schema: dict[str, Any]
    is_object: bool

    @classmethod
    def of(cls, tools: Iterable[Tool[..., Any]], type_: object) -> _TypedAnswer:
        def take_answer(answer: object) -> str:
            del answer
            return _ACKNOWLEDGEMENT

        take_answer.__annotations__ = {_FIELD: type_, "return": str}
        used_names = {tool.name for tool in tools}
        name = next((name for name in _TOOL_NAMES if name not in used_names), _TOOL_NAMES[-1])
        tool = Tool.from_function(take_answer, name=name, description=_DESCRIPTION)
        schema: dict[str, Any] = {**tool.parameters, "required": [_FIELD]}
        definitions: Mapping[str, Any] = schema.get("$defs", {})
        field: dict[str, Any] = schema["properties"][_FIELD]
        if "$ref" in field:
            field = {**definitions[field["$ref"].removeprefix("#/$defs/")], **field}
            del field["$ref"]
        if _FIELD not in tool.parameters.get("required", ()) and field.get("type") != "null":
            # A parameter that accepts None may be omitted, and its schema does not say so. An answer must be given.
            schema["properties"] = {_FIELD: {"anyOf": [field, {"type": "null"}]}}
            return cls(tool, schema, is_object=False)
        if field.get("type") != "object" or not field.get("properties"):
            return cls(tool, schema, is_object=False)
        if definitions:
            field = {**field, "$defs": definitions}
        return cls(tool, field, is_object=True)

    def read(self, text: str, *, is_whole: bool = True) -> object:
        """Return the value in an answer's text. Raises ArgumentsError with its problems.

        Text that is no JSON is a value itself, such as a name or a date, if it `is_whole`.
        """
        if not text.strip():
            problem = "there is no text in it"
            raise ArgumentsError(problem, problems=[problem])
        spoken = text.strip()
        if not spoken.startswith(_JSON_BEGINNINGS):  # a text in JSON may name the tags
            spoken = remove_reasoning(spoken).strip()
        blocks = _BLOCK.findall(spoken)
        candidates = [spoken]
        # The only block or the object at the end, below words about it; an object between words may be an example.
        if len(blocks) == 1:
            candidates += blocks
        elif not blocks and spoken.endswith("}") and (last := _LAST_OBJECT.search(spoken)):
            candidates.append(last[0])
        try:
            return _read_first(self._value_in, candidates)
        except ArgumentsError:
            if is_whole and not (self.is_object or blocks or spoken.startswith(_JSON_BEGINNINGS)):
                with suppress(ArgumentsError):
                    return self.value({_FIELD: spoken})
            raise

    def _value_in(self, text: str) -> object:
        """Return the value in JSON text, also without the object around it, or within another one."""
        if text.strip() == "null":  # as the text of arguments, it is an empty object
            return self.value({_FIELD: None})
        try:
            answer: object = parse_arguments("the answer", text)
        except ArgumentsError:
            answer = parse_value(text)
            if self.is_object or answer is None:
                raise
        attempts: list[dict[str, object]] = [{_FIELD: answer}]
        if isinstance(answer, dict):
            fields = cast("dict[str, object]", answer)
            if not self.is_object:
                attempts.insert(0, fields)
            key = next(iter(fields), "")
            if len(fields) == 1 and key in _WRAPPERS:
                inner = fields[key]
                if isinstance(inner, str) and (container := read_container(inner)) is not None:
                    inner, _ = container
                attempts.append({_FIELD: inner})
        return _read_first(self.value, attempts)

    def value(self, arguments: dict[str, object] | str) -> object:
        """Return the value in the arguments of a call. Raises ArgumentsError with its problems."""
        if isinstance(arguments, str):
            arguments = parse_arguments(self.tool.name, arguments)
        return self.tool.bind((), arguments).kwargs[_FIELD]


class _TypedGoal(Goal):
    """An answer of a type: its `value` once it `is_given`; until then, the `problem` of the last one."""

    def __init__(self, typed: _TypedAnswer) -> None:
        self.typed: Final = typed
        self.value: object = None
        self.is_given = False
        self.problem: str | None = None

    def set_value(self, value: object) -> None:
        """Set the answer."""
        self.value, self.is_given, self.problem = value, True, None

    def entries_to_keep(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return all entries; after a wrong answer, with a message that says so, for the model to answer again."""
        last = entries[-1] if entries else None
        if self.problem is None or not isinstance(last, Answer) or last.calls or last.stop_reason == _REFUSED:
            return entries
        if self.problem == _NOT_CALLED:
            return (*entries, TextMessage(_NOT_YET))
        return (*entries, TextMessage(_WRONG.format(problem=self.problem)))


class _WrittenGoal(_TypedGoal):
    """An answer as JSON text."""

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
        """Return the answer's problem the first time, or None."""
        is_first = self.problem is None
        try:
            self.set_value(self.typed.read(answer.text, is_whole=answer.stop_reason == "end"))
        except ArgumentsError as error:
            self.problem = "; ".join(error.problems)
            if is_first and answer.stop_reason != _REFUSED:
                return _WRONG.format(problem=self.problem)
        return None


class _CalledGoal(_TypedGoal):
    """An answer as the argument of a tool call.

    The call is not forced: some models refuse forced calls, and others need their tools first. The conversation keeps
    question and answer as text, because some providers reject past calls in a request without tools.
    """

    def __init__(self, typed: _TypedAnswer) -> None:
        super().__init__(typed)
        self.tool = typed.tool
        self.instructions = (TextMessage(_CALL_IT.format(name=typed.tool.name)),)
        self._reminder: Final = _CALL_IT_NOW.format(name=typed.tool.name)
        self._is_reminded = False
        self._wrong_calls = 0

    def is_reached(self, answer: Answer, results: Sequence[ToolResultMessage]) -> bool:
        """Return whether the answer was given, or was wrong `_MAX_WRONG_CALLS` times."""
        calls = {call.id: call for call in answer.calls}
        answers = [result for result in results if result.tool_name == self.tool_name]
        for result in answers:
            if result.success:
                self.set_value(self.typed.value(calls[result.tool_call_id].arguments))
                return True
            self.problem = str(result.result)
        self._wrong_calls += len(answers)
        return self._wrong_calls >= _MAX_WRONG_CALLS

    def reply(self, answer: Answer) -> str | None:
        """Return a reminder, once, or None."""
        self.problem = _NOT_CALLED
        if self._is_reminded or answer.stop_reason == _REFUSED:
            return None
        self._is_reminded = True
        return self._reminder

    def entries_to_keep(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries without the tool; only the answer, if no other calls led to it."""
        texts = tuple(text for head, *results in _turns(entries) for text in self._as_text(head, results))
        answers = [entry for entry in texts if isinstance(entry, Answer)]
        if not self.is_given or any(answer.calls for answer in answers):
            return super().entries_to_keep(texts)
        last = answers[-1]
        usage = sum((answer.usage for answer in answers), Usage())
        return (Answer(messages=last.messages[-1:], usage=usage, model=last.model),)

    def _as_text(self, head: Entry, results: Sequence[Entry]) -> Iterator[Entry]:
        """Yield an entry and the results after it, with calls of the tool as text."""
        if isinstance(head, TextMessage) and head.text == self._reminder:
            yield TextMessage(_NOT_YET)
            return
        own_calls: list[ToolCall] = []
        if isinstance(head, Answer):
            own_calls = [call for call in head.calls if call.name == self.tool_name]
        if not isinstance(head, Answer) or not own_calls:
            yield from (head, *results)
            return
        ended = {result.tool_call_id: result for result in results if isinstance(result, ToolResultMessage)}
        call = next((call for call in own_calls if call.id in ended and ended[call.id].success), own_calls[-1])
        arguments = call.arguments
        answer_text = arguments if isinstance(arguments, str) else as_text(arguments.get(_FIELD))
        text = TextMessage(answer_text, role=MessageRole.ASSISTANT)
        rest = tuple(
            message
            for message in head.messages
            if not isinstance(message, ToolCallMessage) or message.call not in own_calls
        )
        if len(own_calls) < len(head.calls):
            yield Answer(messages=rest, stop_reason="tool_calls", usage=head.usage, model=head.model)
            yield from (result for result in ended.values() if result.tool_name != self.tool_name)
            yield Answer(messages=(text,), model=head.model)
        else:
            yield Answer(messages=(*rest, text), usage=head.usage, model=head.model)
        if call.id in ended and not ended[call.id].success:
            problem = str(ended[call.id].result).removeprefix(f"{self.tool_name}: ")
            yield TextMessage(_WRONG.format(problem=problem))


def _turns(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group each entry with the results after it."""
    turns: list[list[Entry]] = []
    for entry in entries:
        if isinstance(entry, ToolResultMessage) and turns:
            turns[-1].append(entry)
        else:
            turns.append([entry])
    return turns


def _missing_answer_error(entries: Sequence[Entry], problem: str) -> ProviderError:
    last = next(entry for entry in reversed(entries) if isinstance(entry, Answer))
    quote = last.text
    if len(quote) > _MAX_QUOTED:
        quote = f"{quote[:_MAX_QUOTED]}…"
    model = "the model"
    if last.model:
        model = safe_repr(last.model)
    message = (
        f"{model} did not give the answer that was asked for: {problem}. It stopped with "
        f"{safe_repr(last.stop_reason)}; its last text was {quote!r}. Ask again, or for a simpler type"
    )
    return ProviderError(message)
