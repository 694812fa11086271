"""Calls that go on although their caller no longer waits, and those that end with it."""

import asyncio
import threading

import pytest

from ez_ptc.errors import ToolError
from ez_ptc.tools.call_lifetime import CallLife, RunningCalls
from ez_ptc.tools.calls import arun_call
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.registry import ToolRegistry


def test_abandoned_calls_are_limited_by_their_bound() -> None:
    release = threading.Event()
    begun: list[int] = []

    @ez_tool(timeout=0.01)
    def hang() -> None:
        """Hang."""
        begun.append(1)
        assert release.wait(60)

    tools = ToolRegistry([hang]).renamed(hang="stay")
    before = threading.active_count()
    # On a loaded machine a call may be given up before it has begun.
    for _ in range(1000):
        if len(begun) < 16:
            assert "was abandoned" in str(tools.execute("stay").error)
    for _ in range(20):
        assert tools.execute("stay").error == (
            "stay was not run: 16 abandoned calls of it are still running; continue without it"
        )
    assert len(begun) == 16
    assert threading.active_count() <= before + 17
    # It is one function, whatever its name.
    assert "was not run: 16 abandoned calls" in str(hang.execute().error)
    release.set()


def test_approver_is_not_asked_about_unrunnable_call() -> None:
    release = threading.Event()
    begun: list[int] = []
    asked: list[str] = []

    @ez_tool(timeout=0.01, requires_approval=True)
    def hang() -> None:
        """Hang."""
        begun.append(1)
        assert release.wait(60)

    for _ in range(1000):
        if len(begun) < 16:
            ToolRegistry([hang], approve=lambda call: True).execute("hang")
    tools = ToolRegistry([hang], approve=lambda call: bool(asked.append(call.name)))
    assert "hang was not run: 16 abandoned calls" in str(tools.execute("hang").error)
    assert not asked
    release.set()


async def test_the_same_holds_for_calls_that_are_awaited(anyio_backend: str) -> None:
    release = threading.Event()
    begun: list[int] = []

    @ez_tool(timeout=0.01)
    def hang() -> None:
        """Hang."""
        begun.append(1)
        assert release.wait(60)

    for _ in range(1000):
        if len(begun) < 16:
            assert "was abandoned" in str((await hang.aexecute()).error)
    for _ in range(4):
        assert "was not run: 16 abandoned calls" in str((await hang.aexecute()).error)
    release.set()


def test_unwanted_call_does_not_start() -> None:
    running, life = RunningCalls(), CallLife()
    life.give_up()
    with pytest.raises(ToolError, match="pay was not run: its caller no longer waits for the result"):
        running.begin("pay", life)


def test_calls_that_have_ended_leave_room() -> None:
    running = RunningCalls()
    for _ in range(100):
        life = CallLife()
        running.begin("pay", life)
        life.give_up()
        running.end(life)


class OwnCancelledError(asyncio.CancelledError):
    """What a tool makes of a cancellation."""


def test_cancellation_that_a_tool_renames_ends_the_call() -> None:
    async def call() -> None:
        has_begun = asyncio.Event()

        async def wait() -> None:
            """Wait."""
            has_begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                raise OwnCancelledError from error

        task = asyncio.create_task(arun_call(ez_tool(wait).definition, (), {}))
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(call(), 60))
