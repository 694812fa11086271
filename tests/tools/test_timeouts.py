"""Calls that take longer than they may: ended where they can be, left to themselves where not."""

import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ez_ptc import PendingCall, ScriptedProvider, Tool, ToolCall, Toolkit, ToolRegistry, ToolTimeoutError, ez_tool, llm
from ez_ptc.errors import SchemaError, ToolError
from ez_ptc.messages import ToolResult, ToolResultMessage
from ez_ptc.sandbox.protocol.execution import ExecutionResult

SHORT = 0.05
LONG = 60.0
USER: ContextVar[str] = ContextVar("USER", default="nobody")


class Hang:
    """Tools that do not end before they are let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.ended = threading.Event()
        self.cancelled: list[str] = []

    def sync(self) -> str:
        """Take very long."""
        self.let_go.wait(LONG)
        self.ended.set()
        return "too late"

    def generate(self) -> Iterator[int]:
        """Take very long between two numbers."""
        yield 1
        self.let_go.wait(LONG)
        yield 2

    async def awaited(self) -> str:
        """Take very long, asynchronously."""
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.append("awaited")
        return "never"

    async def agenerate(self) -> AsyncIterator[int]:
        """Take very long between two numbers, asynchronously."""
        yield 1
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.append("agenerate")

    def later(self) -> Awaitable[str]:
        """Give something to await that takes very long."""
        return self.awaited()


@pytest.fixture
def hang() -> Iterator[Hang]:
    hangs = Hang()
    yield hangs
    hangs.let_go.set()


def check(result: ToolResult, name: str, how: str) -> None:
    assert not result.success
    assert isinstance(result.exception, ToolTimeoutError)
    assert result.error == f"{name} took longer than 0.05 s and {how}, or continue without it"


LEFT = "was abandoned; it may still take effect: ask for less"
CANCELLED = "was cancelled: ask for less"


@pytest.mark.parametrize("name", ["sync", "generate"])
async def test_uncancellable_tool_is_abandoned(name: str, hang: Hang, anyio_backend: str) -> None:
    tool = ez_tool(timeout=SHORT)(getattr(hang, name))
    check(tool.execute(), name, LEFT)
    check(await tool.aexecute(), name, LEFT)
    with pytest.raises(ToolTimeoutError, match="was abandoned"):
        tool.call({})


@pytest.mark.parametrize("name", ["awaited", "agenerate", "later"])
async def test_an_asynchronous_tool_is_cancelled(name: str, hang: Hang, anyio_backend: str) -> None:
    tool = ez_tool(timeout=SHORT)(getattr(hang, name))
    check(await tool.aexecute(), name, CANCELLED)
    assert hang.cancelled == ["agenerate" if name == "agenerate" else "awaited"]
    with pytest.raises(TimeoutError, match="was cancelled"):
        await tool.acall({})


def test_asynchronous_tool_is_cancelled_for_blocking_caller(hang: Hang) -> None:
    check(ez_tool(timeout=SHORT)(hang.awaited).execute(), "awaited", CANCELLED)
    assert hang.cancelled == ["awaited"]


def test_late_result_is_dropped(hang: Hang) -> None:
    tool = ez_tool(timeout=SHORT)(hang.sync)
    result = tool.execute()
    hang.let_go.set()
    assert hang.ended.wait(LONG)
    check(result, "sync", LEFT)


async def test_a_tool_in_time_is_run_as_ever(anyio_backend: str) -> None:
    @ez_tool(timeout=LONG)
    def who(times: int) -> list[str]:
        """Say who asks."""
        return [USER.get()] * times

    @ez_tool(timeout=LONG)
    async def awho(times: int) -> list[str]:
        """Say who asks, asynchronously."""
        await anyio.lowlevel.checkpoint()
        return [USER.get()] * times

    USER.set("Ada")
    assert who.call({"times": 2}) == ["Ada", "Ada"]
    assert await who.acall({"times": 1}) == await awho.acall({"times": 1}) == ["Ada"]
    assert "'times' must be int" in str(who.execute(times="x").error)
    assert (who.timeout, ez_tool(who.fn).timeout) == (LONG, None)


async def test_timeout_raised_by_tool_stays_its_own(anyio_backend: str) -> None:
    def fail() -> None:
        """Fail."""
        message = "the shop did not answer"
        raise TimeoutError(message)

    async def afail() -> None:
        """Fail, asynchronously."""
        fail()

    for tool in (ez_tool(timeout=LONG)(fail), ez_tool(timeout=LONG)(afail)):
        result = await tool.aexecute()
        assert (result.error, type(result.exception)) == ("the shop did not answer", TimeoutError)
    assert ez_tool(timeout=LONG)(fail).execute().error == "the shop did not answer"


def test_approval_time_does_not_count_for_tool() -> None:
    timeout, never = 1.0, threading.Event()

    def approve(call: PendingCall) -> bool:
        return not never.wait(timeout + 0.1)

    @ez_tool(timeout=timeout, requires_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    registry = ToolRegistry([pay], approve=approve)
    assert registry.execute("pay").output == "paid"
    assert anyio.run(registry.aexecute, "pay").output == "paid"


@pytest.mark.parametrize("timeout", [0, -1, True, "5", float("nan"), float("inf"), [1]])
def test_invalid_timeout_is_refused(timeout: Any, hang: Hang) -> None:  # noqa: ANN401 - of any wrong type
    with pytest.raises(SchemaError, match="sync: expected a timeout in seconds, positive, or None for no limit; got"):
        ez_tool(timeout=timeout)(hang.sync)


def test_every_way_of_making_a_tool_takes_a_timeout(hang: Hang) -> None:
    made = [
        Tool.from_function(hang.sync, timeout=5),
        Tool("sync", "Wait.", [], hang.sync, timeout=5),
        Tool.from_schema("sync", "Wait.", {"type": "object"}, hang.sync, timeout=5),
        replace(ez_tool(hang.sync, timeout=5), name="other", requires_approval=True),
    ]
    assert [tool.timeout for tool in made] == [5.0] * 4


# Calls from programs and conversations --------------------------------------------------------------------------------


def execute_by(driver: str, toolkit: Toolkit, code: str) -> ExecutionResult:
    if driver == "blocking":
        return toolkit.execute(code)
    return anyio.run(toolkit.aexecute, code, backend=driver)


@pytest.mark.parametrize("driver", ["blocking", "asyncio", "trio"])
@pytest.mark.parametrize("name", ["sync", "awaited"])
def test_program_continues_after_a_tool_timeout(driver: str, name: str, hang: Hang) -> None:
    tools = [ez_tool(timeout=SHORT)(getattr(hang, name)), ez_tool(lambda: 7, name="seven", description="Seven.")]
    code = f"""
        try:
            {name}()
        except TimeoutError as error:
            print(type(error).__name__, error)
        seven()
    """
    with Toolkit(tools) as toolkit:
        result = execute_by(driver, toolkit, textwrap.dedent(code))
    assert result.return_value == 7
    assert result.output.startswith(f"ToolTimeoutError {name} took longer than 0.05 s and ")
    assert [bool(call["error"]) for call in result.tool_calls] == [True, False]


@pytest.mark.parametrize("driver", ["blocking", "asyncio", "trio"])
def test_concurrent_tools_time_out_together(driver: str, hang: Hang) -> None:
    tool = ez_tool(timeout=SHORT)(hang.sync)
    code = (
        "from concurrent.futures import ThreadPoolExecutor as P\nwith P(8) as p: r = [p.submit(sync) for _ in range(8)]"
    )
    with Toolkit([tool], timeout=LONG) as toolkit:
        result = execute_by(driver, toolkit, f"{code}\n[type(each.exception()).__name__ for each in r]")
    assert result.return_value == ["ToolTimeoutError"] * 8


def test_conversation_continues_after_a_tool_timeout(hang: Hang) -> None:
    tools = [ez_tool(timeout=SHORT)(hang.sync), ez_tool(timeout=SHORT)(hang.awaited)]
    both = [ToolCall("a", "sync", {}), ToolCall("b", "awaited", {})]
    messages, _ = llm().tools(tools).provider(ScriptedProvider(both, "Pity.")).converse("Go.")
    results = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert [each.success for each in results] == [False, False]
    assert all("took longer than 0.05 s" in each.result for each in results)


# The end of the interpreter -------------------------------------------------------------------------------------------

_PROGRAM = """
    import threading
    import anyio
    from ez_ptc import Toolkit, ez_tool

    @ez_tool({options})
    def hang() -> str:
        "Never end."
        threading.Event().wait()

    {way}
    print("over")
"""


@pytest.mark.parametrize(
    ("options", "way"),
    [
        ("timeout=0.05", "hang.execute()"),
        ("timeout=0.05", "anyio.run(hang.aexecute)"),
        ("timeout=0.05", "anyio.run(hang.aexecute, backend='trio')"),
        ("timeout=0.05", "Toolkit([hang]).execute('hang()')"),
        ("timeout=0.05", "anyio.run(Toolkit([hang]).aexecute, 'hang()')"),
        ("", "Toolkit([hang]).execute('hang()', 0.2)"),
        ("", "anyio.run(Toolkit([hang]).aexecute, 'hang()', 0.2)"),
        ("", "anyio.run(Toolkit([hang]).aexecute, 'hang()', 0.2, backend='trio')"),
    ],
)
@pytest.mark.sampled(every=8)
def test_endless_tool_does_not_delay_interpreter_exit(options: str, way: str) -> None:
    program = textwrap.dedent(_PROGRAM.format(options=options, way=way))
    ended = subprocess.run([sys.executable, "-c", program], check=False, timeout=LONG, capture_output=True, text=True)
    assert (ended.stdout, ended.returncode) == ("over\n", 0), ended.stderr


def test_timeout_error_is_tool_error_and_timeout_error() -> None:
    assert issubclass(ToolTimeoutError, ToolError)
    assert issubclass(ToolTimeoutError, TimeoutError)
    assert str(ToolTimeoutError("too long")) == "too long"
