"""Names that are spelt like another."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from ..quoting import MAX_QUOTED

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["close_matches"]

# The names compared with another: each comparison takes 10 to 50 µs.
_MAX_COMPARED = 100


def close_matches(name: str, names: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the names most like one; of many or long names, only some are compared."""
    if len(name) > MAX_QUOTED:
        return []
    begin = name[:1].casefold()
    candidates = [other for other in dict.fromkeys(names) if len(other) <= MAX_QUOTED]
    candidates.sort(key=lambda other: other[:1].casefold() != begin)
    return difflib.get_close_matches(name, candidates[:_MAX_COMPARED], n=count, cutoff=cutoff)
