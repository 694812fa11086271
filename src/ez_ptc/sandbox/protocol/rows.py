"""Large tables on their way to a program: flat rows in `marshal`, which C code writes and reads.

Only the host writes it, and only workers, which trust the host, read it: reading hostile bytes would be unsafe. Only
rows that JSON would carry unchanged are written, so a program cannot tell the difference.
"""

from __future__ import annotations

import marshal
from itertools import chain
from typing import TYPE_CHECKING, cast

from ez_ptc.sandbox.protocol.values import codec as values

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["encode_rows"]

# Shorter lists are encoded as quickly as JSON.
_MIN_ROWS = 32
# The version that all supported releases of CPython can read; it writes equal text once.
_VERSION = 4
_PLAIN = frozenset({str, int, float, bool, type(None)})
# The maximum length in JSON of a character, and of a number with its key's quotes and the separators.
_JSON_BYTES_OF_A_CHARACTER = 6
_JSON_BYTES_OF_A_CELL = 32


def encode_rows(value: object, max_bytes: int, max_elements: int) -> tuple[bytes, list[dict[str, object]]] | None:
    """Return a list of dicts of equal length as `marshal`, and a copy of it; None for any other value.

    It is None too if the list could exceed a limit, which is defined for JSON, or if its keys and values are not plain
    text, numbers and None of exactly these types.
    """
    if type(value) is not list or len(cast("list[object]", value)) < _MIN_ROWS:
        return None
    # Copied first, because other threads may go on changing the originals.
    originals = cast("list[dict[str, object]]", value).copy()
    if set(map(type, originals)) != {dict}:
        return None
    rows = list(map(dict[str, object].copy, originals))
    width = len(rows[0])
    keys = set(chain.from_iterable(rows))
    if set(map(len, rows)) != {width} or not set(map(type, keys)) <= {str} or values.MARK in keys:
        return None
    cells = width * len(rows)
    characters = cells * max(map(len, keys), default=0)
    for column in zip(*map(dict[str, object].values, rows), strict=True):
        count = _count_characters(column)
        if count is None:
            return None
        characters += count
    json_bytes = _JSON_BYTES_OF_A_CHARACTER * characters + _JSON_BYTES_OF_A_CELL * (cells + len(rows))
    if json_bytes > max_bytes or cells + 2 * len(rows) >= max_elements:
        return None
    return marshal.dumps(rows, _VERSION), rows


def _count_characters(column: Sequence[object]) -> int | None:
    """Return how many characters of text a column has; None if JSON cannot carry it unchanged."""
    types = set(map(type, column))
    if not types <= _PLAIN or (int in types and values.has_wide_int(column)):
        return None
    if types == {str}:
        return sum(map(len, cast("Sequence[str]", column)))
    return sum([len(text) for text in column if type(text) is str]) if str in types else 0
