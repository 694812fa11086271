"""Sketches of large values: JSON that shows their structure, made within a budget of characters.

A list shows its first and last items, a dict its first and last keys, and a text its beginning and end; a note stands
where something is left out. Short members are shown whole, and the longer ones share the rest of the budget. Each step
costs as much as it may write: the attempt to write a member whole stops at its share, and without room for it no member
is looked at. So the cost does not depend on the size of the value.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.results.json_writer import JsonWriter, base_of, cut_json, type_text
from ez_ptc.results.notes import gap_note, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Member = tuple[str, object]

__all__ = ["size_text", "sketch"]

# The characters of the smallest member that is cut: a key, a note, and a few characters of a text.
_MIN_MEMBER: Final = 200
_MAX_DEPTH: Final = 12
# The members of a list or a dict that are cut.
_MAX_LONG_ITEMS: Final = 4
_MAX_LONG_KEYS: Final = 16
_SEQUENCES: Final[frozenset[Any]] = frozenset({list, tuple})
_UNITS: Final = {dict: "keys", str: "characters", bytes: "bytes", bytearray: "bytes"}


def sketch(value: object, max_length: int, *, plain: Callable[[object], object] = type_text) -> str:
    """Return JSON of at most `max_length` characters that shows the structure of a value: the whole if there is room.

    `plain` returns the substitute of a value of another type than JSON's. Less than 200 characters have only room for a
    note, and less than a note's for `0`.
    """
    return _Sketcher(JsonWriter(plain)).text(value, max_length, 0)


def size_text(value: object) -> str:
    """Return a value's type and size, such as "list of 1,000 items"."""
    base = base_of(value)
    if base is None:
        return type_text(value)
    return f"{base.__name__} of {base.__len__(value):,} {_UNITS.get(base, 'items')}"


class _Sketcher:
    def __init__(self, writer: JsonWriter) -> None:
        self._writer = writer

    def text(self, value: object, room: int, depth: int) -> str:
        """Return the JSON of a value in at most `room` characters."""
        whole = self._writer.whole(value, room)
        if whole is not None:
            return whole
        value = self._writer.simplify(value)
        base = base_of(value)
        if base is str:
            return cut_json(cast("str", value), room)
        if base not in {None, bytes, bytearray} and room >= _MIN_MEMBER and depth < _MAX_DEPTH:
            return self._container(value, room, depth)
        summary = f'"{note(f"{size_text(value)} left out here")}"'
        if len(summary) <= room:
            return summary
        return "0"

    def _container(self, value: Any, room: int, depth: int) -> str:  # noqa: ANN401 - a container of any type
        """Return the members at both ends of a container, with a note between, in at most `room` characters."""
        first: Iterable[Member]
        last: Iterable[Member]
        if isinstance(value, dict):
            brackets, unit, value_of_gap, most = "{}", "keys", ':"…"', _MAX_LONG_KEYS
            pairs = dict[object, object].items(cast("dict[object, object]", value))
            count = len(pairs)
            first, last = (
                ((f"{self._writer.key(key)}:", item) for key, item in ends) for ends in (pairs, reversed(pairs))
            )
        else:
            brackets, unit, value_of_gap, most = "[]", "items", "", _MAX_LONG_ITEMS
            base = base_of(value)
            count = base.__len__(value)
            # Never a reversed iterator, which would be that of a derived class.
            end: list[object] = []
            if base in _SEQUENCES:
                end = [*base.__getitem__(value, slice(-room, None))]
            first, last = ((("", item) for item in items) for items in (base.__iter__(value), reversed(end)))
        room -= len(f'[,,"{gap_note(count, unit)}"{value_of_gap}]')
        head = self._members(first, room if count <= most else room * 2 // 3, most, depth)
        room -= sum(map(len, head)) + len(head)
        tail = self._members(islice(last, count - len(head)), room, most, depth)
        left_out = count - len(head) - len(tail)
        if left_out:
            head.append(f'"{gap_note(left_out, unit)}"{value_of_gap}')
        return f"{brackets[0]}{','.join([*head, *reversed(tail)])}{brackets[1]}"

    def _members(self, members: Iterable[Member], room: int, most: int, depth: int) -> list[str]:
        """Return as many members as there is room for; at most `most` of them are cut, and share what is left of it."""
        share = max(room // most, _MIN_MEMBER)
        texts: list[str] = []
        long: dict[int, object] = {}
        for prefix, value in members:
            whole = self._writer.whole(value, min(share, room) - len(prefix) - 1)
            if whole is not None:
                room -= len(prefix) + len(whole) + 1
            elif room >= share:
                room -= share
                long[len(texts)] = value
            else:
                break
            texts.append(f"{prefix}{whole or ''}")
        for index, value in long.items():
            prefix = texts[index]
            texts[index] += self.text(value, share + room // len(long) - len(prefix) - 1, depth + 1)
        return texts
