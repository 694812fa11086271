"""What an operator asks of a journal with many runs, and what a program with many pauses costs."""

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from unittest.mock import patch

from benchmarks.journal.subjects.ours_costs import approved, echo
from ez_ptc import Journal, ProcessSandbox, Toolkit
from ez_ptc.journal.locks import FileLocks
from ez_ptc.journal.rows import append, insert_run
from ez_ptc.journal.stores.protocol import RunRows

__all__ = ["upkeep_figures"]

_BATCH: Final = 500
_PAUSES: Final = 100
_TIMES: Final = 10
_PROGRAM: Final = "for number in range(5):\n    echo(number)"
_PAUSING: Final = "for number in range({}):\n    print(approved(number))"


def upkeep_figures(folder: Path, runs: int, pauses: int = _PAUSES) -> dict[str, list[float]]:
    """Return figures of a journal with so many runs, and of a program with so many pauses."""
    figures: dict[str, list[float]] = {}
    with Journal(folder / "runs.db", retention=None) as journal, Toolkit([echo], journal=journal) as toolkit:
        _fill(journal, toolkit, runs)
        figures["`runs(limit=100)`, ms of CPU"] = [_cpu_ms(journal.runs) for _ in range(_TIMES)]
        figures["a program of one call beside a loop that lists all runs, ÷ alone"] = [_listing_ratio(toolkit)]
        cpu, wall = _longest_hold(journal, runs // 2)
        figures["`prune` of half of the runs: the lock is held at a time, ms of CPU"] = [cpu]
        figures["the same, ms"] = [wall]
    for title, paused in (("kept worker", 4), ("fresh worker", 0)):
        figures[f"pause {pauses} of a program, resumed in a {title}, ms of CPU"] = _pause_costs(folder, paused, pauses)
    return figures


def _fill(journal: Journal, toolkit: Toolkit, runs: int) -> None:
    result = toolkit.execute(_PROGRAM)
    assert result.run_id is not None
    first, *others = (event._replace(time=0.0, position=0) for event in journal.events(result.run_id))

    def write(database: RunRows, start: int) -> None:
        for number in range(start, min(start + _BATCH, runs)):
            row = insert_run(database, f"{number:032d}", "", str(first.data["owner"]), [first])
            append(database, row, others, "finish")

    for start in range(0, runs, _BATCH):
        journal.store.transact(lambda database, start=start: write(database, start))


def _cpu_ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e3


def _listing_ratio(toolkit: Toolkit) -> float:
    """Return how much longer a program takes while another thread lists all runs again and again."""
    journal = toolkit.open_journal()
    is_over = threading.Event()

    def list_all() -> None:
        last: str | None = None
        while not is_over.is_set():
            page = journal.runs(before=last)
            last = page[-1].id if page else None

    def measure() -> float:
        times: list[float] = []
        for _ in range(2 * _TIMES):
            began = time.perf_counter()
            toolkit.execute("echo(1)").raise_for_error()
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    alone = measure()
    lister = threading.Thread(target=list_all)
    lister.start()
    try:
        return measure() / alone
    finally:
        is_over.set()
        lister.join()


def _longest_hold(journal: Journal, runs: int) -> tuple[float, float]:
    """Prune so many runs; return the longest time that the lock is held: in ms of CPU, and of the clock."""
    holds: list[tuple[float, float]] = []
    hold = FileLocks.writing

    @contextlib.contextmanager
    def measured(locks: FileLocks, seconds: float = 30.0) -> Generator[None]:
        with hold(locks, seconds):
            began, began_cpu = time.perf_counter(), time.process_time()
            try:
                yield
            finally:
                holds.append((time.process_time() - began_cpu, time.perf_counter() - began))

    with patch.object(FileLocks, "writing", measured):
        # The runs were written a batch at a time, so their ages differ.
        newest = journal.runs(limit=1, before=f"{runs:032d}")[0].changed
        journal.prune(datetime.now(UTC) - newest)
    cpu, wall = (max(numbers) * 1e3 for numbers in zip(*holds, strict=True))
    return cpu, wall


def _pause_costs(folder: Path, paused: int, pauses: int) -> list[float]:
    """Return the milliseconds of CPU in this process of rounds of pausing and resuming, about that of this number."""
    with (
        ProcessSandbox(paused=paused) as sandbox,
        Toolkit([approved], journal=folder / f"pauses-{paused}.db", sandbox=sandbox) as toolkit,
    ):
        result = toolkit.execute(_PAUSING.format(pauses + _TIMES))
        costs: list[float] = []
        for _ in range(pauses + _TIMES - 1):
            assert result.run_id is not None
            began = time.process_time()
            result = toolkit.resume(result.run_id, {result.pending[0].id: True})
            costs.append((time.process_time() - began) * 1e3)
        return costs[-2 * _TIMES :]
