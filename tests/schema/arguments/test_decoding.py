"""What JSON has no form for, wherever in a type it lies."""

import json
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import attrs
import msgspec
import pytest
import typing_extensions
from pydantic import (
    AliasChoices,
    AliasPath,
    AllowInfNan,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)

from ez_ptc.schema.annotations.substitutes import substitute_for
from ez_ptc.schema.arguments.validation import ArgumentsValidation
from ez_ptc.schema.types import record_adapter


class Route(Enum):
    AIR = "air"
    BOX = 1


class Photo(BaseModel):
    data: bytes
    parts: list["Photo"] = []


@dataclass
class Scan:
    pages: list[bytes]


class Fields(typing_extensions.TypedDict):
    """Named like the parts of pydantic's own schemas."""

    type: bytes
    default: bytes
    metadata: bytes


def validated(annotation: object, value: object) -> object:
    validate = ArgumentsValidation(
        record_adapter("Record", {"it": substitute_for(annotation, namespace={})}, {}).core_schema
    ).quick
    assert validate is not None
    return validate({"it": value})["it"]


DECODED: list[tuple[object, object, object]] = [
    (bytes, "dGVh", b"tea"),
    (bytes, "", b""),
    (bytes, b"\xff", b"\xff"),
    (bytes | None, None, None),
    (list[bytes], ["dGVh"], [b"tea"]),
    (dict[str, bytes], {"a": "dGVh"}, {"a": b"tea"}),
    (Photo, {"data": "dGVh", "parts": [{"data": "dGVh"}]}, Photo(data=b"tea", parts=[Photo(data=b"tea")])),
    (Scan, {"pages": ["dGVh"]}, Scan([b"tea"])),
    (
        Fields,
        {"type": "dGVh", "default": "dGVh", "metadata": "dGVh"},
        dict.fromkeys(("type", "default", "metadata"), b"tea"),
    ),
    (tuple[bytes, Base64Bytes], ["dGVh", "dGVh"], (b"tea", b"tea")),
    (str | bytes, "dGVh", "dGVh"),
    (Literal[Route.AIR, Route.BOX], "air", Route.AIR),
    (Literal[Route.AIR, Route.BOX], 1, Route.BOX),
    (Literal[Route.AIR, Route.BOX], Route.AIR, Route.AIR),
    (Iterable[bytes], ["dGVh"], [b"tea"]),
    (dict[str, Iterable[int]], {"a": ["1"]}, {"a": [1]}),
]


@pytest.mark.parametrize(("annotation", "sent", "made"), DECODED)
def test_a_value_is_decoded_wherever_it_lies(annotation: object, sent: object, made: object) -> None:
    assert validated(annotation, sent) == made


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [
        (bytes, "t=ea"),
        (bytes, "tea"),
        (bytes, "té"),
        (bytes, 5),
        (Iterable[int], "12"),
        (Iterable[int], ["a"]),
        (Literal[Route.BOX], True),
    ],
)
def test_undecodable_value_is_refused(annotation: object, sent: object) -> None:
    with pytest.raises(ValidationError):
        validated(annotation, sent)


def test_value_without_decoder_stays_unchanged() -> None:
    assert validated(dict[str, list[bool | None]], {"a": [True, None]}) == {"a": [True, None]}


class Level(IntEnum):
    LOW = 1


NUMBERS = [int, float, timedelta, Literal[1, 2], Level, Annotated[int, Field(ge=0)], int | None]


@pytest.mark.parametrize("annotation", NUMBERS)
def test_bool_is_no_number(annotation: object) -> None:
    with pytest.raises(ValidationError):
        validated(annotation, True)
    assert validated(Literal[True, 2], True) is True
    assert validated(int | bool, True) is True


class Corner(Enum):
    ORIGIN = (0, 0)
    DAY = date(2024, 5, 6)


def test_enum_member_is_found_by_its_json_value() -> None:
    assert validated(Corner, [0, 0]) is Corner.ORIGIN
    assert validated(Corner, "2024-05-06") is Corner.DAY
    assert validated(Corner, Corner.DAY) is Corner.DAY


def test_any_value_is_limited_to_json_depth() -> None:
    deep: list[object] = []
    deep.append(deep)
    for annotation in (Any, dict[str, Any], object):
        with pytest.raises(ValidationError, match="nested more than 100 levels deep"):
            validated(annotation, {"a": deep})


@dataclass
class Times:
    __pydantic_config__ = ConfigDict(strict=True)
    day: date
    spent: timedelta


def strict(annotation: Any) -> Any:  # noqa: ANN401 - any form of type
    return create_model("Strict", __config__=ConfigDict(strict=True), it=annotation)


STRICT: list[tuple[object, object]] = [
    (date, "2024-05-06"),
    (datetime, "2024-05-06T07:08:09"),
    (time, "07:08"),
    (timedelta, "P1D"),
    (UUID, "12345678-1234-5678-1234-567812345678"),
    (Level, 1),
    (Decimal, "1.5"),
    (Decimal, 1.5),
    (Fraction, "1/3"),
    (complex, "1+2j"),
    (Path, "tea/green"),
    (IPv4Address, "10.0.0.1"),
    (set[int], [1]),
    (frozenset[str], ["a"]),
    (tuple[int, str], [1, "a"]),
    (deque[int], [1]),
    (Counter[str], {"a": 1}),
    (dict[int, str], {"1": "a"}),
    (dict[date, int], {"2024-05-06": 1}),
    (Times, {"day": "2024-05-06", "spent": "P1D"}),
    (date | None, "2024-05-06"),
    (list[date | int], ["2024-05-06", 5]),
]


@pytest.mark.parametrize(("annotation", "sent"), STRICT)
def test_strict_models_accept_their_json_schema(annotation: object, sent: object) -> None:
    model = strict(annotation)

    assert validated(model, {"it": sent}) == model.model_validate_json(json.dumps({"it": sent}))


def test_strict_models_accept_base64_and_member_json() -> None:
    assert dict(cast("Any", validated(strict(bytes), {"it": "dGVh"}))) == {"it": b"tea"}
    assert dict(cast("Any", validated(strict(Corner), {"it": "2024-05-06"}))) == {"it": Corner.DAY}


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [(int, "1"), (float, "1.5"), (bool, "true"), (str, 1), (date, 5), (datetime, 5.5), (timedelta, 60), (Level, "1")],
)
def test_strict_models_refuse_what_pydantic_refuses(annotation: object, sent: object) -> None:
    with pytest.raises(ValidationError):
        strict(annotation).model_validate_json(json.dumps({"it": sent}))
    with pytest.raises(ValidationError):
        validated(strict(annotation), {"it": sent})


KEYS: list[tuple[object, dict[str, object], dict[object, object]]] = [
    (dict[Literal[1, 2], int], {"1": 5}, {1: 5}),
    (dict[Literal["a", 1], int], {"1": 5, "a": 6}, {1: 5, "a": 6}),
    (dict[Level, int], {"1": 5}, {Level.LOW: 5}),
    (dict[Corner, int], {"[0, 0]": 5, "2024-05-06": 6}, {Corner.ORIGIN: 5, Corner.DAY: 6}),
    (dict[tuple[int, str], int], {'[1, "a"]': 5}, {(1, "a"): 5}),
    (dict[int, int], {"1": 5}, {1: 5}),
    (dict[int | None, int], {"null": 5, "1": 6}, {None: 5, 1: 6}),
    (dict[Annotated[int, Field(ge=1)], int], {"1": 5}, {1: 5}),
    (dict[StrictInt, int], {"1": 5}, {1: 5}),
    (dict[Annotated[UUID, Field(strict=True)], int], {str(UUID(int=7)): 5}, {UUID(int=7): 5}),
]


@pytest.mark.parametrize(("annotation", "sent", "made"), KEYS)
def test_keys_are_read_from_the_text_that_json_has(
    annotation: object, sent: dict[str, object], made: dict[object, object]
) -> None:
    assert validated(annotation, sent) == made
    assert validated(annotation, made) == made


@pytest.mark.parametrize("annotation", [dict[Literal[1, 2], int], dict[Level, int], dict[tuple[int, int], int]])
def test_invalid_keys_are_refused(annotation: object) -> None:
    for key in ("3", "x", "[]", "[1", ""):
        with pytest.raises(ValidationError):
            validated(annotation, {key: 1})


class Camel(BaseModel):
    first_name: str = Field(alias="firstName")
    age: int = Field(1, validation_alias="theAge")
    town: str = Field("", serialization_alias="city")


class Swapped(BaseModel):
    one: int = Field(alias="two")
    two: int = Field(alias="one")


class Inner(BaseModel):
    """Fields read from inner objects; pydantic's JSON Schema has their names."""

    city: str = Field(validation_alias=AliasPath("address", "city"))
    zip: int = Field(0, validation_alias=AliasPath("address", "codes", 0))
    tag: str = Field("", validation_alias=AliasChoices(AliasPath("meta", "tag"), "label"))


class Crossed(BaseModel):
    one: Any = Field(validation_alias=AliasPath("two", 0))
    two: Any = Field(validation_alias=AliasPath("two", 1))


@attrs.define
class Private:
    _secret: str = "none"
    shown: int = 0


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str
    last_name: str = ""


class Corners(typing_extensions.TypedDict, total=False):
    first: int


CAMEL: Any = Camel.model_validate({"firstName": "A", "theAge": 2, "town": "Oslo"})
CROSSED: Any = Crossed.model_validate({"two": [1, 2]})
INNER: Any = Inner.model_validate({"address": {"city": "Oslo", "codes": [5]}, "label": "x"})
NAMED: list[tuple[type, dict[str, object], object]] = [
    (Camel, {"first_name": "A", "age": 2, "city": "Oslo"}, CAMEL),
    (Camel, {"firstName": "A", "theAge": 2, "town": "Oslo"}, CAMEL),
    (Inner, {"city": "Oslo", "zip": 5, "label": "x"}, INNER),
    (Inner, {"address": {"city": "Oslo", "codes": ["5"]}, "meta": {"tag": "x"}}, INNER),
    (Crossed, {"two": [1, 2]}, CROSSED),
    (Swapped, {"one": 1, "two": 2}, Swapped(one=1, two=2)),
    (Private, {"_secret": "s", "shown": 1}, Private("s", 1)),
    (Private, {"secret": "s"}, Private("s")),
    (Renamed, {"first_name": "A", "lastName": "B"}, Renamed("A", "B")),
]


@pytest.mark.parametrize(("annotation", "sent", "made"), NAMED)
def test_record_is_accepted_by_python_names(annotation: type, sent: dict[str, object], made: object) -> None:
    assert validated(annotation, sent) == made


@pytest.mark.parametrize("annotation", [Camel, Private, Renamed, Scan, Times, Fields, Corners])
def test_other_keys_of_a_record_are_refused(annotation: type) -> None:
    with pytest.raises(ValidationError, match=r"extra_forbidden|unexpected_keyword"):
        validated(annotation, {"nobody": 1})


class Loose(BaseModel, extra="ignore"):
    a: int


class Upgraded(BaseModel):
    a: int

    @model_validator(mode="before")
    @classmethod
    def upgrade(cls, given: dict[str, object]) -> dict[str, object]:
        return {"a": given["old"], **given}


def test_extra_keys_are_up_to_the_class() -> None:
    assert validated(Loose, {"a": 1, "b": 2}) == Loose(a=1)
    assert validated(Upgraded, {"old": 1}) == Upgraded.model_validate({"old": 1})


class Infinite(BaseModel):
    model_config = ConfigDict(allow_inf_nan=True)
    it: float


@pytest.mark.parametrize("sent", ["nan", "inf", "-Infinity", float("nan"), float("inf")])
def test_nan_and_infinity_need_an_annotation_allowing_them(sent: object) -> None:
    for annotation in (float, float | None, list[float], dict[str, float], Annotated[float, Field(ge=-1)], Decimal):
        shaped = [sent] if annotation == list[float] else {"a": sent} if annotation == dict[str, float] else sent
        with pytest.raises(ValidationError):
            validated(annotation, shaped)
    assert isinstance(validated(Annotated[float, AllowInfNan()], sent), float)
    assert isinstance(validated(Infinite, {"it": sent}), Infinite)


class Right(Flag):
    READ = 1
    WRITE = 2


def test_a_flag_is_any_sum_of_its_members() -> None:
    assert validated(Right, 3) == Right.READ | Right.WRITE
    for wrong in (8, -1, True, "x"):
        with pytest.raises(ValidationError):
            validated(Right, wrong)


def test_equal_numbers_of_different_types_differ_in_literal() -> None:
    assert validated(Literal[1, "1", True], 1.0) == 1
    assert validated(Literal[1, "1", True], True) is True
    assert type(validated(Literal[1, "1", True], 1.0)) is int
    for wrong in (1.5, False, "2"):
        with pytest.raises(ValidationError):
            validated(Literal[1, "1", True], wrong)


class Dated(BaseModel):
    at: date


class Named(BaseModel):
    at: str


TEXTS = (
    *("2024-05-06", "2024-05-06T00:00:00Z", "2024-05-06T07:08", "07:08:09", "P1D", "1.5", "1/3", "tea"),
    *(str(UUID(int=7)), "10.0.0.1", "/tea", "\ud800", ""),
)
UNIONS: tuple[Any, ...] = (
    *(datetime | str, str | datetime, date | datetime, datetime | date, UUID | str, str | UUID | int, Path | str),
    *(str | Path, str | Decimal, int | str | timedelta, str | IPv4Address),
    *(float | Decimal, Decimal | float | None, time | timedelta, Fraction | int, IPv4Address | str, timedelta | str),
    *(list[date] | list[str], dict[str, date | str], Dated | Named, list[Dated | Named], date | list[date | str]),
)


@pytest.mark.parametrize("annotation", UNIONS)
def test_text_goes_to_branch_pydantic_json_would_choose(annotation: Any) -> None:  # noqa: ANN401 - any type
    for text in TEXTS:
        for value in (text, [text], {"at": text}, [{"at": text}]):
            try:
                made = TypeAdapter(annotation).validate_json(json.dumps(value))
            except ValidationError:
                continue
            taken = validated(annotation, value)
            assert (type(taken), taken) == (type(made), made)


@pytest.mark.parametrize("number", [0.1, 1.5, -0.3, 1e20, 5e-324, 7])
def test_a_fraction_is_the_number_that_is_written(number: float) -> None:
    assert validated(Fraction, number) == TypeAdapter(Fraction).validate_json(json.dumps(number))
    with pytest.raises(ValidationError):
        validated(Fraction, True)
