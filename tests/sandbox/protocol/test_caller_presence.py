"""A caller that leaves its programs from another thread: it ends them wherever they are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import anyio
import pytest

from ez_ptc import ExecutionResult, SandboxError, Toolkit, ez_tool
from ez_ptc._sync import Threads, start_in_thread
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.records.caller_presence import CALLER, CallerPresence, answer_seconds
from tests.sandbox.callers import WaitingCaller

SECONDS = 60  # much more than anything here takes


class Visit:
    """A caller that has programs run in another thread, and tools that say when it may leave."""

    def __init__(self) -> None:
        self.caller = CallerPresence()
        self.begun = threading.Event()
        self.released = threading.Event()

        @ez_tool
        def begin() -> None:
            """Say that the program runs."""
            self.begun.set()

        @ez_tool
        def hang() -> None:
            """Hang."""
            self.begun.set()
            self.released.wait(SECONDS)

        @ez_tool
        async def ahang() -> None:
            """Hang in the event loop."""
            self.begun.set()
            await anyio.sleep(SECONDS)

        @ez_tool(requires_approval=True)
        def buy() -> str:
            """Buy."""
            return "bought"

        self.tools: list[Any] = [begin, hang, buy]
        self.async_tools: list[Any] = [*self.tools, ahang]

    def start(self, function: Callable[..., ExecutionResult], *arguments: object) -> Future[ExecutionResult]:
        def run() -> ExecutionResult:
            CALLER.set(self.caller)
            return function(*arguments)

        return start_in_thread(Threads().start, run)

    def leave(self, outcome: Future[ExecutionResult]) -> str:
        """Leave a program that runs, and return the error for its caller."""
        assert self.begun.wait(SECONDS)
        self.caller.leave()
        return error_of(outcome)


def error_of(outcome: Future[ExecutionResult]) -> str:
    error = outcome.exception(SECONDS)
    assert isinstance(error, SandboxError), outcome.result()
    return str(error)


@pytest.fixture
def visit() -> Iterator[Visit]:
    visit = Visit()
    yield visit
    visit.released.set()


@pytest.mark.parametrize("program", ["begin()\nwhile True: pass", "hang()", "ahang()"])
def test_leaving_caller_ends_its_program(visit: Visit, program: str) -> None:
    with Toolkit(visit.async_tools if "ahang" in program else visit.tools, timeout=SECONDS) as toolkit:
        code = f"import asyncio\nasyncio.run({program})" if "ahang" in program else program
        assert "the caller has left while this program ran" in visit.leave(visit.start(toolkit.execute, code))
        assert toolkit.execute("1 + 1").return_value == 2


def test_leaving_caller_ends_a_program_of_its_session(visit: Visit) -> None:
    with Toolkit(visit.tools, timeout=SECONDS) as toolkit, toolkit.session() as session:
        session.execute("x = 1")
        assert "the caller has left" in visit.leave(visit.start(session.execute, "hang()"))


def test_program_of_a_caller_that_has_left_never_begins(visit: Visit) -> None:
    visit.caller.leave()
    with Toolkit(visit.tools) as toolkit:
        assert "the caller has left before this program could start" in error_of(
            visit.start(toolkit.execute, "begin()")
        )
    assert not visit.begun.is_set()


@pytest.mark.parametrize("awaits", [False, True], ids=["blocking", "awaiting"])
def test_leaving_caller_ends_its_wait_for_a_worker(visit: Visit, awaits: bool) -> None:
    visit.caller = caller = WaitingCaller()
    tools = [*visit.tools, *visit.async_tools[-1:] * awaits]
    with ProcessSandbox(running=1, patience=SECONDS) as sandbox, Toolkit(tools, sandbox=sandbox) as toolkit:
        # Of the same toolkit: the first program of another one needs no place of these.
        running = start_in_thread(Threads().start, toolkit.execute, "hang()", SECONDS)
        assert visit.begun.wait(SECONDS)
        visit.begun.clear()
        waiting = visit.start(toolkit.execute, "begin()")
        assert caller.waits.wait(SECONDS)
        caller.leave()
        assert "the caller has left before" in error_of(waiting)
        visit.released.set()
        assert running.result(SECONDS).success
        assert toolkit.execute("1 + 1").return_value == 2
    assert not visit.begun.is_set()


def test_caller_that_leaves_later_keeps_its_paused_program(visit: Visit, tmp_path: Path) -> None:
    with Toolkit(visit.tools, journal=tmp_path / "runs.db") as toolkit:
        paused = visit.start(toolkit.execute, "x = 1\nbuy()").result(SECONDS)
        visit.caller.leave()
        assert paused.status == "paused"
        resumed = toolkit.resume(str(paused.run_id), {paused.pending[0].id: True})
        assert resumed.return_value == "bought"


def test_recorded_program_of_a_caller_that_left_goes_on(visit: Visit, tmp_path: Path) -> None:
    @ez_tool(read_only=True)
    def wait() -> int:
        """Wait, and look again when the run goes on."""
        visit.released.wait(SECONDS)
        return 7

    with Toolkit([*visit.tools, wait], journal=tmp_path / "runs.db", timeout=SECONDS) as toolkit:
        # It waits for its caller to leave: after a sleep, it may end before that on a busy machine.
        running = visit.start(lambda: toolkit.execute("begin()\nwait()", run_id="one"))
        assert "continue it with resume('one')" in visit.leave(running)
        visit.released.set()
        assert toolkit.resume("one").return_value == 7


def test_work_after_a_program_waits_for_an_answer_to_another_process(visit: Visit) -> None:
    def run() -> float:
        CALLER.set(visit.caller)
        return answer_seconds()

    assert answer_seconds() == 0
    assert 0 < start_in_thread(Threads().start, run).result(SECONDS) < 0.01
