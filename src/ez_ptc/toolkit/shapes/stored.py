"""Shapes as JSON, with the names of fields that may be shown only.

The text may come from a hostile file, so everything in it is checked and bounded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.schema.arguments.nesting import is_nested_deeper
from ez_ptc.toolkit.shapes.result_shape import (
    ANY,
    MAX_DEPTH,
    MAX_NAMES,
    MAX_PARTS,
    NOTHING,
    SCALARS,
    ResultShape,
    is_name,
    is_shown,
)
from ez_ptc.toolkit.shapes.witnesses import OF_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_STORED", "dump_shape", "load_shape"]

MAX_STORED: Final = 1 << 16
"""The maximum characters of a stored shape."""
_KINDS: Final = frozenset({*SCALARS.values(), ANY, "dict", "list"})
# Each level of a shape has an object of its own and one for its fields.
_MAX_BRACKETS: Final = 3 * (MAX_DEPTH + 2)


def dump_shape(shape: ResultShape) -> str:
    """Return a shape as JSON of at most `MAX_STORED` characters, without keys that may be values."""
    shape = shape.shown(is_for_file=True)
    for depth in range(MAX_DEPTH, -1, -1):
        text = json.dumps(_dump(shape.cut(depth)), ensure_ascii=False, separators=(",", ":"))
        if len(text) <= MAX_STORED:
            return text
    return "{}"


def _dump(shape: ResultShape) -> dict[str, Any]:
    written: dict[str, Any] = {"kinds": sorted(shape.kinds)}
    if shape.fields is not None:
        written["fields"] = {name: _dump(inner) for name, inner in shape.fields.items()}
        written["optional"] = sorted(shape.optional)
        written["open"] = shape.is_open
    if shape.values is not None:
        written["values"] = _dump(shape.values)
    if shape.items is not None:
        written["items"] = _dump(shape.items)
    return written


def load_shape(text: object) -> ResultShape:
    """Return a stored shape, whose names are shown. Raises ValueError unless it is one."""
    message = "expected a shape as JSON of a moderate length"
    # Each part has an object of its own and perhaps one for its fields.
    if not isinstance(text, str) or len(text) > MAX_STORED or text.count("{") > 2 * MAX_PARTS:
        raise ValueError(message)
    if is_nested_deeper(text.encode(), _MAX_BRACKETS):
        raise ValueError(message)
    return _load(json.loads(text), MAX_DEPTH + 1)


def _load(written: object, depth: int) -> ResultShape:
    message = "expected a shape: an object with kinds, fields, optional, open, values and items"
    if not isinstance(written, dict) or not depth:
        raise ValueError(message)
    parts = cast("Mapping[str, object]", written)
    kinds, names = _texts(parts.get("kinds", [])), _texts(parts.get("optional", []))
    fields, is_open = parts.get("fields"), parts.get("open", False)
    if not kinds <= _KINDS or not isinstance(fields, dict | None) or not isinstance(is_open, bool):
        raise ValueError(message)
    loaded = None
    if fields is not None:
        stored = cast("Mapping[str, object]", fields)
        if len(stored) > MAX_NAMES or not all(is_name(name) and is_shown(name) for name in stored):
            raise ValueError(message)
        loaded = {name: _load(inner, depth - 1) for name, inner in stored.items()}
    if not names <= (loaded or {}).keys():
        raise ValueError(message)
    values, items = (None if key not in parts else _load(parts[key], depth - 1) for key in ("values", "items"))
    witnesses = dict.fromkeys(loaded or (), OF_FILE)
    return ResultShape(kinds, loaded, names, values, items, is_open, witnesses).union(NOTHING)


def _texts(written: object) -> frozenset[str]:
    texts = cast("list[object]", written) if isinstance(written, list) else [None]
    if not all(isinstance(text, str) for text in texts):
        message = "expected a list of texts"
        raise ValueError(message)
    return frozenset(cast("list[str]", texts))
