"""Values for a person's decision: within some columns of one line, with the omitted parts counted.

A text is cut at its end. A list and an object share their columns among their items, so no item hides another: each
gets the columns it needs, or an equal part of the rest, and items without room are counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.approvals.visible_text import Piece, columns_of, joined, pieces_of

__all__ = ["MIN_COLUMNS", "measure", "share_columns", "visible_value"]

MIN_COLUMNS: Final = 24
"""The fewest columns of a value: enough for its number of characters or items."""

_MAX_DEPTH: Final = 8
# Nested deeper, a value is unreadable, and Python ends the recursion.
_MAX_FULL_DEPTH: Final = 100
# An item with greater need gets a part of the rest.
_MAX_MEASURED: Final = 400
_MAX_KEY: Final = 40
_MAX_BITS: Final = 512
_SHORT: Final = 48
_QUOTES: Final = 4


def visible_value(value: object, columns: int | None = None) -> str:
    """Return a JSON value on one line, in at most `columns`, but never fewer than 24; None cuts nothing."""
    if columns is None:
        return "".join(_in_full(value))
    return _visible(value, max(columns, MIN_COLUMNS), _MAX_DEPTH)


def measure(value: object, most: int) -> int:
    """Return the columns of a value without cuts, or some number above `most`."""
    total = 0
    for text in _in_full(value):
        total += columns_of(text)
        if total > most:
            break
    return total


def share_columns(needs: list[int], columns: int) -> list[int]:
    """Return the number of columns for each need: all of it, or an equal part of the rest."""
    shares = list(needs)
    left, waiting = columns, sorted(range(len(needs)), key=needs.__getitem__)
    for position, index in enumerate(waiting):
        shares[index] = min(needs[index], left // (len(waiting) - position))
        left -= shares[index]
    return shares


def _in_full(value: object, depth: int = _MAX_FULL_DEPTH) -> Iterator[str]:
    """Yield the parts of a value's text, lazily."""
    if isinstance(value, str):
        yield from joined(pieces_of(value))
    elif isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        yield from _items_in_full(fields.items(), len(fields), "{}", depth)
    elif isinstance(value, list | tuple | set | frozenset):
        items = cast("list[object]", value)
        yield from _items_in_full(((None, item) for item in items), len(items), "[]", depth)
    else:
        yield _scalar(value)


def _items_in_full(items: Iterable[tuple[object, object]], count: int, brackets: str, depth: int) -> Iterator[str]:
    yield brackets[0]
    if not depth:
        yield f"… {count:,} more"
        items = ()
    for number, (key, item) in enumerate(items):
        if number:
            yield ", "
        if brackets == "{}":
            yield from joined(pieces_of(str(key)))
            yield ": "
        yield from _in_full(item, depth - 1)
    yield brackets[1]


def _scalar(value: object) -> str:
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is int:
        return str(value) if value.bit_length() <= _MAX_BITS else f"<an integer of {value.bit_length():,} bits>"
    if type(value) is float:
        return repr(value)
    return "".join(joined(pieces_of(safe_repr(value))))


def _visible(value: object, columns: int, depth: int) -> str:
    if measure(value, columns) <= columns:
        return "".join(_in_full(value))
    if isinstance(value, str):
        return _cut_text(value, columns)
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        return _cut_items(fields.items(), len(fields), "{}", columns=columns, depth=depth)
    if isinstance(value, list | tuple | set | frozenset):
        items = cast("list[object]", value)
        return _cut_items(((None, item) for item in items), len(items), "[]", columns=columns, depth=depth)
    return _cut_text(_scalar(value), columns)


def _cut_text(text: str, columns: int) -> str:
    """Return the beginning of a text, and the number of its other characters."""
    unit = " more characters" if columns >= _SHORT else " more"
    left = columns - len(f"({len(text):,}{unit})") - _QUOTES
    pieces, shown = list[Piece](), 0
    for piece in pieces_of(text):
        room = left - _QUOTES * piece.is_mark
        if columns_of(piece.shown) > room:
            if piece.length == len(piece.shown) > 1 and room > 0:
                pieces.append(Piece(piece.shown[:room], room))
                shown += room
            break
        pieces.append(piece)
        shown += piece.length
        left = room - columns_of(piece.shown)
    mark = Piece(f"({len(text) - shown:,}{unit})", 0, is_mark=True)
    return "".join(joined([*pieces, mark]))


def _cut_items(items: Iterable[tuple[object, object]], count: int, brackets: str, *, columns: int, depth: int) -> str:
    """Return the items with room, each in a part of the columns, and the number of the others."""
    left = columns - len(f"[… {count:,} more]") - 1
    names, values, needs, reserved = list[str](), list[object](), list[int](), 0
    for key, item in items if depth else ():
        name = f"{_visible(str(key), _MAX_KEY, 0)}: " if brackets == "{}" else ""
        need = measure(item, min(_MAX_MEASURED, columns))
        taken = columns_of(name) + len(", ")
        if reserved + taken + min(need, MIN_COLUMNS) > left:
            break
        left -= taken
        reserved += min(need, MIN_COLUMNS)
        names.append(name)
        values.append(item)
        needs.append(need)
    shares = share_columns(needs, left)
    texts = [name + _visible(value, share, depth - 1) for name, value, share in zip(names, values, shares, strict=True)]
    if len(texts) < count:
        texts.append(f"… {count - len(texts):,} more")
    return f"{brackets[0]}{', '.join(texts)}{brackets[1]}"
