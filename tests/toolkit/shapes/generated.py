"""Generated tools' results: a type, sequences of its values, and values that contradict them."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["World", "make_drift", "make_result", "make_world"]

WORDS = ("id", "name", "total", "owner", "status", "items", "note", "city", "phone", "rank", "flags", "width", "price")
SCALARS = ("str", "int", "float", "bool")


@dataclass(frozen=True)
class World:
    """The type of a tool's results: a scalar's name, a list of one type, or a record with optional fields."""

    kind: str
    item: World | None = None
    fields: tuple[tuple[str, bool, World], ...] = ()


def make_world(random_: random.Random, depth: int = 3) -> World:
    """Return a random type with records in it."""
    kinds = [*SCALARS, "list", "record", "record"] if depth else [*SCALARS]
    kind = random_.choice(["list", "record"] if depth == 3 else kinds)
    if kind == "list":
        return World("list", make_world(random_, depth - 1))
    if kind == "record":
        names = random_.sample(WORDS, random_.randint(2, 6))
        # One field of each record tells it from a map, and is always there.
        fields = [("key", False, World("int")), ("label", False, World("str"))]
        fields += [(name, random_.random() < 0.3, make_world(random_, depth - 1)) for name in names]
        return World("record", None, tuple(fields))
    return World(kind)


def make_result(world: World, random_: random.Random) -> object:
    """Return a random value of a type."""
    if world.kind == "list":
        assert world.item is not None
        return [make_result(world.item, random_) for _ in range(random_.randint(0, 3))]
    if world.kind == "record":
        return {
            name: make_result(part, random_)
            for name, is_optional, part in world.fields
            if not is_optional or random_.random() < 0.5
        }
    values = {"str": "text", "int": random_.randint(0, 99), "float": random_.random() + 0.5, "bool": True}
    return values[world.kind]


def make_drift(result: object, random_: random.Random) -> tuple[object, str] | None:
    """Return a copy of a result with one change at a random record, and the changed field; None without a record."""
    changed = deepcopy(result)
    records = list[dict[str, Any]]()
    unread: list[Any] = [changed]
    while unread:
        part = unread.pop()
        if isinstance(part, dict):
            records.append(cast("dict[str, Any]", part))
            unread += cast("dict[str, Any]", part).values()
        elif isinstance(part, list):
            unread += cast("list[Any]", part)
    if not records:
        return None
    record = random_.choice(records)
    change = random_.choice(["missing", "type", "new"])
    if change == "missing":
        del record["label"]
        return changed, "label: missing"
    if change == "type":
        record["key"] = {"value": "another"}
        return changed, "key: expected int, got dict"
    record["other"] = 1
    return changed, "other: new"
