"""A run whose program is replaced, with a chain that fits: what no check of the file can notice."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from ez_ptc import Journal
from ez_ptc.journal.chain import chain_start
from ez_ptc.journal.rows import append, find_run, read_events

if TYPE_CHECKING:
    from ez_ptc.journal.store import Database

__all__ = ["replace_program"]


def replace_program(journal: Journal, run_id: str, program: str) -> None:
    """Replace the program of a run."""

    def write(database: Database) -> None:
        row = find_run(database, run_id)
        start, *others = read_events(database, row)
        data = {**start.data, "program": hashlib.sha256(program.encode()).hexdigest()}
        database.execute("DELETE FROM events WHERE run = ?", (row.number,))
        empty = replace(row, events=0, head=chain_start(run_id))
        append(database, empty, [start._replace(data=data, payload=program.encode()), *others], state=row.state)

    journal.store.transact(write)
