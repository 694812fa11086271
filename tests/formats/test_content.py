"""What tools give back, as text and as JSON."""

import collections
import datetime as dt
import enum
import ipaddress
import json
import math
import pathlib
import types
import uuid
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from ez_ptc.formats.content import as_json, as_text, error_text
from ez_ptc.messages import ToolResult


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclass
class Cup:
    size: int
    kind: Colour = Colour.RED
    hot: "Cup | None" = None


class Point(NamedTuple):
    x: int
    y: float = 0.5


class Tea(BaseModel):
    name: str = Field(serialization_alias="called")
    at: dt.date = dt.date(2026, 1, 2)


@attrs.define
class Leaf:
    name: str


class Pot(msgspec.Struct):
    litres: float


class Hidden:
    def __str__(self) -> str:
        return "hidden"


class Broken:
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


@dataclass
class BrokenRecord:
    size: int = field(init=False)


OUTPUTS: list[tuple[object, str]] = [
    ("plain text", "plain text"),
    ("", ""),
    (None, "null"),
    (True, "true"),
    (3, "3"),
    (2.0, "2.0"),
    ({"b": 1, "a": [1, None]}, '{"b":1,"a":[1,null]}'),
    ("ünï", "ünï"),
    (["ünï"], '["ünï"]'),
    ((1, "x"), '[1,"x"]'),
    ({5}, "[5]"),
    (frozenset(), "[]"),
    (range(10**18), "range(0, 1000000000000000000)"),
    (collections.deque([1]), "[1]"),
    (collections.Counter("aa"), '{"a":2}'),
    ({}.keys(), "[]"),
    (b"\xff\xfe", "//4="),
    (bytearray(b"x"), "eA=="),
    (Colour.RED, "red"),
    (Level.HIGH, "3"),
    ([Colour.RED, Level.HIGH], '["red",3]'),
    (Cup(1, hot=Cup(2)), '{"size":1,"kind":"red","hot":{"size":2,"kind":"red","hot":null}}'),
    ([Point(1)], '[{"x":1,"y":0.5}]'),
    (Tea(name="Earl"), '{"called":"Earl","at":"2026-01-02"}'),
    ([Leaf("mint")], '[{"name":"mint"}]'),
    ({"pot": Pot(1.5)}, '{"pot":{"litres":1.5}}'),
    (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), "2026-01-02T03:04:00Z"),
    (dt.timedelta(seconds=90), "PT1M30S"),
    (Decimal("1.50"), "1.50"),
    (Fraction(1, 3), "1/3"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (ipaddress.IPv4Address("1.2.3.4"), "1.2.3.4"),
    ([math.nan, math.inf, -math.inf], '["NaN","Infinity","-Infinity"]'),
    (
        {2: "a", None: "b", True: "c", Colour.RED: "d", (1, 2): "e"},
        '{"2":"a","null":"b","true":"c","red":"d","[1, 2]":"e"}',
    ),
    ("half \ud800", "half �"),
    ({"\udfff": "\ud800"}, '{"�":"�"}'),
    (Hidden(), "hidden"),
    ([Hidden()], '["hidden"]'),
    (Broken(), "<Broken>"),
    ({"x": Broken()}, '{"x":"<Broken>"}'),
    (len, "<built-in function len>"),
    (10**30, "1" + "0" * 30),
    (1 + 2j, "1+2j"),
]


@pytest.mark.parametrize(("output", "text"), OUTPUTS)
def test_an_output_is_text_or_compact_json(output: object, text: str) -> None:
    assert as_text(output) == text


def test_unprintable_integer_is_described_by_size() -> None:
    assert as_text([10**20_000]) == '["<an integer of 66439 bits>"]'


def test_a_record_that_cannot_be_read_is_its_text() -> None:
    assert "BrokenRecord" in as_text(BrokenRecord())


def test_a_class_is_its_text() -> None:
    assert as_text([Cup, Tea, Colour]) == json.dumps([str(Cup), str(Tea), str(Colour)], separators=(",", ":"))


def test_an_iterator_is_not_used_up() -> None:
    numbers: Iterator[int] = iter([1, 2])
    as_text(numbers)

    assert list(numbers) == [1, 2]


def test_silent_failed_call_is_reported_as_failed() -> None:
    assert error_text(ToolResult(success=False)) == "the tool failed and did not say why"
    assert error_text(ToolResult(success=False, error="no \ud800")) == "no �"


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(_JSON)
def test_json_stays_unchanged(value: object) -> None:
    assert as_json(value) == value
    if not isinstance(value, str):
        assert json.loads(as_text(value)) == value


_KINDS = (bytes, complex, Decimal, Fraction, uuid.UUID, dt.datetime, dt.date, dt.time, dt.timedelta, dt.tzinfo, type)
_OTHERS = (ipaddress.IPv4Address, ipaddress.IPv6Network, range, slice, Colour, Cup, Point, Tea, set[int], list[object])


@given(st.one_of(*map(st.from_type, (*_KINDS, *_OTHERS))))
def test_anything_has_a_text_that_can_be_sent(value: object) -> None:
    as_text(value).encode()
    json.dumps(as_json(value), allow_nan=False, ensure_ascii=False).encode()


def test_namespace_is_a_record_and_no_text_has_an_address() -> None:
    namespace = types.SimpleNamespace(city="Oslo", rooms=[types.SimpleNamespace(number=1)])
    assert as_json(namespace) == {"city": "Oslo", "rooms": [{"number": 1}]}
    assert " at 0x" not in as_text([weakref.ref(Colour), compile("1", "a", "eval"), object(), Colour.mro])
