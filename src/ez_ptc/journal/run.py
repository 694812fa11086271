"""`Run`: one journaled execution of a program, and its owner."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable  # noqa: TC003 - type hints of public classes can be resolved
from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - type hints of public classes can be resolved
from typing import TYPE_CHECKING

from ez_ptc._lazy import lazy
from ez_ptc.errors import JournalError, RunInProgressError
from ez_ptc.journal.states import RunState  # noqa: TC001 - type hints of public classes can be resolved
from ez_ptc.messages import PendingCall  # noqa: TC001 - type hints of public classes can be resolved
from ez_ptc.results.bounds import MAX_TEXT
from ez_ptc.sandbox.protocol.execution import ExecutionResult  # noqa: TC001 - type hints of public classes can be resolved
from ez_ptc.view.objects.viewable import Viewable
from ez_ptc.view.runs import RunView  # noqa: TC001 - type hints of public classes can be resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ez_ptc.journal.chain import Event
    from ez_ptc.journal.rows import RunRow
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["Run", "end_text", "in_progress", "owner_name", "principal_of"]


# Without slots, for the attribute that is made on first use.
@dataclass(frozen=True)
class Run(Viewable):
    """One journaled execution of a program.

    Attributes:
        id: Its id, for `Toolkit.resume`.
        state: "running", "paused", "resumable" (its process died, or all its calls are decided), "outcome_unknown" (a
            call may have taken effect), "done", "failed", or "damaged" (its record was changed; only its id is known).
        pending: The calls that wait for a decision; in a run with a live owner also those that are running.
        program: The program.
        created: When it started, in UTC.
        changed: When it was last written, in UTC.
        session: The id of its session, or None.
        owner: The process that executes it, or did so last, such as "process 7 on host".
        principal: For whom it is, as the caller of `execute` said, or None.
    """

    id: str
    state: RunState
    pending: tuple[PendingCall, ...]
    program: str
    created: datetime
    changed: datetime
    session: str | None = None
    owner: str = ""
    principal: str | None = None
    _read_result: Callable[[], ExecutionResult | None] = field(default=lambda: None, repr=False, compare=False)
    _read_view: Callable[[], RunView] | None = field(default=None, repr=False, compare=False)

    @lazy
    def result(self) -> ExecutionResult | None:
        """Its result, once it has paused or ended; else None.

        The run of a list reads it when it is first used, and raises JournalError if the run was pruned meanwhile.
        """
        return self._read_result()

    def to_html(self) -> str:
        """Return a page about the run in one file, which needs no other host: its program, its calls, its result.

            Path("run.html").write_text(journal.run(run_id).to_html())

        Secret arguments are masked, as in the journal. Raises JournalError if the run was pruned, and
        JournalCorruptError if its record was changed.
        """
        from ez_ptc.view.run_page import run_page

        return run_page(self.view())

    def _view_parts(self) -> Iterator[ViewPart]:
        """Yield the program, the questions about waiting calls, and the result."""
        from ez_ptc.tools.approvals.questions import write_question
        from ez_ptc.view.objects.parts import NotePart, TextPart
        from ez_ptc.view.objects.results import result_parts

        if self.state == "damaged":
            yield NotePart(f"{self.state}, run {self.id}")
            return
        questions = [write_question(call) for call in self.pending]
        yield TextPart(self.program, MAX_TEXT)
        if self.result is not None:
            yield from result_parts(self.result, questions)
            return
        for question in questions:
            yield TextPart(question, MAX_TEXT, "question")
        yield NotePart(f"{self.state}, run {self.id}")

    def view(self) -> RunView:
        """Return what the page shows, read from the record now; used by `ez-ptc view`. Raises as `to_html`."""
        if self._read_view is None:
            message = "this Run was made by hand, so that it has no record: get it from Journal.run(id)"
            raise JournalError(message)
        return self._read_view()


def principal_of(start: Event) -> str | None:
    """Return for whom a run is, as its first event says."""
    caller: dict[str, str | None] = start.data.get("caller") or {}
    return caller.get("principal")


def in_progress(run_id: str, owner: str) -> RunInProgressError:
    """Return the error about a run that has a live owner."""
    message = f"run {run_id} is being executed by {owner}: wait for it, or end that process"
    return RunInProgressError(message, run_id=run_id, owner=owner)


def owner_name() -> str:
    """Return the name of this process, as owner of runs."""
    return f"process {os.getpid()} on {platform.node()}"


def end_text(row: RunRow) -> str:
    """Return what to do about a run that has ended."""
    return f"run {row.id} is {row.state}: its result is in Journal.run(id).result; start a new one with execute()"
