"""What crosses comes out as it went in, and what does not cross is named."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from array import array
from collections import ChainMap, Counter, OrderedDict, UserList, UserString, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.sandbox.protocol.values.codec import (
    MAX_DEPTH,
    MAX_NODES,
    CannotCrossError,
    Row,
    dumps,
    encode,
    loads,
    reader,
)
from tests.sandbox.alike import alike


def wide(number: int, zeros: int) -> int:
    return number << zeros


ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
ZONES = st.none() | st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.builds(wide, st.integers(), st.integers(0, 20_000)),
    st.floats(),
    ANY_TEXT,
    st.binary(max_size=20),
    st.datetimes(timezones=ZONES),
    st.dates(),
    st.times(timezones=ZONES),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.just(Decimal("-NaN7")),
    st.uuids(),
)
KEYS = st.recursive(
    SCALARS, lambda items: st.frozensets(items, max_size=4) | st.lists(items, max_size=4).map(tuple), max_leaves=8
)
VALUES = st.recursive(
    SCALARS,
    lambda items: st.one_of(
        st.lists(items, max_size=6),
        st.lists(items, max_size=6).map(tuple),
        st.sets(KEYS, max_size=6),
        st.frozensets(KEYS, max_size=6),
        st.dictionaries(KEYS | st.just("$"), items, max_size=6),
        st.dictionaries(ANY_TEXT | st.just("$"), items, max_size=6),
    ),
    max_leaves=30,
)


def crossed(value: object) -> object:
    return loads(dumps(encode(value)))


@given(VALUES)
@example({"$": ["t", [1]]})
@example([{"$": {"$": "$"}}, ("$", ["$"]), {"a": {"$": None}}])
@example({(1, 2): 3, None: 4, 1.5: 2, True: 0, b"x": 1})
@example("\ud83d\ude00")
@example([-0.0, float("nan"), float("inf"), Decimal("sNaN12"), Decimal("-0E+5")])
@example({"1": 1, 1: "1"})
def test_every_value_arrives_unchanged(value: object) -> None:
    assert alike(crossed(value), value)


@given(VALUES)
def test_encoded_value_is_one_json_text(value: object) -> None:
    """So that a reader in any language can bound and parse it."""
    json.loads(dumps(encode(value)).decode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("digits", [3_000, 4_300, 4_301, 10_000, 100_000])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_of_any_width_crosses(digits: int, sign: int) -> None:
    """CPython itself refuses to write more than 4,300 decimal digits."""
    value = sign * (10**digits + 7)
    assert crossed([value, {"n": value}, (value,)]) == [value, {"n": value}, (value,)]


class Colour(enum.Enum):
    RED = "red"
    POINT = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Order:
    id: int
    lines: list[Point]


class Point(NamedTuple):
    x: int
    y: int


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Moment(datetime):
    pass


class Rows(list[int]):
    pass


class Share(Fraction):
    pass


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (Colour.RED, "red"),
        (Colour.POINT, (1, 2)),
        (Level.HIGH, 3),
        (Order(1, [Point(2, 3)]), {"id": 1, "lines": [Row("Point", ["x", "y"], [2, 3])]}),
        (Text("tea"), "tea"),
        ({Text("tea"): Number(3)}, {"tea": 3}),
        ({Number(1), Number(2)}, {1, 2}),
        (Moment(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)),
        (Rows([1, 2]), [1, 2]),
        (OrderedDict[str, int](a=1), {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (bytearray(b"tea"), b"tea"),
        (memoryview(b"tea"), b"tea"),
        (array("i", [1, 2]), [1, 2]),
        ({"a": 1}.items(), [("a", 1)]),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (ChainMap({"a": 1}), {"a": 1}),
        (UserList([1]), [1]),
        (UserString("tea"), "tea"),
        (Share(1, 3), "1/3"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_special_subclass_arrives_as_plain_base(value: object, arrives: object) -> None:
    assert alike(crossed(value), arrives)


class Sly(str):
    """Lies about itself wherever it is asked."""

    __slots__ = ()

    def __str__(self) -> str:
        raise KeyboardInterrupt

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("ok")

    def __len__(self) -> int:
        raise SystemExit

    def __iter__(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - it lies
        raise SystemExit


class Endless(dict[str, int]):
    """Never stops giving items."""

    def items(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - it lies
        raise SystemExit

    def __iter__(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - it lies
        raise SystemExit


class Swollen(int):
    """Claims to be another number."""

    def __int__(self) -> int:
        return 666

    def __index__(self) -> int:
        return 666

    def bit_length(self) -> int:
        raise SystemExit


@pytest.mark.parametrize(
    ("value", "arrives"),
    [(Sly("../x"), "../x"), (Endless(a=1), {"a": 1}), (Swollen(5), 5), ([{"k": Sly("v")}], [{"k": "v"}])],
    ids=lambda value: type(value).__name__,
)
def test_subclass_cannot_control_its_encoding(value: object, arrives: object) -> None:
    assert alike(crossed(value), arrives)


class Plain:
    pass


def numbers() -> object:
    yield 1


WRAPS: dict[str, Callable[[object], object]] = {
    "bare": lambda v: v,
    "in a list": lambda v: [v],
    "in a dict": lambda v: {"k": (v,)},
}


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (Plain(), "a Plain"),
        (Plain, "a class"),
        (numbers(), "a generator"),
        (numbers, "a function"),
        (len, "a builtin_function_or_method"),
        (iter([1]), "a list_iterator"),
        (json, "a module"),
        (object(), "an object"),
        (re.compile("x"), "a Pattern"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS.keys())
def test_unencodable_value_is_named_with_alternatives(
    value: object, named: str, wrap: Callable[[object], object]
) -> None:
    with pytest.raises(TypeError, match="cannot cross") as caught:
        encode(wrap(value))
    assert named in str(caught.value)
    assert "arrays and tables can" in str(caught.value)


class Walked:
    """Gives the names of its columns to whoever walks through it, as tables do."""

    def __iter__(self) -> Iterator[str]:
        return iter("ab")


class Table(Walked):
    def to_dicts(self) -> list[dict[str, int]]:
        return [{"a": 1, "b": 2}]


def test_advice_never_changes_the_value() -> None:
    with pytest.raises(CannotCrossError, match=r"a generator \(make it a list: list\(\.\.\.\)\) cannot"):
        encode(numbers())
    with pytest.raises(CannotCrossError, match=r"a Table \(make it a list of records: \.to_dicts\(\)\) cannot"):
        encode(Table())
    with pytest.raises(CannotCrossError, match="a Walked cannot"):
        encode(Walked())


Nest = Callable[[object], object]
NESTS: dict[str, Nest] = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (inner,),
    "dict": lambda inner: {"k": inner},
    "numbers as keys": lambda inner: {1: inner},
    "the mark as a key": lambda inner: {"$": inner},
    "subclass": lambda inner: defaultdict(int, {"k": inner}),
}


def nested(nest: Nest, depth: int, inner: object) -> object:
    for _ in range(depth):
        inner = nest(inner)
    return inner


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS.keys())
def test_a_value_nested_as_deep_as_is_allowed_crosses(nest: Nest) -> None:
    levels_each = 2 if nest is NESTS["subclass"] else 1
    value = nested(nest, MAX_DEPTH // levels_each, "x" * 5000)
    assert crossed(value) == value


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS.keys())
def test_a_value_nested_deeper_is_refused(nest: Nest) -> None:
    with pytest.raises(CannotCrossError, match="nested deeper than"):
        encode(nested(nest, MAX_DEPTH + 2, 1))


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["again"] = [loop]
    with pytest.raises(CannotCrossError, match="refers to itself"):
        encode(loop)


def test_shared_references_do_not_unfold_without_bound() -> None:
    """31 objects, 2^30 nodes once they are walked."""
    value: list[object] = ["lol"]
    for _ in range(30):
        value = [value, value]
    with pytest.raises(CannotCrossError, match=rf"more than {MAX_NODES:,} elements \(Limits\.elements\)"):
        encode(value)


def test_a_wide_value_is_refused() -> None:
    with pytest.raises(CannotCrossError, match="elements"):
        encode([0] * MAX_NODES)
    assert isinstance(encode([0] * (MAX_NODES - 1)), list)


def test_unknown_type_goes_to_converter_before_refusal() -> None:
    def convert(value: object, _most: int) -> object:
        if isinstance(value, Plain):
            return {"plain": UUID(int=1)}
        raise values.cannot_cross(value)

    assert loads(dumps(encode([Plain()], convert))) == [{"plain": UUID(int=1)}]
    with pytest.raises(CannotCrossError, match="an object"):
        encode([object()], convert)


def never_plainer(_value: object, _most: int) -> object:
    return Plain()


def test_endless_converter_is_stopped() -> None:
    with pytest.raises(CannotCrossError, match="nested deeper"):
        encode(Plain(), never_plainer)


def test_dicts_become_records_where_the_reader_asks_for_them() -> None:
    data = dumps(encode({"a": {"b": 1}, "c": [{"d": {1: {"e": 2}}}]}))
    read = reader(lambda found: ("record", found))(data)
    inner = {1: ("record", {"e": 2})}
    assert read == ("record", {"a": ("record", {"b": 1}), "c": [("record", {"d": inner})]})


@pytest.mark.parametrize(
    "tree",
    [
        {"$": ["s", [k * (2**61 - 1) for k in range(200)]]},
        {"$": ["fs", [k * (2**61 - 1) for k in range(200)]]},
        {"$": ["m", [[k * (2**61 - 1), 0] for k in range(200)]]},
        {"$": ["s", [float(2**61 - 1) * k for k in range(1)] + [k * (2**61 - 1) + 1 for k in range(200)]]},
    ],
    ids=["set", "frozenset", "keys", "mixed"],
)
def test_keys_chosen_to_collide_are_refused(tree: object) -> None:
    """A million keys with one hash take hours to put into a set."""
    with pytest.raises(ValueError, match="one hash"):
        loads(dumps(tree))


def test_dates_without_a_zone_stay_without_one() -> None:
    value = [datetime(2024, 1, 2, 3, 4, 5, 6), date(2024, 2, 29), time(23, 59), timedelta(days=-1, microseconds=1)]
    assert crossed(value) == value
