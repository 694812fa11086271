"""The calculator and the clock: what they work out, and what they refuse."""

import logging
import re
import sys
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.tools.builtin import create_calculator_tool, create_datetime_tool

calculator = create_calculator_tool()
get_datetime = create_datetime_tool()

# --- the calculator ---------------------------------------------------------------------------------------------------

RESULTS: list[tuple[str, float]] = [
    ("2 + 3 * 4", 14),
    ("(2 + 3) * 4", 20),
    ("7 / 2", 3.5),
    ("7 // 2", 3),
    ("-7 % 3", 2),
    ("2 ** 10", 1024),
    ("2 ** -1", 0.5),
    ("2 ** 0.5", 2**0.5),
    ("-2 ** 2", -4),
    ("+(-3)", -3),
    ("0.5 + 1e3", 1000.5),
    ("  1 +\t2 ", 3),
    ("1_000 + 0x10", 1016),
    ("2 ** 3 ** 2", 512),
    ("10 ** 999 // 10 ** 998", 10),
    ("1 ** 10 ** 9", 1),
    ("(-1) ** (10 ** 18 + 1)", -1),
    ("0 ** 10 ** 900", 0),
    ("2 ** -10 ** 9", 0),
]


@pytest.mark.parametrize(("expression", "result"), RESULTS)
def test_an_expression_is_worked_out(expression: str, result: float) -> None:
    assert calculator(expression) == result
    assert type(calculator(expression)) is type(result) or isinstance(calculator(expression), float)


def test_integers_stay_exact() -> None:
    assert calculator("2 ** 64 + 1") == 18446744073709551617
    assert calculator("10 ** 999 + 1") == 10**999 + 1
    assert type(calculator("4 / 2")) is float


UNSUPPORTED: list[tuple[str, str]] = [
    ("abs(-1)", "a function call"),
    ("__import__('os').getcwd()", "a function call"),
    ("x + 1", "a name"),
    ("(1).real", "an attribute"),
    ("'a' * 3", "a value other than a real number"),
    ("True + 1", "a value other than a real number"),
    ("2j ** 2", "a value other than a real number"),
    ("...", "a value other than a real number"),
    ("None", "a value other than a real number"),
    ("1 < 2", "a comparison"),
    ("1,000", "a comma"),
    ("2 ^ 3", "'^' (a power is written with **)"),
    ("1 << 9", "LShift"),
    ("~1", "Invert"),
    ("not 1", "Not"),
    ("1 and 2", "And"),
    ("[1][0]", "Subscript"),
    ("[1 for _ in ()]", "ListComp"),
    ("1 if 1 else 2", "IfExp"),
    ("(lambda: 1)()", "a function call"),
    ("(x := 1)", "NamedExpr"),
    ("f'{1}'", "JoinedStr"),
]


@pytest.mark.parametrize(("expression", "part"), UNSUPPORTED)
def test_non_arithmetic_is_refused_by_kind(expression: str, part: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(part)}.* cannot be worked out: use only numbers, \+ - \*"):
        calculator(expression)


@pytest.mark.parametrize(
    "expression",
    ["", " ", "1 +", "import os", "x = 1", "1; 2", "1\n2", "1 2", "1\0", "\ud800", "2 × 3", ")(", "5%", "$5"],
)
def test_invalid_expression_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="is not an arithmetic expression: use only numbers"):
        calculator(expression)


ENDLESS = [
    "9**9**9",
    "9**9**9**9",
    "(9**999)**999",
    "((((9**9)**9)**9)**9)**9",
    "-(9**9**9)",
    "10**1000",
    "*".join(["9**999"] * 100),
    "2**" * 300 + "1",
    "9**999 + 9**1050",
]


@pytest.mark.parametrize("expression", ENDLESS, ids=lambda value: value[:30])
def test_huge_integer_is_not_computed(expression: str) -> None:
    with pytest.raises(ValueError, match="more than 1000 digits"):
        calculator(expression)


@pytest.mark.parametrize(
    "expression", ["1e308 * 10", "1e999", "2.0 ** 5000", "10 ** 400 + 1.5", "10 ** 400 / 3", "-1e308 * 10 - 1e999"]
)
def test_a_float_that_would_be_infinite_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="becomes too large for a float"):
        calculator(expression)


@pytest.mark.parametrize("expression", ["1 / 0", "1 // 0", "1 % 0", "0 ** -1", "0.0 ** -1", "1.5 % (2 - 2)"])
def test_a_division_by_zero_is_called_that(expression: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{expression!r} divides by zero")):
        calculator(expression)


def test_a_power_that_is_not_real_is_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("the power 0.5 of the negative number -1 is not a real number")):
        calculator("(-1) ** 0.5")


@pytest.mark.parametrize("nested", ["(" * 10_000 + "1" + ")" * 10_000, "-" * 100_000 + "1", "1+" * 1_000_000 + "1"])
def test_too_long_text_is_not_parsed(nested: str) -> None:
    with pytest.raises(ValueError, match=f"the expression has {len(nested)} characters, at most 1000 are allowed"):
        calculator(nested)


def test_deep_nesting_is_worked_out_or_refused() -> None:
    assert calculator("-" * 998 + "1") == 1
    assert calculator("1" + "+1" * 499) == 500
    assert calculator("(" * 90 + "1" + ")" * 90) == 1
    with pytest.raises(ValueError, match="is not an arithmetic expression"):
        calculator("(" * 450 + "1" + ")" * 450)


def test_low_integer_digit_limit_does_not_crash() -> None:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        with pytest.raises(ValueError, match="is not an arithmetic expression"):
            calculator("9" * 700)
    finally:
        sys.set_int_max_str_digits(limit)


def test_non_text_expression_is_refused() -> None:
    anything: Any = 5
    with pytest.raises(ValueError, match="the expression is text, got int"):
        calculator(anything)


@given(st.text(max_size=40) | st.text(alphabet="0123456789.e+-*/%() _xj<^,'", max_size=40))
def test_any_text_is_a_number_or_a_value_error(text: str) -> None:
    try:
        kind = type(calculator(text))
    except ValueError:
        kind = float
    assert kind in (int, float)


_Tree = tuple[str, Fraction]


def joined(sign: str, left: _Tree, right: _Tree) -> _Tree:
    value = {"+": left[1] + right[1], "-": left[1] - right[1], "*": left[1] * right[1]}[sign]
    return f"({left[0]}) {sign} ({right[0]})", value


def negated(tree: _Tree) -> _Tree:
    return f"-({tree[0]})", -tree[1]


def trees() -> st.SearchStrategy[_Tree]:
    """Return expressions with their values."""
    numbers = st.integers(0, 10**6).map(lambda number: (str(number), Fraction(number)))
    return st.recursive(
        numbers,
        lambda inner: st.builds(joined, st.sampled_from("+-*"), inner, inner) | inner.map(negated),
        max_leaves=8,
    )


@given(trees())
def test_whole_expressions_are_exact(tree: _Tree) -> None:
    expression, value = tree
    assert calculator(expression) == value


def test_the_calculator_is_a_tool_that_models_can_use() -> None:
    assert (calculator.name, calculator.category, calculator.idempotent) == ("calculator", "math", True)
    assert calculator.description.startswith("Work out an arithmetic expression")
    assert list(calculator.parameters["properties"]) == calculator.parameters["required"] == ["expression"]
    assert calculator.parameters["properties"]["expression"]["description"]
    assert calculator.call('{"expression": "2 + 2"}') == 4


def test_a_failing_calculation_is_a_result_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="ez_ptc.tools"):
        result = calculator.execute(expression="open('x')")

    assert (result.success, result.output) == (False, None)
    assert result.error == "a function call cannot be worked out: use only numbers, + - * / // % ** and parentheses"
    assert "calculator failed: a function call" in caplog.text


# --- the clock --------------------------------------------------------------------------------------------------------


def test_the_clock_tells_the_local_time() -> None:
    before = datetime.now().astimezone().replace(microsecond=0)
    told = datetime.fromisoformat(get_datetime() + get_datetime("%z"))

    assert before <= told <= datetime.now().astimezone()


def test_the_clock_writes_in_the_format_it_is_given() -> None:
    assert re.fullmatch(r"\w+, \d+ \w+ \d{4} 100%", get_datetime("%A, %-d %B %Y 100%%"))
    assert re.fullmatch(r"\d{4}-W\d\d-\d", get_datetime(format="%G-W%V-%u"))
    assert get_datetime(format="no codes, größer") == "no codes, größer"


def test_the_clock_knows_time_zones() -> None:
    assert get_datetime(format="%z %Z", timezone="UTC") == get_datetime(format="%z %Z", timezone="utc") == "+0000 UTC"
    assert get_datetime(format="%z", timezone="Asia/Kolkata") == "+0530"
    zones = ("Asia/Tokyo", "America/New_York")
    east, west = (datetime.fromisoformat(get_datetime("%Y-%m-%d %H:%M:%S%z", zone)) for zone in zones)
    assert timedelta(0) <= west - east < timedelta(minutes=1)


@pytest.mark.parametrize("zone", ["Nowhere", "", "Europe", "../UTC", "/etc/localtime", "a\0b", "x" * 5000, "\ud800"])
def test_a_time_zone_that_there_is_not_is_refused(zone: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone: give an IANA name such as 'Europe/Zurich'"):
        get_datetime(timezone=zone)


@pytest.mark.parametrize("written", ["%Q", "%", "%-", "50% off", "%%%", "%é", "%999999999d", "%_d", "%:z", "%\n"])
def test_a_code_that_there_is_not_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is not a strftime code: write a percent sign itself as %%"):
        get_datetime(written)


@pytest.mark.parametrize("written", ["", "x" * 201, "a\0b"])
def test_a_format_is_of_bounded_length(written: str) -> None:
    with pytest.raises(ValueError, match="a format has 1 to 200 characters"):
        get_datetime(written)


def test_half_a_character_in_a_format_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be written as text"):
        get_datetime("\ud800")


@given(
    st.text(max_size=210) | st.text(alphabet="%-0123456789aAbBcCdDeEfFgGhHjklLmMOpqQrRsStTuUvVwWxXyYzZ ", max_size=80)
)
def test_any_format_gives_short_text_or_value_error(text: str) -> None:
    try:
        told = get_datetime(text)
    except ValueError:
        told = ""
    assert len(told) < 10_000


def test_the_clock_is_a_tool_that_models_can_use() -> None:
    assert (get_datetime.name, get_datetime.category, get_datetime.idempotent) == ("get_datetime", "time", True)
    assert get_datetime.description == "Get the current date and time."
    properties = get_datetime.parameters["properties"]
    assert list(properties) == ["format", "timezone"]
    assert properties["format"]["default"] == "%Y-%m-%d %H:%M:%S"
    assert all(each["description"] for each in properties.values())
    assert "required" not in get_datetime.parameters
    failed = get_datetime.execute(timezone="Nowhere")
    assert (failed.success, failed.error) == (
        False,
        "'Nowhere' is not a time zone: give an IANA name such as 'Europe/Zurich', or none for local time",
    )
