"""Decisions about calls: approvals, and what happened to calls whose outcome is unknown."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias, cast

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import DecisionError
from ez_ptc.schema.safe_repr import safe_repr_with_type

__all__ = [
    "Approve",
    "Decision",
    "Deny",
    "DidNotHappen",
    "Happened",
    "Pause",
    "Settlement",
    "to_decision",
    "to_settlement",
]


@explain_calls
@dataclass(frozen=True, slots=True)
class Approve:
    """Approve a call.

    Attributes:
        arguments: Other arguments to run it with; they are checked like those of a model. None runs the call as shown.
        remember: "run" approves all further calls of the same tool in the same run.
        by: Who decided, for the journal.
    """

    arguments: Mapping[str, object] | None = None
    _: KW_ONLY
    remember: Literal["run"] | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        """Check the options. Raises DecisionError."""
        if self.arguments is not None and not isinstance(self.arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            message = f"Approve: expected the arguments as a dict, got {safe_repr_with_type(self.arguments)}"
            raise DecisionError(message)
        if self.remember not in {None, "run"}:
            message = f"Approve: expected remember to be 'run' or None, got {safe_repr_with_type(self.remember)}"
            raise DecisionError(message)


@explain_calls
@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse a call; the model reads the reason."""

    reason: str | None = None
    _: KW_ONLY
    by: str | None = None


@explain_calls
@dataclass(frozen=True, slots=True)
class Pause:
    """Leave the decision for later: the program or the conversation pauses, if it can."""


@explain_calls
@dataclass(frozen=True, slots=True)
class Happened:
    """A call with an unknown outcome took effect, and returned `result`."""

    result: object = None
    _: KW_ONLY
    by: str | None = None


@explain_calls
@dataclass(frozen=True, slots=True)
class DidNotHappen:
    """A call with an unknown outcome did not take effect: run it."""

    _: KW_ONLY
    by: str | None = None


Decision: TypeAlias = Approve | Deny | Pause
"""The answer to an approval."""

Settlement: TypeAlias = Happened | DidNotHappen | Deny
"""What is known of a call whose outcome was unknown; `Deny` makes the call fail in the program."""


def to_decision(answer: object) -> Decision:
    """Return the decision in an approver's answer.

    True approves, a dict approves with other arguments, text refuses with a reason, and anything else refuses.
    """
    if isinstance(answer, Approve | Deny | Pause):
        return answer
    if answer is True:
        return Approve()
    if isinstance(answer, dict):
        return Approve(cast("dict[str, object]", answer))
    if isinstance(answer, str):
        return Deny(answer)
    return Deny()


def to_settlement(answer: object) -> Settlement:
    """Return what a person says of a call with an unknown outcome. Raises DecisionError for anything else."""
    if isinstance(answer, Happened | DidNotHappen | Deny):
        return answer
    if isinstance(answer, str):
        return Deny(answer)
    message = (
        f"the outcome of this call is unknown: expected Happened(result), DidNotHappen() or Deny(reason), got "
        f"{safe_repr_with_type(answer)}"
    )
    raise DecisionError(message)
