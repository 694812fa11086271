"""Arguments of models cost time and memory linear in their size, whatever the tool asks for."""

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from ez_ptc import Tool, ToolCall, ez_tool
from tests.costs.growth import check_growth


class Order(BaseModel):
    """An order."""

    number: int = 0
    text: str = ""


TYPES: dict[str, Any] = {
    "object": object,
    "integer": int,
    "number": float,
    "text": str,
    "bytes": bytes,
    "list": list[int],
    "set": set[int],
    "tuple": tuple[int, ...],
    "map": dict[str, int],
    "model": Order,
    "models": list[Order],
    "union": int | str | list[int] | Order,
    "time": dt.datetime,
    "decimal": decimal.Decimal,
    "choice": Literal["a", "b"],
}
SHAPES: dict[str, Callable[[int], str]] = {
    "nested lists": lambda size: "[" * size + "]" * size,
    "nested objects": lambda size: '{"a":' * size + "1" + "}" * size,
    "unclosed lists": lambda size: "[" * size,
    "a long list": lambda size: "[" + ",".join(["1"] * size) + "]",
    "wrong items": lambda size: "[" + ",".join(['"w"'] * size) + "]",
    "wrong records": lambda size: "[" + ",".join(['{"number":"x","c":1}'] * size) + "]",
    "many keys": lambda size: "{" + ",".join(f'"k{number}":1' for number in range(size)) + "}",
    "one key": lambda size: "{" + ",".join(['"k":1'] * size) + "}",
    "digits": lambda size: "1" * size,
    "digits in text": lambda size: f'"{"1" * size}"',
    "an exponent": lambda size: "1e" + "9" * size,
    "escapes": lambda size: '"' + r"\u0041" * size + '"',
    "half surrogates": lambda size: '"' + r"\ud800" * size + '"',
    "escaped quotes": lambda size: '"' + r"\"" * size + '"',
    "escaped quotes in text without an end": lambda size: '"' + r"\"" * size,
    "escaped single quotes in text without an end": lambda size: "'" + r"\'" * size,
    "line ends": lambda size: '"' + "\n" * size + '"',
    "a list in text": lambda size: '"[' + ",".join(["1"] * size) + ']"',
    "blanks": lambda size: " " * size + "1",
}


def _tool_of(annotation: object) -> Tool[..., Any]:
    def take(value: object) -> None:
        """Take a value."""

    take.__annotations__ = {"value": annotation, "return": None}
    return ez_tool(take)


@pytest.mark.security
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("annotation", TYPES.values(), ids=TYPES)
def test_reading_arguments_takes_linear_time(annotation: object, shape: Callable[[int], str]) -> None:
    tool = _tool_of(annotation)
    check_growth(
        lambda size: f'{{"value": {shape(size)}}}',
        lambda text: tool.run(ToolCall("1", tool.name, text)),
        start=1_000,
        most=200_000,
        bytes_each=1_500,
    )


@pytest.mark.security
def test_refusing_unknown_arguments_takes_linear_time() -> None:
    tool = _tool_of(int)
    check_growth(
        lambda size: [(f"valu{number}", 1) for number in range(size)],
        lambda arguments: tool.run(ToolCall("1", tool.name, dict(arguments))),
        start=1_000,
        most=200_000,
        bytes_each=2_000,
    )
