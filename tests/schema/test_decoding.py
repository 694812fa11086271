"""What JSON has no form for, wherever in a type it lies."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import pytest
import typing_extensions
from pydantic import Base64Bytes, BaseModel, TypeAdapter, ValidationError

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


def test_a_type_with_nothing_to_decode_needs_no_validator_of_its_own() -> None:
    assert decoding_validator(TypeAdapter(dict[str, list[int | None]]).core_schema) is None
