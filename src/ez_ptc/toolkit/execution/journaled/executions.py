"""One execution of a journaled run, and its repetition from the record."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from ez_ptc._sync import to_thread_and_back
from ez_ptc.errors import JournalError, ReplayDivergedError
from ez_ptc.journal.results import ending_events
from ez_ptc.journal.states import ENDINGS
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.execution.results.recorded import handle_of_run, name_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from ez_ptc.journal.journal import Journal
    from ez_ptc.journal.record import RunRecord
    from ez_ptc.journal.recorder import RunRecorder
    from ez_ptc.journal.rows import RunRow
    from ez_ptc.journal.run import Run
    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
    from ez_ptc.toolkit.execution.channel import ToolChannel

__all__ = ["Execution", "Replay"]


@dataclass(frozen=True)
class Execution:
    """One execution of a run: a context in which this process is its owner.

    The sandbox runs `code` with `channel` and `limits`; `finish` takes its result.
    """

    journal: Journal
    row: RunRow
    record: RunRecord
    recorder: RunRecorder
    code: str
    channel: ToolChannel
    limits: Limits
    _holder: object
    _marks: set[Literal["ended", "left"]] = field(default_factory=set[Literal["ended", "left"]])

    def finish(self, result: ExecutionResult, *, is_lost: bool = False) -> ExecutionResult:
        """Record how the execution ended, and return the result as the caller gets it.

        `is_lost` says that what the program left in its session is lost. Raises ReplayDivergedError if the program has
        ended without making a call of its record again.
        """
        self._close()
        if result.status != "paused":
            # Nothing has run yet, and the run can be resumed where its program takes the recorded path.
            self.recorder.check_complete(result.error or "done")
        result.run_id = self.row.id
        if not self.row.session and (handle := handle_of_run(self.row.id)) is not None:
            name_parts(result, handle)
        state = result.status
        if self.record.has_unknown:
            if result.status == "paused":
                state, result.error = "outcome_unknown", self.record.describe_unknown()
            else:
                _add_unknown(result, self.record)
        if result.status == "paused":
            result.pending = self.record.pending(self.row.id)
        name = "pause" if result.status == "paused" else "end"
        *events, last = ending_events(name, {"state": state, "lost": is_lost}, result, self.record)
        if name == "end":
            events += self.recorder.refuse_queued()
        self.journal.finish(self.row, [*events, self.recorder.with_schedule(last)], ENDINGS[state])
        if name == "end":
            self._marks.add("ended")
        return result

    def __del__(self, *, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # An interruption may come before the execution's `with` statement, or at its end.
        if "left" not in self._marks and not is_ending():
            self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._close()
                self._name_run(error)
        finally:  # a second interruption may come while functions are waited for
            self.release()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                await to_thread_and_back(self._close)
                self._name_run(error)
        finally:
            self.release()

    def _name_run(self, error: BaseException) -> None:
        """Let an error of the journal name this run: it began, and is to be looked at and resumed."""
        if isinstance(error, JournalError) and error.run_id is None:
            error.run_id = self.row.id

    def release(self) -> None:
        """Stop owning the run, now or once no function of it runs; releasing it twice is harmless."""
        self.recorder.release(self._leave, has_ended="ended" in self._marks)

    def _leave(self) -> None:
        self.journal.give_up(self._holder)
        self._marks.add("left")

    def _close(self) -> None:
        # A function that still runs may yet take effect: no one should be asked about it before.
        self.recorder.close(self.limits.grace)


@dataclass(frozen=True)
class Replay:
    """The repetition of a finished run, in which no tool runs; `compare` takes its result.

    With another minor version of Python, whose errors have other words, the output alone is compared.
    """

    recorder: RunRecorder
    record: RunRecord
    code: str
    channel: ToolChannel
    limits: Limits
    run: Run
    is_other_python: bool = False

    def compare(self, result: ExecutionResult) -> ExecutionResult:
        """Return the result, which is that of the run. Raises ReplayDivergedError if it differs."""
        self.recorder.check_complete(result.error or "done")
        _add_unknown(result, self.record)
        recorded = self.run.result
        names: tuple[str, ...] = ("output", "success")
        if not self.is_other_python:
            names += ("error_output", "error", "described")
        for name in names:
            before, now = getattr(recorded, name), getattr(result, name)
            if before != now:
                message = (
                    f"the replay of run {self.run.id} differs from its record: {name} is {safe_repr(now)}, and was "
                    f"{safe_repr(before)}"
                )
                raise ReplayDivergedError(message)
        result.run_id = self.run.id
        return result


def _add_unknown(result: ExecutionResult, record: RunRecord) -> None:
    """Say in the error of a program that has ended, and does not go on, which outcomes are unknown."""
    if record.has_unknown and result.error is not None:
        result.error += f"; {record.describe_unknown()}"
