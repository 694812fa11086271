"""Classes of attrs, msgspec and the standard library, read alike."""

from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Any, ClassVar, NamedTuple, NotRequired, Required, get_type_hints

import attrs
import msgspec
import pytest
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import ReadOnly, TypedDict

from ez_ptc.schema.annotations.records import (
    EMPTY,
    UNKNOWN,
    RecordClass,
    RecordField,
    field_info,
    is_foreign,
    is_named_tuple,
    is_plain_dataclass,
    is_struct_meta,
    record_of,
    typed_dict_entry,
)


@attrs.define
class Tea:
    _name: str
    grams: int = attrs.field(default=5, alias="weight")
    tags: list[str] = attrs.field(factory=list[str])
    upper: str = attrs.field(converter=str.upper, default="x")
    made: int = attrs.field(init=False, default=3)


class Point(msgspec.Struct, rename="camel", tag="point", tag_field="kind", forbid_unknown_fields=True):
    first_x: int
    y: int = 0
    tags: list[str] = []
    unset: int | msgspec.UnsetType = msgspec.UNSET


class Line(msgspec.Struct, array_like=True):
    a: int


@dataclass
class Parcel:
    KIND: ClassVar[str] = "parcel"
    grams: int
    scale: InitVar[int] = 2
    _: KW_ONLY
    tags: list[str] = field(default_factory=list[str])
    total: int = field(default=0, init=False)

    def __post_init__(self, scale: int) -> None:
        self.total = self.grams * scale


class Spot(NamedTuple):
    x: int
    y: int = 0


@pydantic_dataclass
class Checked:
    a: int


class Entries(TypedDict, total=False):
    a: Required[ReadOnly[int]]
    b: NotRequired[int]
    c: int


def read(cls: type) -> RecordClass:
    return record_of(cls, get_type_hints(cls, include_extras=True))


def test_a_class_of_attrs_is_read() -> None:
    assert read(Tea).fields == (
        RecordField("name", "name", str, attribute="_name"),
        RecordField("weight", "weight", int, 5, attribute="grams"),
        RecordField("tags", "tags", list[str], UNKNOWN),
        RecordField("upper", "upper", str, "x", converts=True),
    )


def test_converter_input_type_is_accepted() -> None:
    def parsed(text: str) -> int:
        return int(text)

    cls = attrs.make_class("Made", {"a": attrs.field(type=int, converter=parsed)})

    assert record_of(cls, {"a": int}).fields == (RecordField("a", "a", str),)


def test_a_class_of_msgspec_is_read() -> None:
    record = read(Point)

    assert record.fields[:2] == (RecordField("firstX", "first_x", int), RecordField("y", "y", int, 0))
    assert [each.default for each in record.fields[2:]] == [UNKNOWN, UNKNOWN]
    assert (record.tag, record.is_closed, record.is_array) == (("kind", "point"), True, False)
    assert read(Line).is_array


def test_a_dataclass_is_read() -> None:
    assert read(Parcel).fields == (
        RecordField("grams", "grams", int),
        RecordField("scale", "scale", int, 2),
        RecordField("tags", "tags", list[str], UNKNOWN),
    )


def test_a_named_tuple_is_read() -> None:
    assert read(Spot) == RecordClass(Spot, (RecordField("x", "x", int), RecordField("y", "y", int, 0)), is_array=True)


@pytest.mark.parametrize(
    ("cls", "kinds"),
    [
        (Tea, (True, False, False)),
        (Point, (True, False, False)),
        (Parcel, (False, True, False)),
        (Checked, (False, False, False)),
        (Spot, (False, False, True)),
        (int, (False, False, False)),
        (5, (False, False, False)),
        (Tea("a"), (False, False, False)),
    ],
)
def test_each_kind_of_class_is_known(cls: object, kinds: tuple[bool, bool, bool]) -> None:
    assert (is_foreign(cls), is_plain_dataclass(cls), is_named_tuple(cls)) == kinds


def test_typed_dict_entries_are_required_as_declared() -> None:
    hints = get_type_hints(Entries, include_extras=True)
    entries = {name: typed_dict_entry(Entries, name, hint) for name, hint in hints.items()}

    assert entries == {"a": (int, True), "b": (int, False), "c": (int, False)}


def test_constraints_of_msgspec_become_those_of_pydantic() -> None:
    meta = msgspec.Meta(ge=1, le=9, description="How many", extra_json_schema={"x": 1})
    info: Any = field_info(meta)

    assert is_struct_meta(meta)
    assert not is_struct_meta("text")
    assert (info.description, info.json_schema_extra) == ("How many", {"x": 1})
    assert len(info.metadata) == len(("ge", "le"))
    assert EMPTY is not UNKNOWN
