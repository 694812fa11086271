"""A tool's dict inside a program: its keys can also be read as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ..both_ends.quoting import name_list, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["METHODS", "Record"]

METHODS = frozenset(name for name in dir(dict) if not name.startswith("_"))
"""The names of a dict's methods, such as `items`: keys of these names are no attributes of a record."""

_MAX_SUGGESTED = 80


class Record(dict[str, object]):
    """A dict with ``r["temp"]`` and ``r.temp``.

    A key named like a dict method, such as ``items``, only as ``r["items"]``.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        if name in self:
            return self[name]
        message = f"this record has no {quoted(name)}; it has: {name_list(self) or 'nothing'}"
        raise AttributeError(message, name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]

    def __missing__(self, key: object) -> NoReturn:
        error = KeyError(key)
        # The error report lists the available keys; CPython's KeyError does not keep the dict.
        error.obj = self  # pyright: ignore[reportAttributeAccessIssue] - exceptions take any attribute
        raise error

    def __dir__(self) -> Iterable[str]:
        # Python suggests these names, so keys that cannot be written as attributes are left out.
        return [*super().__dir__(), *(key for key in self if key.isidentifier() and len(key) <= _MAX_SUGGESTED)]
