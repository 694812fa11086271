"""Values up to 64 KB, made to take long: deep, wide, colliding, nearly right."""

import json
import random
from typing import Any

from tests.schema.arguments.made_types import KEYS

__all__ = ["LIMIT", "made_value"]

LIMIT = 64 * 1024
_PRIME = 2**61 - 1
LEAVES: tuple[Any, ...] = (
    *(1, 0, -1, "a", "", "x", None, True, 1.5, 10**18, "1e9", "2024-01-01", "nan", "aaaaaaaaaaaaaaaaaaaaa!"),
    *("red", "P1D", "1/3", "[1]"),
)
TEXTS: tuple[Any, ...] = (
    *("9" * 60_000, "a" * 60_000 + "!", "1e999999999", "[" * 100 + "]" * 100, "1" * 4_000 + "/" + "3" * 4_000),
    *("http://xn--" + "a" * 50_000 + "9999", "P" + "9" * 60_000 + "D", "0x" + "f" * 60_000, "A" * 64_000, 10**4_000),
    *("(?i)" + "[\0-\uffff]" * 1_000, "[" + ",".join("1" * 10_000) + "]", " " * 60_000 + "x", "1" * 4_299 + "j"),
    *("a@" + "b." * 30_000, "../" * 20_000, "\u0663" * 20_000, "{}" * 30_000, "::" * 30_000, "a?" * 20_000),
)
_FLAT: tuple[list[Any], ...] = (
    [number * _PRIME for number in range(2_800)],
    [str(number * _PRIME) for number in range(2_500)],
    [{} for _ in range(16_000)],
    [[] for _ in range(16_000)],
    ["x"] * 12_000,
    ["[]"] * 10_000,
    [[{}]] * 9_000,
)


def made_value(chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    """Return a value whose JSON text has at most `LIMIT` bytes."""
    value = chance.choice((_flat, _deep, _text, _tree, _record, _pairs))(chance)
    return value if len(json.dumps(value)) <= LIMIT else chance.choice(LEAVES)


def _flat(chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    mixed = [chance.choice(LEAVES) for _ in range(5_000)]
    rows = [{chance.choice(KEYS): chance.choice(LEAVES)} for _ in range(3_000)]
    return chance.choice((*_FLAT, mixed, rows))


def _text(chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    return chance.choice(TEXTS)


def _record(chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    return {chance.choice(KEYS): chance.choice((_flat, _deep, _text))(chance)}


def _pairs(chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    if chance.random() < 0.5:
        return {str(number * _PRIME): 1 for number in range(2_000)}
    return {f"key_{number}": chance.choice(LEAVES) for number in range(3_000)}


def _deep(chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    value = chance.choice(LEAVES)
    for _ in range(chance.choice((5, 10, 20, 45, 90))):
        key, inner = chance.choice(KEYS), value
        value = chance.choice(({key: inner}, [inner], {key: [inner]}, {key: inner, "op": "x"}))
    return value


def _tree(chance: random.Random, left: int = 4_000, depth: int = 12) -> Any:  # noqa: ANN401 - any JSON
    if depth == 0 or left < 2:
        return chance.choice(LEAVES)
    width = chance.choice((2, 3, 8))
    parts = [_tree(chance, left // width, depth - 1) for _ in range(width)]
    return parts if chance.random() < 0.5 else dict(zip(chance.sample(KEYS, width), parts, strict=True))
