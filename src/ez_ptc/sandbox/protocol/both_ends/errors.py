"""The exceptions programs see."""

from __future__ import annotations

import builtins
import functools
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NotApprovedError", "ToolError", "error_class", "is_denial"]

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


@functools.cache
def error_class(name: str, base: str) -> type[ToolError]:
    """Return the class of a tool's exception: its name, and the built-in class it is derived from."""
    cls: Any = getattr(builtins, base, None)
    if not (isinstance(cls, type) and issubclass(cls, Exception)) or cls is Exception:
        if name == "ToolError":
            return ToolError
        return type(name, (ToolError,), {"__module__": "builtins"})
    base_class: Any = cls
    members: dict[str, object] = {"__module__": "builtins"}
    # These need more than a message, which is all that crosses.
    if issubclass(cls, UnicodeError):
        members["__init__"] = ToolError.__init__
    elif issubclass(cls, ExceptionGroup):
        members["__new__"] = _make_group
    try:
        return type(name, (ToolError, base_class), members)
    except TypeError:
        # A built-in exception with another instance layout; none with a plain message exists today.
        return ToolError


def _make_group(cls: type[ExceptionGroup[Exception]], message: str) -> ExceptionGroup[Exception]:
    return ExceptionGroup.__new__(cls, message, [ToolError(message)])


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
