"""Objects of one process, which are closed at the end of a `with` block."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from ez_ptc._sync import to_thread

if TYPE_CHECKING:
    from typing import NoReturn, Self

    from pydantic_core import CoreSchema

__all__ = ["AsyncClosable", "Closable", "OpenObjects", "ProcessBound"]

T = TypeVar("T")


class ProcessBound:
    """An object with threads, locks or files of its process: a copy is the object itself, and pickling is refused."""

    __slots__ = ()

    _elsewhere: ClassVar[str] = "make it in each process, as at the top of a module that they import"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        # As a field of a model. Pydantic would read the fields of a dataclass, whose types it cannot resolve.
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        message = f"cannot pickle {type(self).__name__} objects: they belong to their process; {self._elsewhere}"
        raise TypeError(message)


class Closable(ProcessBound):
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
