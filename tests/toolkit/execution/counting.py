"""Tools that count what they do, for tests of the runs in one journal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from ez_ptc import Context, ExecutionResult, Journal, Tool, Toolkit, ez_tool
from ez_ptc.journal.chain import chain_start
from ez_ptc.journal.rows import append, find_run, read_events
from ez_ptc.journal.states import ENDINGS

__all__ = ["FAILING", "PAUSING", "PROGRAM", "Run", "Shop", "aexecute", "execute", "rewrite_starts"]

PROGRAM = "print(log(1))"
PAUSING = "print(pay(1))"
FAILING = "log(1)\nraise ValueError('no')"


@dataclass
class Shop:
    """Tools that count what they do, on one journal file."""

    path: Path
    done: list[tuple[str, object]] = field(default_factory=list[tuple[str, object]])
    crash: bool = False
    running: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)

    def tools(self) -> list[Tool]:
        def log(number: int, context: Context[object]) -> str:
            """Log."""
            if self.crash:
                raise KeyboardInterrupt
            self.done.append(("log", context))
            return f"logged {number}"

        def pay(number: int, context: Context[object]) -> str:
            """Pay."""
            self.done.append(("pay", context))
            return f"paid {number}"

        def wait() -> str:
            """Wait."""
            self.done.append(("wait", None))
            self.running.set()
            assert self.may_end.wait(60)
            return "waited"

        return [ez_tool(log, idempotent=True), ez_tool(pay, requires_approval=True), ez_tool(wait)]

    def toolkit(self, **options: Any) -> Toolkit:
        return Toolkit(self.tools(), journal=self.path, context=options.pop("context", "ada"), **options)


Run = Callable[..., ExecutionResult]


def execute(toolkit: Toolkit, code: str, **options: Any) -> ExecutionResult:
    """Execute a program."""
    return toolkit.execute(code, **options)


def aexecute(toolkit: Toolkit, code: str, **options: Any) -> ExecutionResult:
    """Execute a program in an event loop."""
    return anyio.run(partial(toolkit.aexecute, code, **options))


def rewrite_starts(journal: Journal, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Rewrite the first events of all runs as an earlier version recorded them."""

    def write(database: Any) -> None:  # noqa: ANN401 - rows of SQLite
        for run_id in [run_id for (run_id,) in database.execute("SELECT id FROM runs").fetchall()]:
            row = find_run(database, run_id)
            start, *others = read_events(database, row)
            database.execute("DELETE FROM events WHERE run = ?", (row.number,))
            empty = row._replace(state="running", events=0, head=chain_start(run_id))
            append(
                database,
                empty,
                [start._replace(data=change(dict(start.data))), *others],
                ENDINGS.get(row.state, "record"),
            )

    journal.store.transact(write)
