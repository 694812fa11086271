"""The names of a program with their types, and what it puts into its lists, dicts and records.

A name has the type of the value that was bound last, on each way through the program. A container has the types of all
that is put into it anywhere, under whichever name, since it is known by the place where it was made (its *site*). What
cannot be followed makes a container *open*: nothing is said of its items and keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import NOTHING, UNKNOWN, Type, join, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Containers", "Frame"]


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


class Containers:
    """What a program puts into its containers, by site.

    Whatever is put into one after it was read makes the reading *stale*: the program is followed once more then, with
    all that is known by now.
    """

    def __init__(self) -> None:
        self.is_stale = False
        self._items: dict[object, Type] = {}
        self._keys: dict[object, dict[str, Type]] = {}
        self._changed_keys: set[str] = set()  # of records that are not known
        self._open: set[object] = set()
        self._is_unknown_changed = False  # in keys and items
        self._is_unknown_filled = False  # in items only
        self._read: set[object] = set()

    def start(self) -> None:
        """Follow the program from its beginning, knowing what it puts where."""
        self.is_stale = False
        self._read.clear()

    def is_open(self, container: Type) -> bool:
        """Return whether a container may hold more than is known."""
        self._read.add(container.site)
        has_items = not container.keys and container.kind != "record"
        is_changed = self._is_unknown_changed or (has_items and self._is_unknown_filled)
        return is_changed or container.site in self._open

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
        is_open = self.is_open(record)
        added = self._keys.get(record.site, {})
        keys = {
            key: join(types[key] for types in (record.keys, added) if key in types) for key in {**record.keys, **added}
        }
        if is_open:
            return dict.fromkeys(keys, UNKNOWN)
        return {key: UNKNOWN if key in self._changed_keys else value for key, value in keys.items()}

    def value_of(self, record: Type, key: str) -> Type | None:
        """Return the type of a key's value; None if the record cannot have the key."""
        is_open = self.is_open(record)
        if is_open or key in self._changed_keys:
            return UNKNOWN
        types = [keys[key] for keys in (record.keys, self._keys.get(record.site, {})) if key in keys]
        if not types:
            return None
        return join(types)

    def add_item(self, container: Type, item: Type) -> None:
        """Put an item into a list or set, or a value into a dict."""
        before = self._items.get(container.site, NOTHING)
        after = join((before, item))
        if after != before:
            self._items[container.site] = after
            self._touch(container.site)

    def add_key(self, record: Type, key: str, value: Type) -> None:
        """Set a key; of any record if it is not known which."""
        if not record.kind:
            self.is_stale |= key not in self._changed_keys
            self._changed_keys.add(key)
            return
        added = self._keys.setdefault(record.site, {})
        before = added.get(key, NOTHING)
        after = join((before, value))
        if after != before:
            added[key] = after
            self._touch(record.site)

    def open(self, *containers: Type) -> None:
        """Forget what containers hold, since they are changed in ways that are not followed."""
        for container in (member for value in containers for member in members(value)):
            if not container.kind:
                self.is_stale |= not self._is_unknown_changed
                self._is_unknown_changed = True
            elif container.site is not None and container.site not in self._open:
                self._open.add(container.site)
                self._touch(container.site)

    def fill_unknown(self) -> None:
        """Put an item into a list, set or dict of which it is not known which it is."""
        self.is_stale |= not self._is_unknown_filled
        self._is_unknown_filled = True

    def _touch(self, site: object) -> None:
        self.is_stale |= site in self._read
