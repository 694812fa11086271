"""What a page shows of a run, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.messages import ImageMessage

__all__ = [
    "AttemptView",
    "CallState",
    "CallView",
    "DecisionView",
    "ProgramSpan",
    "ProgressView",
    "RunView",
    "SessionEntry",
]

CallState = Literal["done", "failed", "denied", "running", "decided", "needs_approval", "outcome_unknown"]


@dataclass(frozen=True, slots=True)
class DecisionView:
    """What a person decided about a call: a verb such as "approved", by whom, when (seconds since 1970), and why.

    `arguments` are those of an edited call, else None.
    """

    verdict: str
    by: str | None
    time: float
    reason: str | None = None
    arguments: Mapping[str, Any] | None = None


class ProgressView(NamedTuple):
    """What a call has last reported: `done` of `total`, or of an unknown total, and when (seconds since 1970)."""

    done: float
    total: float | None
    message: str | None
    time: float


@dataclass(frozen=True, slots=True)
class CallView:
    """A call of a run.

    Attributes:
        path: Its position in the program.
        tool: The tool's name.
        state: What became of it.
        arguments: The arguments by name, as recorded: secrets are masked. None if they are not recorded yet.
        result: What it returned.
        error: Its error, or None.
        line: Its line in the program; 0 if that is not known.
        started: When it began, in seconds since 1970, or None.
        ended: When it ended, or None.
        asked: When it began to wait for a person, or None.
        question: The question to the person; "" if there was none.
        decision: The decision, or None.
        schema: The JSON Schema of the arguments of a waiting call, or None.
        secrets: The names of the arguments with a mask.
        digest: What identifies the shown call, as `PendingCall.digest`; "" for one that was never asked about.
        progress: What it has last reported, or None.
    """

    path: str
    tool: str
    state: CallState
    arguments: Mapping[str, Any] | None = field(default_factory=dict[str, Any])
    result: object = None
    error: str | None = None
    line: int = 0
    started: float | None = None
    ended: float | None = None
    asked: float | None = None
    question: str = ""
    decision: DecisionView | None = None
    schema: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()
    digest: str = ""
    progress: ProgressView | None = None


@dataclass(frozen=True, slots=True)
class ProgramSpan:
    """One execution of the program: when it began and ended (None: it goes on), and its process."""

    started: float
    ended: float | None
    owner: str


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A run of the same session: its id, its state, and its program."""

    id: str
    state: str
    program: str


@dataclass(frozen=True, slots=True)
class AttemptView:
    """A run in a sequence of corrections: its id, its state, its program, and its error, or None."""

    id: str
    state: str
    program: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run. Times are in seconds since 1970; `head` is the last hash of its events, all of which were verified."""

    id: str
    state: str
    program: str
    created: float
    changed: float
    calls: tuple[CallView, ...] = ()
    spans: tuple[ProgramSpan, ...] = ()
    session: str | None = None
    entries: tuple[SessionEntry, ...] = ()
    attempts: tuple[AttemptView, ...] = ()
    principal: str | None = None
    owner: str = ""
    output: str = ""
    error_output: str = ""
    error: str | None = None
    error_line: int = 0
    has_value: bool = False
    value: object = None
    described: str = ""
    images: tuple[ImageMessage, ...] = ()
    truncated: Mapping[str, int] = field(default_factory=dict[str, int])
    events: int = 0
    head: str = ""
    program_note: str = ""
