"""Running the turns of a conversation: asking the model, running its calls side by side, reporting events.

Theory of operation
-------------------
`turns.py` decides what happens next and does no I/O. `run_turns` does what it asks for, one step at a time:

- `Ask`: the provider is asked, and each piece of its answer is yielded as it arrives.
- `RunCalls`: the calls of the answer run side by side in one task group. Each passes through `tools.registry`, so
  arguments, approval and timeouts are handled there.
- `Execute`: a program from the answer's text runs in the toolkit's sandbox.
- `Resume`: the calls of a paused conversation go on in the same way.
- `Tell`: messages are added that nothing ran for.

In a stream, the step is done by a task of its own, so that the events of programs and the progress of calls can be
yielded meanwhile.

Nothing runs ahead of the consumer: a generator that is not advanced starts no call. A consumer may stop at any event,
and any step may fail or be cancelled. `collect_entries` then makes a conversation of the events so far that a provider
accepts: each call of the last answer without a result gets one. `Conversation.started` and `Conversation.results` tell
a call that has ended from one with an unknown outcome, and both from one that never ran.

A call that raises (the caller's listener does, or an interruption) cancels its siblings. The first failure is raised
as itself, not in an exception group.
"""

from __future__ import annotations

from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final

import anyio

from ez_ptc._background import events_of
from ez_ptc._sync import to_thread
from ez_ptc.conversation.loop import spans
from ez_ptc.conversation.loop.conversation import PROGRAM_ID
from ez_ptc.conversation.loop.listener import EventForwarder
from ez_ptc.conversation.loop.turns import Ask, Execute, Resume, RunCalls, Tell, result_messages, resumed_turns, turns
from ez_ptc.formats.content import deliverable_result
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, TextMessage, ToolCall, ToolCallMessage, ToolResult, ToolResultMessage
from ez_ptc.sandbox.protocol.events import ProgramEvent
from ez_ptc.schema.arguments.value_sizes import MAX_WRITTEN, is_little
from ez_ptc.telemetry.tracing import span
from ez_ptc.tools.call_spans import add_result, call_span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ez_ptc._background import EventQueue
    from ez_ptc.conversation.fallback import FailoverConnection
    from ez_ptc.conversation.loop.conversation import Conversation
    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry
    from ez_ptc.telemetry.tracing import Notes

__all__ = ["StreamEvent", "collect_entries", "run_turns"]

_UNKNOWN_OUTCOME: Final = "outcome unknown: the conversation was stopped before this call returned"
_NOT_STARTED: Final = "not run: the conversation was stopped before this call started"
_PROGRAM_UNKNOWN_OUTCOME: Final = "Outcome unknown: the conversation was stopped before the program ended."
_PROGRAM_NOT_STARTED: Final = "The program was not run: the conversation was stopped before it started."

StreamEvent = TextDelta | ToolCallMessage | ToolResultMessage | TextMessage | Answer | ProgramEvent
"""An event of a conversation.

Pieces of a text as they arrive, each call, its progress, the events of the programs that it runs, each result, the
report of a program from an answer's text (as the message that the model reads), and each whole answer.
"""


def collect_entries(events: Sequence[StreamEvent], conversation: Conversation) -> tuple[Entry, ...]:
    """Return the entries added to a conversation by events, complete enough to be continued.

    Calls of the last answer whose results were not reported get results that say what is known of their outcome.
    """
    entries = tuple(event for event in events if isinstance(event, Answer | ToolResultMessage | TextMessage))
    if not entries:
        return ()
    open_calls: dict[str, ToolCall] = {}
    for entry in entries:
        if isinstance(entry, Answer):
            open_calls = {call.id: call for call in entry.calls}
        elif isinstance(entry, ToolResultMessage):
            open_calls.pop(entry.tool_call_id, None)
    calls = list(open_calls.values())
    results: list[ToolResult] = []
    for call in calls:
        if call.id in conversation.results:
            results.append(conversation.results[call.id])
        else:
            outcome = _UNKNOWN_OUTCOME if call.id in conversation.started else _NOT_STARTED
            results.append(ToolResult(success=False, error=outcome))
    messages = result_messages(calls, results, conversation.paused, conversation.kept, conversation.programs)
    return (*entries, *messages, *_program_outcome(entries, conversation))


def _program_outcome(entries: Sequence[Entry], conversation: Conversation) -> tuple[Entry, ...]:
    last = entries[-1]
    if not isinstance(last, Answer) or last.calls or last.stop_reason == "refusal":
        return ()
    if PROGRAM_ID in conversation.started:
        return (TextMessage(_PROGRAM_UNKNOWN_OUTCOME),)
    if conversation.find_program(last.text) is None:
        return ()
    return (TextMessage(_PROGRAM_NOT_STARTED),)


async def run_turns(
    conversation: Conversation, connection: FailoverConnection, *, streaming: bool = False
) -> AsyncGenerator[StreamEvent]:
    """Run a conversation's turns until its goal is reached or it pauses, and yield the events.

    With `streaming`, these include the events of programs and the progress of calls. Raises what `turns` and the
    connection raise.
    """
    begin = turns
    if conversation.resumption.results:
        begin = partial(resumed_turns, results=conversation.resumption.results)
    steps = begin(
        conversation.prompt, conversation.limits, find_program=conversation.find_program, goal=conversation.goal
    )
    step = next(steps)
    while True:
        reply: object = None
        if isinstance(step, Ask):
            prompt = conversation.begin_turn(step.prompt)
            async with aclosing(_answer_events(prompt, connection, conversation.notes)) as events:
                async for event in events:
                    reply = event
                    yield event
        elif streaming:
            async with aclosing(_step_events(step, conversation)) as events:
                async for event in events:
                    if isinstance(event, _Done):
                        reply = event.reply
                    else:
                        yield event
        else:
            with conversation.notes.active():
                done = await _do_step(step, conversation, None)
            reply = done.reply
            for message in done.messages:
                yield message
        try:
            step = steps.send(reply)
        except StopIteration:
            return


async def _answer_events(prompt: Prompt, connection: FailoverConnection, parent: Notes) -> AsyncGenerator[StreamEvent]:
    """Yield the pieces of an answer as they arrive, then the whole answer."""
    attributes = spans.provider_attributes(connection.provider, prompt)
    with (
        spans.measured(connection, prompt) as measurement,
        span(f"chat {connection.provider.model}", attributes, is_client=True, parent=parent) as notes,
    ):
        if notes.wants_content:
            notes.add(spans.request_content(prompt))
        async with aclosing(connection.events(prompt)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    measurement.answer = event
                    # A fallback may have answered.
                    notes.add(
                        {**spans.provider_attributes(connection.provider, prompt), **spans.answer_attributes(event)}
                    )
                    if notes.wants_content:
                        notes.add(spans.answer_content(event))
                    for message in event.messages:
                        if isinstance(message, ToolCallMessage):
                            yield message
                yield event


@dataclass(frozen=True, slots=True)
class _Done:
    """The outcome of a step: the value to send to `turns`, and the messages to yield."""

    reply: object
    messages: Sequence[ToolResultMessage | TextMessage]


async def _step_events(
    step: RunCalls | Execute | Resume | Tell, conversation: Conversation
) -> AsyncGenerator[StreamEvent | _Done]:
    """Do a step, and yield the events of its calls and programs meanwhile, then its messages, and last its outcome."""

    async def produce(queue: EventQueue[StreamEvent | _Done]) -> None:
        watch = EventForwarder(queue)
        with conversation.notes.active():
            done = await _do_step(step, conversation, watch)
        for message in done.messages:
            watch.put(message)
        watch.put(done)

    async with aclosing(events_of(produce)) as events:
        async for event in events:
            yield event


async def _do_step(
    step: RunCalls | Execute | Resume | Tell, conversation: Conversation, watch: EventForwarder | None
) -> _Done:
    """Do a step; calls and programs report their events to `watch`."""
    if isinstance(step, Tell):
        return _Done(None, step.messages)
    if isinstance(step, Execute):
        report = await _run_program(conversation, step.program, watch)
        return _Done(report, [report])
    if isinstance(step, Resume):
        calls = {call.id: call for call in step.answer.calls}
        waiting = [
            calls[result.tool_call_id]
            for result in step.results
            if isinstance(result, ToolResultMessage) and result.paused is not None and result.tool_call_id in calls
        ]
        results = await _run_side_by_side(conversation, waiting, watch)
        messages_of_resumed = result_messages(
            waiting, results, conversation.paused, conversation.kept, conversation.programs
        )
        resumed = {message.tool_call_id: message for message in messages_of_resumed}
        messages: list[ToolResultMessage | TextMessage] = []
        for result in step.results:
            if result.paused is None:
                messages.append(result)
            elif isinstance(result, ToolResultMessage):
                messages.append(resumed.get(result.tool_call_id, result))
            else:
                program = conversation.find_program(step.answer.text) or ""
                messages.append(await _run_program(conversation, program, watch))
        return _Done(tuple(messages), messages)
    results = await _run_side_by_side(conversation, step.calls, watch)
    messages_of_calls = result_messages(
        step.calls, results, conversation.paused, conversation.kept, conversation.programs
    )
    return _Done(messages_of_calls, messages_of_calls)


async def _run_program(conversation: Conversation, program: str, watch: EventForwarder | None) -> TextMessage:
    """Run a program from an answer's text, traced like a call of `execute_tools`."""
    call = ToolCall(PROGRAM_ID, "execute_tools", {"code": program})
    conversation.started.add(call.id)
    with call_span(call) as notes:
        report = await conversation.run_program(program, watch)
        add_result(notes, ToolResult(success=True, output=report.text))
    return report


async def _run_side_by_side(
    conversation: Conversation, calls: Sequence[ToolCall], watch: EventForwarder | None
) -> list[ToolResult]:
    results = [ToolResult(success=False)] * len(calls)
    failures: list[BaseException] = []

    async def run(number: int, call: ToolCall) -> None:
        try:
            results[number] = await _run_call(conversation, call, watch)
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


async def _run_call(conversation: Conversation, call: ToolCall, watch: EventForwarder | None) -> ToolResult:
    start = perf_counter()
    listener = conversation.listener
    conversation.started.add(call.id)
    with call_span(call) as notes:
        try:
            result = await conversation.run_call(call, watch)
        except BaseException:  # above all a cancellation: the call has started, and may go on in its thread
            unknown = ToolResult(success=False, error=_UNKNOWN_OUTCOME, duration_ms=(perf_counter() - start) * 1000)
            with suppress(Exception):  # a listener is foreign code, and this exception ends the conversation anyway
                listener.call_ended(call, unknown)
            raise
        listener.raise_failure(result)
        if call.id in conversation.paused:
            conversation.results[call.id] = result
            return result
        encode = partial(deliverable_result, call.name, replace(result, keeper=conversation.keeper_of(call)))
        # A large result takes longer to encode than the event loop should be blocked.
        if is_little(result.output, most=MAX_WRITTEN):
            sent = encode()
        else:
            sent = await to_thread(encode)
        conversation.results[call.id] = sent
        add_result(notes, sent)
    listener.call_ended(call, result if sent.success else sent)
    return sent
