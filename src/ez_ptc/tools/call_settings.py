"""The host's additions to the calls of its tools."""

from dataclasses import dataclass
from typing import Final

from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools.approvals.approval import Approver

__all__ = ["NO_SETTINGS", "CallSettings"]


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The host's additions to a call.

    `context` is the value of `Context` parameters, and `approve` the approver. Exceptions of the types in `reraise` are
    raised to the caller instead of failing the tool: frameworks use them for control flow.
    """

    context: object = NO_CONTEXT
    approve: Approver | None = None
    reraise: tuple[type[BaseException], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether they add nothing."""
        return self.context is NO_CONTEXT and self.approve is None and not self.reraise

    def over(self, other: "CallSettings") -> "CallSettings":
        """Return these settings, completed by those of `other`."""
        return CallSettings(
            other.context if self.context is NO_CONTEXT else self.context,
            self.approve or other.approve,
            self.reraise or other.reraise,
        )

    def for_call(self, context: object, approve: Approver | None) -> "CallSettings":
        """Return these settings, overridden by those of one call."""
        if context is NO_CONTEXT and approve is None:
            return self
        return CallSettings(context, approve).over(self)


NO_SETTINGS: Final = CallSettings()
