"""The loop over turns, without I/O: what to ask, what to run, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.conversation.prices import turn_usages
from ez_ptc.errors import ProviderError, TurnLimitError
from ez_ptc.messages import Answer, TextMessage, ToolResult, ToolResultMessage, Usage
from ez_ptc.schema.safe_repr import one_line, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from decimal import Decimal

    from ez_ptc.conversation.loop.goals import Goal
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
    prompt: Prompt, limits: TurnLimits, *, program_in: Callable[[str], str | None], goal: Goal
) -> Generator[Step, Any, None]:
    """Go from a prompt to the answer that reaches the goal.

    The caller does what is yielded and sends back how it went. `program_in` finds the program in an answer's text,
    where the model writes programs there. A model that paused is asked to go on, and one whose answer is malformed is
    asked once more. A call that was cut off, that stands in a refusal or that is beyond a limit is not run, and its
    result says so. A call that gives the answer is beyond no limit.

    Raises:
        TurnLimitError: A limit is reached.
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
        # A call that must be made is made once: else the model would have to call indefinitely.
        prompt = prompt if prompt.tool_choice == "none" else replace(prompt, tool_choice="auto")
        program = None if answer.calls or answer.stop_reason == _REFUSED else program_in(answer.text)
        work = _Work.of(answer, program, goal)
        ran += work.counted
        is_over = answer.stop_reason == _REFUSED or not (answer.calls or program or answer.stop_reason == _PAUSED)
        limit = None if is_over else _exceeded(limits, ran, answers)
        done = yield from _do(work if limit is None else _Work.of(answer, program, goal, limit=limit))
        entries = (*entries, *done)
        if goal.is_reached(answer, [each for each in done if isinstance(each, ToolResultMessage)]):
            return
        if is_over:
            reply = goal.reply(answer)
            if reply is None:
                return
            entries = (*entries, *(yield from _tell(TextMessage(reply))))
            limit = _exceeded(limits, ran, answers)
        if limit is not None:
            raise TurnLimitError(_limit_message(limit))
    raise TurnLimitError(_limit_message(f"{limits.turns} answers"))


@dataclass(frozen=True, slots=True)
class _Work:
    """What is done of all that an answer asks for, and what the model is told in place of the rest.

    `counted` is how many of the calls and programs count against the limit of calls.
    """

    calls: tuple[ToolCall, ...]
    program: str | None
    withheld: tuple[ToolResultMessage | TextMessage, ...]
    counted: int

    @classmethod
    def of(cls, answer: Answer, program: str | None, goal: Goal, *, limit: str | None = None) -> _Work:
        """Divide what an answer asks for; beyond a `limit` nothing runs but the goal's own calls."""
        if program is not None:
            why = _PROGRAM_CUT_OFF if answer.stop_reason == _CUT_OFF else _program_limited(limit)
            return cls((), program if why is None else None, () if why is None else (TextMessage(why),), why is None)
        run: list[ToolCall] = []
        withheld: list[ToolResultMessage] = []
        for number, call in enumerate(answer.calls, start=1):
            why = _why_not(answer, is_last=number == len(answer.calls))
            if why is None and limit is not None and call.name != goal.tool_name:
                why = f"not run: the conversation is limited to {limit}"
            if why is None:
                run.append(call)
            else:
                withheld += result_messages([call], [ToolResult(success=False, error=why)])
        return cls(tuple(run), None, tuple(withheld), sum(call.name != goal.tool_name for call in run))


def _why_not(answer: Answer, *, is_last: bool) -> str | None:
    """Return why a call of an answer is not run, or None."""
    if answer.stop_reason == _REFUSED:
        return _CALL_REFUSED
    return _CALL_CUT_OFF if answer.stop_reason == _CUT_OFF and is_last else None


def _program_limited(limit: str | None) -> str | None:
    return None if limit is None else f"The program was not run: the conversation is limited to {limit}."


def _do(work: _Work) -> Generator[Step, Any, tuple[Entry, ...]]:
    """Have work done; return what the conversation grows by."""
    if work.program is not None:
        report: str = yield Execute(work.program)
        return (TextMessage(report),)
    results: tuple[Entry, ...] = (yield Run(work.calls)) if work.calls else ()
    return (*results, *(yield from _tell(*work.withheld)))


def _tell(*messages: ToolResultMessage | TextMessage) -> Generator[Step, Any, tuple[Entry, ...]]:
    if messages:
        yield Tell(messages)
    return messages


def _is_malformed(answers: Sequence[Answer]) -> bool:
    """Say whether the last answer came to nothing. Raises ProviderError where the one before it did as well."""
    last, before = answers[-1], answers[-2:-1]
    if last.stop_reason != _MALFORMED or last.calls:
        return False
    if not before or before[0].stop_reason != _MALFORMED:
        return True
    says = last.details.get("finishMessage") or last.details.get("finishReason") or "it does not say why"
    message = (
        f"{shown(last.model) if last.model else 'the model'} wanted to call a tool and wrote nothing that can be read, "
        f"twice: {one_line(str(says))}. Describe the tools more simply, give fewer of them, or choose another model"
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
        return f"{limits.cost} US dollars (the price of {shown(unknown[0])} is not known: give it with .prices(...))"
    spent = sum(turn.cost for turn in each if turn.cost is not None)
    return f"{limits.cost} US dollars ({spent} were spent)" if spent > limits.cost else None


def _limit_message(reason: str) -> str:
    return (
        f"the conversation reached its limit of {reason} before the model had finished: the error's `continuation` has "
        f"what was said so far; .limits(...) raises the limit"
    )
