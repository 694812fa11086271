"""The one place where a tool runs: whatever happens there is a result."""

import asyncio
import functools
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from itertools import chain, islice
from typing import ParamSpec, TypeVar

import anyio
import anyio.lowlevel
import pytest

from ez_ptc.errors import ArgumentsError, ToolError
from ez_ptc.messages import ToolResult, exception_text
from ez_ptc.tools.calls import arun_call, run_call
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.tools.tool import Tool

P = ParamSpec("P")
R = TypeVar("R")
USER: ContextVar[str] = ContextVar("USER", default="nobody")


def brew(cups: int, kind: str = "green") -> str:
    """Brew tea."""
    return f"{cups} x {kind} for {USER.get()} in {threading.current_thread().name}"


async def abrew(cups: int, kind: str = "green") -> str:
    """Brew tea."""
    await anyio.lowlevel.checkpoint()
    return brew(cups, kind)


def pour(cups: int) -> Iterator[int]:
    """Pour cup by cup."""
    yield from range(cups)


async def apour(cups: int) -> AsyncIterator[int]:
    """Pour cup by cup."""
    for cup in range(cups):
        await anyio.lowlevel.checkpoint()
        yield cup


def later(cups: int) -> Awaitable[str]:
    """Say nothing about being asynchronous."""
    return abrew(cups)


def run(function: Callable[..., object], *args: object, **kwargs: object) -> ToolResult:
    return run_call(ez_tool(function).definition, args, kwargs)


async def arun(function: Callable[..., object], *args: object, **kwargs: object) -> ToolResult:
    return await arun_call(ez_tool(function).definition, args, kwargs)


def test_a_call_is_checked_converted_and_run_here() -> None:
    USER.set("Ada")
    result = run(brew, "2", kind="black")

    assert result == ToolResult(success=True, output="2 x black for Ada in MainThread")
    assert result.duration_ms > 0


@pytest.mark.anyio
async def test_awaited_plain_function_runs_in_thread_with_context() -> None:
    USER.set("Ada")
    result = await arun(brew, 2)

    assert result.success
    assert str(result.output).startswith("2 x green for Ada in ")
    assert not str(result.output).endswith("MainThread")


@pytest.mark.anyio
async def test_an_awaited_call_of_an_asynchronous_function_runs_here() -> None:
    USER.set("Ada")

    assert (await arun(abrew, "2")).output == "2 x green for Ada in MainThread"


@pytest.mark.parametrize(
    ("make", "items"),
    [
        (lambda: map(str, [1, 2]), ["1", "2"]),
        (lambda: filter(None, [0, 1]), [1]),
        (lambda: zip("ab", [1, 2], strict=True), [("a", 1), ("b", 2)]),
        (lambda: enumerate("a"), [(0, "a")]),
        (lambda: reversed([1, 2]), [2, 1]),
        (lambda: reversed("ab"), ["b", "a"]),
        (lambda: iter([1, 2]), [1, 2]),
        (lambda: islice([1, 2, 3], 2), [1, 2]),
        (lambda: chain([1], [2]), [1, 2]),
    ],
)
def test_lazy_result_becomes_a_list(make: Callable[[], object], items: list[object]) -> None:
    def compute() -> object:
        """Compute."""
        return make()

    async def acompute() -> object:
        """Compute."""
        return make()

    assert Tool.from_function(compute).call({}) == items
    assert Tool.from_function(acompute).call({}) == items


@pytest.mark.anyio
async def test_generator_result_becomes_a_list() -> None:
    assert run(pour, 3).output == [0, 1, 2]
    assert (await arun(pour, 3)).output == [0, 1, 2]
    assert (await arun(apour, 3)).output == [0, 1, 2]


@pytest.mark.parametrize("function", [abrew, apour])
def test_asynchronous_tool_in_blocking_call_is_clear_error(function: Callable[..., object]) -> None:
    """Its coroutine is not taken for its result, and not left unawaited."""
    result = run(function, 2)

    assert not result.success
    assert isinstance(result.exception, ToolError)
    assert result.error == f"{function.__name__} is asynchronous and cannot run in a blocking call: await it instead"


def logged(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.anyio
async def test_a_coroutine_that_a_plain_function_returns_is_awaited() -> None:
    assert str((await arun(later, 2)).output).startswith("2 x green")


@pytest.mark.parametrize("timeout", [None, 60.0])
def test_decorated_asynchronous_function_runs_in_blocking_call(timeout: float | None) -> None:
    tool = ez_tool(logged(abrew), timeout=timeout)

    assert str(tool.call({"cups": 2})).startswith("2 x green")
    assert str(run(later, 2).output).startswith("2 x green")
    assert run(logged(apour), 3).output == [0, 1, 2]


@pytest.mark.anyio
async def test_invalid_arguments_become_result_without_running(caplog: pytest.LogCaptureFixture) -> None:
    def explode(cups: int) -> None:
        """Never run."""
        pytest.fail("it ran")

    for result in (run(explode, "many"), await arun(explode, "many")):
        assert not result.success
        assert result.error == "explode: 'cups' must be int, got str 'many'"
        assert isinstance(result.exception, ArgumentsError)
    assert [(each.name, each.levelno, each.exc_info) for each in caplog.records] == [
        ("ez_ptc.tools", logging.WARNING, None)
    ] * 2


def spill(cups: int) -> None:
    """Fail."""
    message = "the cup broke"
    raise OSError(message)


async def aspill(cups: int) -> None:
    """Fail."""
    spill(cups)


@pytest.mark.anyio
async def test_tool_exception_becomes_result_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    for result in (run(spill, 1), await arun(spill, 1), await arun(aspill, 1)):
        assert not result.success
        assert result.error == "the cup broke"
        assert isinstance(result.exception, OSError)
    assert [each.getMessage() for each in caplog.records] == [
        "spill failed: the cup broke",
        "spill failed: the cup broke",
        "aspill failed: the cup broke",
    ]
    assert all(each.exc_info for each in caplog.records)


@pytest.mark.parametrize("kind", ["plain", "from none", "from a cause", "in a handler"])
def test_plain_tool_error_is_logged_without_traceback(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> None:
        """Fail."""
        error = ToolError("no tea")
        if kind == "plain":
            raise error
        try:
            spill(1)
        except OSError as cause:
            if kind == "in a handler":
                raise error  # noqa: B904 - this is the case
            raise error from (None if kind == "from none" else cause)

    run(refuse)
    (record,) = caplog.records
    assert record.getMessage() == "refuse failed: no tea"
    assert (record.exc_info is None) == (kind in {"plain", "from none"})


@pytest.mark.anyio
async def test_stop_iteration_of_tool_becomes_result() -> None:
    """No future can carry it, so that a thread must not raise it."""

    def finish() -> None:
        """Raise what ends a loop."""
        raise StopIteration

    assert run(finish).error_text == "StopIteration"
    assert (await arun(finish)).error_text == "StopIteration"


@pytest.mark.anyio
@pytest.mark.parametrize("error", [SystemExit(2), SystemExit("bye"), GeneratorExit(), asyncio.CancelledError()])
async def test_tool_that_exits_has_failed(error: BaseException) -> None:
    def leave() -> None:
        """End it all."""
        raise error

    async def leave_later() -> None:
        """End it all."""
        raise error

    name = type(error).__name__
    assert f"leave tried to end the host's process ({name}: " in str(run(leave).error)
    assert f"leave tried to end the host's process ({name}: " in str((await arun(leave)).error)
    if isinstance(error, SystemExit):
        assert "leave_later tried to end the host's process" in str((await arun(leave_later)).error)


class PanicError(BaseException):
    """What a library in another language raises, to pass by any `except Exception`."""


@pytest.mark.anyio
@pytest.mark.parametrize(
    "error", [PanicError("lost"), SystemExit(2), BaseExceptionGroup("both", [PanicError(), OSError()])]
)
async def test_async_tool_that_panics_has_failed(error: BaseException) -> None:
    async def panic() -> None:
        """Panic."""
        await anyio.lowlevel.checkpoint()
        raise error

    async def panic_later() -> AsyncIterator[int]:
        """Panic after an item."""
        yield 1
        raise error

    for function in (panic, panic_later):
        reason = f"{function.__name__} tried to end the host's process ({type(error).__name__}: "
        assert reason in str((await arun(function)).error)
    with pytest.raises(type(error)):
        await ez_tool(panic).as_function(reraise=(type(error),))()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BaseExceptionGroup("both", [KeyboardInterrupt(), OSError()])])
def test_interrupt_of_async_tool_ends_the_call(error: BaseException) -> None:
    async def leave() -> None:
        """Wait for too long."""
        raise error

    with pytest.raises(type(error)):
        asyncio.run(arun(leave))


def test_keyboard_interrupt_ends_the_call() -> None:
    def leave() -> None:
        """Wait for too long."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(leave)


@pytest.mark.anyio
async def test_cancelled_call_does_not_wait_for_hanging_tool() -> None:
    started, release = threading.Event(), threading.Event()

    def hang() -> None:
        """Wait for the test."""
        started.set()
        release.wait(60)

    tool = ez_tool(hang)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(arun_call, tool.definition, (), dict[str, object]())
        await anyio.to_thread.run_sync(started.wait, 60)
        tasks.cancel_scope.cancel()
    assert not release.is_set()
    release.set()


@pytest.mark.parametrize("has_begun", [True, False])
def test_cancelled_inner_future_spares_other_calls(has_begun: bool) -> None:
    async def wait(name: str) -> str:
        """Wait for what is never done."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.cancel) if has_begun else future.cancel()
        return await future

    async def greet(name: str) -> str:
        """Greet someone."""
        for _ in range(10):
            await asyncio.sleep(0)
        return f"Hello, {name}"

    registry = ToolRegistry([ez_tool(wait), ez_tool(greet)])
    results: dict[str, ToolResult] = {}

    async def run_one(name: str) -> None:
        results[name] = await registry.aexecute(name, name="Ada")

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_one, "wait")
            tasks.start_soon(run_one, "greet")

    asyncio.run(both())
    assert results["greet"].output == "Hello, Ada"
    assert results["wait"].error == "wait was cancelled, but not by its caller: try again, or continue without it"


def test_calls_run_side_by_side() -> None:
    """Each waits for the other, which only works when both run at once."""
    barrier = threading.Barrier(2, timeout=60)

    def meet(name: str) -> str:
        """Meet the other."""
        barrier.wait()
        return name

    tool: Tool = ez_tool(meet)

    async def both() -> tuple[ToolResult, ToolResult]:
        return await asyncio.gather(arun_call(tool.definition, ("a",), {}), arun_call(tool.definition, ("b",), {}))

    assert [result.output for result in asyncio.run(both())] == ["a", "b"]


class SilentError(Exception):
    """An error whose text is foreign code that fails."""

    def __str__(self) -> str:
        message = "no text"
        raise RuntimeError(message)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("the cup broke"), "the cup broke"),
        (ValueError(), "ValueError"),
        (ValueError("  "), "ValueError"),
        (KeyError("cup"), "KeyError: 'cup'"),
        (SilentError(), "SilentError"),
        (ToolError("say it again"), "say it again"),
    ],
)
def test_a_model_reads_the_message_of_an_exception(error: Exception, text: str) -> None:
    assert exception_text(error) == text


def test_a_message_without_end_is_cut() -> None:
    text = exception_text(ValueError("x" * 10_000_000 + "end"))

    assert len(text) <= 4_000
    assert text.endswith("end")
