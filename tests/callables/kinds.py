"""Everything that can be called."""

import functools
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, Generic, ParamSpec, Self, TypeVar

from pydantic import BaseModel, validate_call
from typing_extensions import TypedDict, Unpack

from tests.callables.cases import Case

__all__ = ["CASES"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def two(number: str, cups: int = 2) -> tuple[str, int]:
    """Take two."""
    return number, cups


def nothing() -> str:
    return "done"


def by_position(number: str, cups: int = 2, /) -> tuple[str, int]:
    return number, cups


def by_name(*, number: str, cups: int = 2) -> tuple[str, int]:
    return number, cups


def of_all_kinds(a: int, /, b: int, *, c: int) -> tuple[int, int, int]:
    return a, b, c


def with_more(number: str, *others: int, cups: int = 2, **more: str) -> tuple[Any, ...]:
    return number, others, cups, more


def only_more(*others: int, **more: str) -> tuple[Any, ...]:
    return others, more


class Options(TypedDict, total=False):
    limit: int
    order: str


def unpacked(query: str, **options: Unpack[Options]) -> tuple[str, Options]:
    return query, options


async def awaited(number: str, cups: int = 2) -> tuple[str, int]:
    return number, cups


def counting(start: int, stop: int) -> Iterator[int]:
    yield from range(start, stop)


async def streaming(start: int, stop: int) -> AsyncIterator[int]:
    for number in range(start, stop):
        yield number


def logged(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


@logged
@logged
def decorated(number: str, cups: int = 2) -> tuple[str, int]:
    return number, cups


@functools.cache
def cached(number: str, cups: int = 2) -> tuple[str, int]:
    return number, cups


@functools.singledispatch
def dispatched(number: str, cups: int = 2) -> tuple[str, int]:
    return number, cups


@validate_call
def validated(number: str, cups: int = 2) -> tuple[str, int]:
    return number, cups


class Shop:
    """A shop."""

    def __init__(self, name: str, size: int = 1) -> None:
        self.name = name
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shop) and (other.name, other.size) == (self.name, self.size)

    def __hash__(self) -> int:
        return hash(self.name)

    def order(self, number: str, cups: int = 2) -> tuple[str, int]:
        return number, cups

    async def later(self, number: str) -> tuple[str, str]:
        return self.name, number

    @classmethod
    def opened(cls, number: str, cups: int = 2) -> tuple[str, int]:
        return number, cups

    @staticmethod
    def weighed(number: str, cups: int = 2) -> tuple[str, int]:
        return number, cups

    @logged
    def watched(self, number: str, cups: int = 2) -> tuple[str, int]:
        return number, cups

    def __call__(self, number: str, cups: int = 2) -> tuple[str, int]:
        return number, cups

    preset = functools.partialmethod(order, cups=7)


class Branch(Shop):
    pass


class Awaiting:
    async def __call__(self, number: str, cups: int = 2) -> tuple[str, int]:
        return number, cups


class Abstract(ABC):
    @abstractmethod
    def order(self, number: str, cups: int = 2) -> tuple[str, int]: ...


class Concrete(Abstract):
    def order(self, number: str, cups: int = 2) -> tuple[str, int]:
        return number, cups


class Store(Generic[T]):
    def __init__(self, kind: T) -> None:
        self.kind = kind

    def put(self, item: T, cups: int = 2) -> tuple[T, int]:
        return item, cups


class Money(BaseModel):
    amount: int

    def plus(self, other: Self) -> int:
        return self.amount + other.amount


@dataclass
class Parcel:
    number: str
    cups: int = 2


class Letter(BaseModel):
    number: str
    cups: int = 2


class Made:
    def __new__(cls, number: str, cups: int = 2) -> "tuple[str, int]":
        return number, cups


def outer() -> Callable[[date], date]:
    class Day(date):
        pass

    def inner(day: date) -> date:
        return day if Day.__name__ == "Day" else Day.today()

    return inner


NUMBER_AND_CUPS = {"number": STRING, "cups": {**INTEGER, "default": 2}}
VALID: Final[list[tuple[dict[str, Any], Any]]] = [
    ({"number": "A"}, ("A", 2)),
    ({"number": "A", "cups": 3}, ("A", 3)),
    ({"cups": 3, "number": "A"}, ("A", 3)),
]
INVALID: Final[list[tuple[Any, ...]]] = [
    ({"cups": "x"}, "number", "cups"),
    ({"number": 5, "cups": "many"}, "number", "cups"),
    ({"number": "A", "cup": 3, "self": 1}, "cup", "self"),
]


def alike(name: str, function: Callable[..., Any]) -> Case:
    return Case(name, function, NUMBER_AND_CUPS, ("number",), valid=VALID, invalid=INVALID)


def made(name: str, function: Callable[..., Any], one: object, other: object) -> Case:
    valid: list[tuple[dict[str, Any], Any]] = [({"number": "A"}, one), ({"number": "A", "cups": 3}, other)]
    return replace(alike(name, function), valid=valid)


UNTYPED: Callable[..., Any] = eval("lambda a, b=2: (a, b)")  # as text, since type checkers refuse it
SHOP = Shop("tea")
SAME: Final = {
    "a function": two,
    "by position only": by_position,
    "by name only": by_name,
    "asynchronous": awaited,
    "decorated": decorated,
    "cached": cached,
    "single dispatch": dispatched,
    "pydantic's validate_call": validated,
    "a bound method": SHOP.order,
    "an inherited method": Branch("b").order,
    "a class method": Shop.opened,
    "a class method of an object": SHOP.opened,
    "a static method": Shop.weighed,
    "a decorated method": SHOP.watched,
    "an object that can be called": SHOP,
    "an asynchronous object": Awaiting(),
    "an implemented abstract method": Concrete().order,
    "an empty partial": functools.partial(two),
    "a partial of a partial": functools.partial(functools.partial(two)),
    "a partial of a method": functools.partial(SHOP.order),
    "a decorated partial": logged(functools.partial(two)),
    "a class that makes something else": Made,
}

CASES: Final[list[Case]] = [
    *(alike(name, each) for name, each in SAME.items()),
    made("a dataclass", Parcel, Parcel("A"), Parcel("A", 3)),
    made("a model", Letter, Letter(number="A"), Letter(number="A", cups=3)),
    Case(
        "a class",
        Shop,
        {"name": STRING, "size": {**INTEGER, "default": 1}},
        ("name",),
        valid=[({"name": "a"}, Shop("a")), ({"name": "a", "size": 2}, Shop("a", 2))],
        invalid=[({}, "name"), ({"name": 1}, "name")],
    ),
    Case("nothing to pass", nothing, {}, (), valid=[({}, "done")], invalid=[({"number": 1}, "number")]),
    Case(
        "all kinds of parameters",
        of_all_kinds,
        {"a": INTEGER, "b": INTEGER, "c": INTEGER},
        valid=[({"c": 3, "b": 2, "a": 1}, (1, 2, 3))],
        invalid=[({"a": "x", "b": "y"}, "a", "b", "c")],
    ),
    Case(
        "*args and **kwargs",
        with_more,
        NUMBER_AND_CUPS,
        ("number",),
        valid=[({"number": "A", "cups": 3}, ("A", (), 3, {}))],
        invalid=[
            ({"number": "A", "others": [1]}, "others"),
            ({"number": "A", "colour": "red"}, "colour"),
            ({"number": "A", "more": {}}, "more"),
        ],
    ),
    Case("*args and **kwargs alone", only_more, {}, (), valid=[({}, ((), {}))], invalid=[({"x": 1}, "x")]),
    Case(
        "**kwargs of a TypedDict",
        unpacked,
        {"query": STRING, "limit": INTEGER, "order": STRING},
        ("query",),
        valid=[({"query": "a"}, ("a", {})), ({"query": "a", "limit": 3}, ("a", {"limit": 3}))],
        invalid=[({"query": "a", "limit": "x"}, "limit"), ({"query": "a", "lim": 1}, "lim")],
    ),
    Case(
        "a generator",
        counting,
        {"start": INTEGER, "stop": INTEGER},
        valid=[({"start": 1, "stop": 3}, [1, 2])],
        invalid=[({"start": "x", "stop": 3}, "start")],
    ),
    Case(
        "an asynchronous generator",
        streaming,
        {"start": INTEGER, "stop": INTEGER},
        valid=[({"start": 1, "stop": 3}, [1, 2])],
        invalid=[({"start": 1}, "stop")],
    ),
    Case(
        "an asynchronous method",
        SHOP.later,
        {"number": STRING},
        valid=[({"number": "A"}, ("tea", "A"))],
        invalid=[({"number": 5}, "number")],
    ),
    Case(
        "a partial with a value by position",
        functools.partial(two, "A"),
        {"cups": {**INTEGER, "default": 2}},
        (),
        valid=[({}, ("A", 2)), ({"cups": 3}, ("A", 3))],
        invalid=[({"cups": "x"}, "cups"), ({"number": "B"}, "number")],
    ),
    Case(
        "a partial with a value by name",
        functools.partial(two, cups=5),
        {"number": STRING, "cups": {**INTEGER, "default": 5}},
        ("number",),
        valid=[({"number": "A"}, ("A", 5)), ({"number": "A", "cups": 3}, ("A", 3))],
        invalid=[({}, "number")],
    ),
    Case(
        "a partial method",
        SHOP.preset,
        {"number": STRING, "cups": {**INTEGER, "default": 7}},
        ("number",),
        valid=[({"number": "A"}, ("A", 7))],
        invalid=[({}, "number")],
    ),
    Case(
        "a partial that fills all",
        functools.partial(two, "A", 3),
        {},
        (),
        valid=[({}, ("A", 3))],
        invalid=[({"cups": 3}, "cups")],
    ),
    Case(
        "a lambda",
        UNTYPED,
        {"a": {}, "b": {"default": 2}},
        ("a",),
        valid=[({"a": [1]}, ([1], 2)), ({"a": None, "b": "x"}, (None, "x"))],
        invalid=[({"b": 1}, "a"), ({"a": 1, "c": 1}, "c")],
    ),
    Case("a built-in", math.gcd, {}, (), valid=[({}, 0)], invalid=[({"a": 1}, "a")]),
    Case("a built-in by position", math.sqrt, {"x": {}}, valid=[({"x": 4}, 2.0)], invalid=[({}, "x")]),
    Case(
        "a built-in with keywords",
        sorted,
        {"iterable": {}, "key": {"default": None}, "reverse": {"default": False}},
        ("iterable",),
        valid=[({"iterable": [2, 1]}, [1, 2]), ({"iterable": [1, 2], "reverse": True}, [2, 1])],
        invalid=[({}, "iterable")],
    ),
    Case(
        "a method of a built-in",
        "a-b".split,
        {"sep": {"default": None}, "maxsplit": {"default": -1}},
        (),
        valid=[({"sep": "-"}, ["a", "b"])],
        invalid=[({"separator": 1}, "separator")],
    ),
    Case("an operator", operator.add, {"a": {}, "b": {}}, valid=[({"a": 1, "b": 2}, 3)], invalid=[({"a": 1}, "b")]),
    Case(
        "a method with a type variable",
        Store("x").put,
        {"item": {}, "cups": {**INTEGER, "default": 2}},
        ("item",),
        valid=[({"item": "a"}, ("a", 2))],
        invalid=[({"item": 1, "cups": "x"}, "cups")],
    ),
    Case(
        "a method that takes its own kind",
        Money(amount=1).plus,
        {"other": {"type": "object", "properties": {"amount": INTEGER}, "required": ["amount"]}},
        valid=[({"other": {"amount": 2}}, 3)],
        invalid=[({"other": {}}, "other.amount")],
    ),
    Case(
        "a function within a function",
        outer(),
        {"day": {"type": "string", "format": "date"}},
        valid=[({"day": "2024-05-06"}, date(2024, 5, 6))],
        invalid=[({"day": "x"}, "day")],
    ),
]
