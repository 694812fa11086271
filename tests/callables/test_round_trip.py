"""Whatever the types are: a value that was written as JSON arrives equal, and the schema allows that JSON."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Literal, NamedTuple, TypedDict, cast
from uuid import UUID

import attrs
import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, create_model
from pydantic_core import to_jsonable_python

from tests.callables.cases import alike, bound, described, without_omitted


class Route(Enum):
    AIR = "air"
    SEA = "sea"


class Level(IntEnum):
    LOW = 1
    HIGH = 3


@dataclass(frozen=True, slots=True)
class Kind:
    """A type, and values of it."""

    annotation: Any
    values: st.SearchStrategy[Any]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEAVES = [
    Kind(int, st.integers()),
    Kind(str, TEXT),
    Kind(float, st.floats(allow_nan=False, allow_infinity=False)),
    Kind(bool, st.booleans()),
    Kind(None, st.none()),
    Kind(bytes, st.binary(max_size=9)),
    Kind(bytearray, st.builds(bytearray, st.binary(max_size=9))),
    Kind(date, st.dates()),
    Kind(datetime, st.datetimes()),
    Kind(time, st.times()),
    Kind(timedelta, st.timedeltas(timedelta(days=-9999), timedelta(days=9999))),
    Kind(Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    Kind(UUID, st.uuids()),
    Kind(Route, st.sampled_from(Route)),
    Kind(Level, st.sampled_from(Level)),
    Kind(Literal["a", 2], st.sampled_from(["a", 2])),
    Kind(Literal[Route.AIR], st.just(Route.AIR)),
    Kind(int | str, st.integers() | TEXT),
    Kind(set[int], st.sets(st.integers(), max_size=4)),
    Kind(frozenset[str], st.frozensets(TEXT, max_size=4)),
    Kind(dict[int, str], st.dictionaries(st.integers(), TEXT, max_size=3)),
]
NAMES = ("first", "second", "third")


def listed(inner: Kind) -> Kind:
    return Kind(list[inner.annotation], st.lists(inner.values, max_size=3))


def many(inner: Kind) -> Kind:
    return Kind(tuple[inner.annotation, ...], st.lists(inner.values, max_size=3).map(tuple))


def paired(inner: Kind) -> Kind:
    return Kind(tuple[inner.annotation, int], st.tuples(inner.values, st.integers()))


def mapped(inner: Kind) -> Kind:
    return Kind(dict[str, inner.annotation], st.dictionaries(TEXT, inner.values, max_size=3))


def optional(inner: Kind) -> Kind:
    return Kind(inner.annotation | None if inner.annotation is not None else None, st.none() | inner.values)


def record(make: Callable[[dict[str, Any]], Callable[..., Any]]) -> Callable[[list[Kind]], Kind]:
    """Return what makes a class with fields of some kinds, and values of it."""

    def made(inner: list[Kind]) -> Kind:
        named = dict(zip(NAMES, inner, strict=False))
        cls = make({name: kind.annotation for name, kind in named.items()})
        return Kind(cls, st.builds(cls, **{name: kind.values for name, kind in named.items()}))

    return made


def typed_dict(fields: dict[str, Any]) -> Callable[..., Any]:
    make = cast("Callable[..., Any]", TypedDict)
    return make("Fields", fields)


def model(fields: dict[str, Any]) -> Callable[..., Any]:
    make = cast("Callable[..., Any]", create_model)
    return make("Model", **{name: (kind, ...) for name, kind in fields.items()})


def named_tuple(fields: dict[str, Any]) -> Callable[..., Any]:
    make = cast("Callable[..., Any]", NamedTuple)
    return make("Place", list(fields.items()))


def attributes(fields: dict[str, Any]) -> Callable[..., Any]:
    return attrs.make_class("Tea", {name: attrs.field(type=kind) for name, kind in fields.items()})


RECORDS = [
    record(typed_dict),
    record(named_tuple),
    record(attributes),
    record(lambda fields: dataclasses.make_dataclass("Parcel", list(fields.items()))),
    record(lambda fields: msgspec.defstruct("Point", list(fields.items()))),
]
WRAPPERS = [listed, many, paired, mapped, optional]


def wrapped(wrap: Callable[[Kind], Kind], inner: Kind) -> Kind:
    return wrap(inner)


def recorded(make: Callable[[list[Kind]], Kind], inner: list[Kind]) -> Kind:
    return make(inner)


def wider(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    wrappers = st.builds(wrapped, st.sampled_from(WRAPPERS), inner)
    records = st.builds(recorded, st.sampled_from(RECORDS), st.lists(inner, min_size=1, max_size=3))
    # Pydantic refuses the others when a model is made.
    taken = [kind for kind in LEAVES if kind.annotation is not bytearray]
    models = st.lists(st.sampled_from(taken), min_size=1, max_size=3).map(record(model))
    return wrappers | records | models


KINDS = st.recursive(st.sampled_from(LEAVES), wider, max_leaves=5)


def written(value: object) -> object:
    """Return a value as JSON has it."""
    if (
        isinstance(value, BaseModel | msgspec.Struct)
        or dataclasses.is_dataclass(value)
        or hasattr(value, "__attrs_attrs__")
    ):
        return {name: written(getattr(value, name)) for name in NAMES if hasattr(value, name)}
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {to_jsonable_python(key): written(each) for key, each in pairs}
    if isinstance(value, list | tuple | set | frozenset):
        return [written(each) for each in cast("list[Any]", value)]
    plain = bytes(value) if isinstance(value, bytearray) else value
    return to_jsonable_python(plain, bytes_mode="base64")


def function_of(kinds: list[Kind]) -> Callable[..., Any]:
    names = [f"p{number}" for number in range(len(kinds))]
    namespace: dict[str, Any] = {}
    exec(f"def take({', '.join(names)}): ...", namespace)
    take = namespace["take"]
    take.__annotations__ = dict(zip(names, (kind.annotation for kind in kinds), strict=True))
    return take


@given(kinds=st.lists(KINDS, min_size=1, max_size=4), data=st.data())
def test_a_value_that_went_through_json_arrives_equal(kinds: list[Kind], data: st.DataObject) -> None:
    values = {f"p{number}": data.draw(kind.values) for number, kind in enumerate(kinds)}
    schema = described(function_of(kinds))
    text = json.dumps({name: written(value) for name, value in values.items()})

    arguments = bound(schema, text).kwargs

    assert arguments.keys() == values.keys()
    assert all(alike(arguments[name], values[name]) for name in values), (arguments, values)
    jsonschema_rs.Draft202012Validator(schema.parameters).validate(without_omitted(schema.parameters, json.loads(text)))


@given(kind=KINDS, data=st.data())
def test_value_passed_by_program_arrives_unchanged(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(kind.values)

    assert alike(bound(described(function_of([kind])), {"p0": value}).kwargs["p0"], value)


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: str(kind.annotation))
def test_every_kind_of_leaf_is_refused_for_something(kind: Kind) -> None:
    class Stranger:
        pass

    with pytest.raises(ValueError, match="'p0' must be"):
        bound(described(function_of([kind])), {"p0": Stranger()})
