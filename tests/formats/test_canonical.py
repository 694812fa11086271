"""The digest of a call: equal for equal calls, and different for different ones."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import combinations
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.formats.content import as_json
from ez_ptc.messages import PendingCall
from ez_ptc.sandbox.protocol import host_codec

_WIDE = 1 << 20_000
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
_VALUES = st.recursive(_SCALARS, lambda items: st.lists(items) | st.dictionaries(st.text() | st.integers(), items))

DIFFERENT: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    "1",
    "true",
    -1,
    0.0,
    -0.0,
    "",
    [],
    {},
    [[]],
    {"": None},
    [1, 2],
    [2, 1],
    "[1,2]",
    ["1,2"],
    {"1": 2},
    {"1": 2, "3": 4},
    {"1": {"2": 3}},
    {"a": 1, "b": 2},
    {"a": 2, "b": 1},
    {"a": None},
    1 << 64,
    float(1 << 64),
    _WIDE,
    _WIDE + 1,
    -_WIDE,
    hex(_WIDE),
    "é",
    "e\u0301",
    "\u3164",
    " ",
]
LARGE: list[Any] = ["a" * (17 << 20), "a" * (17 << 20) + "b", [0] * 600_000, [0] * 600_001]


def digest(value: object, tool: str = "pay") -> str:
    return PendingCall("id", tool, {"value": value}, "").digest


@pytest.mark.parametrize("values", [DIFFERENT, pytest.param(LARGE, marks=pytest.mark.sampled(every=0))])
def test_different_arguments_have_different_digests(values: list[Any]) -> None:
    digests = list(map(digest, values))
    assert all(len(text) == 64 and int(text, 16) for text in digests)
    assert not [(one, two) for one, two in combinations(range(len(digests)), 2) if digests[one] == digests[two]]


def test_tool_and_argument_names_belong_to_the_digest() -> None:
    assert digest(1) != digest(1, "refund")
    assert PendingCall("", "pay", {"a": 1}, "").digest != PendingCall("", "pay", {"b": 1}, "").digest
    assert PendingCall("", "a", {"b": 1}, "").digest != PendingCall("", 'a",{"b":1}', {}, "").digest


def test_position_and_order_of_keys_do_not_count() -> None:
    one = PendingCall("run:1", "pay", {"to": "Ada", "options": {"a": 1, "b": 2}}, "1")
    two = PendingCall("run:2", "pay", {"options": {"b": 2, "a": 1}, "to": "Ada"}, "2", "outcome_unknown")
    assert one.digest == two.digest


@pytest.mark.parametrize(
    "value",
    [
        (1, (2, 3)),
        b"\x00\xff",
        datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
        date(2026, 1, 2),
        Decimal("1.10"),
        math.nan,
        -math.inf,
        {1: "a", "1": "b", (1, 2): "c"},
        {"lone \ud800": "\udfff"},
        {3, 1, 2},
    ],
)
def test_value_has_the_digest_of_its_recorded_form(value: object) -> None:
    assert digest(value) == digest(as_json(value))


@given(st.dictionaries(st.text(), _VALUES))
def test_digest_survives_the_record(arguments: dict[str, Any]) -> None:
    shown = {name: as_json(value) for name, value in arguments.items()}
    read = host_codec.loads(json.dumps(shown).encode())
    digests = {PendingCall("", "t", cast("Any", form), "").digest for form in (arguments, shown, read)}
    assert len(digests) == 1


def test_circular_arguments_have_a_digest() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert len(digest(circle)) == 64
