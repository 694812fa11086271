"""The loop over turns, without I/O: what to ask, what to run, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.conversation.prices import total_cost
from ez_ptc.errors import TurnLimitError
from ez_ptc.messages import Answer, TextMessage, ToolResult, ToolResultMessage, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry, ToolCall

__all__ = ["Ask", "Execute", "Run", "TurnLimits", "result_messages", "turns"]

_PAUSED: Final = "pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """How far a conversation may go by itself, from a person's message to the answer.

    Attributes:
        turns: How many answers may be asked for.
        calls: How many calls of tools and programs may run, or None for any number.
        tokens: How many tokens may be read and written in all, or None; they are counted after each answer.
        cost: How many US dollars the answers may cost by the table of prices, or None; counted likewise. A model whose
            price is not known is beyond any limit.
    """

    turns: int = 20
    calls: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this to the model; an `Answer` is wanted."""

    prompt: Prompt


@dataclass(frozen=True, slots=True)
class Run:
    """Run these calls; their `result_messages` are wanted."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """Run this program, which the model wrote into its text; what it is to read of it is wanted."""

    program: str


Step = Ask | Run | Execute


def turns(
    prompt: Prompt, limits: TurnLimits, *, program_in: Callable[[str], str | None]
) -> Generator[Step, Any, tuple[Entry, ...]]:
    """Go from a prompt to the answer that asks for nothing further; return all entries of the conversation.

    The caller does what is yielded and sends back how it went. `program_in` finds the program in an answer's text,
    where the model writes programs there. A model that paused is asked to go on.

    Raises:
        TurnLimitError: A limit is reached. Its `entries` are a conversation that can be continued: calls that did not
            run have results that say so.
    """
    entries = prompt.entries
    answers: list[Answer] = []
    ran = 0
    for _ in range(limits.turns):
        answer: Answer = yield Ask(replace(prompt, entries=entries))
        # A call that must be made is made once: else the model would have to call for ever.
        prompt = prompt if prompt.tool_choice == "none" else replace(prompt, tool_choice="auto")
        entries = (*entries, answer)
        answers.append(answer)
        calls = answer.calls
        program = None if calls else program_in(answer.text)
        if not calls and program is None and answer.stop_reason != _PAUSED:
            return entries
        ran += len(calls) + (program is not None)
        reason = _exceeded(limits, ran, answers)
        if reason is not None:
            raise TurnLimitError(_limit_message(reason), entries=(*entries, *_not_run(calls, reason)))
        if calls:
            results: Sequence[ToolResultMessage] = yield Run(calls)
            entries = (*entries, *results)
        if program is not None:
            report: str = yield Execute(program)
            entries = (*entries, TextMessage(report))
    reason = f"{limits.turns} answers"
    raise TurnLimitError(_limit_message(reason), entries=entries)


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
    spent = Decimal(0) if limits.cost is None else total_cost(answers)
    if limits.cost is not None and (spent is None or spent > limits.cost):
        return f"{limits.cost} US dollars ({'the price is not known' if spent is None else f'{spent} were spent'})"
    return None


def _not_run(calls: Sequence[ToolCall], reason: str) -> tuple[ToolResultMessage, ...]:
    result = ToolResult(success=False, error=f"not run: the conversation is limited to {reason}")
    return result_messages(calls, [result] * len(calls))


def _limit_message(reason: str) -> str:
    return (
        f"the conversation reached its limit of {reason} before the model had finished: the error's `continuation` has "
        f"what was said so far; .limits(...) raises the limit"
    )
