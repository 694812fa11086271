"""The tools of the tasks: two made-up houses, eight tools each. Standard library only, for every environment."""

import importlib
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from types import FunctionType
from typing import Any, Final, Protocol, cast

__all__ = ["READERS", "WORLDS", "World", "many", "world"]

WORLDS: Final = ("freight", "school")
READERS: Final = frozenset(
    {"get_absences", "get_customer", "get_grades", "get_rate", "list_courses", "list_parcels", "list_rooms"}
    | {"list_students", "list_vans", "track_parcel"}
)
"""The tools that change nothing, for a subject that can be told so."""


class World(Protocol):
    """A module here."""

    @property
    def TOOLS(self) -> Sequence[Callable[..., object]]:  # noqa: N802 - a constant of the module
        """The functions that programs may call."""
        ...

    @property
    def effects(self) -> list[list[object]]:
        """What the tools have changed since this was last cleared, a list `[tool, argument, …]` each."""
        ...


def world(name: str) -> World:
    """Return the world called `name`."""
    return cast("World", cast("object", importlib.import_module(f"{__name__}.{name}")))


def many(count: int) -> list[Callable[..., object]]:
    """Return that many functions: those of the worlds, and copies of them under other names."""
    originals = [each for name in WORLDS for each in world(name).TOOLS]
    return [
        original if number < len(originals) else _copy(original, f"{original.__name__}_{number // len(originals)}")
        for number, original in enumerate(islice(cycle(originals), count))
    ]


def _copy(function: Callable[..., object], name: str) -> Callable[..., object]:
    original: Any = function
    copied = FunctionType(original.__code__, original.__globals__, name, original.__defaults__)
    copied.__qualname__, copied.__doc__ = name, original.__doc__
    copied.__annotations__, copied.__module__ = original.__annotations__, original.__module__
    return copied
