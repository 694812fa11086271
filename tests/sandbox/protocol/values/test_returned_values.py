"""What a tool may return: the same for a single call, for a program and for a conversation."""

from __future__ import annotations

import array
import collections
import datetime as dt
import ipaddress
import json
import pathlib
import re
import types
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import RootModel, SecretBytes, SecretStr

from ez_ptc import Toolkit
from ez_ptc.formats.content import as_json, as_text
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.giving import (
    Broken,
    Colour,
    Cup,
    Day,
    Hidden,
    Leaf,
    Level,
    Open,
    Point,
    Pot,
    Rights,
    Row,
    Spot,
    Tea,
    from_a_conversation,
    from_a_program,
    from_a_single_call,
    give,
)


@pytest.fixture(scope="module")
def giving(sandbox: ProcessSandbox) -> Toolkit:
    return Toolkit([give], sandbox=sandbox)


VALUES: dict[str, tuple[object, object]] = {
    "a path": (pathlib.PurePosixPath("/a/b"), "/a/b"),
    "an address": (ipaddress.IPv4Address("1.2.3.4"), "1.2.3.4"),
    "a network": (ipaddress.IPv6Network("fe80::/64"), "fe80::/64"),
    "a pattern": (re.compile("a+"), "a+"),
    "a pattern of bytes": (re.compile(b"\xff"), "b'\\xff'"),
    "a complex number": (1 + 2j, "1+2j"),
    "a fraction": (Fraction(1, 3), "1/3"),
    "a time zone": (zoneinfo.ZoneInfo("UTC"), "UTC"),
    "a UUID": (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "a decimal": (Decimal("1.10"), "1.10"),
    "a duration": (dt.timedelta(days=1), "P1D"),
    "a time": (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "2026-01-02T00:00:00Z"),
    "bytes": (b"\xff", "/w=="),
    "a bytearray": (bytearray(b"x"), "eA=="),
    "a memoryview": (memoryview(b"x"), "eA=="),
    "a secret": (SecretStr("pw"), "**********"),
    "secret bytes": ([SecretBytes(b"pw")], ["b'**********'"]),
    "a member": (Colour.BLUE, "blue"),
    "a flag": (Rights.READ | Rights.WRITE, 3),
    "a class's text": (collections.UserString("x"), "x"),
    "a range": (range(3), [0, 1, 2]),
    "a range without end": ([range(10**18)], ["range(0, 1000000000000000000)"]),
    "a deque": (collections.deque([1]), [1]),
    "an array": (array.array("i", [1, 2]), [1, 2]),
    "a user's list": (collections.UserList([1]), [1]),
    "keys": ({"a": 1}.keys(), ["a"]),
    "values": ({"a": 1}.values(), [1]),
    "items": ({"a": 1}.items(), [["a", 1]]),
    "a proxy": (types.MappingProxyType({"a": 1}), {"a": 1}),
    "a user's dict": (collections.UserDict(a=1), {"a": 1}),
    "a chain": (collections.ChainMap({"a": 1}, {"b": 2}), {"b": 2, "a": 1}),
    "a counter": (collections.Counter("aab"), {"a": 2, "b": 1}),
    "a named tuple": (Point(1), {"x": 1, "y": 0.5}),
    "a dataclass": (Cup(pathlib.PurePosixPath("/x")), {"content": "/x", "colour": "red"}),
    "a model": (Tea(realName=SecretStr("pw")), {"realName": "**********"}),
    "a model with more": (Open.model_validate({"b": [1]}), {"a": 1, "b": [1]}),
    "a model of its own mind": (Day(), {"day": "02.01.2026", "year": 2026}),
    "a root model": (RootModel[list[int]]([1]), [1]),
    "a class of attrs": (Leaf(1), {"size": 1, "hidden": 1, "display": 2}),
    "a class of msgspec": (Pot(Leaf(1)), {"someName": {"size": 1, "hidden": 1, "display": 2}}),
    "an array of msgspec": (Row(1), ["row", 1]),
    "an exception": (ValueError("x"), "x"),
    "an object": ([object()], ["<object object>"]),
    "a class": (Colour, "<enum 'Colour'>"),
    "a function": ([len], ["<built-in function len>"]),
    "an object with a text": (Hidden(), "hidden"),
    "an object that breaks": (Broken(), "<Broken>"),
    "keys that are numbers": ({1: "a", None: "c", 1.5: "d"}, {"1": "a", "null": "c", "1.5": "d"}),
    "keys that are tuples": ({(1, "x"): 1}, {'[1, "x"]': 1}),
    "keys that are members": ({Colour.RED: 1, (Colour.BLUE,): 2}, {"red": 1, '["blue"]': 2}),
    "keys that are records": ({Spot(1): 1, Point(1, 2): 2}, {'{"x": 1}': 1, '{"x": 1, "y": 2}': 2}),
    "keys that are objects": ({pathlib.PurePosixPath("/x"): 1, Fraction(1, 3): 2}, {"/x": 1, "1/3": 2}),
    "keys that are the same as text": ({1: "a", "1": "b"}, {"1 (int)": "a", "1": "b"}),
    "keys of two kinds": ({Colour.RED: 1, "red": 2}, {"red (str)": 1, "red": 2}),
    "a set of records": ({Spot(1)}, [{"x": 1}]),
    "a set of tuples of records": ([{(Spot(1),)}], [[[{"x": 1}]]]),
    "a set of members that are the same as text": ([{Colour.RED}, {Level.LOW}], [["red"], [10_001]]),
    "a set of two that become the same": ({Colour.RED, "red"}, ["red", "red"]),
    "no number": ([float("nan"), float("inf"), -float("inf")], ["NaN", "Infinity", "-Infinity"]),
    "a wide number": ([2**100, 10**400], [2**100, 10**400]),
}


@pytest.mark.parametrize(("value", "plain"), VALUES.values(), ids=VALUES.keys())
def test_a_value_is_the_same_for_everybody(giving: Toolkit, value: object, plain: object) -> None:
    assert as_json(value) == plain
    assert from_a_program(giving, value) == plain
    assert from_a_conversation(value) == plain
    assert from_a_single_call(value) == as_text(plain)


_SCALARS: list[st.SearchStrategy[Any]] = [
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, dt.UTC, zoneinfo.ZoneInfo("Asia/Tokyo")])),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.fractions(),
    st.complex_numbers(allow_nan=False, allow_infinity=False),
    st.ip_addresses(),
    st.sampled_from([*Colour, *Level, *Rights, Rights.READ | Rights.WRITE]),
    st.builds(pathlib.PurePosixPath, st.text("ab/.", min_size=1)),
    st.builds(Spot, st.integers()),
]
_OTHERS: list[st.SearchStrategy[Any]] = [
    st.builds(bytearray, st.binary()),
    st.builds(memoryview, st.binary()),
    st.builds(SecretStr, st.text()),
    st.builds(collections.UserString, st.text()),
    st.builds(range, st.integers(-5, 5)),
    st.sampled_from([re.compile("a"), Hidden(), object(), len, Colour, zoneinfo.ZoneInfo("UTC")]),
    st.builds(Broken),
]
# Text that a program may be given as a key, in the one form that it has everywhere.
_KEYS = st.one_of(*_SCALARS, st.tuples(st.integers(), st.sampled_from(Colour)))


_LISTS: tuple[Callable[..., object], ...] = (tuple, collections.deque, collections.UserList)
_DICTS: tuple[Callable[..., object], ...] = (types.MappingProxyType, collections.OrderedDict, collections.UserDict)
_RECORDS: tuple[Callable[..., object], ...] = (Point, Cup, Leaf, Pot, Row)


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    dicts = st.dictionaries(st.text(), inner, max_size=3)
    return st.one_of(
        lists,
        dicts,
        st.dictionaries(_KEYS, inner, max_size=3),
        st.sets(_KEYS, max_size=1),
        st.frozensets(_KEYS, max_size=1),
        *(lists.map(kind) for kind in _LISTS),
        *(dicts.map(kind) for kind in _DICTS),
        *(inner.map(kind) for kind in _RECORDS),
        inner.map(lambda value: Tea(realName=value)),
    )


_VALUES = st.recursive(st.one_of(*_SCALARS, *_OTHERS), _around, max_leaves=8)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(_VALUES)
def test_any_value_is_the_same_for_everybody(giving: Toolkit, value: object) -> None:
    plain = as_json(value)
    json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()

    assert from_a_program(giving, value) == plain
    assert from_a_conversation(value) == plain
    assert from_a_single_call(value) == as_text(value)


NUMPY = [
    ("float64(1.5)", 1.5),
    ("int64(5)", 5),
    ("bool_(True)", True),
    ("float32(0.5)", 0.5),
    ("longdouble(1.5)", 1.5),
    ("str_('a')", "a"),
    ("datetime64('2026-01-02')", "2026-01-02"),
    ("datetime64('2026-01-02T03:04:05', 'ns')", "2026-01-02T03:04:05"),
    ("array([[1, 2], [3, 4]])", [[1, 2], [3, 4]]),
    ("array(5)", 5),
    ("array([1.5, float('nan')])", [1.5, "NaN"]),
    ("complex128(1+2j)", "1+2j"),
]


@pytest.mark.parametrize(("made", "plain"), NUMPY)
def test_numpy_values_become_python_values(giving: Toolkit, made: str, plain: object) -> None:
    numpy: Any = pytest.importorskip("numpy")
    value = eval(made, {name: getattr(numpy, name) for name in dir(numpy)})
    assert as_json([value]) == [plain]
    assert from_a_program(giving, [value]) == [plain]


def test_an_array_that_repeats_one_number_is_too_much() -> None:
    numpy = pytest.importorskip("numpy")
    assert "500,000 elements" in as_text(numpy.broadcast_to(numpy.int8(0), (10**12,)))
