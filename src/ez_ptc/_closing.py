"""Objects that are closed at the end of a `with` block."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Generic, TypeVar

from ez_ptc._sync import to_thread

if TYPE_CHECKING:
    from typing import Self

__all__ = ["AsyncClosable", "Closable", "OpenObjects"]

T = TypeVar("T")


class Closable:
    """An object with a method `close`, as a context manager."""

    __slots__ = ()

    def close(self) -> None:
        """Close it."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClosable(Closable):
    """The same for `async with` as well: another thread closes it, which may take a while."""

    __slots__ = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await to_thread(self.close)


class OpenObjects(Generic[T]):
    """Objects to be closed later, unless they are dropped before. Any thread may add one at any time."""

    def __init__(self) -> None:
        # Not a WeakSet: reading one fails while another thread adds to it.
        self._entries: weakref.WeakKeyDictionary[T, None] = weakref.WeakKeyDictionary()

    def add(self, thing: T) -> None:
        """Add an object, without keeping it alive."""
        self._entries[thing] = None

    def read(self) -> list[T]:
        """Return the objects that were not dropped."""
        return [thing for reference in self._entries.keyrefs() if (thing := reference()) is not None]
