"""The names of a program with their types, and what it puts into its lists, dicts and records.

A name has the type of the value that was bound last, on each way through the program. A container has the types of all
that is put into it anywhere, under whichever name, since it is known by the place where it was made (its *site*). What
cannot be followed makes a container *open*: nothing is said of its items and keys. A key that is set on one record may
be in any, with any value.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ...protocol.both_ends.types import NOTHING, UNKNOWN, Type, join, members

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["Containers", "Frame"]

_NEVER = sys.maxsize


class Frame:
    """The names of the module, a function or a comprehension while it runs.

    `bound` are those it binds anywhere, `names` their types now, and `history` all types they have had, for functions
    that use them at any time.
    """

    __slots__ = ("bound", "history", "names", "outer", "owner", "results")

    def __init__(self, bound: Iterable[str], outer: Frame | None = None, *, owner: object = None) -> None:
        self.bound = set(bound)
        self.outer = outer
        self.owner = owner  # the function that is called; None for the module, and the outer one's in a comprehension
        self.names: dict[str, Type] = {}
        self.history: dict[str, Type] = {}
        self.results: list[Type] = []

    def around(self) -> Iterator[Frame]:
        """Yield this frame and those around it."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.outer

    def binding(self, name: str) -> Frame | None:
        """Return the innermost of these that binds a name anywhere."""
        frame: Frame | None = self
        while frame is not None and name not in frame.bound:
            frame = frame.outer
        return frame


class Containers:
    """What a program puts into its containers, by site.

    Whatever is put into one after it was read makes the reading *stale*: the loop in which it was read is followed once
    more then, with all that is known by now, and outside of loops, the program.
    """

    def __init__(self, keys_set: Collection[str]) -> None:
        """Take the keys that the program sets anywhere: any record may have them, of any type."""
        self._keys_set = dict.fromkeys(keys_set, UNKNOWN)
        self._items: dict[object, Type] = {}
        self._open: set[object] = set()
        self._is_unknown_changed = False
        self._read: list[set[object]] = []  # outside of loops, in the outermost loop, and so on
        self._stale_depth = _NEVER  # the outermost of these where a reading is stale

    def start(self) -> None:
        """Follow the program from its beginning, knowing what it puts where."""
        self._read = [set()]
        self._stale_depth = _NEVER

    def enter_loop(self) -> None:
        """Keep the readings in a loop apart from those before it."""
        self._read.append(set())

    def repeat_loop(self) -> None:
        """Follow the innermost loop again, knowing what it puts where."""
        self._stale_depth = _NEVER

    def leave_loop(self) -> None:
        """Take the readings in the innermost loop for readings around it."""
        read = self._read.pop()
        self._read[-1] |= read
        if self._stale_depth == len(self._read):
            self._stale_depth -= 1

    @property
    def is_stale(self) -> bool:
        """Whether a reading in the innermost loop, and none around it, is stale; outside of loops, whether any is."""
        return self._stale_depth == len(self._read) - 1

    def expire(self) -> None:
        """Have the program followed once more."""
        self._stale_depth = 0

    def is_open(self, container: Type) -> bool:
        """Return whether a container may hold more than is known."""
        self._read[-1].add(container.site)
        return self._is_unknown_changed or container.site in self._open

    def item_of(self, container: Type) -> Type:
        """Return the type of a list's items or a dict's values."""
        if self.is_open(container) or container.item is None:
            return UNKNOWN
        added = self._items.get(container.site)
        if added is None:
            return container.item
        return join((container.item, added))

    def keys_of(self, record: Type) -> dict[str, Type]:
        """Return the keys that a record may have, with the types of their values."""
        keys = {**record.keys, **self._keys_set}
        return dict.fromkeys(keys, UNKNOWN) if self.is_open(record) else keys

    def value_of(self, record: Type, key: str) -> Type | None:
        """Return the type of a key's value; None if the record cannot have the key."""
        if self.is_open(record):
            return UNKNOWN
        return self._keys_set.get(key, record.keys.get(key, UNKNOWN if record.is_open else None))

    def add_item(self, container: Type, item: Type) -> None:
        """Put an item into a list or set, or a value into a dict."""
        before = self._items.get(container.site, NOTHING)
        after = join((before, item))
        if after != before:
            self._items[container.site] = after
            self._expire(container.site)

    def open(self, *containers: Type) -> None:
        """Forget what containers hold, since they are changed in ways that are not followed."""
        for container in (member for value in containers for member in members(value)):
            if not container.kind:
                if not self._is_unknown_changed:
                    self.expire()
                self._is_unknown_changed = True
            elif container.site is not None and container.site not in self._open:
                self._open.add(container.site)
                self._expire(container.site)

    def _expire(self, site: object) -> None:
        depth = next((depth for depth, read in enumerate(self._read) if site in read), _NEVER)
        self._stale_depth = min(depth, self._stale_depth)
