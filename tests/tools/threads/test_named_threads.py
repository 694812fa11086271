"""Tools that name a thread: all of their calls run on it, one at a time, whoever makes them."""

import asyncio
import dataclasses
import multiprocessing
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from ez_ptc import (
    ScriptedProvider,
    Tool,
    ToolCall,
    ToolError,
    Toolkit,
    ToolRegistry,
    ToolResultMessage,
    ToolTimeoutError,
    ez_tool,
    llm,
)
from ez_ptc.tools.call_lifetime import CallLife
from ez_ptc.tools.threads.named_threads import NamedThreads, QueuedCall

SHORT = 0.05
NONE: dict[str, Any] = {}
LONG = 60.0


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of a thread that no other test uses."""
    return str(request.node.nodeid)[-90:]


@pytest.fixture
def let_go() -> Iterator[threading.Event]:
    """Yield the event that hanging tools wait for."""
    event = threading.Event()
    yield event
    event.set()


def who(thread: str, **options: Any) -> Tool[[], int]:
    """Return a tool on a thread that returns the id of the thread it runs in."""

    def who_runs() -> int:
        """Return the id of the thread."""
        return threading.get_ident()

    return ez_tool(who_runs, thread=thread, **options)


def in_toolkit(made: Tool[[], int], run: Callable[[Toolkit], object]) -> object:
    with Toolkit([made]) as toolkit:
        return run(toolkit)


def session_value(toolkit: Toolkit) -> object:
    with toolkit.session() as session:
        return session.execute("who_runs()").return_value


def converse(made: Tool[[], int]) -> object:
    model = ScriptedProvider(ToolCall("1", "who_runs", {}), "Done.")
    messages, _ = llm().tools(made).provider(model).converse("Who?")
    return next(int(message.result) for message in messages if isinstance(message, ToolResultMessage))


WAYS: dict[str, Callable[[Any], object]] = {
    "directly": lambda made: made(),
    "call": lambda made: made.call({}),
    "execute": lambda made: made.execute().output,
    "acall": lambda made: asyncio.run(made.acall({})),
    "acall on trio": lambda made: anyio.run(partial(made.acall, NONE), backend="trio"),
    "aexecute": lambda made: asyncio.run(made.aexecute()).output,
    "a function of it": lambda made: made.as_function()(),
    "a registry": lambda made: ToolRegistry([made]).execute("who_runs").output,
    "a copy": lambda made: dataclasses.replace(made, name="other").call({}),
    "a conversation": converse,
    "a program": lambda made: in_toolkit(made, lambda toolkit: toolkit.execute("who_runs()").return_value),
    "an awaited program": lambda made: in_toolkit(
        made, lambda toolkit: asyncio.run(toolkit.aexecute("who_runs()")).return_value
    ),
    "a session": lambda made: in_toolkit(made, session_value),
}


def test_every_caller_runs_a_tool_on_its_thread(name: str) -> None:
    made = who(name)
    expected = made.call({})
    assert expected != threading.get_ident()
    assert {way: run(made) for way, run in WAYS.items()} == dict.fromkeys(WAYS, expected)
    with Toolkit([who(name)]) as first, Toolkit([who(name), hanging(name, threading.Event())]) as second:
        assert first.execute("who_runs()").return_value == second.execute("who_runs()").return_value == expected


def test_connection_made_on_first_use_serves_all_tools(name: str, tmp_path: Path) -> None:
    held = threading.local()

    def shop() -> sqlite3.Connection:
        if not hasattr(held, "shop"):
            held.shop = sqlite3.connect(":memory:")
            held.shop.execute("CREATE TABLE stock (product TEXT)")
        return held.shop

    @ez_tool(thread=name)
    def add(product: str) -> None:
        """Add a product."""
        shop().execute("INSERT INTO stock VALUES (?)", [product])

    @ez_tool(thread=name)
    def products() -> Iterator[str]:
        """List the products."""
        for (product,) in shop().execute("SELECT product FROM stock"):
            yield product

    @ez_tool(thread=name)
    def close() -> None:
        """Close the connection."""
        shop().close()

    with Toolkit([add, products], journal=tmp_path / "runs.db") as toolkit:
        result = toolkit.execute("add('lamp')\nlist(products())")
        assert (result.return_value, result.success) == (["lamp"], True)
        asyncio.run(add.acall({"product": "desk"}))
        assert toolkit.replay(str(result.run_id)).return_value == ["lamp"]
    assert products.call({}) == ["lamp", "desk"]
    close.call({})


def test_calls_of_a_thread_run_one_at_a_time_in_order(name: str) -> None:
    running: list[int] = []
    seen: list[int] = []

    @ez_tool(thread=name)
    def note(number: int) -> int:
        """Note how many calls run."""
        running.append(number)
        seen.append(len(running))
        running.remove(number)
        return number

    async def call_all() -> list[int]:
        return await asyncio.gather(*(note.acall({"number": number}) for number in range(100)))

    with ThreadPoolExecutor(8) as pool:
        blocking = pool.map(note, range(100))
        assert asyncio.run(call_all()) == list(range(100))
        assert list(blocking) == list(range(100))
    assert set(seen) == {1}


async def test_waiting_calls_leave_worker_threads_to_others(
    name: str, let_go: threading.Event, anyio_backend: str
) -> None:
    begun = anyio.Event()

    @ez_tool(thread=name)
    def hang() -> None:
        """Wait."""
        let_go.wait(LONG)

    @ez_tool
    def go_on() -> None:
        """End the wait."""
        let_go.set()

    async def call() -> None:
        begun.set()
        await hang.acall({})

    with anyio.fail_after(LONG):
        async with anyio.create_task_group() as tasks:
            for _ in range(60):
                tasks.start_soon(call)
            await begun.wait()
            await go_on.acall({})


# Calls that are given up ----------------------------------------------------------------------------------------------


def hanging(
    thread: str, let_go: threading.Event, begun: threading.Event | None = None, **options: Any
) -> Tool[[], int]:
    def hang() -> int:
        """Wait, then return the id of the thread."""
        if begun is not None:
            begun.set()
        let_go.wait(LONG)
        return threading.get_ident()

    return ez_tool(hang, thread=thread, **options)


REPLACED = "took longer than 0.05 s and was abandoned; it may still take effect, and a new thread {!r} replaces"


def test_thread_is_replaced_after_a_timeout(name: str, let_go: threading.Event) -> None:
    hang, runs = hanging(name, let_go, timeout=SHORT), who(name)
    before = runs.call({})
    for result in (hang.execute(), asyncio.run(hang.aexecute())):
        assert isinstance(result.exception, ToolTimeoutError)
        assert REPLACED.format(name) in str(result.error)
    after = runs.call({})
    assert after != before
    let_go.set()
    assert [runs.call({}) for _ in range(3)] == [after] * 3
    assert hanging(name, let_go, timeout=LONG).call({}) == after


def test_program_reads_that_its_thread_was_replaced(name: str, let_go: threading.Event) -> None:
    with Toolkit([hanging(name, let_go, timeout=SHORT), who(name)]) as toolkit:
        code = "try:\n    hang()\nexcept TimeoutError as error:\n    print(error)\nwho_runs()"
        result = toolkit.execute(code)
    assert REPLACED.format(name) in result.output
    assert isinstance(result.return_value, int)


@pytest.mark.security
def test_time_in_the_queue_is_no_time_of_the_call(name: str, let_go: threading.Event) -> None:
    """The second call begins only after the first, which takes longer than the second may."""
    begun = threading.Event()
    hang, quick = hanging(name, let_go, begun), who(name, timeout=1.0)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(hang.call, {})
        assert begun.wait(LONG)
        second = pool.submit(quick.call, {})
        with pytest.raises(TimeoutError):
            second.result(1.1)
        let_go.set()
        assert first.result(LONG) == second.result(LONG)


async def test_cancelled_call_holds_others_back_until_its_timeout(
    name: str, let_go: threading.Event, anyio_backend: str
) -> None:
    begun = threading.Event()
    hang, runs = hanging(name, let_go, begun, timeout=SHORT), who(name)
    before = await runs.acall({})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hang.aexecute)
        await anyio.to_thread.run_sync(begun.wait)
        tasks.cancel_scope.cancel()
    with anyio.fail_after(LONG):
        assert await runs.acall({}) != before


async def test_cancelled_call_that_waits_never_runs(name: str, let_go: threading.Event, anyio_backend: str) -> None:
    ran: list[str] = []

    @ez_tool(thread=name)
    def effect() -> None:
        """Have an effect."""
        ran.append("effect")

    begun = threading.Event()
    hang = hanging(name, let_go, begun)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hang.aexecute)
        await anyio.to_thread.run_sync(begun.wait)
        with anyio.move_on_after(SHORT):
            await effect.acall({})
        let_go.set()
    await who(name).acall({})
    assert ran == []


def test_call_of_a_program_without_time_is_replaced(name: str, let_go: threading.Event) -> None:
    """The call has no timeout of its own, and the thread does not learn that the program has ended."""
    threads = NamedThreads(grace=SHORT)
    life = CallLife()
    ended: list[int] = []
    begun, over = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        let_go.wait(LONG)

    def end() -> None:
        ended.append(threading.get_ident())
        over.set()

    given_up = QueuedCall(life, None, lambda: None, lambda: None)
    assert threads.submit("db", given_up, hang)
    assert begun.wait(LONG)
    assert threads.submit("db", QueuedCall(CallLife(), None, lambda: None, lambda: None), end)
    assert not over.wait(4 * SHORT)  # someone waits for the first
    life.give_up()
    assert over.wait(LONG)
    assert given_up.is_replaced
    assert not threads.replace("db", given_up)


# Calls within calls ---------------------------------------------------------------------------------------------------


def test_tool_may_call_another_of_its_thread(name: str) -> None:
    inner = who(name, timeout=LONG)

    @ez_tool(thread=name)
    def outer() -> list[int]:
        """Call the other, in three ways."""
        return [threading.get_ident(), inner.call({}), inner(), asyncio.run(inner.acall({}))]

    assert len(set(outer.call({}))) == 1
    assert len(set(asyncio.run(outer.acall({})))) == 1


def test_call_that_would_wait_for_itself_is_refused(name: str) -> None:
    inner = who(name)

    @ez_tool(thread=name)
    def by_program() -> str | None:
        """Run a program that calls the other."""
        with Toolkit([inner]) as toolkit:
            return toolkit.execute("who_runs()", 5).error

    with Toolkit([ez_tool(by_program.fn, name="outer", thread=name)]) as toolkit:
        error = str(toolkit.execute("outer()").return_value)
    assert f"who_runs was not run: the call that runs on its thread {name!r} waits for it" in error


def test_two_threads_that_wait_for_each_other_are_refused(name: str) -> None:
    def chain(*numbers: int) -> str:
        if not numbers:
            return "reached"
        step: Tool[[], str] = ez_tool(
            lambda: chain(*numbers[1:]), name=f"step{len(numbers)}", description="Go on.", thread=f"{name} {numbers[0]}"
        )
        return step.call({})

    assert chain(1, 2, 3) == "reached"
    with pytest.raises(ToolError, match=r"step1 was not run: the call that runs on its thread '.* 1' waits for it"):
        chain(1, 2, 1)
    with pytest.raises(ToolError, match="step1 was not run"):
        chain(1, 2, 3, 2)
    assert chain(2, 1) == "reached"


# Processes ------------------------------------------------------------------------------------------------------------


def test_fork_starts_a_thread_of_its_own(name: str, let_go: threading.Event) -> None:
    runs = who(name)
    runs.call({})
    with ThreadPoolExecutor(1) as pool:
        hangs = pool.submit(hanging(name, let_go).call, {})
        context: Any = multiprocessing.get_context("fork")
        answers = context.SimpleQueue()
        child = context.Process(target=lambda: answers.put(runs.call({}) != threading.get_ident()))
        child.start()
        assert answers.get() is True
        child.join(LONG)
        let_go.set()
        assert hangs.result(LONG) == runs.call({})
    assert child.exitcode == 0


_EXIT = """
import threading
from ez_ptc import Toolkit, ez_tool

@ez_tool(thread="db", timeout=0.05)
def hang() -> None:
    "Never end."
    threading.Event().wait()

@ez_tool(thread="db")
def later() -> str:
    "Return a text."
    return "over"

print(hang.execute().success, later.call({{}}), {last})
"""


@pytest.mark.parametrize("last", ["'idle'", "hang.execute().success"])
def test_named_threads_do_not_delay_interpreter_exit(last: str) -> None:
    code = _EXIT.format(last=last)
    ended = subprocess.run([sys.executable, "-c", code], check=False, timeout=LONG, capture_output=True, text=True)
    assert ended.stdout.startswith("False over "), ended.stderr
    assert (ended.returncode, ended.stderr) == (0, "")
