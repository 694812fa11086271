"""Calls that go on although nobody waits for them."""

import threading

import pytest

from ez_ptc.errors import ToolError
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.life import CallLife, RunningCalls
from ez_ptc.tools.registry import ToolRegistry


def test_as_many_calls_of_a_tool_are_left_to_themselves_as_its_bound_says_and_no_more() -> None:
    release = threading.Event()
    begun: list[int] = []

    @ez_tool(timeout=0.01)
    def hang(number: int) -> None:
        """Hang."""
        begun.append(number)
        assert release.wait(60)

    tools = ToolRegistry([hang]).renamed(hang="stay")
    before = threading.active_count()
    errors = [str(tools.execute("stay", number=number).error) for number in range(40)]
    assert len(begun) == 16
    assert threading.active_count() <= before + 17
    assert "no longer waited for" in errors[15]
    assert errors[16] == (
        "stay was not run: 16 earlier calls of it still run although nobody waits for them; go on without it"
    )
    # It is one function, whatever its name.
    assert "was not run: 16 earlier calls" in str(hang.execute(number=0).error)
    release.set()


async def test_the_same_holds_for_calls_that_are_awaited(anyio_backend: str) -> None:
    release = threading.Event()

    @ez_tool(timeout=0.01)
    def hang() -> None:
        """Hang."""
        assert release.wait(60)

    errors = [str((await hang.aexecute()).error) for _ in range(20)]
    assert [("no longer waited for" in error) for error in errors] == [True] * 16 + [False] * 4
    release.set()


def test_a_call_that_nobody_wants_does_not_begin() -> None:
    running, life = RunningCalls(), CallLife()
    life.give_up()
    with pytest.raises(ToolError, match="pay was not run: nobody waits for the result any more"):
        running.begin("pay", life)


def test_calls_that_have_ended_leave_room() -> None:
    running = RunningCalls()
    for _ in range(100):
        life = CallLife()
        running.begin("pay", life)
        life.give_up()
        running.end(life)
