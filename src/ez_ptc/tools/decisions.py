"""Decisions about calls: approvals, and what happened to calls whose outcome is unknown."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, TypeAlias, cast

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import DecisionError
from ez_ptc.schema.safe_repr import safe_name, safe_repr, safe_repr_with_type

__all__ = [
    "Approve",
    "Decision",
    "Deny",
    "DidNotHappen",
    "Happened",
    "Pause",
    "Settlement",
    "require_decisions",
    "to_decision",
    "to_settlement",
]


# Texts of people who mean to approve; they refuse, as every text does.
_ASSENTS: Final = frozenset({"1", "allow", "approve", "approved", "ok", "okay", "sure", "true", "y", "yes"})


@explain_calls(checks="arguments remember")
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
        if self.remember not in (None, "run"):
            message = f"Approve: expected remember to be 'run' or None, got {safe_repr_with_type(self.remember)}"
            raise DecisionError(message)


@explain_calls(checks="reason")
@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse a call; the model reads the reason."""

    reason: str | None = None
    _: KW_ONLY
    by: str | None = None

    def __post_init__(self) -> None:
        """Check the reason. Raises DecisionError."""
        if self.reason is not None and not isinstance(self.reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            message = f"Deny: expected the reason as text (str) or None, got {safe_repr_with_type(self.reason)}"
            raise DecisionError(message)


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


def require_decisions(decisions: object, call: str) -> dict[str, object]:
    """Return the decisions that a `resume` takes; `call` is how it is written.

    Raises DecisionError if they are no dict.
    """
    if decisions is None:
        return {}
    if isinstance(decisions, Mapping):
        return dict(cast("Mapping[str, object]", decisions))
    message = (
        f"expected the decisions as a dict by the ids of pending calls, got {safe_repr_with_type(decisions)}: write "
        f"{call}; nothing was decided"
    )
    raise DecisionError(message)


def to_decision(answer: object) -> Decision:
    """Return the decision in an approver's answer.

    True approves, a dict approves with other arguments, text refuses with a reason, and anything else refuses. If the
    answer seems to mean an approval, the reason says what approves.
    """
    if isinstance(answer, Approve | Deny | Pause):
        return answer
    if answer is True:
        return Approve()
    if isinstance(answer, dict):
        return Approve(cast("dict[str, object]", answer))
    if isinstance(answer, str):
        return Deny(_reason_in(answer))
    return Deny(_reason_of(answer))


def _reason_of(answer: object) -> str | None:
    """Return why an approver's answer is no approval; None for False, which only refuses."""
    if answer is False:
        return None
    if answer is None:
        return "its approver returned None; True approves a call"
    if isinstance(answer, type):
        name = safe_name(answer.__name__)
        return f"the class {name} is not an approval; an object of it is one, {name}()"
    return f"{safe_repr_with_type(answer)} is not an approval; True approves a call"


def _reason_in(text: str) -> str:
    if text.strip(" .!").casefold() in _ASSENTS:
        return f"{safe_repr(text)} is text, which refuses a call; True approves it"
    return text


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
