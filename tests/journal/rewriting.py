"""A run whose program is replaced, with a chain that fits: what no check of the file can notice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from ez_ptc import Journal
from ez_ptc.journal.chain import Event, chain_start
from ez_ptc.journal.rows import RunRow, append, find_run, read_events
from ez_ptc.journal.states import ENDINGS
from ez_ptc.journal.stores.protocol import RunRows

__all__ = ["change_row", "change_start", "erase_events", "record_as_first_read", "replace_program", "rewrite_events"]


def replace_program(journal: Journal, run_id: str, program: str) -> None:
    """Replace the program of a run."""
    _rewrite(journal, run_id, program.encode(), {"program": hashlib.sha256(program.encode()).hexdigest()})


def change_row(journal: Journal, run_id: str, **columns: Any) -> None:
    """Change the row of a run alone."""

    def write(rows: RunRows) -> None:
        row = find_run(rows, run_id)
        rows.write(row, row._replace(**columns), [], [])

    _transact(journal, run_id, write)


def change_start(journal: Journal, run_id: str, **data: object) -> None:
    """Change what the start of a run says, such as its `library`."""
    _rewrite(journal, run_id, None, data)


def record_as_first_read(journal: Journal, run_id: str, program: str) -> None:
    """Replace the program of a run, and let its start name no rules of reading it, as in the first versions."""
    data: dict[str, object] = {"program": hashlib.sha256(program.encode()).hexdigest()}
    _rewrite(journal, run_id, program.encode(), data, without="source_rules")


def erase_events(rows: Any, empty: RunRow) -> None:  # noqa: ANN401 - of either store
    """Remove the events of a run, in a transaction; `empty` is its row without any."""
    if hasattr(rows, "execute"):
        rows.execute("DELETE FROM events WHERE run = ?", (empty.number,))
    else:
        rows.connection.execute("DELETE FROM ez_ptc_events WHERE run = %s", (empty.number,))
        rows.connection.execute("DELETE FROM ez_ptc_contents WHERE run = %s", (empty.number,))
        rows.connection.execute("UPDATE ez_ptc_runs SET head = %s WHERE number = %s", (empty.head, empty.number))


def rewrite_events(journal: Journal, run_id: str, events: Sequence[Event], state: str) -> None:
    """Replace all events of a run, and its state."""

    def write(rows: RunRows) -> None:
        empty = find_run(rows, run_id)._replace(state="running", events=0, head=chain_start(run_id))
        erase_events(rows, empty)
        append(rows, empty, events, "record")
        begun = [event for event in events if event.kind in {"start", "claim"}]
        owner = str(begun[-1].data.get("owner", ""))
        row = find_run(rows, run_id)
        rows.write(row, row._replace(state=state, epoch=len(begun), owner=owner), [], [])

    _transact(journal, run_id, write)


def _rewrite(
    journal: Journal, run_id: str, program: bytes | None, data: dict[str, object], *, without: str = ""
) -> None:
    def write(rows: RunRows) -> None:
        row = find_run(rows, run_id)
        start, *others = read_events(rows, row)
        kept = {name: value for name, value in start.data.items() if name != without}
        start = start._replace(data={**kept, **data}, payload=program or start.payload)
        empty = row._replace(state="running", events=0, head=chain_start(run_id))
        erase_events(rows, empty)
        append(rows, empty, [start, *others], ENDINGS.get(row.state, "record"))

    _transact(journal, run_id, write)


def _transact(journal: Journal, run_id: str, write: Callable[[RunRows], None]) -> None:
    """Rewrite a run, of which the process of a server would notice that records are gone."""
    acknowledged = getattr(journal.store, "acknowledged", None)
    if acknowledged is not None:
        acknowledged.rows.pop(run_id, None)
    journal.store.transact(write)
