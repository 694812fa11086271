"""The watch over event loops sees what is costly, and nothing else."""

import os
import time
from typing import Annotated

import anyio.to_thread
import pytest
from pydantic import AfterValidator

from ez_ptc import Tool, ez_tool
from tests.binding import MAX_SECONDS, watch_binding


def compute(seconds: float) -> None:
    """Use up CPU time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def costly(number: int) -> int:
    compute(2 * MAX_SECONDS)
    return number


def refused_after_long(number: int) -> int:
    compute(2 * MAX_SECONDS)
    message = f"{number} is not welcome"
    raise ValueError(message)


def costly_once() -> Tool[[int], int]:
    calls: list[int] = []

    def first_is_costly(number: int) -> int:
        if not calls:
            compute(2 * MAX_SECONDS)
        calls.append(number)
        return number

    @ez_tool
    def double(number: Annotated[int, AfterValidator(first_is_costly)]) -> int:
        """Double a number."""
        return number * 2

    return double


@ez_tool
def plain(number: int) -> int:
    """Double a number."""
    return number * 2


@ez_tool
def slow(number: Annotated[int, AfterValidator(costly)]) -> int:
    """Double a number that takes long to check."""
    return number * 2


@ez_tool
def refuses(number: Annotated[int, AfterValidator(refused_after_long)]) -> int:
    """Take long to refuse a number."""
    return number


@pytest.mark.parametrize("tool", [slow, refuses], ids=["accepted", "refused"])
async def test_costly_binding_on_an_event_loop_is_seen(tool: Tool[[int], int], anyio_backend: str) -> None:
    with watch_binding() as slow_calls:
        tool.execute(number=1)
    assert [call.partition(":")[0] for call in slow_calls] == [tool.name]


async def test_costly_binding_in_a_thread_is_left_alone(anyio_backend: str) -> None:
    with watch_binding() as slow_calls:
        result = await anyio.to_thread.run_sync(lambda: slow.execute(number=1))
    assert (result.output, slow_calls) == (2, [])


def test_costly_binding_without_an_event_loop_is_left_alone() -> None:
    with watch_binding() as slow_calls:
        assert slow.execute(number=1).output == 2
    assert slow_calls == []


async def test_cheap_binding_on_an_event_loop_is_left_alone(anyio_backend: str) -> None:
    with watch_binding() as slow_calls:
        assert (await plain.aexecute(number=1)).output == 2
        assert (await costly_once().aexecute(number=1)).output == 2
    assert slow_calls == []


@pytest.mark.skipif("EZ_PTC_WATCH_BINDING" not in os.environ, reason="the watch is off: set EZ_PTC_WATCH_BINDING=1")
@pytest.mark.xfail(strict=True, raises=pytest.fail.Exception, reason="the watch fails a test that holds a loop up")
async def test_a_test_that_holds_an_event_loop_up_fails(anyio_backend: str) -> None:
    assert slow.execute(number=1).output == 2
