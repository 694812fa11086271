"""What Python 3.12 can write: type parameters and type statements."""

import sys
from collections.abc import Callable
from typing import Any, cast

import pytest

from ez_ptc import Toolkit, ez_tool
from tests.callables.cases import alike, called, described, refusal

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is of Python 3.12")

SOURCE = """
from dataclasses import dataclass
from typing import TypedDict, Unpack
import attrs
from pydantic import BaseModel

type Numbers = list[int]
type Pair[T] = tuple[T, T]
type Tree = int | list[Tree]

@dataclass
class Box[T]:
    content: T

class Page[T](BaseModel):
    items: list[T]

class Tea(TypedDict):
    name: str

class Shelf[T]:
    def put(self, item: T) -> T:
        return item

class NumberShelf(Shelf[int]):
    pass

def first[T](items: list[T], default: T) -> T: return items[0] if items else default
def bounded[N: int](it: N) -> N: return it
def chosen[C: (int, bool)](it: C) -> C: return it
@attrs.define
class Leaf:
    size: int

type Leaves = list[Leaf]

def leaves(it: Leaves): return [each.size for each in it]
def aliased(it: Numbers): return it
def paired(it: Pair[int]): return it
def nested(it: Tree): return it
def boxed(it: Box[int]): return it.content
def paged(it: Page[Tea]): return it.items
def shelved(it: int): return it
put = NumberShelf().put
"""
# Postponed, all annotations are text, and a class's type parameters are names that its module does not have.
POSTPONED = f"""from __future__ import annotations
{SOURCE}
class Entry[T](TypedDict):
    value: T

class Sorter[T]:
    def sort[K](self, items: list[T], key: K, first: T | None = None) -> list[T]: return items
    def __call__(self, it: T) -> T: return it

class IntSorter(Sorter[int]):
    T = str
    def pick(self, it: T) -> T: return it

T = float
def entered(it: Entry[int]): return it
def spread(**entry: Unpack[Entry[int]]): return entry
def plain(it: T): return it
sort = Sorter[int]().sort
sort_inherited = IntSorter().sort
pick = IntSorter().pick
sorter = Sorter[int]()
"""
CALLS: list[tuple[str, dict[str, Any], Any, dict[str, Any]]] = [
    ("first", {"items": [1, "a"], "default": None}, 1, {"items": "x", "default": 1}),
    ("bounded", {"it": 5}, 5, {"it": "x"}),
    ("chosen", {"it": True}, True, {"it": "x"}),
    ("aliased", {"it": [1]}, [1], {"it": ["x"]}),
    ("leaves", {"it": [{"size": 1}]}, [1], {"it": [{"size": "x"}]}),
    ("paired", {"it": [1, 2]}, (1, 2), {"it": [1]}),
    ("nested", {"it": [1, [2]]}, [1, [2]], {"it": "x"}),
    ("boxed", {"it": {"content": 1}}, 1, {"it": {"content": "x"}}),
    ("paged", {"it": {"items": [{"name": "a"}]}}, [{"name": "a"}], {"it": {"items": [{}]}}),
    ("put", {"item": 5}, 5, {"item": "x"}),
]


POSTPONED_CALLS: list[tuple[str, dict[str, Any], Any, dict[str, Any]]] = [
    ("entered", {"it": {"value": 1}}, {"value": 1}, {"it": {"value": "x"}}),
    ("spread", {"value": 1}, {"value": 1}, {"value": "x"}),
    ("plain", {"it": 1.5}, 1.5, {"it": "x"}),
    ("sort", {"items": [1], "key": "k"}, [1], {"items": ["x"], "key": "k"}),
    ("sort_inherited", {"items": [1], "key": 1, "first": 2}, [1], {"items": [1], "key": 1, "first": "x"}),
    ("sorter", {"it": 1}, 1, {"it": "x"}),
]


@pytest.fixture(scope="module")
def functions() -> dict[str, Any]:
    # As text, because this file is read by tools for Python 3.11 as well.
    names: dict[str, Any] = {"__name__": __name__}
    exec(SOURCE, names)
    return names


@pytest.fixture(scope="module")
def postponed() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": __name__}
    exec(POSTPONED, names)
    return names


@pytest.mark.parametrize(("name", "valid", "result", "invalid"), CALLS, ids=[name for name, *_ in CALLS])
def test_newer_syntax_is_validated(
    functions: dict[str, Any], name: str, valid: dict[str, Any], result: object, invalid: dict[str, Any]
) -> None:
    function = cast("Callable[..., object]", functions[name])
    schema = described(function)

    assert alike(called(function, schema, valid), result)
    assert refusal(schema, invalid)


@pytest.mark.parametrize(("name", "valid", "result", "invalid"), CALLS + POSTPONED_CALLS)
def test_newer_syntax_is_validated_if_postponed(
    postponed: dict[str, Any], name: str, valid: dict[str, Any], result: object, invalid: dict[str, Any]
) -> None:
    function = cast("Callable[..., object]", postponed[name])
    schema = described(function)

    assert alike(called(function, schema, valid), result)
    assert refusal(schema, invalid)


RECURSIVE = """
from enum import Enum

from pydantic import BaseModel

class Level(Enum):
    LOW = 1

type Json = dict[str, Json] | list[Json] | str | int | None
type Tree[T] = list[Tree[T]] | T
type Rows = list[Row]
type Row = dict[str, Rows]
type Levels = list[Levels] | Level

class Page(BaseModel):
    content: Json

def tidied() -> Json: return {"a": [1, {"b": None}]}
def tree() -> Tree[int]: return [1, [2]]
def rows() -> Rows | None: return [{"a": []}]
def levels() -> Levels: return [[Level.LOW]]
def page() -> Page: return Page(content=["a"])
"""


RETURNED: list[tuple[str, str, object]] = [
    ("tidied", "Json", {"a": [1, {"b": None}]}),
    ("tree", "Tree[int]", [1, [2]]),
    ("rows", "Rows | None", [{"a": []}]),
    ("levels", "list[Levels] | Literal[1]", [[1]]),
    ("page", "Page", {"content": ["a"]}),
]


@pytest.mark.parametrize(("name", "returns", "result"), RETURNED)
def test_alias_that_contains_itself_is_returned(name: str, returns: str, result: object) -> None:
    names: dict[str, Any] = {"__name__": __name__}
    exec(RECURSIVE, names)
    tool = ez_tool(names[name], description="Find.")
    with Toolkit([tool]) as toolkit:
        assert tool.signature == f"{name}() -> {returns}"
        assert toolkit.execute(f"{name}()").return_value == result
