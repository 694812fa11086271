"""The loop over turns, driven: who is asked, how calls run side by side, and what is told as it happens."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from ez_ptc.conversation.turns import Ask, Execute, TurnLimits, result_messages, turns
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, TextMessage, ToolCallMessage, ToolResult, ToolResultMessage
from ez_ptc.tracing import Attributes, span

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from ez_ptc.conversation.line import Line
    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry, ToolCall
    from ez_ptc.tools.registry import ToolRegistry

__all__ = ["Host", "Told", "entries_of", "tell"]

Told = TextDelta | ToolCallMessage | ToolResultMessage | TextMessage | Answer
"""What is told of a conversation as it goes on.

The pieces of a text as they come, each call, each result, what a program that stood in an answer's text has printed
(as the message that the model reads), and each whole answer.
"""


@dataclass(frozen=True, slots=True)
class Host:
    """Who does what a model asks for.

    `program_in` finds a program in an answer's text, and `execute` runs it and returns what the model is to read.
    """

    tools: ToolRegistry
    limits: TurnLimits
    program_in: Callable[[str], str | None]
    execute: Callable[[str], Awaitable[str]]


def entries_of(told: Sequence[Told]) -> tuple[Entry, ...]:
    """Return what a conversation grows by, from what was told of it."""
    return tuple(each for each in told if isinstance(each, Answer | ToolResultMessage | TextMessage))


async def tell(prompt: Prompt, line: Line, host: Host) -> AsyncGenerator[Told]:
    """Go from a prompt to the answer that asks for nothing further, and tell what happens on the way.

    Raises what `turns` and the line raise.
    """
    loop = turns(prompt, host.limits, program_in=host.program_in)
    step = next(loop)
    while True:
        reply: object = None
        if isinstance(step, Ask):
            async with aclosing(_asked(step.prompt, line)) as telling:
                async for told in telling:
                    reply = told
                    yield told
        elif isinstance(step, Execute):
            reply = await host.execute(step.program)
            yield TextMessage(reply)
        else:
            reply = results = result_messages(step.calls, await _side_by_side(host.tools, step.calls))
            for message in results:
                yield message
        try:
            step = loop.send(reply)
        except StopIteration:
            return


async def _asked(prompt: Prompt, line: Line) -> AsyncGenerator[Told]:
    """Tell an answer as it comes; the whole of it comes last."""
    asked: Attributes = {"gen_ai.operation.name": "chat"}
    with span("chat", asked) as note:
        async with aclosing(line.events(prompt)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    note(_attributes(event))
                    for message in event.messages:
                        if isinstance(message, ToolCallMessage):
                            yield message
                yield event


def _attributes(answer: Answer) -> Attributes:
    return {
        "gen_ai.provider.name": answer.provider,
        "gen_ai.response.id": answer.id,
        "gen_ai.response.model": answer.model,
        "gen_ai.response.finish_reasons": [answer.stop_reason],
        "gen_ai.usage.input_tokens": answer.usage.input_tokens,
        "gen_ai.usage.output_tokens": answer.usage.output_tokens,
    }


async def _side_by_side(tools: ToolRegistry, calls: Sequence[ToolCall]) -> list[ToolResult]:
    results = [ToolResult(success=False)] * len(calls)

    async def run(number: int, call: ToolCall) -> None:
        asked: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
        }
        with span(f"execute_tool {call.name}", asked) as note:
            results[number] = result = await tools.arun(call)
            if result.exception is not None:
                note({"error.type": type(result.exception).__name__})

    async with anyio.create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(run, number, call)
    return results
