"""Corrections of one failed program at once: the first one runs, and another one runs nothing."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import ExecutionResult, Journal, RunInProgressError, Toolkit, ez_tool
from ez_ptc._sync import Threads, run_coroutine, start_in_thread
from ez_ptc.toolkit.execution.earlier_calls import CorrectionTurn

CORRECTED = "print(pay(1))\nprint(pay(2))"
HELD = f"{CORRECTED}\nhold()"


class Shop:
    """Tools with effects, one of which holds its program up until it is released."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "runs.db"
        self.paid: list[int] = []
        self.begun = threading.Event()
        self.released = threading.Event()

        @ez_tool
        def pay(amount: int) -> int:
            """Pay."""
            self.paid.append(amount)
            return amount

        @ez_tool
        def hold() -> None:
            """Hold."""
            self.begun.set()
            assert self.released.wait(30)

        @ez_tool(requires_approval=True)
        def refund() -> str:
            """Refund."""
            return "refunded"

        self.tools: list[Any] = [pay, hold, refund]

    def toolkit(self, *, is_recorded: bool) -> Toolkit:
        return Toolkit(self.tools, journal=Journal(self.path) if is_recorded else None)

    def hold(self, toolkit: Toolkit, after: ExecutionResult) -> Callable[[], ExecutionResult]:
        """Begin a correction in another thread; return a function that lets it end, and returns its result."""
        running = start_in_thread(Threads().start, lambda: toolkit.execute(HELD, after=after))
        assert self.begun.wait(30)

        def end() -> ExecutionResult:
            self.released.set()
            return running.result(30)

        return end


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    shop.released.set()


def correct(toolkit: Toolkit, after: ExecutionResult, *, awaits: bool) -> ExecutionResult:
    if awaits:
        return run_coroutine(lambda: toolkit.aexecute(CORRECTED, after=after))
    return toolkit.execute(CORRECTED, after=after)


@pytest.mark.parametrize("awaits", [False, True], ids=["blocking", "awaiting"])
@pytest.mark.parametrize("is_recorded", [False, True], ids=["in memory", "recorded"])
@pytest.mark.parametrize("fails_first", [False, True], ids=["program", "chain"])
def test_second_correction_at_once_runs_nothing(shop: Shop, awaits: bool, is_recorded: bool, fails_first: bool) -> None:
    with shop.toolkit(is_recorded=is_recorded) as toolkit:
        first = last = toolkit.execute("pay(1)\n1 / 0")
        if fails_first:
            last = toolkit.execute("pay(1)\n1 / 0", after=first)
        end = shop.hold(toolkit, last)
        for failed in (first, last):
            with pytest.raises(RunInProgressError, match="another correction of that program is running"):
                correct(toolkit, failed, awaits=awaits)
        assert shop.paid == [1, 2]
        assert end().output == "1\n2\n"
        # One after the other, each is the only one: the record serves it, and its new calls run.
        assert correct(toolkit, last, awaits=awaits).output == "1\n2\n"
    assert shop.paid == [1, 2, 2]


def test_correction_in_another_process_is_noticed(shop: Shop) -> None:
    # Two users of a file exclude each other as two processes do.
    with shop.toolkit(is_recorded=True) as toolkit, shop.toolkit(is_recorded=True) as elsewhere:
        run_id = str(toolkit.execute("pay(1)\n1 / 0", principal="ada").run_id)
        here, there = toolkit.find_result(run_id, principal="ada"), elsewhere.find_result(run_id, principal="ada")
        assert here is not None
        assert there is not None
        running = start_in_thread(Threads().start, lambda: toolkit.execute(HELD, principal="ada", after=here))
        assert shop.begun.wait(30)
        before = len(elsewhere.open_journal().runs())
        with pytest.raises(RunInProgressError):
            elsewhere.execute(CORRECTED, principal="ada", after=there)
        assert len(elsewhere.open_journal().runs()) == before
        shop.released.set()
        assert running.result(30).success
        assert elsewhere.execute(CORRECTED, principal="ada", after=there).success
    assert shop.paid == [1, 2, 2]


def test_paused_correction_waits_for_another_one(shop: Shop) -> None:
    with shop.toolkit(is_recorded=True) as toolkit:
        failed = toolkit.execute("pay(1)\n1 / 0")
        paused = toolkit.execute("print(pay(1))\nprint(refund())", after=failed)
        assert paused.status == "paused"
        end = shop.hold(toolkit, failed)
        decisions = {paused.pending[0].id: True}
        with pytest.raises(RunInProgressError):
            toolkit.resume(str(paused.run_id), decisions)
        assert end().success
        assert toolkit.resume(str(paused.run_id), decisions).output == "1\nrefunded\n"
    assert shop.paid == [1, 2]


def test_correction_that_could_not_run_takes_no_turn(shop: Shop) -> None:
    for is_recorded in (False, True):
        with shop.toolkit(is_recorded=is_recorded) as toolkit:
            failed = toolkit.execute("pay(1)\n1 / 0")
            for _ in range(2):
                assert toolkit.execute("pay('no number')", after=failed).status == "failed"
            toolkit.close()
        with shop.toolkit(is_recorded=is_recorded) as again:
            failed = again.execute("pay(1)\n1 / 0")
            assert again.execute("pay(1)", after=failed).success


# Python 3.12 warns of threads of other tests.
@pytest.mark.filterwarnings("ignore:.* is multi-threaded, use of fork:DeprecationWarning")
def test_fork_waits_for_no_correction_of_its_parent() -> None:
    turn = CorrectionTurn()
    with turn.taken():
        pid = os.fork()
        if not pid:  # where the thread with the parent's turn does not run
            try:
                with turn.taken():
                    os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        with pytest.raises(RunInProgressError), turn.taken():
            pass
    with turn.taken():
        pass
