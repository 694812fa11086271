"""A framework's part in one call, and the call's outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ez_ptc.formats.content import as_json, as_text, json_output
from ez_ptc.integrations.offers.answers import describe_call
from ez_ptc.schema.annotations.context import NO_CONTEXT

if TYPE_CHECKING:
    from ez_ptc.messages import PendingCall
    from ez_ptc.sandbox.protocol.events import ProgramEvent

__all__ = ["NO_HOOKS", "Hooks", "OpenCalls", "Outcome", "call_id_of", "context_of", "pending_text"]

Decider: TypeAlias = Callable[["OpenCalls"], Awaitable[Mapping[str, object] | None]]


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """The calls that wait for decisions: those of a program, or a single one.

    Attributes:
        pending: The calls.
        run_id: The id of the program's run in the journal, or None.
    """

    pending: tuple[PendingCall, ...]
    run_id: str | None = None

    def as_json(self, reason: str | None = None) -> dict[str, Any]:
        """Return what a person has to know for decisions; `reason` says why they are asked again."""
        questions = [describe_call(call) for call in self.pending]
        data: dict[str, Any] = {"run_id": self.run_id, "pending": questions}
        if self.run_id is None:
            (data,) = questions
        if reason is not None:
            data["reason"] = reason
        return data


@dataclass(frozen=True, slots=True)
class Hooks:
    """A framework's part in one call.

    Attributes:
        context: The value of `Context` parameters, where the developer has given none.
        reraise: The framework's control-flow exceptions, which are no failures of a tool.
        id: The id of this one call, the same each time the framework repeats it; None if nothing identifies it. A
            program's run has it in the journal.
        principal: For whom the call is, as far as the framework knows; None leaves that to the context.
        was_asked: Whether a person was asked about a single call: it is pending, whatever its predicate says now.
        decide: Returns decisions about open calls, by their ids; returns None or leaves out calls, or raises, to leave
            them for later. Without it, calls that require approval are refused.
        watch: Receives a program's events at once, those of other threads excepted.
        report: Receives all of them a little later, and the progress of a single call, and is awaited.
    """

    context: object = NO_CONTEXT
    reraise: tuple[type[BaseException], ...] = ()
    id: str | None = None
    principal: str | None = None
    was_asked: bool = False
    decide: Decider | None = None
    watch: Callable[[ProgramEvent], object] | None = None
    report: Callable[[ProgramEvent], Awaitable[object]] | None = None


NO_HOOKS: Final = Hooks()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call returned, or the `error` for the model.

    `open` are the calls that wait for decisions, if it has not finished.
    """

    value: object = None
    error: str | None = None
    open: OpenCalls | None = None

    @classmethod
    def waiting(cls, calls: OpenCalls) -> Outcome:
        """Return the outcome of a call that has not finished."""
        return cls(error=pending_text(calls.pending), open=calls)

    @property
    def text(self) -> str:
        """The result or the error as text for a model."""
        if self.error is None:
            return as_text(self.value)
        return self.error

    @property
    def data(self) -> Any:
        """The result as JSON."""
        return json_output(as_json(self.value))


def pending_text(pending: Iterable[PendingCall]) -> str:
    """Return the text a model reads of calls that wait."""
    names = ", ".join(dict.fromkeys(call.tool for call in pending))
    return f"not finished: {names} waits for a person's decision"


def context_of(value: object) -> object:
    """Return a framework's context for `Hooks`; None counts as no context."""
    if value is None:
        return NO_CONTEXT
    return value


def call_id_of(framework: str, **parts: str) -> str:
    """Return an id of a call: the same for the same parts, which together identify one call of one conversation."""
    text = json.dumps([framework, parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
