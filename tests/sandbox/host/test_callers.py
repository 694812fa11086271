"""Who calls is never kept waiting by a tool that hangs, never mixed up with another, and can stop at any point."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from ez_ptc import Tool, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.processes import all_gone, descendants, families, inside
from tests.sandbox.scripts import run_script

Execute = Callable[..., ExecutionResult]


@pytest.fixture
def hang() -> Iterator[Tool[[], None]]:
    """A tool that does not return before the test is over."""
    over = threading.Event()

    @ez_tool
    def hang() -> None:
        """Hang."""
        over.wait()

    yield hang
    over.set()


@pytest.mark.parametrize(
    "code",
    [
        "hang()",
        "parallel((hang,), (hang,))",
        "await asyncio.to_thread(hang)",
        "import threading\nthreading.Thread(target=hang, daemon=True).start()\nhang()",
    ],
)
@pytest.mark.sampled(every=4)
def test_a_tool_that_hangs_does_not_hang_its_caller(
    execute: Execute, sandbox: ProcessSandbox, hang: Tool[[], None], code: str
) -> None:
    result = execute(Toolkit([hang], sandbox=sandbox), code, 1.0)
    assert result.error == "TimeoutError: the program timed out after 1 s"
    assert {record["error"] for record in result.tool_calls} == {"the call was still running when the program ended"}


def test_program_may_end_before_its_call(
    execute_everywhere: Execute, sandbox: ProcessSandbox, hang: Tool[[], None]
) -> None:
    code = "import threading\nthreading.Thread(target=hang, daemon=True).start()\n'over'"
    result = execute_everywhere(Toolkit([hang], sandbox=sandbox), code, 30)
    assert (result.error, result.return_value) == (None, "over")


def test_hanging_tools_do_not_exhaust_threads(sandbox: ProcessSandbox, hang: Tool[[], None]) -> None:
    """More of them than any pool has threads."""

    @ez_tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    toolkit = Toolkit([hang, add], sandbox=sandbox)
    result = toolkit.execute("parallel(*[(hang,)] * 50)", 2.0)
    assert len(result.tool_calls) == 50

    async def main() -> ExecutionResult:
        await toolkit.aexecute("parallel(*[(hang,)] * 50)", 2.0)
        return await toolkit.aexecute("add(1, 2)", 20)

    assert anyio.run(main).return_value == 3
    assert toolkit.execute("add(1, 2)", 20).return_value == 3


def test_an_event_loop_goes_on_while_a_tool_hangs(sandbox: ProcessSandbox, hang: Tool[[], None]) -> None:
    toolkit = Toolkit([hang], sandbox=sandbox)

    async def main() -> tuple[ExecutionResult, ExecutionResult]:
        hanging = asyncio.create_task(toolkit.aexecute("hang()", 20))
        quick = await toolkit.aexecute("1 + 1", 20)
        assert not hanging.done()
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        return quick, await toolkit.aexecute("2 + 2", 20)

    first, second = asyncio.run(main())
    assert (first.return_value, second.return_value) == (2, 4)


PRINTING = """
for step in range(40):
    print("{name}", say("{name}"), flush=step % 7 == 0)
"{name}"
"""


@ez_tool
def say(name: str) -> str:
    """Say it again."""
    return name


def check_own(result: ExecutionResult, name: str) -> None:
    assert (result.error, result.return_value) == (None, name)
    assert result.output == f"{name} {name}\n" * 40
    assert [record["args"] for record in result.tool_calls] == [(name,)] * 40


def test_programs_of_many_threads_do_not_mix(sandbox: ProcessSandbox) -> None:
    toolkit = Toolkit([say], sandbox=sandbox)
    names = [f"n{number}" for number in range(30)]

    def run(name: str) -> ExecutionResult:
        return toolkit.execute(PRINTING.format(name=name), 60)

    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(run, names))
    for name, result in zip(names, results, strict=True):
        check_own(result, name)


@pytest.mark.anyio
@pytest.mark.sampled(every=0)
async def test_programs_of_many_tasks_do_not_mix(sandbox: ProcessSandbox) -> None:
    toolkit = Toolkit([say], sandbox=sandbox)
    results: dict[str, ExecutionResult] = {}

    async def run(name: str) -> None:
        results[name] = await toolkit.aexecute(PRINTING.format(name=name), 60)

    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(run, f"n{number}")
    assert len(results) == 40
    for name, result in results.items():
        check_own(result, name)


class Own:
    """A sandbox of one test alone: ids that workers have inside are other workers' elsewhere."""

    def __init__(self) -> None:
        self._before = descendants(os.getpid())
        self.sandbox = ProcessSandbox(ready=1)

    def workers(self, number: int) -> set[int]:
        """Return the workers of it that have this id in their own namespace."""
        return {pid for pid in families(os.getpid(), without=self._before) if inside(pid) == number}


@pytest.fixture
def own() -> Iterator[Own]:
    made = Own()
    with made.sandbox:
        yield made


@pytest.mark.anyio
@pytest.mark.sampled(every=2)
async def test_a_cancelled_caller_takes_its_program_along(own: Own) -> None:
    """And the tool that was being awaited is cancelled as well."""
    seen: dict[str, int] = {}
    started, cancelled = anyio.Event(), anyio.Event()

    @ez_tool
    async def wait(pid: int) -> None:
        """Wait for ever."""
        seen["pid"] = pid
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    toolkit = Toolkit([wait], sandbox=own.sandbox)
    workers: set[int] = set()
    async with anyio.create_task_group() as group:
        group.start_soon(toolkit.aexecute, "import os\nwait(os.getpid())", 60)
        await started.wait()
        workers = own.workers(seen["pid"])
        assert len(workers) == 1
        group.cancel_scope.cancel()
    assert cancelled.is_set()
    assert all_gone(workers, within=30)
    assert (await toolkit.aexecute("1 + 1", 20)).return_value == 2


@pytest.mark.anyio
@pytest.mark.sampled(every=2)
async def test_a_caller_can_be_cancelled_while_its_program_computes(own: Own) -> None:
    started = anyio.Event()
    seen: dict[str, int] = {}

    @ez_tool
    async def begin(pid: int) -> None:
        """Say that the program runs."""
        seen["pid"] = pid
        started.set()

    toolkit = Toolkit([begin], sandbox=own.sandbox)
    workers: set[int] = set()
    async with anyio.create_task_group() as group:
        group.start_soon(toolkit.aexecute, "import os\nbegin(os.getpid())\nwhile True: pass", 60)
        await started.wait()
        workers = own.workers(seen["pid"])
        group.cancel_scope.cancel()
    assert len(workers) == 1
    assert all_gone(workers, within=30)


@pytest.mark.anyio
async def test_caller_with_own_deadline_is_released(sandbox: ProcessSandbox, hang: Tool[[], None]) -> None:
    toolkit = Toolkit([hang], sandbox=sandbox)
    with anyio.move_on_after(0.2) as scope:
        await toolkit.aexecute("hang()", 60)
    assert scope.cancelled_caught


LEAVING = """
import sys, anyio
from ez_ptc import Toolkit, ez_tool

@ez_tool
def leave(how: str) -> None:
    "Leave."
    raise {"exit": SystemExit, "interrupt": KeyboardInterrupt}[how]("bye")

with Toolkit([leave]) as toolkit:
    for how in ("exit", "interrupt"):
        code = f"try:\\n    leave({how!r})\\nexcept Exception as error: print(error)"
        try:
            if sys.argv[1] == "blocking":
                result = toolkit.execute(code)
            else:
                result = anyio.run(toolkit.aexecute, code, backend=sys.argv[1])
            print(result.output, end="")
        except (SystemExit, KeyboardInterrupt) as error:
            print(repr(error))
    print(toolkit.execute("1 + 1").return_value)
"""


@pytest.mark.parametrize("driver", ["blocking", "asyncio", "trio"])
@pytest.mark.sampled(every=0)
def test_host_can_be_interrupted_but_exiting_tool_fails(driver: str) -> None:
    assert run_script(LEAVING, driver).splitlines() == [
        "leave tried to end the host's process (SystemExit: bye)",
        "KeyboardInterrupt('bye')",
        "2",
    ]


def test_a_tool_sees_the_context_variables_of_the_caller(execute_everywhere: Execute, sandbox: ProcessSandbox) -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")

    @ez_tool
    def who() -> str:
        """Say who calls."""
        return user.get()

    @ez_tool
    async def who_later() -> str:
        """Say who calls, later."""
        return user.get()

    token = user.set("ann")
    try:
        for toolkit in (Toolkit([who], sandbox=sandbox), Toolkit([who, who_later], sandbox=sandbox)):
            names = ", ".join(f"({tool.name},)" for tool in toolkit.tools)
            result = execute_everywhere(
                toolkit, f"[{', '.join(f'{tool.name}()' for tool in toolkit.tools)}] + parallel({names})"
            )
            assert set(result.return_value) == {"ann"}
    finally:
        user.reset(token)


def test_a_blocking_call_works_inside_a_running_loop(sandbox: ProcessSandbox) -> None:
    """Also with tools that need a loop themselves."""

    @ez_tool
    async def later(number: int) -> int:
        """Say it later."""
        await asyncio.sleep(0)
        return number

    async def main() -> ExecutionResult:
        return Toolkit([later], sandbox=sandbox).execute("later(5)", 20)

    assert asyncio.run(main()).return_value == 5


def test_a_tool_may_run_a_program_itself(execute_everywhere: Execute, sandbox: ProcessSandbox) -> None:
    @ez_tool
    def compute(formula: str) -> object:
        """Compute in a sandbox of its own."""
        return Toolkit([say], sandbox=sandbox).execute(formula, 20).return_value

    assert (
        execute_everywhere(Toolkit([compute], sandbox=sandbox), "compute('say(str(6 * 7))')", 20).return_value == "42"
    )
