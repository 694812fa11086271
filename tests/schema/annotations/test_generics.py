"""Types with something within them replaced."""

import functools
import math
from collections.abc import Callable
from typing import Annotated, Any, Generic, Literal, Self, TypedDict, TypeVar

import pytest

from ez_ptc import Tool
from ez_ptc.schema.annotations.generics import is_hashable, rebuilt, substitute, variables_of_method, variables_of_type

T = TypeVar("T")
S = TypeVar("S")
ANY_T: Any = T


class Shelf(Generic[T]):
    def put(self, item: T) -> T: ...

    @classmethod
    def made(cls, item: T) -> Self: ...


class Pair(Shelf[S], Generic[S, T]):
    def other(self, item: T) -> S: ...


class Numbers(Pair[int, str]):
    pass


@pytest.mark.parametrize(
    ("annotation", "changed"),
    [
        (int, int),
        (list[ANY_T], list[int]),
        (dict[str, list[ANY_T]], dict[str, list[int]]),
        (ANY_T | None, int | None),
        (Annotated[ANY_T, "how many"], Annotated[int, "how many"]),
        (tuple[ANY_T, ...], tuple[int, ...]),
        (Literal["T"], Literal["T"]),
        (Shelf[ANY_T], Shelf[int]),
        (S, S),
    ],
)
def test_a_type_variable_is_replaced_wherever_it_is(annotation: object, changed: object) -> None:
    assert substitute(annotation, {T: int}) == changed


@pytest.mark.parametrize(
    "annotation", [int, list[int], Callable[[int], str], Annotated[int, ["x"]], Literal[1], "text", 5]
)
def test_where_nothing_changes_the_type_is_the_same(annotation: object) -> None:
    def same(inner: Any) -> Any:  # noqa: ANN401 - any form of type
        return inner

    assert rebuilt(annotation, same) is annotation
    assert substitute(annotation, {}) is annotation


def test_object_types_resolve_class_type_variables() -> None:
    assert variables_of_method(Shelf[int]().put)[T] is int
    assert variables_of_method(Numbers().put)[T] is int
    assert variables_of_method(Numbers().put)[Self] is Numbers
    assert variables_of_method(Numbers.made)[Self] is Numbers
    assert variables_of_method(Pair[int, str]().other)[T] is str
    assert variables_of_method(Pair[Any, str]().put)[T] is Any


class Weigher(Generic[T]):
    class Unit(TypedDict):
        grams: int

    def weigh(self, item: T, unit: "Unit | None" = None) -> str:
        return f"{item} {unit}"

    def __call__(self, item: T) -> T:
        return item

    by_unit = functools.partialmethod(weigh, unit=None)


class IntWeigher(Weigher[int]):
    pass


@pytest.mark.parametrize("weigher", [Weigher[int](), IntWeigher()])
def test_callable_of_an_object_resolves_its_type_variables(weigher: Weigher[int]) -> None:
    callables: list[Any] = [
        weigher,
        functools.partial(weigher),
        weigher.weigh,
        weigher.by_unit,
        functools.partial(weigher.weigh, unit=None),
        functools.partial(functools.partial(weigher.weigh), unit=None),
    ]
    for function in callables:
        tool = Tool.from_function(function, name="weigh", description="Weigh.")
        assert tool.parameters["properties"]["item"] == {"type": "integer"}
        assert tool.execute(item="x").error == "weigh: 'item' must be int, got str 'x'"


def test_non_method_gives_no_class() -> None:
    assert variables_of_method(math.sin) == {}
    assert variables_of_method(lambda: None) == {}
    assert variables_of_type(Shelf[int]) == {T: int}
    assert variables_of_type(Shelf) == {}


def test_unhashable_type_is_not_looked_up() -> None:
    assert not is_hashable(list[Annotated[int, ["x"]]])
    assert is_hashable(list[Annotated[int, "x"]])
