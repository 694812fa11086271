"""The shape of a result as text: the keys of its records and the types of their values, without any value."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final, cast

from ez_ptc.results.json_writer import base_of
from ez_ptc.schema.safe_repr import safe_repr

__all__ = ["shape_text"]

_MAX_KEYS: Final = 8
_MAX_DEPTH: Final = 3
_MAX_LENGTH: Final = 300
_MAX_NAME: Final = 40
_CONTAINERS: Final[dict[Any, str]] = {dict: "dict", list: "list"}
_NAMES: Final[dict[type, str]] = {str: "str", int: "int", float: "float", bool: "bool", type(None): "None"}


def shape_text(value: object) -> str | None:
    """Return the shape of a dict or list, such as "{history: list[int]}"; None for another value, or a large shape.

    No code of a value's class is run.
    """
    base = base_of(value)
    if base not in _CONTAINERS or not base.__len__(value):
        return None
    text = _shape(value, _MAX_DEPTH)
    return text if len(text) <= _MAX_LENGTH else None


def _shape(value: object, depth: int) -> str:
    base = base_of(value)
    if base not in _CONTAINERS:
        return _NAMES.get(type(value), "Any")
    count: int = base.__len__(value)
    if not depth or not count:
        return _CONTAINERS[base]
    if isinstance(value, list):
        return f"list[{_shape(next(list[object].__iter__(cast('list[object]', value))), depth - 1)}]"
    members = dict[object, object].items(cast("dict[object, object]", value))
    parts = [f"{_key(key)}: {_shape(member, depth - 1)}" for key, member in islice(members, _MAX_KEYS)]
    if count > _MAX_KEYS:
        parts.append("…")
    return f"{{{', '.join(parts)}}}"


def _key(key: object) -> str:
    if type(key) is str and key.isidentifier() and len(key) <= _MAX_NAME:
        return key
    return safe_repr(key)
