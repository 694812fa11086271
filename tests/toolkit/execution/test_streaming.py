"""The events of a program, one after another."""

import contextvars
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing, closing
from pathlib import Path

import anyio
import pytest

from ez_ptc.errors import SandboxError
from ez_ptc.messages import PendingCall
from ez_ptc.sandbox.protocol.events import (
    ApprovalNeeded,
    CallEnded,
    CallProgress,
    CallStarted,
    OutputDelta,
    ProgramEnded,
    ProgramEvent,
)
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decisions import Approve, Pause
from ez_ptc.tools.decorators import ez_tool

calls: list[str] = []
earlier_threads: set[threading.Thread] = set()

PROGRAM = """
print("begin")
log("one")
print("middle")
print(refund(3))
"""


@pytest.fixture(autouse=True)
def nothing_was_called() -> None:
    calls.clear()
    earlier_threads.clear()
    earlier_threads.update(threading.enumerate())


def stream_threads() -> list[threading.Thread]:
    """Return the threads of this test's streams: one that an earlier test has dropped may be ending."""
    return [thread for thread in {*threading.enumerate()} - earlier_threads if thread.name == "ez-ptc-stream"]


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


def approve(call: PendingCall) -> Approve:
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
    if isinstance(event, CallProgress):
        return "progress", event.tool, event.done
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


def asked_ids(toolkit: Toolkit, asked: list[PendingCall]) -> tuple[list[str], list[str], list[str]]:
    """Return the ids of a program's calls: as they start, as they need approval, and as the approver sees them."""
    events = list(toolkit.stream("refund(1)\nrefund(2)"))
    started = [event.id for event in events if isinstance(event, CallStarted)]
    needed = [event.pending.id for event in events if isinstance(event, ApprovalNeeded)]
    return started, needed, [call.id for call in asked]


@pytest.mark.parametrize("journal", [None, "runs.db"])
def test_approver_and_events_name_calls_alike(journal: str | None, tmp_path: Path) -> None:
    asked: list[PendingCall] = []
    path = tmp_path / journal if journal else None
    with Toolkit([refund], approve=lambda call: asked.append(call) or True, journal=path) as toolkit:
        started, needed, seen = asked_ids(toolkit, asked)

        assert started == needed == seen
        assert len({*seen, *asked_ids(toolkit, asked)[2]}) == 4
        assert [call.path for call in asked[:2]] == ["1", "2"]


def test_pending_call_is_what_the_approver_saw(tmp_path: Path) -> None:
    asked: list[PendingCall] = []

    def postpone(call: PendingCall) -> Pause:
        asked.append(call)
        return Pause()

    with Toolkit([refund], approve=postpone, journal=tmp_path / "runs.db") as toolkit:
        assert list(toolkit.execute("refund(1)").pending) == asked


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


@pytest.mark.sampled(every=0)
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


@pytest.mark.sampled(every=0)
def test_blocking_slow_reader_slows_the_program() -> None:
    with Toolkit([log]) as toolkit, closing(toolkit.stream("for n in range(1000):\n    log(str(n))")) as events:
        for _ in range(10):
            next(events)
        for _ in range(3):  # the program has time for all of its calls
            assert toolkit.execute("sum(range(10**7))").success
        # What was read, what waits, and what the socket and the program hold.
        assert len(calls) < 200
        assert isinstance(list(events)[-1], ProgramEnded)
    assert len(calls) == 1000


def test_slow_reader_does_not_stop_the_clock() -> None:
    with Toolkit([log]) as toolkit:
        events = toolkit.stream("for n in range(1000):\n    log(str(n))", timeout=0.5)
        next(events)
        assert toolkit.execute("import time; time.sleep(1)").success
        ended = list(events)[-1]
    assert isinstance(ended, ProgramEnded)
    assert ended.result.error is not None
    assert "timed out" in ended.result.error


def test_closing_leaves_a_hanging_tool_behind() -> None:
    released = threading.Event()

    @ez_tool
    def hang() -> None:
        """Hang."""
        released.wait(60)

    try:
        with Toolkit([hang, log]) as toolkit:
            events = toolkit.stream("hang()\nlog('after')")
            assert isinstance(next(events), CallStarted)
            events.close()
            assert stream_threads() == []
            assert list(events) == []
            assert toolkit.execute("1").success
    finally:
        released.set()
    assert calls == []


def test_dropped_iteration_ends_the_program() -> None:
    with Toolkit([log]) as toolkit:
        events = toolkit.stream("while True:\n    log('again')")
        next(events)
        (thread,) = stream_threads()
        del events
        thread.join(30)
        assert not thread.is_alive()


def test_another_thread_may_close_the_iteration() -> None:
    with Toolkit([log]) as toolkit:
        events = toolkit.stream("while True:\n    log('again')")
        next(events)
        thread = threading.Thread(target=events.close)
        thread.start()
        list(events)
        thread.join(30)
        assert list(events) == []


def test_tool_that_exits_raises_in_the_reader() -> None:
    @ez_tool
    def leave() -> None:
        """Leave."""
        raise KeyboardInterrupt

    with Toolkit([leave]) as toolkit, pytest.raises(KeyboardInterrupt):
        list(toolkit.stream("leave()"))


def test_tools_see_the_context_of_the_reader() -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    @ez_tool
    def look() -> str:
        """Look."""
        return variable.get()

    variable.set("set")
    with Toolkit([look]) as toolkit:
        ended = list(toolkit.stream("look()"))[-1]
    assert isinstance(ended, ProgramEnded)
    assert ended.result.return_value == "set"


@pytest.mark.parametrize("is_journaled", [False, True], ids=["plain", "journaled"])
def test_session_streams_its_programs(is_journaled: bool, tmp_path: Path) -> None:
    journal = tmp_path / "runs.db" if is_journaled else None
    with Toolkit([log], journal=journal) as toolkit, toolkit.session() as session:
        assert [shape(event)[0] for event in session.stream("kept = log('a')")] == ["started", "ended", "program ended"]
        assert shape(list(session.stream("print(kept)"))[-1]) == ("program ended", "a\n")
        with closing(session.stream("while True:\n    log('again')")) as events:
            next(events)
        if is_journaled:  # which resumes what was cut off, and rebuilds what was lost
            return
        assert "cut off" in str(session.execute("print(kept)").error)


def test_closing_at_the_last_event_keeps_the_session() -> None:
    with Toolkit([log]) as toolkit, toolkit.session() as session:
        assert session.execute("count = 0").success
        for number in range(1, 21):
            with closing(session.stream("count += 1\nprint(count)")) as events:
                ended = next(event for event in events if isinstance(event, ProgramEnded))
            assert ended.result.output == f"{number}\n"


def test_closed_journaled_stream_can_be_resumed(tmp_path: Path) -> None:
    with Toolkit([log, refund], journal=tmp_path / "runs.db") as toolkit:
        events = toolkit.stream("for n in range(50):\n    log(str(n))")
        started = next(events)
        events.close()
        run = toolkit.open_journal().run(started.parent)
        assert run.state in {"resumable", "outcome_unknown"}
        assert stream_threads() == []
