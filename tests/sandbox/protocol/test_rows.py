"""Large tables reach programs as small ones do."""

from __future__ import annotations

import marshal
import math
from collections import OrderedDict
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.protocol.replies import encode_result
from ez_ptc.sandbox.protocol.rows import encode_rows
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.sandbox.protocol.values.records import Record

SMALL, LARGE = 31, 40
MANY = 1 << 30


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Level(IntEnum):
    LOW = 1


class Colour(Enum):
    RED = "red"


class Row(dict[str, Any]):
    pass


PLAIN: dict[str, object] = {
    "none": None,
    "true": True,
    "zero": 0,
    "widest": (1 << 64) - 1,
    "least": 1 - (1 << 64),
    "minus zero": -0.0,
    "infinite": -math.inf,
    "not a number": math.nan,
    "text": "Zürich\n\0\x1b",
    "half a pair": "a\ud800",
    "empty": "",
}
OTHER: dict[str, object] = {
    "too wide": 1 << 64,
    "wide below": -(1 << 64),
    "too many digits": 1 << 1_000_000,
    "bytes": b"ab",
    "bytearray": bytearray(b"ab"),
    "memoryview": memoryview(b"ab"),
    "code": compile("1", "<here>", "eval"),
    "ellipsis": ...,
    "end": StopIteration,
    "complex": 1j,
    "tuple": (1, 2),
    "set": {1, 2},
    "frozen": frozenset({1}),
    "list": [1],
    "dict": {"a": 1},
    "str of a class": Text("a"),
    "int of a class": Number(1),
    "level": Level.LOW,
    "colour": Colour.RED,
    "day": date(2020, 1, 1),
    "decimal": Decimal("1.5"),
    "object": object(),
}
ROWS: dict[str, dict[object, object]] = {
    "ordered": OrderedDict(a=1),
    "of a class": Row(a=1),  # pyright: ignore[reportAssignmentType] - any dict
    "mark": {"$": ["t", [1]]},
    "number as key": {1: 2},
    "class as key": {Text("a"): 1},
    "method as key": {"items": 1, "a b": 2},
    "nothing": {},
}
LOOK = """
def look(name, size):
    try:
        rows = give(name, size)
    except Exception as error:
        return type(error).__name__, str(error)
    row = rows[0]
    return repr(row), [type(part).__name__ for part in (rows, row, *row, *row.values())], rows[0] is rows[1]
[name for name in names() if look(name, SMALL) != look(name, LARGE)]
"""


def row(name: str) -> dict[object, object]:
    return ROWS[name] if name in ROWS else {"value": (PLAIN | OTHER)[name]}


@ez_tool
def names() -> list[str]:
    """List the names of the kinds."""
    return [*PLAIN, *OTHER, *ROWS]


@ez_tool
def give(name: str, size: int) -> object:
    """Give so many rows of a kind."""
    return [row(name)] * size


def test_every_kind_of_row_arrives_like_few() -> None:
    with Toolkit([names, give]) as toolkit:
        result = toolkit.execute(LOOK.replace("SMALL", str(SMALL)).replace("LARGE", str(LARGE)), 60)
    assert (result.error, result.return_value) == (None, [])


@pytest.mark.parametrize("name", [*PLAIN, "method as key", "nothing"])
def test_plain_rows_are_written_by_marshal(name: str) -> None:
    assert encode_rows([row(name)] * LARGE, MANY, MANY) is not None


@pytest.mark.parametrize("name", [*OTHER, *(ROWS.keys() - {"method as key", "nothing"})])
def test_other_rows_are_left_to_json(name: str) -> None:
    plain: list[dict[Any, Any]] = [{"value": 1}] * LARGE
    assert encode_rows([*plain, row(name)], MANY, MANY) is None
    assert encode_rows([row(name), *plain], MANY, MANY) is None


@pytest.mark.parametrize("value", [None, "text", {}, [], [1] * LARGE, ({"a": 1},) * LARGE, [{"a": 1}] * SMALL])
def test_other_values_are_left_to_json(value: object) -> None:
    assert encode_rows(value, MANY, MANY) is None


CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary()


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=LARGE, max_size=LARGE + 3), st.text())
def test_rows_are_read_as_json_is(cells: list[list[object]], key: str) -> None:
    rows = [{key: first, key + "2": second} for first, second in cells]
    encoded = encode_rows(rows, MANY, MANY)
    if encoded is not None:
        body, copy = encoded
        kind, as_json, _ = encode_result("give", rows, MANY)
        assert kind == b"v"
        assert repr([Record(row) for row in marshal.loads(body)]) == repr(values.reader(Record)(as_json))
        assert repr(copy) == repr(rows)
        assert copy[0] is not rows[0]


@given(st.text(max_size=40), st.one_of(st.text(max_size=40), st.integers(), st.floats()), st.integers(1, 3))
def test_rows_within_limits_fit_as_json(key: str, cell: object, more: int) -> None:
    rows = [{key: cell, **{f"{key}{number}": None for number in range(more)}}] * LARGE
    as_json = encode_result("give", rows, MANY).body
    assert encode_rows(rows, len(as_json) - 1, MANY) is None
    elements = 1 + LARGE * (2 + more + 1)
    with pytest.raises(values.CannotCrossError):
        values.encode(rows, most=elements - 1)
    assert encode_rows(rows, MANY, elements - 1) is None
