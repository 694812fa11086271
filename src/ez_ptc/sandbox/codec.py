"""The host's end of the codec: what :mod:`ez_ptc.sandbox.worker.values.codec` reads and writes, in a fifth of the time.

pydantic's JSON is fast and takes a little less: halves of surrogate pairs, deep nesting and the marks of values that
JSON does not have are left to the codec that both ends share. Where both read a text, they read the same.
"""

from __future__ import annotations

from pydantic_core import from_json, to_json

from ez_ptc.sandbox.worker.values import codec as values
from ez_ptc.schema.arguments.nesting import nested_deeper

__all__ = ["dumps", "loads"]

_MOST_BRACKETS = 4 * (values.MAX_DEPTH + 8)
"""Brackets around a value: no level of one takes more, marks and all, and the frame around it has a few."""


def loads(data: bytes, elements: int = values.MAX_NODES) -> object:
    """Return what `values.loads` returns, and raise what it raises; for deep nesting, before it begins."""
    if b'"$"' not in data:
        try:
            return from_json(data, cache_strings="keys")
        except ValueError:
            # Not necessarily wrong: the other one decides.
            pass
    if nested_deeper(data, _MOST_BRACKETS):
        message = "nested too deeply"
        raise RecursionError(message)
    return values.loads(data, elements)


def dumps(tree: object) -> bytes:
    """Return an encoded tree as JSON that `values.loads` reads as the same."""
    try:
        return to_json(tree, inf_nan_mode="constants")
    except ValueError:
        return values.dumps(tree)
