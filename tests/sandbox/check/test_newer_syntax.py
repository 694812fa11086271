"""A program in the syntax of a later Python is told the version that it needs, and ours."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest

from ez_ptc import Toolkit

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = ".".join(map(str, sys.version_info[:2]))
NEWER = {
    "type Name = int": (3, 12),
    "type Pair[T] = tuple[T, T]": (3, 12),
    "def first[T](items: list[T]) -> T:\n    return items[0]": (3, 12),
    "async def first[T](items: list[T]) -> T:\n    return items[0]": (3, 12),
    "class Box[T]:\n    item: T": (3, 12),
    "row = {'a': 1}\nprint(f'{row['a']}')": (3, 12),
    'row = {"a": {"b": 1}}\nprint(f"total: {row["a"]["b"]:.2f} euros")': (3, 12),
    "print(f'{'yes' if True else 'no'}')": (3, 12),
    r"""print(f"{'\n'.join(['a'])}")""": (3, 12),
    'row = [1]\nprint(f"{\n    row[0]\n}")': (3, 12),
    'print(f"{1 # one\n}")': (3, 12),
    "def first[T = int](item: T): pass": (3, 13),
    "type Items[T = int] = list[T]": (3, 13),
    "class Box[T: object = int]: pass": (3, 13),
    "try: 1 / 0\nexcept ValueError, ZeroDivisionError: pass": (3, 14),
    "try: 1 / 0\nexcept* ValueError, ZeroDivisionError: pass": (3, 14),
    "name = 'a'\nprint(t'{name}')": (3, 14),
    'print(rt"{1}")': (3, 14),
}
WRONG_EVERYWHERE = [
    *("print('hi'", "x = = 3", "type = 3\nprint type", "print(f'{1')", "print(f'hello {name')", "print(f'{a b}')"),
    *("x = f'{}'", "class A[: pass", "if x = 3: pass", "for i in range(3) print(i)", "def f(x: pass", "except = 3"),
]


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([]) as opened:
        yield opened


@pytest.mark.parametrize("program", NEWER)
def test_newer_syntax_names_the_version_it_needs(toolkit: Toolkit, program: str) -> None:
    version = NEWER[program]
    if sys.version_info >= version:
        ast.parse(program)
        return
    error = toolkit.execute(program).error or ""

    assert f"needs Python {'.'.join(map(str, version))}, and programs run in Python {OURS}" in error


@pytest.mark.parametrize("program", WRONG_EVERYWHERE)
def test_wrong_syntax_names_no_version(toolkit: Toolkit, program: str) -> None:
    assert "needs Python" not in (toolkit.execute(program).error or "needs Python")


def test_prompt_and_schema_name_the_version(toolkit: Toolkit) -> None:
    schema = toolkit.tool_schema(format="openai")["function"]["description"]

    assert all(f"This is Python {OURS}." in text for text in (schema, Toolkit([print_it]).prompt()))


def print_it(text: str) -> None:
    """Print a text."""
