"""The stock of ready workers: what changes is in the table of its docstring, and nothing else does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from hypothesis import given

from ez_ptc import _sync
from ez_ptc.sandbox.host import ready_stock as stocks
from ez_ptc.sandbox.host.ready_stock import Closing, Stock
from tests.sandbox.host.interruption import Interruption
from tests.state_tables import read_table, walks

TABLE: Final = read_table(stocks)


class LateThreads(_sync.Threads):
    """Threads whose jobs run when a test says so; or none can be started."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: deque[Callable[[], None]] = deque()
        self.are_out = False

    def start(self, job: Callable[[], None]) -> None:
        if self.are_out:
            message = "can't start new thread"
            raise RuntimeError(message)
        self.jobs.append(job)


@given(walks(TABLE))
def test_stock_follows_its_table_on_every_walk(walk: list[str]) -> None:
    threads, closing, state = LateThreads(), Closing(), "RESTING"
    stock = Stock(2, threads, closing, calm=0.0)
    for change in walk:
        if change in {"grow", "fail"}:
            threads.are_out = change == "fail"
            stock.grow(7, lambda: None)
            assert stock.wanted == 9
        elif change == "close":
            closing.set()
        else:
            while threads.jobs:
                threads.jobs.popleft()()
            assert stock.wanted == 2 or state != "SHRINKING"
        state = TABLE[state].get(change, state)
        assert stock.state.name == state
        # One thread shrinks it, and it is the one that was started.
        assert len(threads.jobs) <= 1
        assert state != "SHRINKING" or threads.jobs


def _shrink(at: int) -> tuple[bool, int, str]:
    """Let a stock grow before an instruction of the thread that shrinks it; return whether, its size, and its state."""
    threads, grown = LateThreads(), list[int]()
    stock = Stock(0, threads, Closing(), calm=0.0)

    def grow() -> None:
        grown.append(7)
        stock.grow(7, lambda: None)

    stock.grow(1, lambda: None)
    job = threads.jobs.popleft()
    with Interruption(grow, at=at, parts=["sandbox/host/ready_stock.py"]):
        job()
    for late in threads.jobs:
        late()
    return bool(grown), stock.wanted, stock.state.name


def test_stock_that_grows_at_any_instruction_of_its_thread_shrinks_again() -> None:
    # Python 3.13 reports instructions from the second traced call on.
    at, (has_grown, *_) = 0, _shrink(0)
    while has_grown or not at:
        at += 1
        has_grown, *rest = _shrink(at)
        assert rest == [0, "RESTING"], at
    assert at > 20
