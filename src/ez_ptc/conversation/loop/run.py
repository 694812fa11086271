"""The loop over turns, driven: who is asked, how calls run side by side, and what is told as it happens."""

from __future__ import annotations

from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final

import anyio

from ez_ptc._sync import to_thread
from ez_ptc.conversation.loop import spans
from ez_ptc.conversation.loop.turns import Ask, Execute, Run, Tell, TurnLimits, result_messages, turns
from ez_ptc.formats.content import MAX_RESULT_TEXT, delivered
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, TextMessage, ToolCall, ToolCallMessage, ToolResult, ToolResultMessage
from ez_ptc.schema.arguments.value_sizes import MAX_WRITTEN, is_little
from ez_ptc.tracing import span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence

    from ez_ptc.conversation.fallback import Line
    from ez_ptc.conversation.loop.goals import Goal
    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry
    from ez_ptc.tools.registry import ToolRegistry
    from ez_ptc.tracing import Notes

__all__ = ["Host", "Told", "entries_of", "tell"]

_LOST: Final = "it is not known how this call ended: the conversation was stopped before its result came"
_NOT_BEGUN: Final = "not run: the conversation was stopped before this call began"
_PROGRAM_LOST: Final = "It is not known how the program ended: the conversation was stopped before that."
_PROGRAM_NOT_BEGUN: Final = "The program was not run: the conversation was stopped before it began."
# What stands for the one program of a turn among the ids of calls.
_PROGRAM: Final = ""

Told = TextDelta | ToolCallMessage | ToolResultMessage | TextMessage | Answer
"""What is told of a conversation as it goes on.

The pieces of a text as they come, each call, each result, what a program that stood in an answer's text has printed
(as the message that the model reads), and each whole answer.
"""


@dataclass(frozen=True, slots=True)
class Host:
    """Who does what a model asks for.

    `program_in` finds a program in an answer's text, and `execute` runs it and returns what the model is to read.
    `check` raises what a listener raised in a program, instead of what became of the program by it. `ended` is told of
    each call that has ended; what it raises ends the conversation. The model reads at most `max_result_text` characters
    of one result. Of the calls of a turn, `begun` has the ids of those that have begun, and `finished` the results of
    those that have ended.
    """

    tools: ToolRegistry
    limits: TurnLimits
    goal: Goal
    program_in: Callable[[str], str | None]
    execute: Callable[[str], Awaitable[str]]
    check: Callable[[ToolResult], None]
    ended: Callable[[ToolCall, ToolResult], None]
    max_result_text: int = MAX_RESULT_TEXT
    begun: set[str] = field(default_factory=set[str])
    finished: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])


def entries_of(told: Sequence[Told], host: Host) -> tuple[Entry, ...]:
    """Return what a conversation grows by, from what was told of it: always something that can be continued.

    Where it was stopped before the results of its last calls, or of its last program, were told, there are results that
    say what is known of them.
    """
    entries = tuple(each for each in told if isinstance(each, Answer | ToolResultMessage | TextMessage))
    if not entries:
        return ()
    waiting: dict[str, ToolCall] = {}
    for entry in entries:
        if isinstance(entry, Answer):
            waiting = {call.id: call for call in entry.calls}
        elif isinstance(entry, ToolResultMessage):
            waiting.pop(entry.tool_call_id, None)
    calls = [*waiting.values()]
    return (*entries, *result_messages(calls, [_so_far(call, host) for call in calls]), *_program_so_far(entries, host))


def _so_far(call: ToolCall, host: Host) -> ToolResult:
    unknown = ToolResult(success=False, error=_LOST if call.id in host.begun else _NOT_BEGUN)
    return host.finished.get(call.id, unknown)


def _program_so_far(entries: Sequence[Entry], host: Host) -> tuple[Entry, ...]:
    last = entries[-1]
    if not isinstance(last, Answer) or last.calls or last.stop_reason == "refusal":
        return ()
    if _PROGRAM in host.begun:
        return (TextMessage(_PROGRAM_LOST),)
    return () if host.program_in(last.text) is None else (TextMessage(_PROGRAM_NOT_BEGUN),)


async def tell(prompt: Prompt, line: Line, host: Host) -> AsyncGenerator[Told]:
    """Go from a prompt to the answer that reaches the goal, and tell what happens on the way.

    Raises what `turns` and the line raise.
    """
    loop = turns(prompt, host.limits, program_in=host.program_in, goal=host.goal)
    step = next(loop)
    while True:
        reply: object = None
        if isinstance(step, Ask):
            # There are servers that give each answer's calls the same ids: results are those of one turn only.
            host.begun.clear()
            host.finished.clear()
            async with aclosing(_asked(step.prompt, line)) as telling:
                async for told in telling:
                    reply = told
                    yield told
        else:
            reply, messages = await _done(step, host)
            for message in messages:
                yield message
        try:
            step = loop.send(reply)
        except StopIteration:
            return


async def _asked(prompt: Prompt, line: Line) -> AsyncGenerator[Told]:
    """Tell an answer as it comes; the whole of it comes last."""
    with span(f"chat {line.provider.model}", spans.of_provider(line.provider, prompt), is_client=True) as notes:
        if notes.wants_content:
            notes.add(spans.what_was_asked(prompt))
        async with aclosing(line.events(prompt)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    # Another provider than the first may have answered.
                    notes.add({**spans.of_provider(line.provider, prompt), **spans.of_answer(event)})
                    if notes.wants_content:
                        notes.add(spans.what_was_answered(event))
                    for message in event.messages:
                        if isinstance(message, ToolCallMessage):
                            yield message
                yield event


async def _done(step: Run | Execute | Tell, host: Host) -> tuple[object, Sequence[Told]]:
    """Do what the loop asks for; return what it is to be sent, and what is to be told."""
    if isinstance(step, Tell):
        return None, step.messages
    if isinstance(step, Execute):
        report = await _executed(host, step.program)
        return report, [TextMessage(report)]
    results = result_messages(step.calls, await _side_by_side(host, step.calls))
    return results, results


async def _executed(host: Host, program: str) -> str:
    """Run a program that stood in an answer's text, as if it had been the call that it is elsewhere."""
    call = ToolCall(_PROGRAM, "execute_tools", {"code": program})
    host.begun.add(call.id)
    with _span_of(call) as notes:
        report = await host.execute(program)
        if notes.wants_content:
            notes.add(spans.what_came_of(ToolResult(success=True, output=report)))
    return report


@contextmanager
def _span_of(call: ToolCall) -> Generator[Notes]:
    with span(spans.name_of(call), spans.of_call(call)) as notes:
        if notes.wants_content:
            notes.add(spans.what_was_called(call))
        yield notes


async def _side_by_side(host: Host, calls: Sequence[ToolCall]) -> list[ToolResult]:
    results = [ToolResult(success=False)] * len(calls)
    failures: list[BaseException] = []

    async def run(number: int, call: ToolCall) -> None:
        try:
            results[number] = await _run_call(host, call)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:  # noqa: BLE001 - a listener's, or an interruption: raised again below, in no group
            failures.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(run, number, call)
    if failures:
        raise failures[0]
    return results


async def _run_call(host: Host, call: ToolCall) -> ToolResult:
    began = perf_counter()
    host.begun.add(call.id)
    with _span_of(call) as notes:
        try:
            result = await host.tools.arun(call)
        except BaseException:  # above all a cancellation: the call has begun, and may go on in its thread
            lost = ToolResult(success=False, error=_LOST, duration_ms=(perf_counter() - began) * 1000)
            with suppress(Exception):  # a listener is foreign code, and the conversation ends with what is raised here
                host.ended(call, lost)
            raise
        host.check(result)
        host.finished[call.id] = sent = await _delivered(host, call, result)
        if notes.wants_content:
            notes.add(spans.what_came_of(sent))
        if sent.exception is not None:
            notes.add({"error.type": type(sent.exception).__name__})
    host.ended(call, result if sent.success else sent)
    return sent


async def _delivered(host: Host, call: ToolCall, result: ToolResult) -> ToolResult:
    """Return how a call ended, as the model is told of it; what may take long is made of it in a thread."""
    make = partial(delivered, call.name, result, host.max_result_text)
    return make() if is_little(result.output, most=MAX_WRITTEN) else await to_thread(make)
