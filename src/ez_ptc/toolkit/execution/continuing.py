"""Corrections of a failed program: its calls are not made again, but answer equal calls of the correction.

Theory of operation. A failed result carries its `FailedProgram`: for whom the program ran, and the calls that must not
simply run again. `execute(after=result)` makes `EarlierCalls` of them. Each call of the correction, once its arguments
are checked, looks there for a call of the same tool and arguments:

- A returned call answers one equal call, with the bytes its program got; the first one made is the first
  one taken. Two threads cannot take the same one.
- A refused call answers every equal call with the refusal, so no one is asked until they agree.
- A call of unknown outcome never runs again: every equal call raises OutcomeUnknownError. Tools
  declared read-only run again, and idempotent ones with the key of the unknown call.
- A failed call runs again, as does any other.

One correction of a program, or of its corrections, runs at a time: two would get one record, and make new calls each.

What a correction takes stays done if it fails too: its own `FailedProgram` has the earlier calls and its new ones. With
a journal, nothing is carried in memory but the id of the failed run: the calls are read from the record of it and of
the runs that it continued, and the record of a correction says which of them it has taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, cast

from ez_ptc.errors import ContinuationError, JournalError
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.schema.safe_repr import safe_repr_with_type
from ez_ptc.toolkit.execution.earlier_calls import CorrectionTurn, EarlierCalls
from ez_ptc.toolkit.prompting.written.program_text import note_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ez_ptc.sandbox.protocol.replies import DoneCall
    from ez_ptc.toolkit.execution.callers import Caller
    from ez_ptc.toolkit.execution.channel import ToolChannel
    from ez_ptc.tools.tool import Tool

__all__ = [
    "LAST",
    "FailedProgram",
    "JournaledRuns",
    "LastFailure",
    "ProgramSequence",
    "ToolkitIdentity",
    "continue_after",
    "is_same_error",
]

_NOT_FAILED: Final = {
    "done": "pass that of a failed program, or leave after= out",
    "paused": "it goes on with resume()",
}


# Where a statement stands, in a traceback, in what the check reports, and after the text of a syntax error.
_POSITION: Final = re.compile(
    r'^  File "<program[^"\n]{0,20}", line \d+|^  line \d+(?=: )| \(line \d+\)$', re.MULTILINE
)

LAST: Final[Any] = object()
"""Stands for the program before, if a program continues it by itself."""


def is_same_error(before: str, after: str) -> bool:
    """Return whether two programs have failed with the same error in the same statement, wherever it stands.

    The programs of a session have numbers, and a correction may have other lines above. A corrected program in the text
    of the error is left out.
    """
    from ez_ptc.toolkit.prompting.failures import split_proposal

    texts = [_POSITION.sub("", split_proposal(text.rstrip())[0]) for text in (before, after)]
    return bool(texts[0]) and texts[0] == texts[1]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FailedProgram:
    """The calls of a failed program, and its caller.

    Attributes:
        toolkit: The identity of its toolkit.
        owner: The record of its caller, salted with `toolkit`.
        caller: Its caller.
        calls: Its calls, and those of the programs it continued; none with a journal.
        run_id: The id of its run in the journal, or of the last run before it.
        is_continued: Whether the next program continues it by itself.
        is_repeated: Whether it is a correction that has failed with the same error at the same line.
        turn: The turn of its corrections, and of theirs.
    """

    toolkit: str
    owner: Mapping[str, str | None]
    caller: Caller
    calls: tuple[DoneCall, ...] = ()
    run_id: str | None = None
    is_continued: bool = False
    is_repeated: bool = False
    turn: CorrectionTurn = field(default_factory=CorrectionTurn)

    @classmethod
    def note(
        cls,
        result: ExecutionResult,
        channel: ToolChannel,
        toolkit: ToolkitIdentity,
        code: str,
        *,
        is_continued: bool = False,
    ) -> None:
        """Put the progress of the failed program `code` into its result, and what explains its error.

        A correction is left out if it would make a call again. What was changed in any program, and the shapes that
        it has shown, are noted.
        """
        note_changes(result, code)
        if channel.shapes is not None:
            channel.shapes.settle()
        if result.status != "failed":
            return
        earlier = channel.earlier
        noted: object = result.progress
        calls: tuple[DoneCall, ...] = ()
        if isinstance(noted, tuple):
            calls = cast("tuple[DoneCall, ...]", noted)
        run_id, is_repeated, turn = result.run_id, False, CorrectionTurn()
        if earlier is not None:
            turn = earlier.turn
            is_repeated = is_same_error(earlier.error, result.error_output)
            run_id = run_id or earlier.run_id
            is_continued = True
            calls = (*earlier.calls, *calls)
        if any(call.reply is None or call.reply.error is not None for call in calls):
            result.correction = ""
        if run_id is not None:  # the journal has them
            calls = ()
        caller = channel.caller
        owner = caller.to_json(toolkit.id)
        result.progress = cls(toolkit.id, owner, caller, calls, run_id, is_continued, is_repeated, turn)
        from ez_ptc.toolkit.prompting.failures import failure_facts  # most programs do not fail

        result.facts = failure_facts(code, result, toolkit.tools, is_repeated=is_repeated)
        if channel.shapes is not None:
            result.facts += tuple(channel.shapes.hints(result))
        if channel.search is not None:
            result.facts += tuple(channel.search.hints(result))

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """Leave it out of pickles: another process has no use for it."""
        return type(None), ()

    def of_caller(self, caller: Caller) -> FailedProgram:
        """Return it as that of a program that has run for another caller."""
        return replace(self, owner=caller.to_json(self.toolkit), caller=caller)

    def has_caller(self, caller: Caller) -> bool:
        """Return whether the program ran for this principal and with this context."""
        if self.caller.principal != caller.principal:
            return False
        if self.caller.is_comparable:
            return self.owner == caller.to_json(self.toolkit)
        return self.caller.context is caller.context


class ToolkitIdentity(NamedTuple):
    """A toolkit as a failed result knows it: a random id, and its tools."""

    id: str
    tools: Sequence[Tool[..., Any]]


class JournaledRuns(Protocol):
    """The runs of a toolkit in its journal."""

    def program_of(self, run_id: str) -> str:
        """Return the program of a run. Raises JournalError if the run is unknown."""
        ...

    def collect_calls(self, run_id: str, channel: ToolChannel | None) -> list[DoneCall]:
        """Return the calls of a failed run and those it continues; with a channel, of its caller's own runs only.

        Raises JournalError if the run is unknown, another caller's, or of another toolkit's tools.
        """
        ...


def continue_after(
    after: object, channel: ToolChannel, toolkit: str, *, reread: bool = False, runs: JournaledRuns | None = None
) -> ToolChannel:
    """Return the channel of a program that continues a failed one; `runs` are those of the toolkit's journal.

    Raises:
        TypeError: `after` is no result.
        ContinuationError: The program has not failed, or is of another toolkit, principal or context.
            Or its run is not in the journal, or was recorded with other tools.
    """
    if not isinstance(after, ExecutionResult):
        message = f"expected after to be the ExecutionResult of a failed program, got {safe_repr_with_type(after)}"
        raise TypeError(message)
    if after.status != "failed":
        advice = _NOT_FAILED[after.status]
        message = f"expected after to be the result of a failed program, got one that is {after.status}: {advice}"
        raise ContinuationError(message)
    progress = after.progress if isinstance(after.progress, FailedProgram) else None
    run_id = after.run_id if progress is None else progress.run_id
    is_known = progress is not None and progress.toolkit == toolkit
    is_own = progress is not None and progress.has_caller(channel.caller)
    calls: Sequence[DoneCall] = () if progress is None else progress.calls
    if runs is not None and run_id is not None and (is_own or progress is None):
        calls = _collect_calls(runs, run_id, None if is_known else channel)
    elif not is_known or not is_own:
        message = "the failed program belongs to another toolkit, principal or context; nothing was run"
        raise ContinuationError(message)
    earlier = EarlierCalls(channel.bind, calls, run_id=run_id, reread=reread, error=after.error_output)
    if progress is not None:
        earlier.turn = progress.turn
    return replace(channel, earlier=earlier)


def _collect_calls(runs: JournaledRuns, run_id: str, channel: ToolChannel | None) -> Sequence[DoneCall]:
    try:
        return runs.collect_calls(run_id, channel)
    except JournalError as error:  # for callers that go on without it: nothing was run
        raise ContinuationError(str(error)) from error


class ProgramSequence:
    """The programs of one session: each continues the one before, if it has failed."""

    def __init__(
        self, toolkit: ToolkitIdentity, runs: JournaledRuns | None, *, last: ExecutionResult | None = None
    ) -> None:
        """Take a toolkit's identity and its runs in the journal, if it has one, and the last program's result."""
        self._toolkit: Final = toolkit
        self._runs: Final = runs
        self._last = last

    def next_channel(self, channel: ToolChannel, after: object = LAST, *, reread: bool = False) -> ToolChannel:
        """Return the channel of the next program. It continues `after`: by default, the last one of the same caller.

        Raises as `continue_after` does.
        """
        last = self._last
        if after is LAST and last is not None and last.status == "failed":
            is_own = channel.caller.is_comparable
            if isinstance(last.progress, FailedProgram):
                is_own = last.progress.has_caller(channel.caller)
            if is_own:
                after = last
        if after is None or after is LAST:
            return channel
        return continue_after(after, channel, self._toolkit.id, reread=reread, runs=self._runs)

    def note(self, result: ExecutionResult, channel: ToolChannel, code: str | None = None) -> ExecutionResult:
        """Take note of a program's result, and return it. `code` is the program, by default that of the run."""
        if code is None and self._runs is not None and result.run_id is not None:
            code = self._runs.program_of(result.run_id)
        FailedProgram.note(result, channel, self._toolkit, code or "", is_continued=True)
        self._last = result
        return result


class LastFailure:
    """The last result of one conversation, if its program has failed: the next program continues it."""

    def __init__(self, result: ExecutionResult | None = None, *, is_noted: bool) -> None:
        """Begin with a result. Note others only if `is_noted`."""
        self._is_noted: Final = is_noted
        self.result = result

    def note(self, result: ExecutionResult, after: ExecutionResult | None) -> bool:
        """Take note of the result of a program after `after`; return whether the next one continues it.

        Of programs side by side, the next one continues the first to fail.
        """
        if self._is_noted and self.result is after:
            self.result = result if result.status == "failed" else None
        return self.result is result
