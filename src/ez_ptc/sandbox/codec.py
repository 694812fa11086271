"""The host's end of the codec: what :mod:`ez_ptc.sandbox.worker.values` reads and writes, in a fifth of the time.

pydantic's JSON is fast and takes a little less: halves of surrogate pairs, deep nesting and the marks of values that
JSON does not have are left to the codec that both ends share. Where both read a text, they read the same.
"""

from __future__ import annotations

from pydantic_core import from_json, to_json

from ez_ptc.sandbox.worker import values

__all__ = ["dumps", "loads"]


def loads(data: bytes) -> object:
    """Return what `values.loads` returns for `data`, and raise what it raises."""
    if b'"$"' not in data:
        try:
            return from_json(data, cache_strings="keys")
        except ValueError:
            # Not necessarily wrong: the other one decides.
            pass
    return values.loads(data)


def dumps(tree: object) -> bytes:
    """Return an encoded tree as JSON that `values.loads` reads as the same."""
    try:
        return to_json(tree, inf_nan_mode="constants")
    except ValueError:
        return values.dumps(tree)
