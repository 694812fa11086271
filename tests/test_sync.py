"""The border between blocking and awaiting."""

import asyncio
import subprocess
import sys
import threading
import weakref
from contextvars import ContextVar
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from ez_ptc._lazy import lazy
from ez_ptc._sync import Threads, call_within, run_coroutine, to_thread, to_thread_and_back
from tests.sandbox.scripts import run_script

ORDER: ContextVar[str] = ContextVar("ORDER", default="none")


async def _thread_and_order(value: int) -> tuple[int, str, bool]:
    await anyio.lowlevel.checkpoint()
    return value, ORDER.get(), threading.current_thread() is threading.main_thread()


def test_a_coroutine_runs_from_blocking_code() -> None:
    ORDER.set("A-17")

    assert run_coroutine(_thread_and_order, 5) == (5, "A-17", True)


@pytest.mark.anyio
async def test_coroutine_runs_from_blocking_code_inside_loop() -> None:
    """It gets a loop of its own in another thread, with the caller's context variables, whatever loop runs here."""
    ORDER.set("A-18")

    assert run_coroutine(_thread_and_order, 6) == (6, "A-18", False)


@pytest.mark.anyio
async def test_coroutine_inside_loop_may_use_threads_and_asyncio() -> None:
    async def both() -> int:
        await asyncio.sleep(0)
        return await to_thread(int, "7")

    assert run_coroutine(both) == 7


@pytest.mark.parametrize("error", [ValueError("no milk"), KeyError("tea"), StopAsyncIteration()])
def test_exception_of_coroutine_is_raised(error: Exception) -> None:
    async def fail() -> None:
        raise error

    async def fail_within_a_loop() -> None:
        run_coroutine(fail)

    for way in (fail, fail_within_a_loop):
        with pytest.raises(type(error)) as caught:
            run_coroutine(way)
        assert caught.value is error


@pytest.mark.anyio
async def test_blocking_call_is_awaited_in_thread_with_context() -> None:
    ORDER.set("A-19")

    def look(suffix: str) -> tuple[str, bool]:
        return ORDER.get() + suffix, threading.current_thread() is threading.main_thread()

    assert await to_thread(look, "!") == ("A-19!", False)


@pytest.mark.anyio
async def test_a_cancelled_call_does_not_wait_for_its_thread() -> None:
    started, release = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        release.wait(60)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(to_thread, hang)
        await to_thread(started.wait, 60)
        tasks.cancel_scope.cancel()

    assert not release.is_set()
    release.set()


def test_cancelled_task_waits_for_its_thread_and_undoes() -> None:
    started, release = threading.Event(), threading.Event()
    undone: list[str] = []

    def claim() -> str:
        started.set()
        release.wait(60)
        return "claimed"

    async def cancel() -> None:
        task = asyncio.ensure_future(to_thread_and_back(claim, undo=undone.append))
        await to_thread(started.wait, 60)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert undone == ["claimed"]


@pytest.mark.anyio
async def test_blocking_call_may_have_a_timeout() -> None:
    release = threading.Event()
    with pytest.raises(TimeoutError):
        await to_thread(release.wait, 60, seconds=0.01)
    release.set()
    assert await to_thread(release.wait, 60, seconds=60)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_thread_ending_after_its_loop_is_harmless(backend: str) -> None:
    release = threading.Event()
    waiting: list[threading.Thread] = []

    def hang() -> None:
        waiting.append(threading.current_thread())
        release.wait(60)

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await to_thread(hang, seconds=0.01)

    anyio.run(leave, backend=backend)
    release.set()
    assert all(thread.daemon for thread in waiting)


@pytest.mark.parametrize("error", [ValueError("no milk"), TimeoutError("too late"), KeyError("tea")])
def test_exception_of_call_with_timeout_is_raised(error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        call_within(60, fail)
    assert caught.value is error


def test_call_with_timeout_sees_context_and_is_abandoned() -> None:
    ORDER.set("A-20")
    release = threading.Event()
    assert call_within(60, ORDER.get) == "A-20"
    with pytest.raises(TimeoutError):
        call_within(0.01, lambda: release.wait(60))
    release.set()


def test_a_thread_is_used_again_when_it_is_free() -> None:
    threads, ids = Threads(), list[int]()
    for _ in range(20):
        ended = threading.Event()
        threads.start(lambda ended=ended: (ids.append(threading.get_ident()), ended.set())[0])
        assert ended.wait(60)
    assert 1 <= len(set(ids)) < 20


def test_idle_thread_lets_go_of_its_first_job() -> None:
    class Held:
        pass

    held, is_gone = Held(), threading.Event()
    weakref.finalize(held, is_gone.set)
    Threads().start(partial(setattr, held, "is_done", True))
    del held
    # The thread itself ends after ten idle seconds.
    assert is_gone.wait(5)


def test_blocking_tool_may_run_loop_in_its_thread() -> None:
    async def five() -> int:
        await anyio.lowlevel.checkpoint()
        return 5

    for backend in ("asyncio", "trio"):
        for inner in ("asyncio", "trio"):
            assert anyio.run(to_thread, lambda inner=inner: anyio.run(five, backend=inner), backend=backend) == 5


def test_anyio_is_imported_on_first_use() -> None:
    code = "import sys, ez_ptc._sync; sys.exit('anyio' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


COMPUTING = """
import os, threading
from ez_ptc._lazy import lazy

begun, ended = threading.Event(), threading.Event()

class Slow:
    @lazy
    def value(self):
        if os.getpid() == host:
            begun.set()
            ended.wait(30)
        return os.getpid() == host

host = os.getpid()
slow = Slow()
thread = threading.Thread(target=lambda: slow.value)
thread.start()
begun.wait(30)
child = os.fork()
if child == 0:
    os._exit(slow.value or Slow().value)
print(os.waitpid(child, 0)[1])
ended.set()
thread.join()
print(slow.value, slow.value, Slow.value.__doc__)
"""


def printed_by(script: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True, stdin=subprocess.DEVNULL
    ).stdout


def test_fork_during_attribute_creation_leaves_no_lock() -> None:
    assert printed_by(COMPUTING).splitlines() == ["0", "True True None"]


def test_an_attribute_is_made_once() -> None:
    class Counter:
        made = 0

        @lazy
        def value(self) -> int:
            """Count."""
            self.made += 1
            return self.made

    counter = Counter()
    assert (counter.value, counter.value, Counter().value, Counter.value.__doc__) == (1, 1, 1, "Count.")


def test_event_loops_share_idle_threads() -> None:
    threads = [run_coroutine(to_thread, threading.current_thread) for _ in range(50)]

    # A thread is idle only a moment after its result is there.
    assert len(set(threads)) < 50


IDLE_THREADS = """
import os, warnings
from ez_ptc._sync import run_coroutine, to_thread

for _ in range(5):
    run_coroutine(to_thread, os.getpid)
warnings.simplefilter("ignore")  # of forks where threads run
child = os.fork()
if child == 0:
    os._exit(run_coroutine(to_thread, os.getpid) != os.getpid())
print(os.waitpid(child, 0)[1])
"""


def test_fork_waits_for_no_idle_thread_of_its_parent() -> None:
    assert printed_by(IDLE_THREADS) == "0\n"


HALF_IMPORTED = """
import pathlib, sys, tempfile, threading, types

gate = types.ModuleType("gate")
gate.begun, gate.may_end = threading.Event(), threading.Event()
sys.modules["gate"] = gate
sys.modules.pop("sniffio", None)
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "sniffio.py").write_text(
        "import contextvars, gate\\ngate.begun.set()\\ngate.may_end.wait(30)\\n"
        "current_async_library_cvar = contextvars.ContextVar('library')\\n"
    )
    sys.path.insert(0, folder)
    importing = threading.Thread(target=__import__, args=("sniffio",))
    importing.start()
    gate.begun.wait(30)

    from ez_ptc._sync import forget_outer_loop

    seen = []

    def forget():
        forget_outer_loop("asyncio")
        seen.append(sys.modules["sniffio"].current_async_library_cvar.get())

    waiting = threading.Thread(target=forget)
    waiting.start()
    # Either it waits for the other thread, or it has failed by now.
    waiting.join(0.2)
    gate.may_end.set()
    importing.join(30)
    waiting.join(30)
print(seen)
"""


def test_library_that_is_being_imported_is_waited_for() -> None:
    """Another thread may import it at that time, as when a sandbox starts in the background."""
    assert run_script(HALF_IMPORTED) == "['asyncio']\n"
