"""The substitute for a named tuple whose class is unavailable: a tuple with named items."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self, cast

from ..both_ends.quoting import name_list, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Row", "names_of"]

# Valid names of items that no attribute of every object has.
_NAME: Final = re.compile(r"(?!_)\w+|_\d+")


class Row(tuple[object, ...]):  # noqa: SLOT001 - its names are attributes, each instance has its own
    """A tuple with ``r[0]``, ``r.x`` and ``r["x"]``, equal to any tuple with the same items."""

    _name: str
    _fields: tuple[str, ...]

    def __new__(cls, name: str, fields: Iterable[str], items: Iterable[object]) -> Self:
        """Take the class name, and a name for each item. Raises ValueError otherwise."""
        row = super().__new__(cls, items)
        names = tuple(fields)
        if len(names) != len(row) or not all(map(_is_name, (name, *names))):
            message = "the names of a named tuple are not those of its items"
            raise ValueError(message)
        vars(row).update(zip(names, row, strict=True), _name=name, _fields=names)
        return row

    def __getitem__(self, key: object) -> Any:  # noqa: ANN401 - of any item, by its name too
        if isinstance(key, str) and key in self._fields:
            return vars(self)[key]
        return tuple[object, ...].__getitem__(self, cast("int", key))

    def __getattr__(self, name: str) -> NoReturn:
        fields: tuple[str, ...] = vars(self).get("_fields", ())
        message = f"this named tuple has no {quoted(name)}; it has: {name_list(fields) or 'nothing'}"
        raise AttributeError(message, name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> None:
        message = "a named tuple cannot be changed: make another one with _replace()"
        raise AttributeError(message)

    def __getnewargs__(self) -> tuple[object, ...]:
        return self._name, self._fields, tuple(self)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True))
        return f"{self._name}({inside})"

    def _asdict(self) -> dict[str, object]:
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **changes: object) -> Row:
        if unknown := changes.keys() - set(self._fields):
            message = f"this named tuple has no {name_list(unknown)}; it has: {name_list(self._fields)}"
            raise ValueError(message)
        return Row(self._name, self._fields, (self._asdict() | changes).values())


def _is_name(name: object) -> bool:
    return type(name) is str and name.isidentifier() and _NAME.fullmatch(name) is not None


def names_of(value: object) -> tuple[str, tuple[str, ...]] | None:
    """Return the class name and item names of a named tuple, or None for any other value."""
    cls = type(value)
    if cls is Row:
        fields = vars(value)
        return fields["_name"], fields["_fields"]
    if tuple not in cls.__mro__:
        return None
    # Struct sequences written in C, such as time.struct_time, have no _fields.
    if hasattr(cls, "n_sequence_fields"):
        wanted = ("_fields", "__match_args__")
    else:
        wanted = ("_fields",)
    for base in cls.__mro__:
        for attribute in wanted:
            names = cast("tuple[str, ...]", vars(base).get(attribute))
            if type(names) is tuple and len(names) == tuple[object, ...].__len__(cast("tuple[object, ...]", value)):
                if all(map(_is_name, (cls.__name__, *names))):
                    return (cls.__name__, names)
                return None
    return None
