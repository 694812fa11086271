"""What pydantic validates in place of a class becomes a value of the class."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import attrs
import msgspec
import pytest
from pydantic import TypeAdapter, ValidationError

from ez_ptc.schema.annotations.record_substitutes import record_substitute
from ez_ptc.schema.annotations.records import RecordClass, RecordField
from ez_ptc.schema.types import NativeJsonSchema


@dataclass
class Parcel:
    grams: int
    note: str = "none"


class Spot(NamedTuple):
    x: int
    y: int = 0


class Closed(msgspec.Struct, tag="closed", forbid_unknown_fields=True):
    a: int


class Listed(msgspec.Struct, tag="listed", array_like=True):
    a: int
    b: list[int] = []


@attrs.define
class Checked:
    low: int = attrs.field(validator=attrs.validators.ge(0))
    kind: str = attrs.field(default="a", validator=attrs.validators.instance_of(str))


def adapter_of(record: RecordClass) -> TypeAdapter[Any]:
    substitute, fill = record_substitute(record)
    fill(lambda annotation: annotation)
    return TypeAdapter(substitute)


PARCEL = RecordClass(Parcel, (RecordField("weight", "grams", int), RecordField("note", "note", str, "none")))
SPOT = RecordClass(Spot, (RecordField("x", "x", int), RecordField("y", "y", int, 0)), is_array=True)
CLOSED = RecordClass(Closed, (RecordField("a", "a", int),), tag=("type", "closed"), is_closed=True)
LISTED = RecordClass(
    Listed,
    (RecordField("a", "a", int), RecordField("b", "b", list[int], object())),
    tag=("type", "listed"),
    is_array=True,
)
CHECKED = RecordClass(Checked, (RecordField("low", "low", int), RecordField("kind", "kind", Any, "a")))

MADE: list[tuple[RecordClass, object, object]] = [
    (PARCEL, {"weight": 5}, Parcel(5)),
    (PARCEL, {"weight": "5", "note": "n"}, Parcel(5, "n")),
    (PARCEL, Parcel(7), Parcel(7)),
    (SPOT, [1], Spot(1)),
    (SPOT, {"x": 1, "y": 2}, Spot(1, 2)),
    (CLOSED, {"type": "closed", "a": 1}, Closed(1)),
    (CHECKED, {"low": 1}, Checked(1)),
]


@pytest.mark.parametrize(("record", "sent", "made"), MADE)
def test_fields_become_a_value_of_the_class(record: RecordClass, sent: object, made: object) -> None:
    got = adapter_of(record).validate_python(sent)

    assert got == made
    assert type(got) is type(made)


@pytest.mark.parametrize(
    ("record", "sent", "words"),
    [
        (PARCEL, {}, "Field required"),
        (SPOT, [], "Field required"),
        (CLOSED, {"type": "closed", "a": 1, "b": 2}, "Extra inputs"),
        (CLOSED, {"type": "other", "a": 1}, "Input should be 'closed'"),
        (LISTED, ["other", 1], "Input should be 'listed'"),
        (CHECKED, {"low": -1}, "'low' must be >= 0"),
        (CHECKED, {"low": 1, "kind": 5}, "'kind' must be <class 'str'>"),
    ],
)
def test_mismatch_is_refused_even_by_the_class(record: RecordClass, sent: object, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        adapter_of(record).validate_python(sent)


def test_substitute_is_described_with_class_defaults() -> None:
    schema = adapter_of(PARCEL).json_schema(schema_generator=NativeJsonSchema)

    assert schema == {
        "type": "object",
        "properties": {"weight": {"type": "integer"}, "note": {"type": "string", "default": "none"}},
        "required": ["weight"],
    }
    listed = adapter_of(LISTED).json_schema(schema_generator=NativeJsonSchema)
    assert [listed["minItems"], listed["maxItems"]] == [2, 3]
