"""What JSON has no form for, wherever in a type it lies."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
import typing_extensions
from pydantic import Base64Bytes, BaseModel, Field, ValidationError

from ez_ptc.schema.decoding import decoding_validator
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
    validate = decoding_validator(record_adapter("Record", {"it": annotation}, {}).core_schema)
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
def test_what_cannot_be_decoded_is_refused(annotation: object, sent: object) -> None:
    with pytest.raises(ValidationError):
        validated(annotation, sent)


def test_what_needs_no_decoding_stays_as_it_is() -> None:
    assert validated(dict[str, list[bool | None]], {"a": [True, None]}) == {"a": [True, None]}


class Level(IntEnum):
    LOW = 1


NUMBERS = [int, float, timedelta, Literal[1, 2], Level, Annotated[int, Field(ge=0)], int | None]


@pytest.mark.parametrize("annotation", NUMBERS)
def test_a_truth_value_is_no_number(annotation: object) -> None:
    with pytest.raises(ValidationError):
        validated(annotation, True)
    assert validated(Literal[True, 2], True) is True
    assert validated(int | bool, True) is True


class Corner(Enum):
    ORIGIN = (0, 0)
    DAY = date(2024, 5, 6)


def test_a_member_is_found_by_the_json_of_its_value() -> None:
    assert validated(Corner, [0, 0]) is Corner.ORIGIN
    assert validated(Corner, "2024-05-06") is Corner.DAY
    assert validated(Corner, Corner.DAY) is Corner.DAY


def test_what_may_be_anything_is_no_deeper_than_json_may_be() -> None:
    deep: list[object] = []
    deep.append(deep)
    for annotation in (Any, dict[str, Any], object):
        with pytest.raises(ValidationError, match="nested more than 100 levels deep"):
            validated(annotation, {"a": deep})
