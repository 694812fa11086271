"""The events of a program, one after another."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import pytest

from ez_ptc.errors import SandboxError
from ez_ptc.messages import ToolCall
from ez_ptc.sandbox.events import ApprovalNeeded, CallEnded, CallStarted, OutputDelta, ProgramEnded, ProgramEvent
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decisions import Approve
from ez_ptc.tools.decorators import ez_tool

calls: list[str] = []

PROGRAM = """
print("begin")
log("one")
print("middle")
print(refund(3))
"""


@pytest.fixture(autouse=True)
def nothing_was_called() -> None:
    calls.clear()


@ez_tool
def log(text: str) -> str:
    """Log."""
    calls.append(text)
    return text


@ez_tool
async def wait(seconds: float) -> float:
    """Wait."""
    await anyio.sleep(seconds)
    return seconds


@ez_tool(requires_approval=True)
def refund(amount: int) -> int:
    """Refund."""
    return amount


def approve(call: ToolCall) -> Approve:
    """Approve every call."""
    del call
    return Approve()


def shape(event: ProgramEvent) -> tuple[object, ...]:
    """Return what a test compares of an event."""
    if isinstance(event, OutputDelta):
        return "output", event.text
    if isinstance(event, CallStarted):
        return "started", event.tool, event.args
    if isinstance(event, CallEnded):
        return "ended", event.tool, event.result
    if isinstance(event, ApprovalNeeded):
        return "needs approval", event.pending.arguments
    return "program ended", event.result.output


EXPECTED = [
    ("output", "begin\n"),
    ("started", "log", ("one",)),
    ("ended", "log", "one"),
    ("output", "middle\n"),
    ("started", "refund", (3,)),
    ("needs approval", {"amount": 3}),
    ("ended", "refund", 3),
    ("output", "3\n"),
    ("program ended", "begin\nmiddle\n3\n"),
]


def test_events_come_in_their_order() -> None:
    with Toolkit([log, refund], approve=approve) as toolkit:
        assert [shape(event) for event in toolkit.stream(PROGRAM)] == EXPECTED


async def test_awaited_events_come_in_their_order(anyio_backend: str) -> None:
    del anyio_backend
    with Toolkit([log, refund], approve=approve) as toolkit:
        assert [shape(event) async for event in toolkit.astream(PROGRAM)] == EXPECTED


def test_ids_join_calls_to_their_program() -> None:
    with Toolkit([log, refund], approve=approve) as toolkit:
        events = list(toolkit.stream(PROGRAM))
    (ended,) = [event for event in events if isinstance(event, ProgramEnded)]
    assert {event.parent for event in events if not isinstance(event, ProgramEnded)} == {ended.id}
    started = [event.id for event in events if isinstance(event, CallStarted)]
    assert started == [event.id for event in events if isinstance(event, CallEnded)]
    assert started == [f"{ended.id}:1", f"{ended.id}:2"]
    assert [event.id for event in events if isinstance(event, ApprovalNeeded)] == [f"{ended.id}:2"]


def test_refused_call_ends_with_its_error() -> None:
    with Toolkit([refund]) as toolkit:
        events = list(toolkit.stream("try:\n    refund('much')\nexcept TypeError:\n    pass"))
    (ended,) = [event for event in events if isinstance(event, CallEnded)]
    assert ended.error is not None
    assert "'amount' must be int" in ended.error


def test_leaving_the_iteration_ends_the_program() -> None:
    with Toolkit([log]) as toolkit:
        events = toolkit.stream("while True:\n    log('again')")
        assert isinstance(next(iter(events)), CallStarted)
        events.close()
        count = len(calls)
        assert toolkit.execute("1").success
        assert len(calls) == count


async def test_leaving_the_awaited_iteration_ends_the_program(anyio_backend: str) -> None:
    del anyio_backend
    with Toolkit([log, wait]) as toolkit:
        async with aclosing(toolkit.astream("while True:\n    log('again')")) as events:
            async for event in events:
                assert isinstance(event, CallStarted)
                break
        count = len(calls)
        assert (await toolkit.aexecute("1")).success
        assert len(calls) == count


async def test_cancelling_the_consumer_ends_the_program(anyio_backend: str) -> None:
    del anyio_backend
    with Toolkit([wait]) as toolkit:
        with anyio.move_on_after(0.3) as scope:
            async for _ in toolkit.astream("wait(1000)"):
                pass
        assert scope.cancelled_caught
        assert (await toolkit.aexecute("1")).success


async def test_slow_reader_slows_the_program(anyio_backend: str) -> None:
    del anyio_backend
    with Toolkit([log]) as toolkit:
        async with aclosing(toolkit.astream("for n in range(1000):\n    log(str(n))")) as events:
            await take(events, 10)
            for _ in range(3):  # the program has time for all of its calls
                assert (await toolkit.aexecute("sum(range(10**7))")).success
            # What was read, what waits in the queue, and what the socket and the program hold.
            assert len(calls) < 200


async def take(events: AsyncIterator[ProgramEvent], count: int) -> None:
    """Read some events."""
    for _ in range(count):
        await anext(events)


def test_sandbox_that_cannot_run_raises() -> None:
    toolkit = Toolkit([log])
    toolkit.close()
    with pytest.raises(SandboxError, match="closed"):
        list(toolkit.stream("1"))


async def test_programs_stream_side_by_side(anyio_backend: str) -> None:
    del anyio_backend
    outputs: dict[str, str] = {}

    async def run(name: str) -> None:
        async for event in toolkit.astream(f"wait(0.01)\nprint({name!r})"):
            if isinstance(event, ProgramEnded):
                outputs[name] = event.result.output

    with Toolkit([wait]) as toolkit:
        async with anyio.create_task_group() as group:
            for name in "abc":
                group.start_soon(run, name)
    assert outputs == {"a": "a\n", "b": "b\n", "c": "c\n"}
