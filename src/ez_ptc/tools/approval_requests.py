"""A call as its approver sees it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from ez_ptc.errors import NotApprovedError
from ez_ptc.messages import PendingCall
from ez_ptc.schema.safe_repr import safe_line
from ez_ptc.schema.sensitive import has_mask, without_secret_defaults
from ez_ptc.tools.decisions import Approve, Decision, Deny, to_decision

__all__ = ["ApprovalRequest", "form_schema", "is_same"]

_MAX_REASON_LENGTH: Final = 500
_MAX_SCHEMA: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A bound call as the approver sees it.

    The approver may change `call`; `original` keeps the arguments as they were, and `defaults` the names of those that
    the caller did not pass. `hidden` are those whose values are too large to be shown, and `secrets` those with a mask
    in place of a secret. `schema` is that of the arguments, for a form; None if it is large.
    """

    call: PendingCall
    original: dict[str, object]
    defaults: frozenset[str]
    hidden: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None

    def decision(self, answer: object) -> Decision:
        """Return the decision in an approver's answer, with the arguments that it has changed in place."""
        decision = to_decision(answer)
        if (
            isinstance(decision, Approve)
            and decision.arguments is None
            and not is_same(self.call.arguments, self.original)
        ):
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
        if decision.arguments is None or is_same(decision.arguments, self.original):
            return None
        for name in self.secrets:
            changed = decision.arguments.get(name)
            if has_mask(changed) and not is_same(changed, self.original[name]):
                message = (
                    f"{self.call.tool} was not approved: {name} was changed, and has masks in place of its secrets"
                )
                raise NotApprovedError(message)
        # A default need not have its parameter's type, and the function gets it in any case.
        return {
            name: value
            for name, value in decision.arguments.items()
            if not (name in self.defaults and is_same(value, self.original[name]))
        }


def form_schema(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema of a call's arguments, for a form that edits them and a record; None if it is large."""
    schema = without_secret_defaults(schema)
    try:
        text = json.dumps(schema)
    except (TypeError, ValueError):  # a default that is no JSON
        return None
    return schema if len(text) <= _MAX_SCHEMA else None


def is_same(one: object, other: object) -> bool:
    """Return whether two values are equal as JSON: `1` and `1.0` are, since some programs write them alike."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        fields, others = cast("Mapping[object, Any]", one), cast("Mapping[object, Any]", other)
        return fields.keys() == others.keys() and all(is_same(fields[key], others[key]) for key in fields)
    if isinstance(one, list) and isinstance(other, list):
        items, others = cast("list[object]", one), cast("list[object]", other)
        return len(items) == len(others) and all(map(is_same, items, others))
    return isinstance(one, bool) == isinstance(other, bool) and one == other
