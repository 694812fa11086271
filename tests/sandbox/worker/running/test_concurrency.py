"""Calls side by side: all run at once, each has its place in the program, and the answers find their way back."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from ez_ptc import Tool, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.sandbox.protocol.records.call_record import CallRecord

Execute = Callable[..., ExecutionResult]

N = 6
WAYS: dict[str, str] = {
    "parallel": "parallel(*[(work, n) for n in range(N)])",
    "parallel of a list": "parallel([(work, n) for n in range(N)])",
    "parallel of lambdas": "parallel(*[(lambda n=n: work(n)) for n in range(N)])",
    "parallel of functions that call": "def twice(n):\n    return work(n)\nparallel(*[(twice, n) for n in range(N)])",
    "a pool of threads": "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(N) as pool: results = list(pool.map(work, range(N)))\nresults",
    "threads": "import threading\nresults = [None] * N\ndef run(n): results[n] = work(n)\n"
    "threads = [threading.Thread(target=run, args=(n,)) for n in range(N)]\n"
    "for t in threads: t.start()\nfor t in threads: t.join()\nresults",
    "to_thread": "await asyncio.gather(*[asyncio.to_thread(work, n) for n in range(N)])",
    "to_thread in main": "async def main():\n    tasks = [asyncio.to_thread(work, n) for n in range(N)]\n"
    "    return await asyncio.gather(*tasks)\nasyncio.run(main())",
    "an executor of the loop": "loop = asyncio.get_running_loop()\n"
    "await asyncio.gather(*[loop.run_in_executor(None, work, n) for n in range(N)])",
}
AWAITED: dict[str, str] = {
    "gather": "await asyncio.gather(*[work(n) for n in range(N)])",
    "gather in main": "async def main():\n    return await asyncio.gather(*[work(n) for n in range(N)])\n"
    "asyncio.run(main())",
    "gather over coroutines": "async def one(n):\n    await asyncio.sleep(0)\n    return await work(n)\n"
    "await asyncio.gather(*[one(n) for n in range(N)])",
    "tasks": "tasks = [asyncio.create_task(work(n)) for n in range(N)]\n[await task for task in tasks]",
    "tasks of a group": "async with asyncio.TaskGroup() as group:\n"
    "    tasks = [group.create_task(work(n)) for n in range(N)]\n[task.result() for task in tasks]",
    "a task group": "async def one(n):\n    return await work(n)\n"
    "async with asyncio.TaskGroup() as group:\n    tasks = [group.create_task(one(n)) for n in range(N)]\n"
    "[task.result() for task in tasks]",
}


def place(record: CallRecord) -> list[int]:
    return [int(number) for number in record["path"].split(".")]


def arguments_by_place(result: ExecutionResult) -> list[int]:
    return [record["args"][0] for record in sorted(result.tool_calls, key=place)]


def last_first() -> Tool[[int], int]:
    """Make a tool whose calls end in the reverse order of their numbers, so they must all run at once."""
    over = [threading.Event() for _ in range(N + 1)]
    over[N].set()

    @ez_tool
    def work(number: int) -> int:
        """Work until the next one is done."""
        assert over[number + 1].wait(20)
        over[number].set()
        return number * 10

    return work


def last_first_async() -> Tool[..., object]:
    """The same, awaited."""
    over: list[anyio.Event] = []

    @ez_tool
    async def work(number: int) -> int:
        """Work until the next one is done."""
        if not over:
            over.extend(anyio.Event() for _ in range(N + 1))
            over[N].set()
        with anyio.fail_after(20):
            await over[number + 1].wait()
        over[number].set()
        return number * 10

    return work


def at_once() -> Tool[[int], int]:
    """Make a tool that returns at once."""

    @ez_tool
    def work(number: int) -> int:
        """Work."""
        return number * 10

    return work


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.sampled(every=4)
def test_parallel_calls_run_concurrently_and_keep_order(
    execute_everywhere: Execute, sandbox: ProcessSandbox, way: str
) -> None:
    code = f"N = {N}\n{way}"
    result = execute_everywhere(Toolkit([last_first()], sandbox=sandbox), code, 30)
    assert (result.error, result.return_value) == (None, [n * 10 for n in range(N)])
    assert arguments_by_place(result) == list(range(N))
    assert len({record["path"] for record in result.tool_calls}) == N
    again = execute_everywhere(Toolkit([at_once()], sandbox=sandbox), code, 30)
    assert sorted(map(place, again.tool_calls)) == sorted(map(place, result.tool_calls))
    assert arguments_by_place(again) == list(range(N))


@pytest.mark.parametrize("way", [*AWAITED.values(), WAYS["parallel"]], ids=[*AWAITED, "parallel"])
def test_awaited_calls_run_at_once_and_keep_their_places(
    execute_everywhere: Execute, sandbox: ProcessSandbox, way: str
) -> None:
    code = f"N = {N}\n{way}"
    result = execute_everywhere(Toolkit([last_first_async()], sandbox=sandbox), code, 30)
    assert (result.error, result.return_value) == (None, [n * 10 for n in range(N)])
    assert arguments_by_place(result) == list(range(N))
    assert len({record["path"] for record in result.tool_calls}) == N


@pytest.mark.parametrize("way", AWAITED.values(), ids=AWAITED.keys())
def test_sync_tool_can_be_awaited(execute_everywhere: Execute, sandbox: ProcessSandbox, way: str) -> None:
    result = execute_everywhere(Toolkit([at_once()], sandbox=sandbox), f"N = {N}\n{way}", 30)
    assert (result.error, result.return_value) == (None, [n * 10 for n in range(N)])
    assert arguments_by_place(result) == list(range(N))


@pytest.mark.parametrize(
    "code",
    ["later(4)", "await later(4)", "import asyncio\nasyncio.run(later(4))", "(await asyncio.gather(later(4)))[0]",
     "def f(): return later(4)\nf()", "async def main():\n    return await later(4)\nasyncio.run(main())",
     "async def main():\n    return await later(4)\nawait main()", "[await later(n) for n in (3, 4)][1]"],
)  # fmt: skip
def test_an_async_tool_is_called_with_and_without_await(
    execute_everywhere: Execute, sandbox: ProcessSandbox, code: str
) -> None:
    @ez_tool
    async def later(number: int) -> int:
        """Say it later."""
        await anyio.lowlevel.checkpoint()
        return number * 10

    result = execute_everywhere(Toolkit([later], sandbox=sandbox), code, 30)
    assert (result.error, result.return_value) == (None, 40)


def test_places_count_the_steps_of_a_program(execute_everywhere: Execute, sandbox: ProcessSandbox) -> None:
    code = """
work(0)
parallel((work, 1), (lambda: [work(2), work(3)],), (work, 4))
work(5)
"""
    result = execute_everywhere(Toolkit([at_once()], sandbox=sandbox), code, 30)
    assert arguments_by_place(result) == list(range(6))
    places = {record["args"][0]: record["path"] for record in result.tool_calls}
    assert places.pop(5).isdigit()
    assert places == {0: "1", 1: "2.0", 2: "2.1.1", 3: "2.1.2", 4: "2.2"}


@pytest.mark.parametrize("failing", [0, 2])
def test_first_failed_branch_raises_after_all_ended(
    execute_everywhere: Execute, sandbox: ProcessSandbox, failing: int
) -> None:
    @ez_tool
    def work(number: int) -> int:
        """Work, or not."""
        if number >= failing:
            raise ValueError(number)
        return number

    code = (
        "try:\n    parallel((work, 0), (work, 1), (work, 2), (work, 3))\nexcept ValueError as error:\n    print(error)"
    )
    result = execute_everywhere(Toolkit([work], sandbox=sandbox), code, 30)
    assert (result.success, result.output) == (True, f"{failing}\n")
    assert len(result.tool_calls) == 4


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("parallel(work(1), work(2))", "do not call it"),
        ("parallel((work(1),))", "pass the function and its arguments"),
        ("parallel(5)", "parallel() takes (function, argument, ...) tuples"),
    ],
)
def test_a_wrong_use_of_parallel_is_explained(sandbox: ProcessSandbox, code: str, says: str) -> None:
    assert says in (Toolkit([at_once()], sandbox=sandbox).execute(code).error or "")


def test_parallel_of_nothing_is_nothing(sandbox: ProcessSandbox) -> None:
    assert Toolkit([at_once()], sandbox=sandbox).execute("[parallel(), parallel([])]").return_value == [[], []]


def test_a_hundred_calls_side_by_side(execute_everywhere: Execute, sandbox: ProcessSandbox) -> None:
    code = "parallel(*[(work, n) for n in range(200)])"
    result = execute_everywhere(Toolkit([at_once()], sandbox=sandbox), code, 30)
    assert result.return_value == [n * 10 for n in range(200)]


def test_nameless_threads_have_separate_call_paths(sandbox: ProcessSandbox) -> None:
    """They are started behind threading's back, several at once: nobody can tell which comes first."""

    @ez_tool
    def work(n: int) -> int:
        """Work."""
        return n

    program = """
import _thread, threading
gate = threading.Barrier(6)
done = []
def run(n):
    gate.wait()
    done.extend(work(n) for _ in range(3))
    gate.wait()
for n in range(5): _thread.start_new_thread(run, (n,))
gate.wait()
gate.wait()
sorted(done)
"""
    result = Toolkit([work], sandbox=sandbox).execute(program)
    assert result.return_value == sorted([*range(5)] * 3), result.error
    assert len({call["path"] for call in result.tool_calls}) == 15


def test_threads_that_still_call_are_waited_for(execute_everywhere: Execute, sandbox: ProcessSandbox) -> None:
    code = "import threading\nfor n in range(3): threading.Thread(target=lambda n=n: print(work(n))).start()"
    result = execute_everywhere(Toolkit([at_once()], sandbox=sandbox), code, 30)
    assert sorted(result.output.split()) == ["0", "10", "20"]


FAILING_CALLS = {
    "called": "fail()",
    "awaited": "await fail()",
    "in a coroutine": "async def main():\n    return await fail()\nasyncio.run(main())",
    "gathered": "await asyncio.gather(fail(), fail())",
    "parallel": "parallel((fail,), (fail,))",
    "in another thread": "await asyncio.to_thread(fail)",
    "in a pool": "import concurrent.futures\n"
    "with concurrent.futures.ThreadPoolExecutor() as pool:\n    pool.submit(fail).result()",
}


@pytest.mark.parametrize("program", FAILING_CALLS.values(), ids=FAILING_CALLS)
@pytest.mark.parametrize("is_async", [False, True])
def test_error_of_a_tool_is_shown_alone(program: str, is_async: bool) -> None:
    def fail() -> int:
        """Fail."""
        message = "there is no stock"
        raise ValueError(message)

    async def afail() -> int:
        """Fail."""
        return fail()

    with Toolkit([ez_tool(name="fail")(afail) if is_async else fail]) as toolkit:
        result = anyio.run(toolkit.aexecute, program)
    assert "there is no stock" in (result.error or "")
    assert result.error_output.count("ValueError: ") == 1
    assert "During handling" not in result.error_output


def test_loops_of_threads_never_fail_calls_of_one_another(sandbox: ProcessSandbox) -> None:
    @ez_tool
    async def work(n: int) -> int:
        """Work."""
        await anyio.lowlevel.checkpoint()
        return n

    program = """
import asyncio, threading
done = []
async def main(n):
    for _ in range(10): done.append(sum(await asyncio.gather(*[work(n) for _ in range(5)])))
threads = [threading.Thread(target=lambda n=n: asyncio.run(main(n))) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
sorted(done)
"""
    result = Toolkit([work], sandbox=sandbox).execute(program)
    assert result.return_value == sorted([0, 5, 10, 15] * 10), result.error
