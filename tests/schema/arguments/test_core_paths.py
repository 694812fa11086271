"""What is wanted at a place within a call's arguments."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import pytest
from pydantic import AliasChoices, BaseModel, Field
from typing_extensions import TypedDict

from ez_ptc.schema.arguments.core_paths import Places
from ez_ptc.schema.types import record_adapter


class Route(Enum):
    AIR = "air"
    SEA = "sea"


@dataclass
class Parcel:
    grams: int
    route: Route = Route.SEA


class Tea(TypedDict):
    name: str
    grams: NotRequired[int]


class Spot(NamedTuple):
    x: int
    y: int = 0


class Dog(BaseModel):
    kind: Literal["dog"]
    parcel: Parcel | None = None
    agent: int = Field(1, validation_alias=AliasChoices("theAgent", "agent"))
    inner: "Dog | None" = None


class Cat(BaseModel):
    kind: Literal["cat"]


Pet = Annotated[Dog | Cat, Field(discriminator="kind")]
AIR_AND_SEA = (Route.AIR, Route.SEA)
FOUND: list[tuple[Any, tuple[int | str, ...], Sequence[Enum], bool]] = [
    (Route, (), AIR_AND_SEA, False),
    (Route | None, (), AIR_AND_SEA, False),
    (Literal[Route.AIR, 5], (), (Route.AIR,), False),
    (list[Route], (7,), AIR_AND_SEA, False),
    (dict[str, Route], ("a",), AIR_AND_SEA, False),
    (tuple[int, Route], (1,), AIR_AND_SEA, False),
    (tuple[int, Route], (0,), (), False),
    (tuple[Route, ...], (5,), AIR_AND_SEA, False),
    (set[Route] | int, (0,), AIR_AND_SEA, False),
    (Parcel, ("grams",), (), False),
    (Parcel, ("route",), AIR_AND_SEA, True),
    (list[Parcel], (0, "route"), AIR_AND_SEA, True),
    (Tea, ("name",), (), False),
    (Tea, ("grams",), (), True),
    (Spot, (1,), (), True),
    (Spot, ("y",), (), True),
    (Spot, ("x",), (), False),
    (Dog, ("parcel", "route"), AIR_AND_SEA, True),
    (Dog, ("theAgent",), (), True),
    (Dog, ("inner", "inner", "parcel", "route"), AIR_AND_SEA, True),
    (Pet, ("parcel", "route"), AIR_AND_SEA, True),
    (Pet, ("kind",), (), False),
    (dict[str, int], ("a",), (), False),
    (int, ("nowhere", 5), (), False),
    (Any, ("nowhere",), (), False),
]


@pytest.mark.parametrize(("annotation", "path", "members", "is_optional"), FOUND)
def test_position_is_found_inside_any_container(
    annotation: object, path: tuple[int | str, ...], members: Sequence[Enum], is_optional: bool
) -> None:
    places = Places(record_adapter("Record", {"it": annotation}, {}).core_schema)

    there = places.at(("it", *path))
    assert (there.members, there.is_optional) == ({member.name: member for member in members}, is_optional)


def test_a_parameter_with_a_default_may_be_left_out() -> None:
    places = Places(record_adapter("Record", {"it": NotRequired[int], "other": int}, {}).core_schema)

    assert places.at(("it",)).is_optional
    assert not places.at(("other",)).is_optional
