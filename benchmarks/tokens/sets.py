"""The tools of a measurement: those that a task needs, and others up to a number; for environments without ours."""

from collections.abc import Callable, Sequence

from benchmarks.model.worlds import FOREIGN, many, world

__all__ = ["SHARED", "Functions", "functions_for"]

SHARED = 300
"""From so many on, all tasks have the same tools: those of every world, and copies of made-up ones."""

Functions = list[Callable[..., object]]


def functions_for(count: int, place: str, needed: Sequence[str]) -> Functions:
    """Return that many functions: those needed of a world, its others, and those of other worlds, each name once."""
    own = list(world(place).TOOLS)
    wanted = [function for function in own if function.__name__ in needed]
    others = [function for name in FOREIGN if name != place for function in world(name).TOOLS]
    by_name: dict[str, Callable[..., object]] = {}
    for function in (*wanted, *own, *others, *many(count)):
        by_name.setdefault(function.__name__, function)
    return list(by_name.values())[:count]
