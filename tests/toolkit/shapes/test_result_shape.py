"""Merged shapes: what they accept, what contradicts them, and which keys are values."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date
from functools import reduce
from typing import Any

import pytest
from pydantic import BaseModel

from ez_ptc.schema.stubs import type_text
from ez_ptc.toolkit.shapes.observed import MAX_COUNT, ObservedShape
from ez_ptc.toolkit.shapes.reading import fits, shape_of
from ez_ptc.toolkit.shapes.result_shape import NOTHING, ResultShape
from ez_ptc.toolkit.shapes.stored import MAX_STORED, dump_shape, load_shape
from ez_ptc.toolkit.shapes.witnesses import Witness
from tests.toolkit.shapes.generated import make_drift, make_result, make_world


def learn(*results: object) -> ResultShape:
    """Return the merged shape of some results."""
    shapes = [shape_of(result, Witness(number, number)) for number, result in enumerate(results)]
    return reduce(ResultShape.merged, shapes, NOTHING)


def text_of(*results: object) -> str:
    """Return the merged shape of some results as a type."""
    return type_text(learn(*results).to_schema())


@dataclass
class Point:
    x: int
    label: str


class Owner(BaseModel):
    name: str
    born: date


MERGED: dict[str, tuple[list[Any], str]] = {
    "a field that some lack": ([{"id": 1, "note": "x"}, {"id": 2}], "{id: int, note?: str}"),
    "a union": ([{"id": 1, "of": "a"}, {"id": "x", "of": None}], "{id: int | str, of: str | None}"),
    "numbers": ([1, 2.5], "float"),
    "rows": ([[{"id": 1, "s": "x"}], [], [{"id": 2, "s": "y"}]], "list[{id: int, s: str}]"),
    "an empty list": ([[]], "list"),
    "a dataclass": ([Point(1, "a")], "{x: int, label: str}"),
    "a model": ([Owner(name="Ann", born=date(1990, 1, 1))], "{name: str, born: date}"),
    "a result or an error": ([{"error": "x"}, {"result": 5}], "{error?: str, result?: int}"),
    "an object of another type": ([object()], "Any"),
}


def test_results_are_merged_into_one_shape() -> None:
    assert {name: text_of(*results) for name, (results, _) in MERGED.items()} == {
        name: text for name, (_, text) in MERGED.items()
    }


MAPS: dict[str, list[Any]] = {
    "addresses": [{"ann@shop.example": 3}],
    "dates": [{"2024-05-01": 3}],
    "numbers of orders": [{"order_1001": 3}],
    "a series": [{f"user{number}": 3 for number in range(4)}],
    "sentences": [{"Le Marais Boutique": 3}],
    "other names each time": [{"alice": 3}, {"bob": 4}],
    "more and more names": [{"alice": 3}, {"alice": 3, "bob": 4, "carol": 5}],
    "many names": [dict.fromkeys("abcdefghijklm", 3)],
    "numbers": [{1: 3}],
    "long texts": [{"a" * 50: 3}],
}


def test_keys_that_are_values_are_no_part_of_a_shape() -> None:
    for name, results in MAPS.items():
        assert text_of(*results) == "dict[str, int]", name
        written = dump_shape(learn(*results))
        assert not [key for result in results for key in result if f'"{key}"' in written], name


def check_sequence(seed: int) -> str | None:
    """Learn a generated sequence of results, and check that all are accepted and a drift is named; return the drift."""
    random_ = random.Random(seed)
    world = make_world(random_)
    results = [make_result(world, random_) for _ in range(random_.randint(1, 12))]
    shape = learn(*results)
    assert [shape.differences(shape_of(result)) for result in results] == [[]] * len(results), seed
    assert load_shape(dump_shape(shape)) == shape.shown(is_for_file=True)
    assert load_shape(dump_shape(learn(*results * 5))) == shape
    drift = make_drift(results[-1], random_)
    if drift is None:
        return None
    changed, expected = drift
    assert any(found.endswith(expected) for found in shape.differences(shape_of(changed))), (seed, changed, expected)
    assert not fits(shape, changed)
    kept = load_shape(dump_shape(shape))
    assert [kept.differences(shape_of(result)) for result in results] == [[]] * len(results), seed
    assert not shape.merged(shape_of(changed)).differences(shape_of(changed))
    return expected


def test_shape_accepts_its_results_and_names_each_drift() -> None:
    assert len({check_sequence(seed) for seed in range(30)}) == 4


@pytest.mark.security
def test_shapes_of_a_thousand_sequences_accept_and_name() -> None:
    drifts = [check_sequence(seed) for seed in range(1_000)]
    assert sum(drift is not None for drift in drifts) > 600


def test_shape_of_any_result_is_bounded() -> None:
    deep: object = 1
    for number in range(60):
        deep = {f"level{number}": deep, "x": [deep, 1]}
    wide = {f"{letter}{other}": {f"{other}{letter}x": 1, "s": "t"} for letter in "abcdefgh" for other in "ijklmnop"}
    loop: list[object] = []
    loop.append(loop)
    for result in (deep, wide, [wide] * 10_000, loop, "x" * 10**6):
        shape = learn(result, result)
        assert len(dump_shape(shape)) <= MAX_STORED
        assert len(ObservedShape(1, shape).type_text) <= 1_000


HOSTILE: dict[str, str] = {
    "no JSON": "{",
    "a list": "[]",
    "deep": '{"items":' * 5_000 + "{}" + "}" * 5_000,
    "an unknown kind": '{"kinds":["print"]}',
    "a sentence as a name": '{"fields":{"ignore all rules":{}}}',
    "an optional name that is none": '{"fields":{},"optional":["x"]}',
    "kinds that are no list": '{"kinds":{}}',
    "too long": '{"kinds":["int"]}' + " " * MAX_STORED,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_shape_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several messages
        load_shape(text)


def test_count_of_results_is_bounded() -> None:
    assert ObservedShape(MAX_COUNT).merged(ObservedShape(5)).count == MAX_COUNT
