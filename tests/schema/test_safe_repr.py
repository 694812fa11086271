"""Values in error messages: short, and without running anybody's code."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type


class Trap(str):
    """A text that must not be asked how it looks."""

    __slots__ = ()

    def __repr__(self) -> str:
        message = "this must not run"
        raise AssertionError(message)

    __str__ = __repr__


TEXTS = [
    ("tea", "str 'tea'"),
    (5, "int 5"),
    (5.5, "float 5.5"),
    (None, "None"),
    (True, "bool True"),
    (b"ab", "bytes b'ab'"),
    ([1, "a"], "list of 2 [1, 'a']"),
    ((), "tuple of 0 ()"),
    ({"a": [1]}, "dict of 1 {'a': [1]}"),
    ({1}, "set of 1 {1}"),
    (object(), "object"),
]


@pytest.mark.parametrize(("value", "text"), TEXTS)
def test_a_value_is_shown_after_its_type(value: object, text: str) -> None:
    assert safe_repr_with_type(value) == text


WRITTEN: list[object] = [
    *((1,), (), (1, 2), {1}, frozenset({1}), [(1,)], {"a": (None,)}, set[int](), frozenset[int]()),
    *(Decimal("5.10"), date(2025, 3, 1), datetime(2025, 3, 1, 12, tzinfo=UTC), time(8, 30), timedelta(days=1)),
    *(UUID(int=1), [Decimal(1)], datetime(2025, 3, 1, tzinfo=ZoneInfo("Europe/Oslo"))),
]


@pytest.mark.parametrize("value", WRITTEN)
def test_small_value_is_written_as_python_reads_it(value: object) -> None:
    assert safe_repr(value) == repr(value)


def test_type_alone_is_named_of_a_date_or_decimal() -> None:
    assert [safe_repr_with_type(value) for value in (Decimal(1), date(2025, 3, 1))] == ["Decimal", "date"]


def test_deep_or_long_schema_is_cut() -> None:
    assert safe_repr([[[[[1]]]]]) == "[[[[…]]]]"
    assert safe_repr(list(range(100))) == "[0, 1, 2, 3, 4, 5, …]"
    assert safe_repr({number: number for number in range(7)}) == "{0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, …}"
    assert safe_repr("x" * 10_000_000) == "'" + "x" * 78 + "…"
    assert safe_repr(10**100_000) == "<an int of 332193 bits>"


class Zone(tzinfo):
    """A time zone that must not be asked how it looks."""

    __repr__ = Trap.__repr__


class Price(Decimal):
    """A number that must not be asked how it looks."""

    __repr__ = Trap.__repr__


def test_no_code_of_the_value_runs() -> None:
    assert safe_repr(datetime(2025, 3, 1, tzinfo=Zone())) == "<datetime>"
    assert safe_repr([Price(1)]) == "[<Price>]"
    assert safe_repr_with_type(Trap("tea")) == "Trap"
    assert safe_repr([Trap("tea")]) == "[<Trap>]"
    assert safe_repr({"key": Trap("tea")}) == "{'key': <Trap>}"


VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.binary() | st.floats(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(VALUES)
def test_any_value_fits_into_eighty_characters(value: object) -> None:
    assert 0 < len(safe_repr(value)) <= 80
