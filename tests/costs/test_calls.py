"""A checked call takes few steps in Python, however many parameters its tool has.

A step is a call of a function in our modules. Steps are counted, because times say little on a busy machine.
"""

import gc
import sys
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import ez_ptc
from ez_ptc import Tool, ToolCall, ez_tool

SOURCES = str(Path(ez_ptc.__file__).parent)


@ez_tool
def book(city: str, nights: int = 1) -> str:
    """Book a hotel."""
    return f"{city} {nights}"


@ez_tool
async def abook(city: str, nights: int = 1) -> str:
    """Book a hotel."""
    return f"{city} {nights}"


ARGUMENTS: dict[str, Any] = {"city": "Oslo", "nights": 2}
CALL = ToolCall("1", "book", ARGUMENTS)
imported = Tool.from_schema("book", "Book.", book.parameters, book.definition.function)


def count_steps(run: Callable[[], object]) -> int:
    """Return the number of steps, without those that only a first call takes."""
    steps: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCES):
            steps.append(frame.f_code.co_name)

    run()
    gc.disable()  # a finalizer may take steps as well
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return len(steps)


@pytest.mark.parametrize(
    ("run", "most"),
    [
        (lambda: book.call(ARGUMENTS), 12),
        (lambda: book.execute(**ARGUMENTS), 14),
        (lambda: book.run(CALL), 18),
        (lambda: imported.call(ARGUMENTS), 17),
    ],
    ids=["call", "execute", "run", "imported"],
)
def test_checked_call_takes_few_steps(run: Callable[[], object], most: int) -> None:
    assert count_steps(run) <= most


def test_awaited_call_takes_few_steps() -> None:
    def arun() -> None:
        with pytest.raises(StopIteration):  # it never suspends
            copy_context().run(abook.arun(CALL).send, None)

    abook.call(ARGUMENTS)  # the first call is checked in a thread

    assert count_steps(arun) <= 48


def test_parameters_that_are_left_out_cost_no_steps() -> None:
    def few(first: int = 0) -> int:
        """Return it."""
        return first

    parameters = ", ".join(f"p{number}: int | None = None" for number in range(100))
    scope: dict[str, Callable[..., object]] = {}
    exec(f"def many(first: int = 0, {parameters}) -> int:\n    'Return it.'\n    return first", scope)
    steps = [count_steps(lambda tool=tool: tool.call({"first": 1})) for tool in (ez_tool(few), ez_tool(scope["many"]))]

    assert steps[0] == steps[1]
