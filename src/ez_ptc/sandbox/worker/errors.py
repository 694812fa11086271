"""The exceptions programs see."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NotApprovedError", "ToolError", "is_denial"]

_MAX_CHAIN = 1_000
# A program's own classes may define other attributes of these names.
_CAUSE = vars(BaseException)["__cause__"].__get__
_CONTEXT = vars(BaseException)["__context__"].__get__
_MEMBERS = vars(BaseExceptionGroup)["exceptions"].__get__


class ToolError(Exception):
    """A tool failed. What programs catch is also an instance of the built-in exception the tool raised."""

    __module__ = "builtins"  # where programs find it
    tool_name = ""  # of the tool that failed

    def __str__(self) -> str:
        if self.args:
            return str(self.args[0])
        return ""


class NotApprovedError(ToolError):
    """A call was not approved. Programs know it by the name of its base."""

    __module__ = "builtins"


NotApprovedError.__name__ = NotApprovedError.__qualname__ = "ToolError"


def is_denial(error: BaseException) -> bool:
    """Return whether an exception is that of a call that was not approved, or was raised because or beside of it."""
    return any(issubclass(type(member), NotApprovedError) for member in islice(_chain(error), _MAX_CHAIN))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its causes and contexts, and the members of groups among them, each once."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        member = pending.pop()
        if member is None or id(member) in seen:
            continue
        seen.add(id(member))
        yield member
        pending += [_CONTEXT(member), _CAUSE(member)]
        if issubclass(type(member), BaseExceptionGroup):
            pending += _MEMBERS(member)
