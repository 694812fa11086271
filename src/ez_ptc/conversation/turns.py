"""The loop over turns, without I/O: what to ask, what to run, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.conversation.prices import turn_usages
from ez_ptc.errors import ProviderError, TurnLimitError
from ez_ptc.messages import Answer, TextMessage, ToolResult, ToolResultMessage, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from decimal import Decimal

    from ez_ptc.conversation.prices import Price
    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry, ToolCall

__all__ = ["Ask", "Execute", "Run", "Tell", "TurnLimits", "result_messages", "turns"]

_PAUSED: Final = "pause"
_MALFORMED: Final = "malformed"
_REFUSED: Final = "refusal"
_CUT_OFF: Final = "length"
_CALL_CUT_OFF: Final = "not run: the answer was cut off, and the call with it may not be whole; write it again, shorter"
_PROGRAM_CUT_OFF: Final = (
    "The program was not run: your answer was cut off, so it may not be whole. Write it again, shorter."
)
_CALL_REFUSED: Final = "not run: the answer that asks for it was ended as a refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """How far a conversation may go by itself, from a person's message to the answer.

    Attributes:
        turns: How many answers may be asked for.
        calls: How many calls of tools and programs may run, or None for any number.
        tokens: How many tokens may be read and written in all, or None; they are counted after each answer.
        cost: How many US dollars the answers may cost by the table of prices, or None; counted likewise. A model whose
            price is not known is beyond any limit.
        prices: Prices that go before those of the table, by the models' names.
    """

    turns: int = 20
    calls: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None
    prices: Mapping[str, Price] = field(default_factory=dict[str, "Price"])


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this to the model; an `Answer` is wanted."""

    prompt: Prompt


@dataclass(frozen=True, slots=True)
class Run:
    """Run these calls; their `result_messages` are wanted."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell the model these, in place of what is not run; nothing is wanted."""

    messages: tuple[ToolResultMessage | TextMessage, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """Run this program, which the model wrote into its text; what it is to read of it is wanted."""

    program: str


Step = Ask | Run | Tell | Execute


def turns(
    prompt: Prompt, limits: TurnLimits, *, program_in: Callable[[str], str | None]
) -> Generator[Step, Any, tuple[Entry, ...]]:
    """Go from a prompt to the answer that asks for nothing further; return all entries of the conversation.

    The caller does what is yielded and sends back how it went. `program_in` finds the program in an answer's text,
    where the model writes programs there. A model that paused is asked to go on, and one whose answer is malformed is
    asked once more. A call that was cut off, or that stands in a refusal, is not run, and its result says so.

    Raises:
        TurnLimitError: A limit is reached. Its `entries` are a conversation that can be continued: calls that did not
            run have results that say so.
        ProviderError: The model's answers are malformed.
    """
    entries = prompt.entries
    answers: list[Answer] = []
    ran = 0
    for _ in range(limits.turns):
        answer: Answer = yield Ask(replace(prompt, entries=entries))
        entries = (*entries, answer)
        answers.append(answer)
        if _is_malformed(answers):
            continue
        # A call that must be made is made once: else the model would have to call for ever.
        prompt = prompt if prompt.tool_choice == "none" else replace(prompt, tool_choice="auto")
        program = None if answer.calls or answer.stop_reason == _REFUSED else program_in(answer.text)
        if not answer.calls and program is None and answer.stop_reason != _PAUSED:
            return entries
        ran += len(answer.calls) + (program is not None)
        reason = _exceeded(limits, ran, answers)
        if reason is not None:
            raise TurnLimitError(_limit_message(reason), entries=(*entries, *_not_run(answer.calls, reason)))
        entries = (*entries, *(yield from _done(answer, program)))
        if answer.stop_reason == _REFUSED:
            return entries
    reason = f"{limits.turns} answers"
    raise TurnLimitError(_limit_message(reason), entries=entries)


def _done(answer: Answer, program: str | None) -> Generator[Step, Any, tuple[Entry, ...]]:
    """Have done what an answer asks for, as far as that is safe; return what the conversation grows by."""
    if program is not None and answer.stop_reason != _CUT_OFF:
        report: str = yield Execute(program)
        return (TextMessage(report),)
    run = {_REFUSED: 0, _CUT_OFF: max(0, len(answer.calls) - 1)}.get(answer.stop_reason, len(answer.calls))
    why = _CALL_REFUSED if answer.stop_reason == _REFUSED else _CALL_CUT_OFF
    results: tuple[Entry, ...] = (yield Run(answer.calls[:run])) if run else ()
    withheld = (TextMessage(_PROGRAM_CUT_OFF),) if program is not None else _failed(answer.calls[run:], why)
    if withheld:
        yield Tell(withheld)
    return (*results, *withheld)


def _is_malformed(answers: Sequence[Answer]) -> bool:
    """Say whether the last answer came to nothing. Raises ProviderError where the one before it did as well."""
    last, before = answers[-1], answers[-2:-1]
    if last.stop_reason != _MALFORMED or last.calls:
        return False
    if not before or before[0].stop_reason != _MALFORMED:
        return True
    says = last.details.get("finishMessage") or last.details.get("finishReason") or "it does not say why"
    message = (
        f"{last.model or 'the model'} wanted to call a tool and wrote nothing that can be read, twice: {says}. "
        f"Describe the tools more simply, give fewer of them, or choose another model"
    )
    raise ProviderError(message)


def result_messages(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> tuple[ToolResultMessage, ...]:
    """Return the results of a turn's calls as messages, in the order of the calls."""
    return tuple(
        ToolResultMessage(
            call.id,
            result.output if result.success else result.error,
            tool_name=call.name,
            success=result.success,
        )
        for call, result in zip(calls, results, strict=True)
    )


def _exceeded(limits: TurnLimits, ran: int, answers: Sequence[Answer]) -> str | None:
    if limits.calls is not None and ran > limits.calls:
        return f"{limits.calls} calls"
    used = sum((answer.usage for answer in answers), Usage())
    tokens = used.input_tokens + used.output_tokens
    if limits.tokens is not None and tokens > limits.tokens:
        return f"{limits.tokens} tokens ({tokens} were used)"
    if limits.cost is None:
        return None
    each = turn_usages(answers, limits.prices)
    if unknown := [turn.model for turn in each if turn.cost is None]:
        return f"{limits.cost} US dollars (the price of {unknown[0]!r} is not known: give it with .prices(...))"
    spent = sum(turn.cost for turn in each if turn.cost is not None)
    return f"{limits.cost} US dollars ({spent} were spent)" if spent > limits.cost else None


def _not_run(calls: Sequence[ToolCall], reason: str) -> tuple[ToolResultMessage, ...]:
    return _failed(calls, f"not run: the conversation is limited to {reason}")


def _failed(calls: Sequence[ToolCall], error: str) -> tuple[ToolResultMessage, ...]:
    return result_messages(calls, [ToolResult(success=False, error=error)] * len(calls))


def _limit_message(reason: str) -> str:
    return (
        f"the conversation reached its limit of {reason} before the model had finished: the error's `continuation` has "
        f"what was said so far; .limits(...) raises the limit"
    )
