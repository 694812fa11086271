"""The host's additions to the calls of its tools."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools.approvals.approval import Approver, check_approver

if TYPE_CHECKING:
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["NO_SETTINGS", "CallSettings", "ToolInternals"]


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The host's additions to a call.

    `context` is the value of `Context` parameters, and `approve` the approver. Exceptions of the types in `reraise` are
    raised to the caller instead of failing the tool: frameworks use them for control flow.
    """

    context: object = NO_CONTEXT
    approve: Approver | None = None
    reraise: tuple[type[BaseException], ...] = ()

    def __post_init__(self) -> None:
        """Check the approver. Raises TypeError."""
        check_approver(self.approve)

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


class ToolInternals:
    """What a tool passes on to its copies besides their fields: its definition, and the settings of its registry."""

    __slots__ = ("definition", "settings")

    def __init__(self, definition: "Definition", settings: CallSettings) -> None:
        self.definition = definition
        self.settings = settings

    def is_equal(self, other: "ToolInternals") -> bool:
        """Return whether two tools are the same to models and callers; contexts are compared by identity."""
        mine, others = self.settings, other.settings
        is_same = mine.context is others.context and mine.approve == others.approve and mine.reraise == others.reraise
        return is_same and self.definition.is_equal(other.definition)

    def __deepcopy__(self, memo: object) -> "ToolInternals":
        """Return itself, for `dataclasses.asdict`: a lock or a connection cannot be copied."""
        return self
