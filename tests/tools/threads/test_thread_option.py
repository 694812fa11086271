"""The option `thread` of tools, and the error of SQLite that leads to it."""

import asyncio
import contextlib
import dataclasses
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ez_ptc import SchemaError, Tool, Toolkit, ez_tool, tool


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of a thread that no other test uses."""
    return str(request.node.nodeid)[-90:]


def who(thread: Any) -> Tool[[], int]:  # noqa: ANN401 - of any wrong type
    def who_runs() -> int:
        """Return a number."""
        return 1

    return ez_tool(who_runs, thread=thread)


@pytest.mark.parametrize("thread", ["", 5, True, ["db"], b"db", "x" * 101])
def test_invalid_thread_is_refused(thread: Any) -> None:  # noqa: ANN401 - of any wrong type
    with pytest.raises(
        SchemaError, match=r"who_runs: expected the name of a thread, such as thread='db', or None; got"
    ):
        who(thread)


async def _later() -> int:
    """Return a number."""
    return 1


async def _count() -> Any:  # noqa: ANN401 - an iterator
    """Count."""
    yield 1


@pytest.mark.parametrize("function", [_later, _count])
def test_async_function_with_a_thread_is_refused(function: Callable[[], Any]) -> None:
    message = "an async function runs on its caller's event loop, not on a thread: write it without async, or remove"
    for make in (ez_tool, tool, Tool.from_function):
        with pytest.raises(SchemaError, match=message):
            make(function, thread="db")
    with pytest.raises(SchemaError, match=message):
        dataclasses.replace(ez_tool(function), thread="db")
    with pytest.raises(SchemaError, match=message):
        dataclasses.replace(who("db"), function=function)


def test_coroutine_of_a_plain_function_is_refused(name: str) -> None:
    @ez_tool(thread=name)
    def begin() -> Awaitable[int]:
        """Return something to await."""
        return _later()

    message = f"begin returned coroutine, which would run on an event loop, not on its thread {name!r}"
    assert str(begin.execute().error).startswith(message)
    assert str(asyncio.run(begin.aexecute()).error).startswith(message)


def test_every_way_of_making_a_tool_takes_a_thread() -> None:
    fn = who("db").fn
    made = [
        Tool.from_function(fn, thread="db"),
        tool(fn, thread="db"),
        Tool("who_runs", "Who.", [], fn, thread="db"),
        Tool.from_schema("who_runs", "Who.", {"type": "object"}, fn, thread="db"),
        dataclasses.replace(ez_tool(fn), thread="db"),
        dataclasses.replace(ez_tool(fn, thread="db"), name="other", timeout=5),
    ]
    assert [each.thread for each in made] == ["db"] * len(made)
    assert ez_tool(fn, thread="db") == ez_tool(fn, thread="db")
    assert ez_tool(fn, thread="db") != ez_tool(fn, thread="other") != ez_tool(fn)
    assert dataclasses.replace(made[0], thread=None).thread is None


def test_arguments_of_direct_calls_are_checked(name: str) -> None:
    @ez_tool(thread=name)
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    assert double(4) == 8
    assert double(number=4) == 8
    with pytest.raises(ValueError, match="'number' must be int"):
        double("x")  # pyright: ignore[reportArgumentType] - the mistake under test


# SQLite's error -------------------------------------------------------------------------------------------------------

HINT = 'for the developer of rows: write @ez_tool(thread="db") on all tools that share the connection'


@pytest.mark.parametrize("wraps", [False, True])
def test_error_of_sqlite_about_threads_names_the_option(wraps: bool, caplog: pytest.LogCaptureFixture) -> None:
    connection = sqlite3.connect(":memory:")

    @ez_tool
    def rows() -> list[int]:
        """List rows."""
        try:
            return [row[0] for row in connection.execute("SELECT 1")]
        except sqlite3.Error as error:
            if wraps:
                message = "the database failed"
                raise RuntimeError(message) from error
            raise

    with Toolkit([rows]) as toolkit:
        assert HINT in str(toolkit.execute("rows()").error)
    with pytest.raises((sqlite3.ProgrammingError, RuntimeError)) as raised:
        asyncio.run(rows.acall({}))
    assert HINT in raised.value.__notes__[0]
    assert HINT in caplog.text
    assert rows.call({}) == [1]
    connection.close()


def test_other_errors_of_sqlite_get_no_hint() -> None:
    @ez_tool
    def fail(text: str) -> None:
        """Fail."""
        if text:
            raise RuntimeError(text)
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("SELECT nothing")

    for text in ("", "SQLite objects created in a thread can only be used in that same thread."):
        assert "developer" not in str(fail.execute(text=text).error)
