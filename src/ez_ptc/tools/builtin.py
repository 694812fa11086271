"""The two tools of the library: a calculator and a clock."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NoReturn, cast
from zoneinfo import ZoneInfo

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.tool import Tool

__all__ = ["calculator", "create_calculator_tool", "create_datetime_tool", "get_datetime"]

_Number = int | float

# --- the calculator ---------------------------------------------------------------------------------------------------

_MAX_CHARACTERS: Final = 1_000
_MAX_DIGITS: Final = 1_000
_LIMIT: Final = 10**_MAX_DIGITS
_TOO_LARGE: Final = f"a number has more than {_MAX_DIGITS} digits: work with smaller numbers"
_USE: Final = "use only numbers, + - * / // % ** and parentheses"
_NAMED: Final[Mapping[type[ast.AST], str]] = {
    ast.Attribute: "an attribute",
    ast.BitXor: "'^' (a power is written with **)",
    ast.Call: "a function call",
    ast.Compare: "a comparison",
    ast.Constant: "a value other than a real number",
    ast.Name: "a name",
    ast.Tuple: "a comma (a number has none)",
}


@explain_calls
def create_calculator_tool() -> Tool[[str], int | float]:
    """Make the tool `calculator`, which evaluates an arithmetic expression.

    As a function it raises `ValueError` for anything but arithmetic, and for results that are not finite real numbers
    of at most 1,000 digits. It executes no code, and takes a few milliseconds at most.
    """
    return ez_tool(name="calculator", category="math", idempotent=True, read_only=True)(calculator)


def calculator(expression: str) -> int | float:
    """Work out an arithmetic expression; integers are exact.

    Args:
        expression: Numbers, + - * / // % ** and parentheses, as in "(2 + 3) * 4 / 7". There are no functions and no
            variables; a root is a power, as in "2 ** 0.5".
    """
    if not isinstance(expression, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
        _refuse(f"the expression is text, got {type(expression).__name__}")
    if len(expression) > _MAX_CHARACTERS:
        _refuse(f"the expression has {len(expression)} characters, at most {_MAX_CHARACTERS} are allowed: split it up")
    try:
        root = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        _refuse(f"{_quote(expression)} is not an arithmetic expression: {_USE}")
    try:
        return _value(root)
    except ZeroDivisionError:
        _refuse(f"{_quote(expression)} divides by zero")
    except OverflowError:
        _refuse(f"a number in {_quote(expression)} becomes too large for a float")


def _value(root: ast.expr) -> _Number:
    # With a list as its stack, the depth of an expression is not limited by the interpreter's.
    waiting: list[tuple[ast.expr, bool]] = [(root, False)]
    values: list[_Number] = []
    while waiting:
        node, is_ready = waiting.pop()
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            if is_ready:
                right, left = values.pop(), values.pop()
                values.append(_check(_BINARY[type(node.op)](left, right)))
            else:
                waiting += [(node, True), (node.right, False), (node.left, False)]
        elif isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            if is_ready:
                values.append(_UNARY[type(node.op)](values.pop()))
            else:
                waiting += [(node, True), (node.operand, False)]
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            values.append(_check(cast("_Number", node.value)))
        else:
            named = type(node.op if isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp) else node)
            _refuse(f"{_NAMED.get(named, named.__name__)} cannot be worked out: {_USE}")
    return values.pop()


def _power(base: _Number, exponent: _Number) -> _Number:
    # An integer with n bits is at least 2 ** (n - 1), so results that are too large are not computed at all.
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        least_bits = max(abs(base).bit_length() - 1, 0) * exponent
        if least_bits >= _LIMIT.bit_length():
            _refuse(_TOO_LARGE)
    result: _Number | complex = base**exponent
    if isinstance(result, complex):
        _refuse(f"the power {exponent} of the negative number {base} is not a real number")
    return result


def _check(value: _Number) -> _Number:
    if isinstance(value, int):
        if abs(value) >= _LIMIT:
            _refuse(_TOO_LARGE)
    elif not math.isfinite(value):
        raise OverflowError
    return value


_BINARY: Final[Mapping[type[ast.operator], Callable[[_Number, _Number], _Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[_Number], _Number]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


# --- the clock --------------------------------------------------------------------------------------------------------

_MAX_FORMAT: Final = 200
_CODES: Final = frozenset("aAbBcCdDeFgGhHIjmMnprRStTuUVwWxXyYzZf")
_CODE: Final = re.compile(r"%(-?.?)", re.DOTALL)


@explain_calls
def create_datetime_tool() -> Tool[..., str]:
    """Make the tool `get_datetime`, which returns the current date and time in a format of `strftime`.

    As a function it raises `ValueError` for an invalid format or an unknown time zone.
    """
    return ez_tool(name="get_datetime", category="time", idempotent=True, read_only=True)(get_datetime)


def get_datetime(
    format: str = "%Y-%m-%d %H:%M:%S",  # noqa: A002 - what everybody calls it
    timezone: str | None = None,
) -> str:
    """Get the current date and time.

    Args:
        format: How to write it, in strftime codes: %Y year, %m month, %d day, %H hour, %M minute, %S second,
            %A weekday, %B month's name, %j day of the year, %V week, %z offset, %Z time zone.
        timezone: An IANA name such as "Europe/Zurich" or "UTC"; the local time of this machine without one.
    """
    if not format or len(format) > _MAX_FORMAT or "\0" in format:
        _refuse(f"a format has 1 to {_MAX_FORMAT} characters, got {_quote(format)} of {len(format)}")
    for code in _CODE.findall(format):
        if code != "%" and code.removeprefix("-") not in _CODES:
            _refuse(f"%{code} in {_quote(format)} is not a strftime code: write a percent sign itself as %%")
    if timezone is None:
        now = datetime.now().astimezone()
    elif timezone.upper() in ("UTC", "GMT", "Z"):  # works without time zone data too
        now = datetime.now(UTC)
    else:
        try:
            now = datetime.now(ZoneInfo(timezone))
        except (LookupError, ValueError, OSError):
            use = "give an IANA name such as 'Europe/Zurich', or none for local time"
            _refuse(f"{_quote(timezone)} is not a time zone: {use}")
    try:
        return now.strftime(format)
    except ValueError:  # a lone surrogate
        _refuse(f"{_quote(format)} cannot be written as text: use characters and strftime codes")


# --- what both say ----------------------------------------------------------------------------------------------------

_WIDTH: Final = 60


def _refuse(problem: str) -> NoReturn:
    raise ValueError(problem) from None


def _quote(text: str) -> str:
    return repr(text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…")
