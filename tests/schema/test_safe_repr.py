"""Values in error messages: short, and without running anybody's code."""

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


def test_deep_or_long_schema_is_cut() -> None:
    assert safe_repr([[[[[1]]]]]) == "[[[[…]]]]"
    assert safe_repr(list(range(100))) == "[0, 1, 2, 3, 4, 5, …]"
    assert safe_repr({number: number for number in range(7)}) == "{0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, …}"
    assert safe_repr("x" * 10_000_000) == "'" + "x" * 78 + "…"
    assert safe_repr(10**100_000) == "<an int of 332193 bits>"


def test_no_code_of_the_value_runs() -> None:
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
