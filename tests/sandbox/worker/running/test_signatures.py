"""What programs read of their tools with `inspect` and `help`."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from typing import Any, Literal, TypedDict

import pytest

from ez_ptc import Tool, Toolkit, ez_tool
from ez_ptc.sandbox.worker.running.signatures import ToolSignature


class Order(TypedDict):
    """An order."""

    total: float


@ez_tool
def find_orders(customer: str, *, year: int = 2026, state: Literal["open", "done"] | None = None) -> list[Order]:
    """Find the orders of a customer.

    Args:
        customer: Their name.
        year: The year.
        state: The state.
    """
    return [{"total": float(len(customer) + year)}]


@ez_tool
async def wait_for(seconds: float = 1.5) -> str:
    """Wait."""
    return f"waited {seconds}"


def take_anything(**values: object) -> int:
    return len(values)


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    odd = Tool.from_schema("odd", "Odd.", {"properties": {"from": {}, "a b": {"type": "integer"}}}, take_anything)
    with Toolkit([find_orders, wait_for, odd], assist_tool_chaining=True) as toolkit:
        yield toolkit


def printed(toolkit: Toolkit, program: str) -> str:
    """Run a program and return what it prints."""
    result = toolkit.execute(program)
    assert result.success, result.error_output
    return result.output


def test_signature_in_a_program_is_that_of_the_prompt(toolkit: Toolkit) -> None:
    program = (
        "import inspect\nfor tool in (find_orders, wait_for, odd):\n    print(tool.__name__, inspect.signature(tool))"
    )
    lines = printed(toolkit, program).splitlines()
    assert lines == [tool.signature.replace("(", " (", 1) for tool in toolkit]
    program = (
        "import inspect\nprint(inspect.signature(find_orders).bind('Ada', year=3).arguments, find_orders.__signature__)"
    )
    assert printed(toolkit, program).startswith("{'customer': 'Ada', 'year': 3} (customer: str, *, year: int = 2026,")
    assert printed(toolkit, "import inspect\nprint(inspect.iscoroutinefunction(wait_for))") == "True\n"


def test_help_says_what_the_entry_says(toolkit: Toolkit) -> None:
    text = printed(toolkit, "help(find_orders)")
    # Python 3.13 writes a long signature on several lines.
    assert "find_orders(customer: str, *, year: int = 2026," in " ".join(text.split()).replace("( ", "(")
    for line in ("Find the orders of a customer.", "customer: Their name.", "Returns: list[{total: float}]"):
        assert line in text
        assert line in toolkit.describe_tool("find_orders")


def test_signature_behaves_as_any_other() -> None:
    signature = ToolSignature.of_text("f(a: int, /, b=1.5, *rest: str, c: 'x', d: Kind = Kind.A, **more) -> list[int]")
    assert str(signature) == "(a: int, /, b=1.5, *rest: str, c: 'x', d: Kind = Kind.A, **more) -> list[int]"
    assert [parameter.kind.name for parameter in signature.parameters.values()] == [
        *("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "KEYWORD_ONLY", "VAR_KEYWORD")
    ]
    assert signature.bind(1, c=2).arguments == {"a": 1, "c": 2}
    assert copy.deepcopy(signature) == signature == copy.copy(signature)
    assert str(signature.replace(return_annotation=inspect.Signature.empty)).endswith("**more)")
    assert signature.return_annotation == "list[int]"


@pytest.mark.parametrize(
    "text", ["", "f(", "no signature", "f(a b)", "f" + "(" * 10_000, "f(a='\x00')", "f(x): pass; import os; f("]
)
def test_foreign_signature_accepts_anything(text: str) -> None:
    signature: Any = ToolSignature.of_text(text)
    assert signature.bind(1, 2, x=3)
