"""Unions within unions, sets, keys and patterns: validated once, and chosen as pydantic chooses."""

import gc
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from time import thread_time
from typing import Annotated, Any, Literal, Union, cast
from uuid import UUID

import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    create_model,
)

from ez_ptc.errors import ArgumentsError, SchemaError
from tests.callables.cases import bound, described, refusal, sent, takes

PRIME = 2**61 - 1
"""Python's hashes of whole numbers are their remainders of it."""


class And(BaseModel, extra="forbid"):
    of: "Filter"
    label: str = ""


class Or(BaseModel, extra="forbid"):
    of: "Filter"
    either: "list[Filter]" = []


@dataclass
class Not:
    of: "Filter"


Filter = And | Or | Not | int | str
for model in (And, Or):
    model.model_rebuild()


class Leaf(BaseModel, extra="forbid"):
    value: int = 0
    weight: float = 0


class Node(BaseModel, extra="forbid"):
    value: int = 0
    children: "list[Node | Leaf | Pair]" = []


class Pair(BaseModel, extra="forbid"):
    left: "Node | Leaf | Pair"
    right: "Node | Leaf | Pair"


Node.model_rebuild()
Pair.model_rebuild()


def nested(depth: int, leaf: object) -> object:
    for _ in range(depth):
        leaf = {"of": leaf}
    return leaf


def problems(annotation: object, value: object) -> str:
    return "; ".join(refusal(described(takes(annotation, {}).function), sent(value)))


def taken(annotation: object, value: object) -> object:
    return bound(described(takes(annotation, {}).function), sent(value)).kwargs["it"]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Filter, nested(30, "tea")),
        (Filter | None, nested(30, 5)),
        (list[Filter], [nested(20, "tea"), nested(30, "tea")]),
        (dict[str, Filter], {"a": nested(30, "tea")}),
        (And, {"of": {"of": nested(20, "tea"), "either": [nested(20, 1)] * 3}, "label": "a"}),
    ],
)
def test_a_filter_of_thirty_levels_binds(annotation: object, value: object) -> None:
    assert problems(annotation, value) == ""


@pytest.mark.parametrize("depth", [2, 12, 30])
def test_a_wrong_leaf_is_one_problem_at_any_depth(depth: int) -> None:
    text = problems(Filter, nested(depth, None))

    assert "must be And | Or | Not | int | str" in text
    assert len(text) < 400


@pytest.mark.parametrize("depth", [34, 60, 95])
def test_unions_within_unions_have_a_greatest_depth(depth: int) -> None:
    assert "got dict of 1" in problems(Filter, nested(depth, "tea"))


def made(chance: random.Random, depth: int) -> Any:  # noqa: ANN401 - any JSON
    keys = chance.sample(("value", "weight", "children", "left", "right"), chance.choice((0, 1, 2, 2)))
    if depth == 0:
        return chance.choice((1, "2", None, {}, {"value": 1}, {"weight": 0.5}))
    parts: dict[str, Callable[[], Any]] = {
        "value": lambda: chance.choice((1, "2", True)),
        "weight": lambda: chance.choice((0.5, "1")),
        "children": lambda: [made(chance, depth - 1) for _ in range(chance.choice((0, 1, 2)))],
        "left": lambda: made(chance, depth - 1),
        "right": lambda: made(chance, depth - 1),
    }
    return {key: parts[key]() for key in keys}


@pytest.mark.parametrize("seed", range(40))
def test_nested_unions_are_chosen_as_pydantic_does(seed: int) -> None:
    chance = random.Random(seed)
    adapter: TypeAdapter[Any] = TypeAdapter(Node | Leaf | Pair)
    schema = described(takes(Node | Leaf | Pair, {}).function)
    for _ in range(20):
        value = made(chance, 4)
        has_flag = "True" in repr(value)  # which is a number to pydantic, and none to us
        try:
            expected = adapter.validate_python(value)
        except ValidationError:
            assert refusal(schema, sent(value)), value
        else:
            assert has_flag or bound(schema, sent(value)).kwargs["it"] == expected, value


def test_many_different_values_fill_a_set() -> None:
    assert taken(set[int], list(range(50_000))) == set(range(50_000))
    assert taken(set[str], [str(number) for number in range(50_000)]) == set(map(str, range(50_000)))


COLLIDING: list[tuple[object, Callable[[int], object]]] = [
    (set[int], lambda number: number * PRIME),
    (frozenset[int], lambda number: str(number * PRIME)),
    (set[Decimal], lambda number: number * PRIME),
    (set[Fraction], lambda number: str(number * PRIME)),
    (set[tuple[int, ...]], lambda number: [number * PRIME]),
    (set[UUID], lambda number: str(UUID(int=number * PRIME))),
    (set[int | str], lambda number: number * PRIME),
    (set[Any], lambda number: number * PRIME),
]


@pytest.mark.parametrize(("annotation", "make"), COLLIDING)
def test_values_of_one_hash_do_not_fill_a_set(annotation: object, make: Callable[[int], object]) -> None:
    assert problems(annotation, [make(number) for number in range(40)]) == ""
    assert "hashes" in problems(annotation, [make(number) for number in range(1, 2_000)])


@pytest.mark.parametrize("annotation", [dict[int, int], dict[Decimal, int], dict[int, list[int]], dict[Any, int]])
def test_keys_of_one_hash_do_not_fill_a_dict(annotation: object) -> None:
    value = 1 if annotation != dict[int, list[int]] else [1]
    text = problems(annotation, {str(number * PRIME): value for number in range(2_000)})

    assert "hashes" in text if annotation != dict[Any, int] else text == ""


class ByPython(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")
    name: str = Field(pattern="(a+)+$")


CATASTROPHIC: list[tuple[object, Any]] = [
    (Annotated[str, StringConstraints(pattern=r"^(a+)+$")], "a"),
    (Annotated[str, StringConstraints(pattern=re.compile(r"(A+)+$", re.IGNORECASE))], "a"),
    (Annotated[str, StringConstraints(pattern=re.compile(r" (a | aa)+ $ # all", re.VERBOSE))], "a"),
    (ByPython, {"name": "a"}),
]


@pytest.mark.parametrize(("annotation", "right"), CATASTROPHIC)
def test_any_pattern_takes_linear_time(annotation: object, right: Any) -> None:  # noqa: ANN401 - any JSON
    wrong = "a" * 50_000 + "!"

    assert problems(annotation, right) == ""
    assert "match pattern" in problems(annotation, {"name": wrong} if isinstance(right, dict) else wrong)


def test_a_compiled_pattern_matches_as_python_does() -> None:
    words = Annotated[str, StringConstraints(pattern=re.compile(r"\w+", re.ASCII))]

    assert problems(words, "tea") == ""
    assert problems(words, "é")
    assert problems(words, " tea")


@pytest.mark.parametrize("pattern", [re.compile(r"(?=a)(a+)+"), re.compile(r"(a)\1"), re.compile(r"(?<!a)b")])
def test_backtracking_only_pattern_is_refused_at_definition(pattern: re.Pattern[str]) -> None:
    with pytest.raises(SchemaError, match="may take exponential time on a hostile text"):
        described(takes(Annotated[str, StringConstraints(pattern=pattern)], {}).function)


@pytest.mark.parametrize("text", ["(?i)" + "[\0-\uffff]" * 190, "a" * 1_001, "(?mi)" + "[a-\uffff]" * 11])
def test_an_expression_that_compiles_slowly_is_refused(text: str) -> None:
    assert "at most" in problems(re.Pattern[str], text)
    assert problems(re.Pattern[str], "(?i)[a-z]+") == ""


def test_short_list_is_explained_in_full() -> None:
    assert problems(list[int], ["x", 1, "y"]) == "'it[0]' must be int, got str 'x'; 'it[2]' must be int, got str 'y'"


def test_many_mistakes_in_many_rows_are_repaired() -> None:
    rows = [{"value": 1, "weight": None} for _ in range(1_500)]

    assert taken(list[Leaf], rows) == [Leaf(value=1)] * 1_500


@pytest.mark.sampled(every=0)
def test_too_costly_check_gives_advice() -> None:
    kinds = [create_model(f"Kind{number}", kind=cast("Any", Literal[number]), note=(str, "")) for number in range(40)]
    union: Any = Union[tuple(kinds)]  # noqa: UP007 - the members are known at run time only
    schema = described(takes(list[union], {}).function)

    assert refusal(schema, sent([{"kind": 39, "note": "n"}] * 100)) == ()
    with pytest.raises(ArgumentsError, match="take too long to check for their size: send fewer values at a time"):
        bound(schema, sent([{"kind": 39, "note": "n"}] * 50_000))


def test_a_collection_of_garbage_is_not_the_values_fault() -> None:
    """In a process of millions of objects a full one takes longer than a small value may."""
    collected: list[int] = []

    def collect(value: object) -> object:
        if not collected:
            collected.append(gc.collect())
        return value

    def take_long(phase: str, info: dict[str, int]) -> None:
        started = thread_time()
        while phase == "stop" and thread_time() - started < 0.15:
            pass

    watched: Any = Annotated[Filter, BeforeValidator(collect)]
    gc.callbacks.append(take_long)
    try:
        assert problems(watched, nested(30, "tea")) == ""
    finally:
        gc.callbacks.remove(take_long)
    assert collected
