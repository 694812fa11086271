"""Objects that are closed at the end of a `with` block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc._sync import to_thread

if TYPE_CHECKING:
    from typing import Self

__all__ = ["AsyncClosable", "Closable"]


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
