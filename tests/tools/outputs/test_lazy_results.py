"""Iterators anywhere in a tool's result: their items are made before the call ends."""

from __future__ import annotations

import io
import itertools
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from unittest.mock import MagicMock

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel, ConfigDict

from ez_ptc.errors import ToolError, ToolTimeoutError
from ez_ptc.tools.outputs import lazy_results
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


@dataclass(frozen=True)
class Page:
    rows: object
    number: int = 1


@dataclass(slots=True)
class Slim:
    rows: object


class Pair(NamedTuple):
    rows: object


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")

    rows: Any


class Own:
    """An iterator of a class of the host."""

    def __init__(self) -> None:
        self._left = [2, 1]

    def __iter__(self) -> Own:
        return self

    def __next__(self) -> int:
        if not self._left:
            raise StopIteration
        return self._left.pop()


def rows() -> Iterator[int]:
    yield 1
    yield 2


def more(value: object) -> dict[str, Any]:
    return {"more": value}


async def arows() -> AsyncIterator[int]:
    for row in (1, 2):
        await anyio.lowlevel.checkpoint()
        yield row


async def later() -> Iterator[int]:
    await anyio.lowlevel.checkpoint()
    return rows()


def called(make: Callable[[], object]) -> object:
    """Return the results of an ordinary and an asynchronous tool, which are equal."""

    def compute() -> object:
        """Compute."""
        return make()

    async def acompute() -> object:
        """Compute."""
        await anyio.lowlevel.checkpoint()
        return make()

    output = Tool.from_function(compute).call({})
    awaited = Tool.from_function(acompute).call({})
    assert awaited is output or awaited == output
    return output


LISTS: list[tuple[Callable[[], object], object]] = [
    (lambda: {"rows": rows(), "n": 2}, {"rows": [1, 2], "n": 2}),
    (lambda: [rows(), map(str, [1])], [[1, 2], ["1"]]),
    (lambda: (rows(), "text"), ([1, 2], "text")),
    (lambda: Pair(rows()), Pair([1, 2])),
    (lambda: Page(rows()), Page([1, 2])),
    (lambda: Slim(rows()), Slim([1, 2])),
    (lambda: Model(rows=rows(), **more(filter(None, [0, 1]))), Model(rows=[1, 2], **more([1]))),
    (lambda: OrderedDict[str, Any](a=[{"b": (Page(rows()),)}]), OrderedDict(a=[{"b": (Page([1, 2]),)}])),
    (lambda: deque([rows()]), deque([[1, 2]])),
    (lambda: (rows() for _ in "ab"), [[1, 2], [1, 2]]),
    (Own, [1, 2]),
    (lambda: {"rows": Own()}, {"rows": [1, 2]}),
    (lambda: iter({1: 2}), [1]),
    (lambda: itertools.groupby("aab"), [("a", ["a", "a"]), ("b", ["b"])]),
    (lambda: {"pairs": itertools.product("a", "b")}, {"pairs": [("a", "b")]}),
    (arows, [1, 2]),
    (later, [1, 2]),
    (lambda: {"rows": arows(), "later": later(), "now": rows()}, {"rows": [1, 2], "later": [1, 2], "now": [1, 2]}),
    (lambda: Page([arows()]), Page([[1, 2]])),
    (lambda: (arows() for _ in "a"), [[1, 2]]),
]


def test_iterators_anywhere_in_a_result_become_lists() -> None:
    for make, expected in LISTS:
        assert called(make) == expected


def test_result_without_iterators_stays_the_same_object() -> None:
    class Listed(dict[str, int]):
        pass

    class Walked(BaseModel):
        left: int = 2

        def __next__(self) -> int:
            return self.left

    file, mock = io.StringIO("a line"), MagicMock()
    loop: list[object] = []
    loop.append(loop)
    for value in (
        {"a": [1, {"b": (2, None)}]},
        Page([1]),
        Model(rows=1),
        Listed(a=1),
        Walked(),
        file,
        {1, 2},
        loop,
        mock,
        [mock],
    ):
        assert called(lambda value=value: value) is value


def test_container_that_cannot_be_iterated_over_is_returned_as_it_is() -> None:
    def refuse(self: object) -> object:
        raise RuntimeError(self)

    names = ("__iter__", "__len__", "__getitem__", "items", "keys", "values", "copy")
    for base, content in ((list, [1]), (tuple, [1]), (deque, [1]), (dict, {"a": 1})):
        value = type("Own", (base,), dict.fromkeys(names, refuse))(content)
        assert called(lambda value=value: value) is value


def test_original_containers_are_not_changed() -> None:
    page = Page({"rows": rows()})
    once: list[object] = [page]

    assert Tool.from_function(lambda: once, name="once", description="Once.").call({}) == [Page({"rows": [1, 2]})]
    assert once == [page]
    assert not isinstance(cast("dict[str, object]", page.rows)["rows"], list)


def test_error_of_an_inner_iterator_is_the_tools() -> None:
    def broken() -> Iterator[int]:
        yield 1
        message = "the second row is missing"
        raise LookupError(message)

    with pytest.raises(LookupError, match="the second row is missing"):
        called(lambda: {"rows": [broken()]})


def test_endless_iterator_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_results, "_MAX_ITEMS", 1_000)

    async def forever() -> AsyncIterator[int]:
        while True:
            await anyio.lowlevel.checkpoint()
            yield 1

    for make in (itertools.count, lambda: {"rows": itertools.repeat(1)}, forever):
        with pytest.raises(ToolError, match=r"returned an iterator \(\w+\) of more than 1,000 items: ask for less"):
            called(cast("Callable[[], object]", make))


class Detached:
    """A field as of an ORM: stored in the instance, or loaded by a query that fails."""

    def __get__(self, owner: object, kind: object = None) -> object:
        if owner is None:
            return None
        message = "lazy load cannot proceed"
        raise RuntimeError(message)

    def __set__(self, owner: object, value: object) -> None:
        pass


def test_field_of_a_record_is_never_read_by_code_of_the_host() -> None:
    @dataclass
    class User:
        orders: object = Detached()

    @dataclass
    class Guarded:
        rows: object

        def __getattribute__(self, name: str) -> object:
            if name == "__class__":
                return Guarded
            raise RuntimeError(name)

    class Loaded(Model):
        def __getattribute__(self, name: str) -> object:
            if name == "__class__":
                return Loaded
            raise RuntimeError(name)

    unset = object.__new__(Slim)
    for value in (User(), [User()], {"user": User()}, Guarded(1), Loaded.model_construct(rows=1), unset):
        assert called(lambda value=value: value) is value


def test_iterator_in_two_places_is_the_same_list_in_both() -> None:
    def make() -> object:
        once, other = rows(), arows()
        return {"a": once, "b": [once], "c": other, "d": [other]}

    assert called(make) == {"a": [1, 2], "b": [[1, 2]], "c": [1, 2], "d": [[1, 2]]}


def test_output_within_outputs_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def again() -> object:
        await anyio.lowlevel.checkpoint()
        return again()

    def own() -> Iterator[object]:
        while True:
            yield own()

    for make in (again, own, lambda: {"rows": own()}):
        with pytest.raises(ToolError, match="has run, but what it returned never ends"):
            called(make)
    monkeypatch.setattr(lazy_results, "_MAX_ITEMS", 1_000)
    with pytest.raises(ToolError, match="of more than 1,000 items"):
        called(lambda: [iter(range(400)) for _ in range(3)])


def test_items_of_an_asynchronous_tool_are_made_beside_the_loop_and_in_its_time() -> None:
    threads: list[int] = []
    given_up = threading.Event()

    def slow() -> Iterator[int]:
        threads.append(threading.get_ident())
        yield 1
        given_up.wait(10)

    async def compute() -> object:
        """Compute."""
        await anyio.lowlevel.checkpoint()
        return {"rows": slow()}

    async def test() -> None:
        with pytest.raises(ToolTimeoutError):
            await Tool.from_function(compute, timeout=0.1).acall({})

    try:
        anyio.run(test)
    finally:
        given_up.set()
    assert threads != [threading.get_ident()]
