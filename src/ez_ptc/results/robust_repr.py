"""The `repr` of values and the messages of exceptions, which are foreign code and may raise."""

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["message_of", "robust_repr"]

_MAX_REPR_DEPTH = 20
# The members of a group of exceptions whose messages are part of its own.
_MAX_MEMBERS = 5
_BRACKETS: Mapping[type, str] = {list: "[{}]", tuple: "({})", set: "{{{}}}", frozenset: "frozenset({{{}}})"}


def robust_repr(value: object) -> str:
    """Return the `repr` of a value, even if the `repr` of something in it raises.

    The smallest such part is replaced by a description. Python itself raises ValueError for integers of more than
    4,300 digits.
    """
    return _repr(value, _MAX_REPR_DEPTH)


def _repr(value: object, depth: int) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - foreign code: a `__repr__` may raise anything
        if depth == 0:
            return "…"
    if type(value) is int:
        return f"<an integer of {value.bit_length()} bits>"
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        texts = [f"{_repr(key, depth - 1)}: {_repr(item, depth - 1)}" for key, item in pairs]
        return f"{{{', '.join(texts)}}}"
    brackets = _BRACKETS.get(type(value))
    if brackets is None:
        return f"<{type(value).__name__}>"
    items = cast("list[object]", value)
    comma = "," if type(value) is tuple and len(items) == 1 else ""
    return brackets.format(", ".join(_repr(item, depth - 1) for item in items) + comma)


def message_of(error: BaseException) -> str:
    """Return an exception's own message, with those of a group's members; its class if it cannot be read."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an exception's own text is foreign code too
        return type(error).__name__
    if issubclass(type(error), BaseExceptionGroup):
        pending, texts = _members(error), list[str]()
        while pending and len(texts) < _MAX_MEMBERS:
            member = pending.pop()
            if issubclass(type(member), BaseExceptionGroup):
                pending += _members(member)
            else:
                texts.append(f"{type(member).__name__}: {message_of(member)}")
        more = "; …" if pending else ""
        message = f"{message}: {'; '.join(texts)}{more}"
    return message


def _members(group: BaseException) -> list[BaseException]:
    return [*cast("Any", group).exceptions[::-1]]
