"""The shape of a result as text: the keys of its records and the types of their values, without any value."""

from __future__ import annotations

from itertools import islice
from typing import Final, cast

from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["shape_text"]

_MAX_KEYS: Final = 8
_MAX_DEPTH: Final = 3
_MAX_LENGTH: Final = 300
_MAX_NAME: Final = 40
_NAMES: Final[dict[type, str]] = {str: "str", int: "int", float: "float", bool: "bool", type(None): "None"}


def shape_text(value: object) -> str | None:
    """Return the shape of a dict or list, such as "{history: list[int]}"; None for another value, or a large shape."""
    if not isinstance(value, (dict, list)) or not value:
        return None
    text = _shape(cast("object", value), _MAX_DEPTH)
    return text if len(text) <= _MAX_LENGTH else None


def _shape(value: object, depth: int) -> str:
    if isinstance(value, dict) and depth:
        members = cast("dict[object, object]", value).items()
        parts = [f"{_key(key)}: {_shape(member, depth - 1)}" for key, member in islice(members, _MAX_KEYS)]
        if len(members) > _MAX_KEYS:
            parts.append("…")
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list) and value and depth:
        return f"list[{_shape(cast('list[object]', value)[0], depth - 1)}]"
    if isinstance(value, (dict, list)):
        return "dict" if isinstance(value, dict) else "list"
    return _NAMES.get(cast("type", type(value)), "Any")


def _key(key: object) -> str:
    if isinstance(key, str) and key.isidentifier() and len(key) <= _MAX_NAME:
        return key
    return safe_repr(key)
