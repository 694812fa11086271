"""The options of a tool: as keyword arguments, and checked."""

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from enum import Enum, auto
from types import NoneType
from typing import Any, Final, TypedDict

from ez_ptc._wrong_calls import other_parameters
from ez_ptc.errors import SchemaError
from ez_ptc.messages import PendingCall
from ez_ptc.schema.annotations.docstrings import docstring_of
from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type

__all__ = ["Entry", "FunctionOptions", "HandmadeOptions", "Options", "is_any"]

# The platforms' clocks can wait this long: some thirty years.
_MAX_TIMEOUT_SECONDS: Final = 1e9
_MAX_THREAD_NAME: Final = 100
_PLAIN_OPTIONS: Final[Sequence[tuple[str, tuple[type[object], ...], str]]] = (
    ("idempotent", (bool,), "True or False"),
    ("category", (str, NoneType), "a str, such as 'orders', or None"),
    ("return_schema", (Mapping, NoneType), "a JSON Schema as a dict, or None"),
)


class Entry(Enum):
    """What a tool was made with: its description, `schema` and treatment of unknown types depend on it."""

    EZ_TOOL = auto()
    TOOL = auto()
    FROM_FUNCTION = auto()
    CONSTRUCTOR = auto()

    def description(self, function: Callable[..., object], composed: str | None, text: str) -> str:
        """Return a tool's description.

        Args:
            function: Its function.
            composed: The docstring without hidden parameters, if it has some.
            text: The docstring's prose.
        """
        if self is Entry.EZ_TOOL:
            return text.partition("\n\n")[0]
        docstring = composed
        if docstring is None and inspect.isroutine(function):
            docstring = inspect.getdoc(function)
            if self is Entry.FROM_FUNCTION:
                docstring = function.__doc__ or docstring
        docstring = docstring or docstring_of(function)
        if not docstring.strip():
            return text
        return docstring


class HandmadeOptions(TypedDict, total=False):
    """The options of a tool with handwritten parameters. `ez_tool` documents them."""

    return_schema: dict[str, Any] | None
    category: str | None
    requires_approval: bool | Callable[[PendingCall], bool]
    idempotent: bool
    read_only: bool | None
    strict: bool | None
    timeout: float | None
    thread: str | None


class FunctionOptions(HandmadeOptions, total=False):
    """The options of a tool made from a function's signature."""

    name: str | None
    description: str | None


@dataclass(frozen=True, slots=True)
class Options:
    """The developer's options for a tool; None leaves the answer to the function."""

    name: str | None = None
    description: str | None = None
    return_schema: dict[str, Any] | None = None
    category: str | None = None
    requires_approval: bool | Callable[[PendingCall], bool] = False
    idempotent: bool = False
    read_only: bool | None = None
    strict: bool | None = None
    timeout: float | None = None
    thread: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Options":
        """Return options given by name. Raises TypeError for an unknown one, with the nearest known name."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                (near,) = difflib.get_close_matches(name, known, n=1, cutoff=0)
                message = f"unknown option {safe_repr(name)}; did you mean {near!r}? Expected one of {', '.join(known)}"
                raise TypeError(message)
        return cls(**options)

    def checked(self, tool: str) -> "Options":
        """Return these options with the timeout as a float. Raises SchemaError for a value of another type."""
        _check_approval(tool, self.requires_approval)
        _check_true_false_or_none(tool, "read_only", self.read_only)
        _check_true_false_or_none(tool, "strict", self.strict)
        _check_thread(tool, self.thread)
        for name, cls, expected in _PLAIN_OPTIONS:
            value: object = getattr(self, name)
            if not isinstance(value, cls):
                message = f"{tool}: expected {name} to be {expected}, got {safe_repr_with_type(value)}"
                raise SchemaError(message)
        timeout = _timeout(tool, self.timeout)
        if timeout is self.timeout:
            return self
        return replace(self, timeout=timeout)


def is_any(test: Callable[[object], bool], function: Callable[..., object]) -> bool:
    """Return whether a test is true for a callable or for the `__call__` of its type."""
    return test(function) or test(type(function).__call__)


def _timeout(tool: str, seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= _MAX_TIMEOUT_SECONDS:
        return float(seconds)
    message = f"{tool}: expected a timeout in seconds, positive, or None for no limit; got {safe_repr(seconds)}"
    if isinstance(seconds, timedelta):
        message += ": write .total_seconds()"
    raise SchemaError(message)


def _check_thread(tool: str, thread: object) -> None:
    if thread is not None and not (isinstance(thread, str) and 0 < len(thread) <= _MAX_THREAD_NAME):
        message = f"{tool}: expected the name of a thread, such as thread='db', or None; got {safe_repr(thread)}"
        raise SchemaError(message)


def _check_approval(tool: str, option: object) -> None:
    if isinstance(option, bool):
        return
    if not callable(option) or is_any(inspect.iscoroutinefunction, option):
        message = (
            f"{tool}: expected requires_approval to be True, False or a plain function of the call, got "
            f"{safe_repr(option)}: write requires_approval=lambda call: call.arguments['amount'] > 100"
        )
        raise SchemaError(message)
    other = other_parameters(option, 1)
    if other is not None:
        message = (
            f"{tool}: expected requires_approval to be a function of one argument, the call, got {other}: write "
            f"requires_approval=lambda call: call.arguments['amount'] > 100"
        )
        raise SchemaError(message)


def _check_true_false_or_none(tool: str, option: str, value: object) -> None:
    if value is not None and not isinstance(value, bool):
        message = f"{tool}: expected {option} to be True, False or None, got {safe_repr(value)}"
        raise SchemaError(message)
