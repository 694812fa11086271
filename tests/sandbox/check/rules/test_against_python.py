"""No rule says that an expression must fail which Python evaluates, whatever a declared type stands for."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypedDict

import pytest

from ez_ptc import Tool, Toolkit, ez_tool


class Row(TypedDict):
    a: int
    b: str


class Pair(NamedTuple):
    p: int
    q: str


# Of the expressions, a plain run takes one in so many.
PARTS = 8

# A type, and a value that it may stand for.
VALUES: dict[str, tuple[Any, object]] = {
    "get_text": (str, "abc"),
    "get_int": (int, 3),
    "get_float": (float, 2.5),
    "get_whole_float": (float, 2),
    "get_flag": (bool, True),
    "get_list": (list[int], [1, 2]),
    "get_rows": (list[Row], [{"a": 1, "b": "x"}]),
    "get_rates": (dict[str, float], {"k": 1.5}),
    "get_by_number": (dict[int, str], {1: "a"}),
    "get_row": (Row, {"a": 1, "b": "x"}),
    "get_pair": (Pair, Pair(1, "z")),
    "get_tuple": (tuple[int, str], (1, "a")),
    "get_set": (set[int], {1, 2}),
    "get_none": (None, None),
    "get_perhaps": (int | None, None),
    "get_time": (dt.datetime, dt.datetime(2020, 1, 1)),
    "get_span": (dt.timedelta, dt.timedelta(1)),
    "get_decimal": (Decimal, Decimal("1.5")),
    "get_either": (int | str, "u"),
    "get_any": (Any, 5),
    "get_choice": (Literal["a", "b"], "a"),
}
OTHERS = ["1", "2.5", "'s'", "None", "[1]", "(1, 2)", "{'a': 1}", "{}", "[]"]
SIGNS = ["+", "-", "*", "/", "%", "<", "in", "==", "or"]
USES = """
    {0}() len({0}) sum({0}) sorted({0}) int({0}) float({0}) round({0}) abs({0}) list({0}) max({0}) enumerate({0})
    -{0} {0}[0] {0}[-1] {0}['a'] {0}['zz'] {0}[0]['a'] {0}[0:1] {0}[1.0] ''.join({0}) {0}.get('a') 'x'*{0} range({0})
    next(iter({0})) dict({0}) {0}.a {0}.upper() {0}.append {0}.p {0}.items() {0}.keys() {0}.year {0}.days {0}.real
    {0}.count {0}.split() {0}.bit_length() {0}.add {0}.copy() {0}.b.upper() [{0}][0] ({0}or[1])[0] divmod({0},2)
    list(zip({0},{0}))[0][0] dict(a={0})['a'].upper() isinstance({0},dict)and({0}['q'])
"""
LONG_USES = [
    "[key.upper() for key in {0}]",
    "sorted({0}, key=lambda v: v['a'])",
    "[a for a, b in {0}]",
    "(lambda a, b: a)(*{0})",
    "[key + 1 for key in {0}]",
    "[x for x in [] if x in {0}]",
]
ARGUMENTS = """
    'abc' '5' '[1]' 5 0 5.0 5.5 True None [] [1] ['a'] {} {'a':1} (1,'a') {1} range(3) datetime.date(2020,1,1) b'x'
    'yes' 'nan' 'b' datetime.timedelta(1) dict(a=1).keys() decimal.Decimal('1') '' '1e2' '10:00' 'P1D' 10**30 -1
    '2020-01-01'
"""


def tool(name: str) -> Tool[..., Any]:
    """Return a tool that returns a value under a declared type."""
    annotation, value = VALUES[name]

    def get() -> object:
        """Get a value."""
        return value

    get.__name__, get.__annotations__ = name, {"return": annotation}
    return ez_tool(get)


def expressions() -> list[str]:
    """Return expressions over the values, each alone and beside another."""
    sources = [f"{name}()" for name in VALUES]
    pairs = [(one, other) for one, other in itertools.product([*sources, *OTHERS], repeat=2) if "get_" in one + other]
    uses = [*USES.split(), *LONG_USES]
    return [
        *(f"{one} {sign} {other}" for one, other in pairs for sign in SIGNS),
        *(f"{one}[{other}]" for one, other in pairs),
        *(use.format(source) for use in uses for source in sources),
    ]


def fails(toolkit: Toolkit, tried: list[str]) -> list[bool]:
    """Return which expressions raise an exception in a program."""
    program = (
        "import datetime, decimal\nflags = []\n"
        f"for text in {tried!r}:\n    try:\n        eval(text)\n        flags.append('.')\n"
        "    except Exception:\n        flags.append('F')\nprint(''.join(flags))"
    )
    result = toolkit.execute(program, 60)
    assert len(result.output.strip()) == len(tried), result.error_output
    return [flag == "F" for flag in result.output.strip()]


@pytest.mark.sampled(every=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_expression_that_python_evaluates_is_a_mistake(part: int) -> None:
    tried = expressions()[part::PARTS]
    with Toolkit([tool(name) for name in VALUES]) as toolkit:
        failing = [flag for start in range(0, len(tried), 400) for flag in fails(toolkit, tried[start : start + 400])]
        mistaken = [bool(toolkit.check(f"value = {text}")) for text in tried]
    assert [text for text, fail, mistake in zip(tried, failing, mistaken, strict=True) if mistake and not fail] == []
    assert sum(mistaken) > sum(failing) / 2


@ez_tool
def take(  # noqa: PLR0913, PLR0917 - one parameter of each type
    text: str = "x",
    whole: int = 1,
    real: float = 1.0,
    flag: bool = False,
    rows: list[str] = [],  # noqa: B006 - read only
    table: dict[str, int] = {},  # noqa: B006 - read only
    day: dt.date = dt.date(2020, 1, 1),
    time: dt.datetime = dt.datetime(2020, 1, 1),
    span: dt.timedelta = dt.timedelta(1),
    choice: Literal["a", "b", 1, True] = "a",
    either: int | str = 1,
    perhaps: int | None = None,
    names: set[str] = set(),  # noqa: B006 - read only
) -> str:
    """Take anything."""
    return "taken"


@pytest.mark.parametrize("parameter", list(take.parameters["properties"]))
@pytest.mark.sampled(every=4)
def test_no_argument_that_a_tool_takes_is_a_mistake(parameter: str) -> None:
    calls = [f"take({parameter}={value})" for value in ARGUMENTS.split()]
    with Toolkit([take]) as toolkit:
        taken = [not fail for fail in fails(toolkit, calls)]
        for call, value, is_taken in zip(calls, ARGUMENTS.split(), taken, strict=True):
            for program in (call, f"value = {value}\ntake({parameter}=value)"):
                mistakes = toolkit.check(f"import datetime, decimal\n{program}")
                assert not (mistakes and is_taken), (program, mistakes)
