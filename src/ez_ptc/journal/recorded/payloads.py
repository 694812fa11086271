"""Reading the payloads of events: arguments, replies and results, of which anything may be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.recorded.event_fields import find_result_problem
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

__all__ = ["read_call", "read_reply", "read_result", "reply_value"]

# What a payload that no library has written may raise.
_UNREADABLE: Final = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)
_ERROR_FIELDS: Final = 3


def read_call(payload: bytes | None, run_id: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call, none without a payload. Raises JournalCorruptError, naming the run."""

    def read() -> tuple[list[Any], dict[str, Any]]:
        arguments = cast("tuple[list[Any], dict[str, Any]]", host_codec.loads_recorded(payload or b"[[],{}]"))
        if [*map(type, arguments)] != [list, dict]:
            raise TypeError
        return arguments

    return _read(read, run_id, "the arguments of a call")


def read_reply(kind: bytes, body: bytes, run_id: str) -> object:
    """Return the value in a reply to a program; None for an error. Raises JournalCorruptError, naming the run."""

    def read() -> object:
        value = reply_value(kind, body)
        if kind != b"e":
            return value
        if set(map(type, cast("list[object]", value)[:_ERROR_FIELDS])) != {str}:
            raise TypeError
        return None

    return _read(read, run_id, "the reply to a call")


def read_result(payload: bytes, run_id: str) -> dict[str, Any]:
    """Return the fields of a result. Raises JournalCorruptError, naming the run."""
    fields = _read(lambda: host_codec.loads_recorded(payload), run_id, "the result")
    problem = find_result_problem(fields)
    if problem is not None:
        message = f"the journal was damaged or changed: the result of run {run_id}: {problem}"
        raise JournalCorruptError(message)
    return cast("dict[str, Any]", fields)


def reply_value(kind: bytes, body: bytes) -> object:
    """Return the value in the body of a reply. Raises what `host_codec.loads_recorded` raises."""
    return body.decode("utf-8", "surrogatepass") if kind == b"s" else host_codec.loads_recorded(body)


def _read(read: Callable[[], R], run_id: str, what: str) -> R:
    try:
        return read()
    except _UNREADABLE as error:
        message = f"the journal was damaged or changed: {what} in run {run_id} cannot be read: {safe_repr(error)}"
        raise JournalCorruptError(message) from error
