"""Runs written to a journal without any program, to damage and to compare."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from ez_ptc import ExecutionResult, Journal
from ez_ptc.journal.chain import Event
from ez_ptc.journal.results import result_to_bytes
from ez_ptc.journal.rows import append, find_run

__all__ = ["NOTHING_KEPT", "START", "exported", "write_run"]


START: Final[Mapping[str, Any]] = {"program": "", "imports": [], "limits": {}, "clock_ns": None, "tools": {}}
"""What the first event of a run says that nothing resumes."""


def write_run(
    journal: Journal,
    chance: random.Random,
    *,
    calls: int = 3,
    ended: bool = True,
    size: int | None = None,
    session: str = "",
) -> str:
    """Write a run, one commit for each event, some with large contents, or all of a size; return its id."""
    position = len(journal.session_rows(session)) if session else 0
    row, _ = journal.start("print(1)", START, session=session, position=position)
    for number in range(1, calls + 1):
        length = chance.choice([10, 300, 6000]) if size is None else size
        intent = Event(
            "intent", str(number), {"tool": "pay", "arguments": {"n": number}, "repeatable": False}, b"[[],{}]"
        )
        reply = {"tool": "pay", "kind": "s", "error": None, "duration_ms": 1.0, "seen": number}
        result = Event("result", str(number), reply, bytes([number]) * length)
        for event in (intent, result):
            journal.store.transact(
                lambda database, event=event: append(database, find_run(database, row.id), [event], "record")
            )
    if ended:
        end = Event("end", data={"state": "done"}, payload=result_to_bytes(ExecutionResult()))
        journal.finish(row, [end], "finish")
    journal.store.locks.disown(row.number)
    return row.id


def exported(journal: Journal) -> dict[str, list[str]]:
    """Return every run's events as text."""
    return {run.id: list(journal.export(run.id)) for run in journal.runs()}


NOTHING_KEPT = timedelta(0)
