"""Names as labels of metrics: a bounded number of them, for each is a time series that is kept for good."""

from __future__ import annotations

import threading
from typing import Final

__all__ = ["OTHER", "BoundedLabels"]

OTHER: Final = "other"
"""The label of all names without one of their own."""

# The share of the labels for the first names that come; the rest is for names that are used often later.
_FIRST: Final = 0.75
_OFTEN: Final = 8
_MAX_CANDIDATES: Final = 1_000


class BoundedLabels:
    """Gives names labels of their own, up to a number.

    The first names get three quarters of them. A later one is counted, and gets one of the rest once it has been used
    eight times, and more often than some name with a label. A label is never taken back, since its series stays.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._candidates: dict[str, int] = {}
        self._lock = threading.Lock()

    def label(self, name: str, most: int) -> str:
        """Return the label of a name, where `most` names may have labels of their own."""
        counts = self._counts
        if name in counts:
            counts[name] += 1  # of two threads at once, one may be lost: a few more or less do not matter
            return name
        if len(counts) >= most:
            return OTHER
        with self._lock:
            if len(counts) < most * _FIRST or self._is_frequent(name, most):
                counts[name] = self._candidates.pop(name, 0) + 1
                return name
        return OTHER

    def _is_frequent(self, name: str, most: int) -> bool:
        candidates = self._candidates
        count = candidates[name] = candidates.get(name, 0) + 1
        if len(candidates) > _MAX_CANDIDATES:
            # Those that were used once in a thousand calls make room.
            halved = {other: uses // 2 for other, uses in candidates.items()}
            self._candidates = {other: uses for other, uses in halved.items() if uses}
        return count >= _OFTEN and count > min(self._counts.values()) and len(self._counts) < most
