"""Nothing is decided about a call that runs: it is listed as running, with its owner, until that is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import pytest

from ez_ptc import (
    DecisionError,
    Deny,
    DidNotHappen,
    ExecutionResult,
    Happened,
    Journal,
    OutcomeUnknownError,
    RunInProgressError,
    Toolkit,
    ez_tool,
)
from ez_ptc.cli.app import main
from tests.sandbox.processes import becomes

SETTLEMENTS = (DidNotHappen(), Happened("paid"), Deny("no"))

OWNER = """
import sys
from ez_ptc import Toolkit, ez_tool

@ez_tool
def pay(amount: int) -> str:
    "Pay."
    print("paying", flush=True)
    sys.stdin.readline()
    with open(sys.argv[2], "a") as effects:
        print("paid", file=effects)
    print("paid", flush=True)
    sys.stdin.readline()
    return "paid"

with Toolkit([pay], journal=sys.argv[1]) as toolkit:
    toolkit.execute("print(pay(1))", run_id="order")
"""


@dataclass
class Till:
    """A payment that runs until it may end, and how often it was begun."""

    path: Path
    begun: list[int] = field(default_factory=list[int])
    is_paying: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)

    def toolkit(self, *, timeout: float | None = None) -> Toolkit:
        def pay(amount: int) -> str:
            """Pay."""
            self.begun.append(amount)
            self.is_paying.set()
            assert self.may_end.wait(60)
            return "paid"

        return Toolkit([ez_tool(pay, timeout=timeout)], journal=self.path)

    def refuses_decisions(self) -> None:
        """Check that no decision is taken, with the owner's journal object and with another one."""
        with Journal(self.path) as journal, Toolkit(self.toolkit().tools, journal=journal) as other:
            (run,) = journal.runs()
            assert run.state == "running"
            assert run.owner.startswith(f"process {os.getpid()} on ")
            (call,) = run.pending
            assert (call.tool, call.state) == ("pay", "running")
            for settlement in SETTLEMENTS:
                with pytest.raises(DecisionError, match=f"is running, in process {os.getpid()}"):
                    journal.decide(run.id, {call.id: settlement})
                with pytest.raises(RunInProgressError):
                    other.resume(run.id, {call.id: settlement})
            assert "decision" not in [event.kind for event in journal.events(run.id)]


@pytest.fixture
def till(tmp_path: Path) -> Iterator[Till]:
    till = Till(tmp_path / "runs.db")
    yield till
    till.may_end.set()


@contextmanager
def _running(till: Till, run: Callable[[], ExecutionResult]) -> Generator[Future[ExecutionResult]]:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        assert till.is_paying.wait(60)
        try:
            yield running
        finally:
            till.may_end.set()


@pytest.mark.parametrize("way", ["blocking", "awaited", "session"])
def test_nothing_is_decided_about_a_call_that_runs(till: Till, way: str) -> None:
    with till.toolkit() as toolkit, toolkit.session() as session:
        ways: dict[str, Callable[[], ExecutionResult]] = {
            "blocking": partial(toolkit.execute, "print(pay(1))"),
            "awaited": lambda: anyio.run(toolkit.aexecute, "print(pay(1))"),
            "session": partial(session.execute, "print(pay(1))"),
        }
        with _running(till, ways[way]) as running:
            till.refuses_decisions()
            (run,) = toolkit.open_journal().runs()
            with pytest.raises(DecisionError, match="is running, in process"):
                toolkit.open_journal().decide(run.id, {run.pending[0].id: DidNotHappen()})
            till.may_end.set()
            assert running.result(60).output == "paid\n"
    assert till.begun == [1]


def test_function_left_behind_by_its_timeout_is_running(till: Till) -> None:
    with till.toolkit(timeout=0.05) as toolkit:
        result = toolkit.execute("print(pay(1))")
        assert result.status == "paused"
        till.refuses_decisions()
        till.may_end.set()
        journal = toolkit.open_journal()
        assert becomes(lambda: int(journal.run(str(result.run_id)).state == "outcome_unknown"), 1, within=30)
        assert toolkit.resume(str(result.run_id), {result.pending[0].id: Happened("seen")}).output == "seen\n"
    assert till.begun == [1]


async def test_function_left_behind_by_a_cancelled_caller_is_running(till: Till, anyio_backend: str) -> None:
    del anyio_backend
    with till.toolkit() as toolkit:
        async with anyio.create_task_group() as group:
            group.start_soon(toolkit.aexecute, "print(pay(1))")
            assert await anyio.to_thread.run_sync(till.is_paying.wait, 60)
            group.cancel_scope.cancel()
        till.refuses_decisions()
        till.may_end.set()
        journal = toolkit.open_journal()
        (run,) = journal.runs()
        assert await anyio.to_thread.run_sync(
            lambda: becomes(lambda: int(journal.run(run.id).state != "running"), 1, within=30)
        )
        assert journal.run(run.id).state in {"outcome_unknown", "resumable"}
    assert till.begun == [1]


def _read(owner: subprocess.Popen[str]) -> str:
    assert owner.stdout is not None
    return owner.stdout.readline().strip()


def test_call_of_another_process_is_running_until_that_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What took effect while a person said that it did not would happen twice."""
    effects, path = tmp_path / "effects", tmp_path / "runs.db"
    arguments = [sys.executable, "-c", OWNER, str(path), str(effects)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert _read(owner) == "paying"
            with Journal(path) as journal:
                run = journal.run("order")
                (call,) = run.pending
                assert (run.state, call.state) == ("running", "running")
                assert run.owner.startswith(f"process {owner.pid} on ")
                with pytest.raises(DecisionError, match=f"is running, in process {owner.pid} on "):
                    journal.decide("order", {call.id: DidNotHappen()})
            for command in (["settle", "order", "--did-not-happen"], ["deny", "order", "1"]):
                assert main(["runs", *command, "--journal", str(path)]) == 2
                assert "pay (1) is running: nothing can be decided" in capsys.readouterr().err
            assert main(["runs", "show", "order", "--journal", str(path)]) == 0
            shown = capsys.readouterr().out
            assert f"executed by process {owner.pid} on " in shown
            assert "pay (1) is running" in shown
            assert "ez-ptc runs settle" not in shown
            assert main(["runs", "list", "--journal", str(path)]) == 0
            assert "running" in capsys.readouterr().out
            assert owner.stdin is not None
            owner.stdin.write("\n")
            owner.stdin.flush()
            assert _read(owner) == "paid"
        finally:
            owner.send_signal(signal.SIGKILL)
    with Journal(path) as journal:
        assert [call.state for call in journal.run("order").pending] == ["outcome_unknown"]
    pays = ez_tool(name="pay", description="Pay.")(_pay)
    with Toolkit([pays], journal=path) as toolkit:
        with pytest.raises(OutcomeUnknownError):
            toolkit.resume("order")
        assert toolkit.resume("order", {call.id: Happened("seen")}).output == "seen\n"
    assert effects.read_text().split() == ["paid"]


def _pay(amount: int) -> str:
    message = f"paid {amount} twice"
    raise AssertionError(message)


def test_call_that_waits_is_decided_while_another_runs(till: Till) -> None:
    """The owner lives, and asks no one: a decision from elsewhere counts, at once or after the pause."""
    approved: list[int] = []

    @ez_tool(requires_approval=True)
    def refund(amount: int) -> str:
        """Refund."""
        approved.append(amount)
        return "refunded"

    with till.toolkit() as inner, Toolkit([*inner.tools, refund], journal=till.path) as toolkit:
        program = "print(parallel(lambda: pay(1), lambda: refund(2)))"
        with _running(till, partial(toolkit.execute, program)) as running, Journal(till.path) as journal:
            (run,) = journal.runs()
            assert becomes(lambda: len(journal.run(run.id).pending), 2, within=30)
            states = {call.tool: call for call in journal.run(run.id).pending}
            assert {tool: call.state for tool, call in states.items()} == {"pay": "running", "refund": "needs_approval"}
            journal.decide(run.id, {states["refund"].id: True})
            till.may_end.set()
            result = running.result(60)
        if result.status == "paused":
            result = toolkit.resume(run.id)
        assert result.output == "['paid', 'refunded']\n"
    assert (till.begun, approved) == ([1], [2])


def test_closing_the_journal_lets_no_one_decide_about_a_running_call(tmp_path: Path) -> None:
    started, can_end = threading.Event(), threading.Event()

    @ez_tool
    def wait() -> str:
        """Wait."""
        started.set()
        assert can_end.wait(60)
        return "waited"

    journal, others = Journal(tmp_path / "runs.db"), Journal(tmp_path / "runs.db")
    with Toolkit([wait], journal=journal) as toolkit, ThreadPoolExecutor(1) as threads:
        try:
            ending = threads.submit(toolkit.execute, "print(wait())", run_id="closed")
            assert started.wait(60)
            journal.close()
            (call,) = others.run("closed").pending
            assert call.state == "running"
            with pytest.raises(DecisionError, match="is running"):
                others.decide("closed", {call.id: DidNotHappen()})
        finally:
            can_end.set()
        assert ending.result(60).output == "waited\n"
    assert others.run("closed").state == "done"
