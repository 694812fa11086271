"""Checking every row of a journal, one run at a time, so that neither memory nor those who write depend on its size."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ez_ptc.journal.rows import verify_run

if TYPE_CHECKING:
    from ez_ptc.journal.stores.protocol import RunRows, RunStore

__all__ = ["verify_rows"]

_BATCH: Final = 50


def verify_rows(store: RunStore) -> int:
    """Check every row, and return the number of runs. Raises JournalCorruptError, naming the first bad row."""
    last, total = 0, 0
    while True:
        # A long read would hold up the emptying of the log, and forks of this process.
        last, count = store.read(partial(_verify_runs, last))
        total += count
        if count < _BATCH:
            break
    store.read(lambda rows: rows.verify())
    return total


def _verify_runs(last: int, rows: RunRows) -> tuple[int, int]:
    """Check the runs of a batch after the number `last`; return the last number, and how many runs they are."""
    batch = rows.after(last, _BATCH)
    for row in batch:
        verify_run(rows, row)
    return (batch[-1].number if batch else last), len(batch)
