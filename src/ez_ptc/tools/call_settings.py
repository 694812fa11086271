"""The host's additions to the calls of its tools."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final, Protocol

from ez_ptc.messages import ToolResult
from ez_ptc.results.bounds import MAX_TEXT, ResultKeeper
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.approvals.approval import Approver, check_approver

if TYPE_CHECKING:
    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.tools.approvals.changes import RawCall
    from ez_ptc.tools.call_lifetime import CallLife
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["NO_SETTINGS", "CallSettings", "EarlierAnswers", "ToolInternals", "check_max_text"]


class EarlierAnswers(Protocol):
    """The calls of a failed program: they answer equal calls of its correction."""

    def answer(
        self, tool: "Definition", bound: "BoundCall", raw: "RawCall", life: "CallLife"
    ) -> Callable[[], object] | None:
        """Return the outcome of an equal call, as a function, or None if the call has to run.

        It may run foreign code.
        """
        ...


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The host's additions to a call.

    `context` is the value of `Context` parameters, and `approve` the approver. Exceptions of the types in `reraise` are
    raised to the caller instead of failing the tool: frameworks use them for control flow. `max_text` is the maximum
    number of characters of a result for a model; None is the default, 30,000. `keeper` keeps what it leaves out.
    `earlier` are the calls of a failed program, for its correction.
    """

    context: object = NO_CONTEXT
    approve: Approver | None = None
    reraise: tuple[type[BaseException], ...] = ()
    max_text: int | None = None
    keeper: ResultKeeper | None = None
    earlier: EarlierAnswers | None = None

    def __post_init__(self) -> None:
        """Check the approver and the bound. Raises TypeError and ValueError."""
        check_approver(self.approve)
        check_max_text(self.max_text)

    @property
    def is_empty(self) -> bool:
        """Whether they add nothing."""
        is_plain = self.approve is None and self.max_text is None and self.keeper is None
        return is_plain and self.context is NO_CONTEXT and not self.reraise

    def result(self, output: object, bound: "BoundCall", started: float) -> ToolResult:
        """Return the result of a successful call that started at the time `started` of `perf_counter`."""
        return ToolResult(
            success=True,
            output=output,
            repairs=bound.repairs,
            duration_ms=(perf_counter() - started) * 1000,
            max_text=self.text_bound,
            keeper=self.keeper,
        )

    @property
    def text_bound(self) -> int:
        """The maximum number of characters of a result for a model."""
        return self.max_text or MAX_TEXT

    def over(self, other: "CallSettings") -> "CallSettings":
        """Return these settings, completed by those of `other`."""
        if other is NO_SETTINGS:
            return self
        return CallSettings(
            other.context if self.context is NO_CONTEXT else self.context,
            self.approve or other.approve,
            self.reraise or other.reraise,
            self.max_text or other.max_text,
            self.keeper or other.keeper,
            self.earlier,
        )

    def for_call(self, context: object, approve: Approver | None) -> "CallSettings":
        """Return these settings, overridden by those of one call."""
        if context is NO_CONTEXT and approve is None:
            return self
        return CallSettings(context, approve).over(self)


def check_max_text(max_text: object) -> None:
    """Raise ValueError unless a bound for a model's texts is a positive int or None."""
    # Exact types, since True is an int.
    if max_text is not None and (type(max_text) is not int or max_text < 1):
        message = f"max_text must be a positive int or None, got {safe_repr(max_text)}"
        raise ValueError(message)


NO_SETTINGS: Final = CallSettings()
_PLAIN: Final = frozenset({str, bytes, int})


class ToolInternals:
    """What a tool passes on to its copies besides their fields: its definition, and the settings of its registry."""

    __slots__ = ("definition", "settings")

    def __init__(self, definition: "Definition", settings: CallSettings) -> None:
        self.definition = definition
        self.settings = settings

    def is_equal(self, other: "ToolInternals") -> bool:
        """Return whether two tools are the same to models and callers.

        Contexts are compared by identity, but for texts, numbers and bytes.
        """
        mine, others = self.settings, other.settings
        context = mine.context
        is_same = context is others.context or (
            type(context) in _PLAIN and type(context) is type(others.context) and context == others.context
        )
        is_same = is_same and mine.approve == others.approve and mine.reraise == others.reraise
        return is_same and mine.max_text == others.max_text and self.definition.is_equal(other.definition)

    def __deepcopy__(self, memo: object) -> "ToolInternals":
        """Return itself, for `dataclasses.asdict`: a lock or a connection cannot be copied."""
        return self
