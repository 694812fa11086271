"""The loop over turns, driven: who is asked, how calls run side by side, and what is told as it happens."""

from __future__ import annotations

from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from ez_ptc.conversation import spans
from ez_ptc.conversation.turns import Ask, Execute, Run, Tell, TurnLimits, result_messages, turns
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, TextMessage, ToolCall, ToolCallMessage, ToolResult, ToolResultMessage
from ez_ptc.tracing import span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence

    from ez_ptc.conversation.line import Line
    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry
    from ez_ptc.tools.registry import ToolRegistry
    from ez_ptc.tracing import Notes

__all__ = ["Host", "Told", "entries_of", "tell"]

_STOPPED: Final = "it is not known how this call ended: the conversation was stopped before its result came"

Told = TextDelta | ToolCallMessage | ToolResultMessage | TextMessage | Answer
"""What is told of a conversation as it goes on.

The pieces of a text as they come, each call, each result, what a program that stood in an answer's text has printed
(as the message that the model reads), and each whole answer.
"""


@dataclass(frozen=True, slots=True)
class Host:
    """Who does what a model asks for.

    `program_in` finds a program in an answer's text, and `execute` runs it and returns what the model is to read.
    `ended` is told of each call that has ended; what it raises ends the conversation. `finished` has the results of the
    calls of a turn by their ids, as far as they have ended.
    """

    tools: ToolRegistry
    limits: TurnLimits
    program_in: Callable[[str], str | None]
    execute: Callable[[str], Awaitable[str]]
    ended: Callable[[ToolCall, ToolResult], None]
    finished: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])


def entries_of(told: Sequence[Told], finished: Mapping[str, ToolResult]) -> tuple[Entry, ...]:
    """Return what a conversation grows by, from what was told of it: always something that can be continued.

    Where it was stopped while calls ran, `finished` has the results of those that had ended, by their ids.
    """
    entries = tuple(each for each in told if isinstance(each, Answer | ToolResultMessage | TextMessage))
    waiting: dict[str, ToolCall] = {}
    for entry in entries:
        if isinstance(entry, Answer):
            waiting = {call.id: call for call in entry.calls}
        elif isinstance(entry, ToolResultMessage):
            waiting.pop(entry.tool_call_id, None)
    unknown = ToolResult(success=False, error=_STOPPED)
    calls = [*waiting.values()]
    return (*entries, *result_messages(calls, [finished.get(call.id, unknown) for call in calls]))


async def tell(prompt: Prompt, line: Line, host: Host) -> AsyncGenerator[Told]:
    """Go from a prompt to the answer that asks for nothing further, and tell what happens on the way.

    Raises what `turns` and the line raise.
    """
    loop = turns(prompt, host.limits, program_in=host.program_in)
    step = next(loop)
    while True:
        reply: object = None
        if isinstance(step, Ask):
            # There are servers that give each answer's calls the same ids: results are those of one turn only.
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
    call = ToolCall("", "execute_tools", {"code": program})
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
    failures: list[Exception] = []

    async def run(number: int, call: ToolCall) -> None:
        with _span_of(call) as notes:
            results[number] = host.finished[call.id] = result = await host.tools.arun(call)
            if notes.wants_content:
                notes.add(spans.what_came_of(result))
            if result.exception is not None:
                notes.add({"error.type": type(result.exception).__name__})
        try:
            host.ended(call, result)
        except Exception as error:  # noqa: BLE001 - raised again below, and not in a group of errors
            failures.append(error)
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(run, number, call)
    if failures:
        raise failures[0]
    return results
