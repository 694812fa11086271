"""The tools of the tasks: two made-up houses, standard library only, and those of AgentDojo and of BFCL."""

import importlib
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from types import FunctionType, ModuleType
from typing import Any, Final, Protocol

from benchmarks.model.worlds.agentdojo import TOOL_NAMES, AgentDojo
from benchmarks.model.worlds.leaderboard import CLASSES, Leaderboard

__all__ = ["FOREIGN", "WORLDS", "World", "many", "reads", "world"]

WORLDS: Final = ("freight", "school")
FOREIGN: Final = (*TOOL_NAMES, *CLASSES)
"""Worlds whose packages have to be installed."""
_READERS: Final = frozenset(
    {"list_courses", "list_parcels", "list_rooms"}
    | {"list_students", "list_vans", "track_parcel", "list_users", "read_channel_messages", "read_inbox"}
    | {"displayCarStatus", "check_tire_pressure", "estimate_distance", "find_nearest_tire_shop", "gallon_to_liter"}
    | {"liter_to_gallon", "search_messages", "view_messages_sent"}
)


class World(Protocol):
    """Tools over a state."""

    @property
    def TOOLS(self) -> Sequence[Callable[..., object]]:  # noqa: N802 - a constant of the module
        """The functions that programs may call."""
        ...

    @property
    def effects(self) -> list[list[object]]:
        """What the tools have changed since the beginning, a list each."""
        ...

    def begin(self) -> None:
        """Undo what was changed."""
        ...


class _MadeUp:
    """A module here: its effects are lists `[tool, argument, …]`."""

    def __init__(self, module: ModuleType) -> None:
        self.TOOLS: Sequence[Callable[..., object]] = module.TOOLS
        self.effects: list[list[object]] = module.effects

    def begin(self) -> None:
        self.effects.clear()


def world(name: str) -> World:
    """Return the world called `name`. Raises ImportError where its package is not installed."""
    if name in TOOL_NAMES:
        return AgentDojo(name)
    if name in CLASSES:
        return Leaderboard(name)
    return _MadeUp(importlib.import_module(f"{__name__}.{name}"))


def reads(tool: str) -> bool:
    """Return whether a tool of the worlds changes nothing, for a subject that can be told so."""
    return tool in _READERS or tool.startswith("get_")


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
