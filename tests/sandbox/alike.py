"""Equality for values that crossed: of one type, NaN like NaN, and inside everything too."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from datetime import datetime, time
from decimal import Decimal
from typing import cast

from ez_ptc.sandbox.protocol.values.codec import names_of

__all__ = ["alike"]


def alike(one: object, other: object) -> bool:
    """Return whether the two cannot be told apart, but for the class of a named tuple."""
    names = names_of(one)
    if type(one) is not type(other) if names is None else names != names_of(other):
        return False
    if isinstance(one, float | Decimal | complex | datetime | time):
        # Where zones are the same, Python compares neither them nor the fold.
        return repr(one) == repr(other)
    if isinstance(one, dict):
        pairs, others = cast("dict[object, object]", one).items(), cast("dict[object, object]", other).items()
        return _each_alike(pairs, others)
    if isinstance(one, list | tuple | deque):
        is_bounded_alike = not isinstance(one, deque) or one.maxlen == cast("deque[object]", other).maxlen
        return is_bounded_alike and _each_alike(cast("Iterable[object]", one), cast("Iterable[object]", other))
    if isinstance(one, set | frozenset):
        return _each_alike(_sorted(cast("set[object]", one)), _sorted(cast("set[object]", other)))
    return one == other


def _each_alike(ones: Iterable[object], others: Iterable[object]) -> bool:
    first, second = list(ones), list(others)
    return len(first) == len(second) and all(map(alike, first, second))


def _sorted(items: Iterable[object]) -> list[object]:
    return sorted(items, key=_text)


def _text(value: object) -> str:
    """Return the same text for values that are alike, also where `repr` depends on the order inside a set."""
    if isinstance(value, frozenset):
        return f"frozenset {sorted(map(_text, cast('frozenset[object]', value)))}"
    if isinstance(value, tuple):
        return f"tuple {[_text(item) for item in cast('tuple[object, ...]', value)]}"
    if isinstance(value, int) and abs(value) > 1 << 64:
        return f"int {value:x}"
    return "nan" if isinstance(value, float) and math.isnan(value) else f"{type(value)} {value!r}"
