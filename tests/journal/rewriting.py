"""A run whose program is replaced, with a chain that fits: what no check of the file can notice."""

from __future__ import annotations

import hashlib
from typing import Any

from ez_ptc import Journal
from ez_ptc.journal.chain import chain_start
from ez_ptc.journal.rows import append, find_run, read_events

__all__ = ["change_start", "replace_program"]


def replace_program(journal: Journal, run_id: str, program: str) -> None:
    """Replace the program of a run."""
    _rewrite(journal, run_id, program.encode(), {"program": hashlib.sha256(program.encode()).hexdigest()})


def change_start(journal: Journal, run_id: str, **data: object) -> None:
    """Change what the start of a run says, such as its `library`."""
    _rewrite(journal, run_id, None, data)


def _rewrite(journal: Journal, run_id: str, program: bytes | None, data: dict[str, object]) -> None:
    def write(database: Any) -> None:  # noqa: ANN401 - rows of SQLite
        row = find_run(database, run_id)
        start, *others = read_events(database, row)
        start = start._replace(data={**start.data, **data}, payload=program or start.payload)
        database.execute("DELETE FROM events WHERE run = ?", (row.number,))
        empty = row._replace(events=0, head=chain_start(run_id))
        append(database, empty, [start, *others], state=row.state)

    journal.store.transact(write)
