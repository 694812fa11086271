"""The `repr` of values whose own `repr` may raise."""

from collections.abc import Mapping
from typing import cast

__all__ = ["robust_repr"]

_MAX_REPR_DEPTH = 20
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
