"""A call as its approver sees it."""

from dataclasses import dataclass
from typing import Final

from ez_ptc.errors import NotApprovedError
from ez_ptc.messages import PendingCall
from ez_ptc.schema.safe_repr import safe_line
from ez_ptc.tools.decisions import Approve, Decision, Deny, to_decision

__all__ = ["ApprovalRequest"]

_MAX_REASON_LENGTH: Final = 500


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A bound call as the approver sees it.

    The approver may change `call`; `original` keeps the arguments as they were, and `defaults` the names of those that
    the caller did not pass. `hidden` are those whose values are too large to be shown.
    """

    call: PendingCall
    original: dict[str, object]
    defaults: frozenset[str]
    hidden: tuple[str, ...] = ()

    def decision(self, answer: object) -> Decision:
        """Return the decision in an approver's answer, with the arguments that it has changed in place."""
        decision = to_decision(answer)
        if isinstance(decision, Approve) and decision.arguments is None and self.call.arguments != self.original:
            return Approve(self.call.arguments, remember=decision.remember, by=decision.by)
        return decision

    def changed_arguments(self, decision: Decision) -> dict[str, object] | None:
        """Return the arguments to run the call with instead, or None to run it unchanged.

        Raises NotApprovedError, with a message for the model, if the decision is not an approval.
        """
        if not isinstance(decision, Approve):
            message = f"{self.call.tool} was not approved"
            reason = isinstance(decision, Deny) and safe_line((decision.reason or "").strip(), _MAX_REASON_LENGTH)
            raise NotApprovedError(f"{message}: {reason}" if reason else message)
        if decision.arguments is None or decision.arguments == self.original:
            return None
        # A default need not have its parameter's type, and the function gets it in any case.
        return {
            name: value
            for name, value in decision.arguments.items()
            if not (name in self.defaults and value == self.original[name])
        }
