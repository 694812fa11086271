"""The loop of sessions, run by many callers' loops and threads, and by its own thread."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from ez_ptc import Toolkit, mcp_tools
from ez_ptc.errors import ToolError
from ez_ptc.mcp.client.loops import stepped
from ez_ptc.mcp.client.loops.background import BackgroundLoop

Command = Callable[[str], list[str]]

MAX_SECONDS = 20
ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@pytest.fixture
def background() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()


async def thread_after(seconds: float) -> int:
    """Return the thread that runs this after a wait."""
    await asyncio.sleep(seconds)
    return threading.get_ident()


@ON_ASYNCIO
async def test_caller_on_asyncio_runs_the_loop_itself(background: BackgroundLoop, anyio_backend: object) -> None:
    async def threads() -> set[int]:
        return {await thread_after(0) for _ in range(10)}

    for _ in range(10):
        assert await background.arun(threads) == {threading.get_ident()}


async def test_awaiting_caller_gets_results_and_errors(background: BackgroundLoop, anyio_backend: object) -> None:
    async def fail() -> None:
        message = "no luck"
        raise LookupError(message)

    assert await background.arun(thread_after, 0.01)
    with pytest.raises(LookupError, match="no luck"):
        await background.arun(fail)


def test_blocking_caller_is_served_between_awaiting_ones(background: BackgroundLoop) -> None:
    async def call_often() -> None:
        for _ in range(200):
            await background.arun(thread_after, 0)

    busy = threading.Thread(target=asyncio.run, args=(call_often(),))
    busy.start()
    for _ in range(20):
        assert background.run(thread_after, 0.001)
    busy.join(MAX_SECONDS)
    assert not busy.is_alive()


def test_many_loops_in_many_threads_get_their_own_results(raw_server: Command) -> None:
    failures: list[object] = []

    def work(name: str) -> None:
        async def call_all() -> None:
            for start in range(5):
                texts = [f"{name} {start} {number}" for number in range(5)]
                results = await asyncio.gather(*(tools["echo"].acall({"text": text}) for text in texts))
                failures.extend(pair for pair in zip(texts, results, strict=True) if pair[0] != pair[1])

        asyncio.run(call_all())

    with mcp_tools(raw_server("plain")) as tools:
        threads = [threading.Thread(target=work, args=(str(number),)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(MAX_SECONDS)
        assert not any(thread.is_alive() for thread in threads)

    assert failures == []


def test_session_outlives_the_loops_of_its_callers(raw_server: Command) -> None:
    with mcp_tools(raw_server("plain")) as tools:
        first, second = (asyncio.run(_awaited(tools["where"].acall({}))) for _ in range(2))

    assert first == second


async def _awaited(value: Coroutine[object, object, object]) -> object:
    return await value


async def test_cancelled_caller_cancels_what_it_called(background: BackgroundLoop, anyio_backend: object) -> None:
    from anyio import move_on_after

    cancelled = threading.Event()

    async def wait() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with move_on_after(0.05):
        await background.arun(wait)

    assert cancelled.wait(MAX_SECONDS)


def test_blocked_caller_does_not_hold_up_others(background: BackgroundLoop) -> None:
    is_blocked, may_go_on = threading.Event(), threading.Event()

    async def block() -> None:
        call = asyncio.create_task(background.arun(thread_after, 0.01))
        await asyncio.sleep(0)
        is_blocked.set()
        may_go_on.wait(MAX_SECONDS)
        await call

    async def call() -> list[int]:
        # The first came before the blocked caller, the second comes after it.
        early = asyncio.create_task(background.arun(thread_after, 0.1))
        await asyncio.sleep(0)
        blocked.start()
        await asyncio.to_thread(is_blocked.wait, MAX_SECONDS)
        return [await early, await background.arun(thread_after, 0.01)]

    blocked = threading.Thread(target=asyncio.run, args=(block(),))
    try:
        assert asyncio.run(call())
        assert blocked.is_alive()
    finally:
        may_go_on.set()
        blocked.join(MAX_SECONDS)


@ON_ASYNCIO
async def test_blocking_execution_inside_a_loop_is_answered(raw_server: Command, anyio_backend: object) -> None:
    with mcp_tools(raw_server("plain")) as tools:
        under_way = asyncio.create_task(tools["echo"].acall({"text": "a"}))
        await asyncio.sleep(0)
        assert Toolkit(tools).execute("print(echo('b'))").output == "b\n"
        assert await under_way == "a"


@ON_ASYNCIO
async def test_endless_work_leaves_its_host_responsive(background: BackgroundLoop, anyio_backend: object) -> None:
    is_over = threading.Event()

    async def spin() -> None:
        while not is_over.is_set():  # noqa: ASYNC110 - work without end is what is tested
            await asyncio.sleep(0)

    asyncio.get_running_loop().call_later(0.05, is_over.set)
    await asyncio.wait_for(background.arun(spin), MAX_SECONDS)


def test_timers_run_while_no_one_calls(background: BackgroundLoop) -> None:
    rang = threading.Event()

    async def set_timer() -> None:
        asyncio.get_running_loop().call_later(0.2, rang.set)

    asyncio.run(background.arun(set_timer))

    assert rang.wait(MAX_SECONDS)


async def test_closing_ends_calls_under_way(background: BackgroundLoop, anyio_backend: object) -> None:
    from anyio import create_task_group
    from anyio.to_thread import run_sync

    is_waiting = threading.Event()

    async def wait() -> None:
        is_waiting.set()
        await asyncio.sleep(3600)

    async def close() -> None:
        await run_sync(is_waiting.wait, MAX_SECONDS)
        await run_sync(background.close)

    async with create_task_group() as group:
        group.start_soon(close)
        with pytest.raises(ToolError, match="the connections to MCP servers are closed: connect again"):
            await background.arun(wait)


def test_loop_can_be_closed_from_its_own_callbacks(background: BackgroundLoop) -> None:
    async def close() -> None:
        background.close()

    started = time.monotonic()
    background.run(close)
    background.close()

    assert time.monotonic() - started < MAX_SECONDS


def test_fork_is_told_to_connect_itself(raw_server: Command) -> None:
    with mcp_tools(raw_server("plain")) as tools:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                result = tools["echo"].execute(text="a")
                os.write(writing, (result.error or "none").encode())
                tools.close()
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            error = pipe.read().decode()
        os.waitpid(pid, 0)
        again = tools["echo"].execute(text="b").output

    assert "the connections to MCP servers do not exist in a fork of the process: connect in the fork" in error
    assert again == "b"


def test_process_ends_although_threads_of_the_loop_wait() -> None:
    program = (
        "import asyncio, threading, anyio\n"
        "from ez_ptc.mcp.client.loops.background import BackgroundLoop\n"
        "background, ran, tasks = BackgroundLoop(), threading.Event(), []\n"
        "async def serve():\n"
        "    await anyio.to_thread.run_sync(ran.set)\n"
        "    await asyncio.sleep(3600)\n"
        "async def start():\n"
        "    tasks.append(asyncio.create_task(serve()))\n"
        "    await asyncio.sleep(0)\n"
        # In a step of this thread, so that the worker is no daemon.
        "asyncio.run(background.arun(start))\n"
        "print(ran.wait(20))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=40, check=True)

    assert done.stdout == "True\n"


def test_systems_without_selectable_selectors_work_too(raw_server: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepped, "CAN_STEP", False)
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        assert toolkit.execute("print(echo('a'))").output == "a\n"
        assert asyncio.run(_awaited(toolkit.get_tool("echo").acall({"text": "b"}))) == "b"


def descriptors() -> int:
    """Those of this process; what earlier tests left may close meanwhile."""
    return len(list(Path("/dev/fd").iterdir()))


def test_loops_of_earlier_callers_leave_no_descriptors(background: BackgroundLoop) -> None:
    asyncio.run(background.arun(thread_after, 0))
    before = descriptors()
    for _ in range(20):
        asyncio.run(background.arun(thread_after, 0))

    assert descriptors() <= before


@ON_ASYNCIO
async def test_closing_gives_the_callers_loop_its_descriptor_back(anyio_backend: object) -> None:
    before = descriptors()
    for _ in range(5):
        background = BackgroundLoop()
        await background.arun(thread_after, 0)
        await asyncio.to_thread(background.close)
    await asyncio.sleep(0)

    assert descriptors() <= before


@ON_ASYNCIO
async def test_message_between_calls_is_left_to_the_loops_thread(
    background: BackgroundLoop, anyio_backend: object
) -> None:
    arrived = asyncio.Event()
    threads: list[int] = []
    here = asyncio.get_running_loop()
    reading, writing = os.pipe()

    def read() -> None:
        os.read(reading, 1)
        threads.append(threading.get_ident())
        here.call_soon_threadsafe(arrived.set)

    async def watch() -> None:
        asyncio.get_running_loop().add_reader(reading, read)

    await background.arun(watch)
    os.write(writing, b"x")
    await asyncio.wait_for(arrived.wait(), MAX_SECONDS)
    background.close()
    os.close(reading)
    os.close(writing)

    assert threads != [threading.get_ident()]
