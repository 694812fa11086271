"""Arguments that were made to break something are refused, with a message of bounded length."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import attrs
import pytest
from pydantic import BaseModel, BeforeValidator

from ez_ptc.errors import ArgumentsError
from tests.callables.cases import ONLY, bound, described, refusal, sent, takes

LONGEST = 1000


class Route(Enum):
    AIR = "air"


@dataclass
class Node:
    value: int
    next: "Node | None" = None


@attrs.define
class Leaf:
    value: int
    next: "Leaf | None" = None


class Tree(BaseModel):
    value: int
    next: "Tree | None" = None


class Sly(str):
    """Text that does harm where its own methods are asked."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        message = "asked"
        raise RuntimeError(message)

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        message = "asked"
        raise RuntimeError(message)

    __str__ = __repr__


class SlyDict(dict[str, Any]):
    def __getitem__(self, key: str) -> object:
        message = "asked"
        raise RuntimeError(message)


def nested(*, depth: int, cyclic: bool = False) -> dict[str, Any]:
    outer: dict[str, Any] = {"value": 1}
    inner = outer
    for _ in range(depth):
        following: dict[str, Any] = {"value": 1}
        inner["next"] = following
        inner = following
    if cyclic:
        inner["next"] = outer
    return outer


def problems_with(annotation: object, value: object) -> tuple[str, ...]:
    problems = refusal(described(takes(annotation, {}).function), sent(value))
    assert problems
    assert len("; ".join(problems)) < LONGEST
    return problems


@pytest.mark.parametrize(
    "annotation", [dict, Any, dict[str, Any], Node, Leaf, Tree, str, int | str, list[dict[str, Any]]]
)
def test_too_deep_or_recursive_values_are_refused(annotation: object) -> None:
    assert problems_with(annotation, nested(depth=10_000))
    assert problems_with(annotation, nested(depth=2, cyclic=True))


@pytest.mark.parametrize("annotation", [str, Any, list[str], dict[str, int], dict[str, Any], Path, str | None])
def test_half_a_surrogate_pair_is_refused_wherever_it_is(annotation: object) -> None:
    for value in ("\ud800", ["\ud800"], {"\ud800": 1}):
        assert problems_with(annotation, value)


def test_long_text_for_another_type_is_reported_briefly() -> None:
    for annotation in (int, list[int], dict[str, int], Route, Node, Leaf, Tree):
        assert problems_with(annotation, "x" * 10_000_000)


@pytest.mark.parametrize("annotation", [list[int], set[int], list[Node], dict[str, int]])
def test_many_wrong_values_are_reported_briefly(annotation: object) -> None:
    assert problems_with(annotation, [None] * 50_000)
    assert problems_with(annotation, ["[1"] * 5_000)


@pytest.mark.parametrize("annotation", [int, list[str], Route, Node, Leaf, Tree, bytes])
def test_methods_of_a_value_do_no_harm(annotation: object) -> None:
    assert problems_with(annotation, Sly("tea"))
    assert problems_with(annotation, SlyDict(tea=1))


def test_dict_subclass_arrives_as_plain_dict() -> None:
    call = bound(described(takes(dict[str, int], {}).function), sent(SlyDict(tea=1)))

    assert type(call.kwargs[ONLY]) is dict


def test_text_subclass_arrives_as_plain_text() -> None:
    call = bound(described(takes(str, {}).function), sent(Sly("tea")))

    assert type(call.kwargs[ONLY]) is str


def test_exception_in_type_validator_becomes_refusal() -> None:
    def look_up(value: object) -> object:
        return {"a": 1}[value]  # pyright: ignore[reportArgumentType] - it fails for what is no key

    def take(it: Annotated[int, BeforeValidator(look_up)], cups: int, tags: list[str]) -> None: ...

    with pytest.raises(ArgumentsError) as caught:
        bound(described(take), {"it": "b", "cups": "many", "tags": "[5]"})

    assert caught.value.problems == (
        "'it' must be int, got str 'b' (KeyError: b)",
        "'cups' must be int, got str 'many'",
        "'tags[0]' must be str, got int 5",
    )
    with pytest.raises(ArgumentsError, match="'it' must be int, got list of 0"):
        bound(described(take), {"it": [], "cups": 1, "tags": []})


TEXTS = {
    "too long": '{"it": "' + "x" * 10_000_000 + '"}',
    "too deep": '{"it":' + "[" * 10_000 + "]" * 10_000 + "}",
    "no number": '{"it": NaN}',
    "infinite": '{"it": -Infinity}',
    "too large": '{"it": 1e999}',
    "too many digits": '{"it": ' + "9" * 100_000 + "}",
    "half a character": '{"it": "\\ud800"}',
    "half a character as a key": '{"it": {"\\udfff": 1}}',
    "twice": '{"it": 1, "it": 2}',
    "twice within": '{"it": {"a": 1, "a": 2}}',
    "no object": "[1]",
    "no json": '{"it": 1',
    "two objects": '{"it": 1}{"it": 1}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_text_that_json_should_not_be_is_refused(text: str) -> None:
    with pytest.raises(ArgumentsError, match="the arguments are not usable JSON") as caught:
        bound(described(takes(Any, {}).function), text)

    assert len(str(caught.value)) < LONGEST
