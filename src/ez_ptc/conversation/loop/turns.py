"""The loop over turns, without I/O: the next request, the calls to run, and the end.

Theory of operation
-------------------
`turns` is a generator. It yields a step (`Ask`, `RunCalls`, `Execute`, `Resume` or `Tell`), its driver does the step
and sends back the outcome. One turn is one answer of the model and everything that it asks for:

1. `Ask` sends the conversation so far and gets an `Answer`.
2. `_Work.of` splits the answer's requests into calls and programs that run and results that only say why something
   did not run: it was cut off, the answer is a refusal, or a limit is reached.
3. `RunCalls`, `Execute` and `Tell` carry that out; the results join the conversation. If a call of them waits for a
   decision, its result says so, and the conversation pauses: `Resume` continues it later, with such calls first.
4. The conversation is over once the goal is reached, or once the answer asks for nothing and the goal has no reply. A
   paused answer (of a model that uses its provider's own tools) is continued; a malformed one is asked for once more.

Limits are checked after each answer. Beyond a limit nothing runs but the call that gives the answer; every call still
gets a result, so that the conversation in the error can be continued.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.conversation.prices import turn_usages
from ez_ptc.errors import ProviderError, TurnLimitError
from ez_ptc.messages import Answer, TextMessage, ToolResult, ToolResultMessage, Usage
from ez_ptc.schema.safe_repr import safe_line, safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from ez_ptc.conversation.loop.goals import Goal
    from ez_ptc.conversation.settings import TurnLimits
    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry, Paused, ProgramEnding, ToolCall

__all__ = [
    "MAX_ANSWER_CALLS",
    "Ask",
    "Execute",
    "Resume",
    "RunCalls",
    "Tell",
    "result_messages",
    "resumed_turns",
    "turns",
]

MAX_ANSWER_CALLS: Final = 128
"""The calls of one answer that run; each further one gets a result that says so."""

_PAUSED: Final = "pause"
_MALFORMED: Final = "malformed"
_REFUSED: Final = "refusal"
_CUT_OFF: Final = frozenset({"length", "incomplete"})
_CALL_CUT_OFF: Final = "not run: the answer was cut off, so this call may be incomplete; write it again, shorter"
_PROGRAM_CUT_OFF: Final = (
    "The program was not run: your answer was cut off, so it may be incomplete. Write it again, shorter."
)
_CALL_REFUSED: Final = "not run: the answer with this call ended as a refusal"


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a request to the model; reply with its `Answer`."""

    prompt: Prompt


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Run calls; reply with their `result_messages`."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Tell:
    """Add messages that nothing ran for; no reply is expected."""

    messages: tuple[ToolResultMessage | TextMessage, ...]


@dataclass(frozen=True, slots=True)
class Resume:
    """Continue the calls that wait among the results of an answer; reply with all of its results."""

    answer: Answer
    results: tuple[ToolResultMessage | TextMessage, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """Run a program from an answer's text; reply with the message of its report."""

    program: str


Step = Ask | RunCalls | Tell | Execute | Resume


def turns(
    prompt: Prompt, limits: TurnLimits, *, find_program: Callable[[str], str | None], goal: Goal
) -> Generator[Step, Any, None]:
    """Yield the steps from a prompt to the answer that reaches the goal, as the module's docstring says.

    `find_program` returns the program in an answer's text, for models that write programs there.

    Raises:
        TurnLimitError: A limit is reached.
        ProviderError: The model's answers are malformed.
    """
    entries, answers, runs = prompt.entries, list[Answer](), 0
    for _ in range(limits.turns):
        answer: Answer = yield Ask(replace(prompt, entries=entries))
        entries = (*entries, answer)
        answers.append(answer)
        if _is_malformed(answers):
            continue
        # A required call is required once: otherwise the model would have to call indefinitely.
        if prompt.tool_choice != "none":
            prompt = replace(prompt, tool_choice="auto")
        program = None if answer.calls or answer.stop_reason == _REFUSED else find_program(answer.text)
        work = _Work.of(answer, program, goal)
        runs += work.count
        is_over = answer.stop_reason == _REFUSED or not (answer.calls or program or answer.stop_reason == _PAUSED)
        exceeded = None if is_over else _find_exceeded_limit(limits, runs, answers)
        results = yield from _do(work if exceeded is None else _Work.of(answer, program, goal, exceeded=exceeded))
        if _is_waiting(results):
            return
        entries = (*entries, *results)
        if goal.is_reached(answer, [result for result in results if isinstance(result, ToolResultMessage)]):
            return
        if is_over:
            reply = goal.reply(answer)
            if reply is None:
                return
            entries = (*entries, *(yield from _tell(TextMessage(reply))))
            exceeded = _find_exceeded_limit(limits, runs, answers)
        if exceeded is not None:
            raise TurnLimitError(_limit_message(exceeded))
    raise TurnLimitError(_limit_message(f"{limits.turns} answers"))


def resumed_turns(
    prompt: Prompt,
    limits: TurnLimits,
    *,
    find_program: Callable[[str], str | None],
    goal: Goal,
    results: tuple[ToolResultMessage | TextMessage, ...],
) -> Generator[Step, Any, None]:
    """Same as `turns`, but first continue the calls that wait; `results` are those of the prompt's last answer."""
    last = next(entry for entry in reversed(prompt.entries) if isinstance(entry, Answer))
    resumed: tuple[Entry, ...] = yield Resume(last, results)
    if not _is_waiting(resumed):
        prompt = replace(prompt, entries=(*prompt.entries, *resumed))
        yield from turns(prompt, limits, find_program=find_program, goal=goal)


def _is_waiting(results: Sequence[Entry]) -> bool:
    return any(not isinstance(result, Answer) and result.paused is not None for result in results)


@dataclass(frozen=True, slots=True)
class _Work:
    """The calls or the program of an answer that run, and messages in place of those that do not.

    `count` is how many calls and programs count against the limit of calls.
    """

    calls: tuple[ToolCall, ...]
    program: str | None
    withheld: tuple[ToolResultMessage | TextMessage, ...]
    count: int

    @classmethod
    def of(cls, answer: Answer, program: str | None, goal: Goal, *, exceeded: str | None = None) -> _Work:
        """Split an answer's requests. If a limit is `exceeded`, only the goal's own calls run."""
        if program is not None:
            return cls._of_program(answer, program, exceeded)
        calls: list[ToolCall] = []
        withheld: list[ToolResultMessage] = []
        for number, call in enumerate(answer.calls, start=1):
            reason = None
            if answer.stop_reason == _REFUSED:
                reason = _CALL_REFUSED
            elif number > MAX_ANSWER_CALLS:
                reason = f"not run: an answer has at most {MAX_ANSWER_CALLS} calls, and this was call {number:,}"
            elif answer.stop_reason in _CUT_OFF and number == len(answer.calls):
                reason = _CALL_CUT_OFF
            elif exceeded is not None and call.name != goal.tool_name:
                reason = f"not run: the conversation is limited to {exceeded}"
            if reason is None:
                calls.append(call)
            else:
                withheld += result_messages([call], [ToolResult(success=False, error=reason)])
        return cls(tuple(calls), None, tuple(withheld), sum(call.name != goal.tool_name for call in calls))

    @classmethod
    def _of_program(cls, answer: Answer, program: str, exceeded: str | None) -> _Work:
        if answer.stop_reason in _CUT_OFF:
            return cls((), None, (TextMessage(_PROGRAM_CUT_OFF),), 0)
        if exceeded is not None:
            reason = f"The program was not run: the conversation is limited to {exceeded}."
            return cls((), None, (TextMessage(reason),), 0)
        return cls((), program, (), 1)


def _do(work: _Work) -> Generator[Step, Any, tuple[Entry, ...]]:
    """Yield the steps of some work; return the entries that it adds to the conversation."""
    if work.program is not None:
        report: TextMessage = yield Execute(work.program)
        return (report,)
    results: tuple[Entry, ...] = ()
    if work.calls:
        results = yield RunCalls(work.calls)
    return (*results, *(yield from _tell(*work.withheld)))


def _tell(*messages: ToolResultMessage | TextMessage) -> Generator[Step, Any, tuple[Entry, ...]]:
    if messages:
        yield Tell(messages)
    return messages


def _is_malformed(answers: Sequence[Answer]) -> bool:
    """Return whether the last answer has no usable content. Raises ProviderError if the one before had none either."""
    last, before = answers[-1], answers[-2:-1]
    if last.stop_reason != _MALFORMED or last.calls:
        return False
    if not before or before[0].stop_reason != _MALFORMED:
        return True
    reason = last.details.get("finishMessage") or last.details.get("finishReason") or "no reason given"
    model = "the model"
    if last.model:
        model = safe_repr(last.model)
    message = (
        f"expected a tool call, got a malformed one from {model} twice ({safe_line(str(reason))}): describe the tools "
        f"more simply, give fewer of them, or choose another model"
    )
    raise ProviderError(message)


def result_messages(
    calls: Sequence[ToolCall],
    results: Sequence[ToolResult],
    paused: Mapping[str, Paused] | None = None,
    kept: Mapping[str, Mapping[str, object]] | None = None,
    programs: Mapping[str, ProgramEnding] | None = None,
) -> tuple[ToolResultMessage, ...]:
    """Return the results of a turn's calls as messages, in the order of the calls.

    `paused` are those in wait, `kept` the whole values of those shown in part, and `programs` the ends of programs.
    """
    return tuple(
        ToolResultMessage(
            call.id,
            result.output if result.success else result.error_text,
            tool_name=call.name,
            success=result.success,
            paused=(paused or {}).get(call.id),
            kept=(kept or {}).get(call.id) or None,
            program=(programs or {}).get(call.id),
        )
        for call, result in zip(calls, results, strict=True)
    )


def _find_exceeded_limit(limits: TurnLimits, runs: int, answers: Sequence[Answer]) -> str | None:
    """Return the limit that is exceeded, in words, or None."""
    if limits.calls is not None and runs > limits.calls:
        return f"{limits.calls} calls"
    usage = sum((answer.usage for answer in answers), Usage())
    tokens = usage.input_tokens + usage.output_tokens
    if limits.tokens is not None and tokens > limits.tokens:
        return f"{limits.tokens} tokens ({tokens} were used)"
    if limits.cost is None:
        return None
    cost = Decimal(0)
    for turn in turn_usages(answers, limits.prices):
        if turn.cost is None:
            return f"{limits.cost} US dollars (unknown price of {safe_repr(turn.model)}: give it with .prices(...))"
        cost += turn.cost
    if cost > limits.cost:
        return f"{limits.cost} US dollars ({cost} were spent)"
    return None


def _limit_message(limit: str) -> str:
    return (
        f"the conversation reached its limit of {limit} before the model had finished: the error's `continuation` has "
        f"everything so far; .limits(...) raises the limit"
    )
