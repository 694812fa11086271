"""The record of a call, in `ExecutionResult.tool_calls` and for listeners: a dict with known keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from ez_ptc.results.robust_repr import robust_repr

__all__ = ["CallRecord", "make_record"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NotRequired, TypeAlias, TypedDict

    class CallRecord(TypedDict):
        """The record of a call; `already_done` is set on one with the result of an earlier call."""

        name: str
        args: tuple[Any, ...]
        kwargs: dict[str, Any]
        result: Any
        error: str | None
        duration_ms: float
        path: str
        already_done: NotRequired[bool]

    # To a type checker, a function of a dict takes no CallRecord.
    OnToolCall: TypeAlias = Callable[[CallRecord], None] | Callable[[dict[str, Any]], None]

else:

    class CallRecord(dict[str, Any]):
        """The record of a call, a dict; its `repr` never raises.

        Its keys are `name`, `args` (a tuple), `kwargs`, `result`, `error` (a text, or None), `duration_ms`, `path` (the
        position in the program), and `already_done` for a call with the result of an earlier one.
        """

        __slots__ = ()

        def __repr__(self) -> str:
            return robust_repr(dict(self))

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, with what to write instead."""
            message = f"the record of a call has no attribute {name!r}: it is a dict"
            if name in self:
                message += f", write call[{name!r}]"
            raise AttributeError(message, name=name, obj=self)


def make_record(values: dict[str, Any]) -> Any:  # noqa: ANN401 - a CallRecord, and a dict for those who listen
    """Return these values as the record of a call."""
    return cast("Any", CallRecord)(values)
