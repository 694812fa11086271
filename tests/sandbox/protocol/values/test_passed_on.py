"""What was returned can be passed on."""

from __future__ import annotations

import dataclasses
import ipaddress
import pathlib
import re
from fractions import Fraction
from typing import Any

import attrs
import msgspec
import pytest
from pydantic import BaseModel, Field, computed_field

from ez_ptc import Toolkit, ez_tool
from ez_ptc.formats.content import as_json
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.giving import TO_GIVE, Colour, Point, Spot, Tea, give


@dataclasses.dataclass
class Made:
    a: int
    b: int = dataclasses.field(init=False, default=5)


@attrs.define
class MadeToo:
    a: int
    b: int = attrs.field(init=False, default=5)
    _c: str = "x"
    shown: int = attrs.field(alias="display", default=2)


class Computed(BaseModel):
    a: int

    @computed_field
    @property
    def twice(self) -> int:
        return 2 * self.a


class Written(BaseModel):
    a: int = Field(serialization_alias="outside", validation_alias="inside")


class Camel(msgspec.Struct, rename="camel", tag="camel"):
    some_name: int


@dataclasses.dataclass
class All:
    made: Made
    attrs: MadeToo
    computed: Computed
    camel: Camel
    point: Point


PASSED_ON: list[tuple[Any, object]] = [
    (Made, Made(1)),
    (MadeToo, MadeToo(1, "u", 7)),
    (Computed, Computed(a=1)),
    (Written, Written.model_validate({"inside": 1})),
    (Tea, Tea(realName=1)),
    (Camel, Camel(1)),
    (All, All(Made(1), MadeToo(2, "y"), Computed(a=1), Camel(3), Point(1, 2))),
    (list[MadeToo], [MadeToo(1, "z")]),
    (dict[Spot, int], {Spot(1): 2}),
    (dict[tuple[int, int], int], {(1, 2): 3}),
    (dict[Colour, int], {Colour.RED: 1, Colour.BLUE: 2}),
    (dict[ipaddress.IPv4Address, int], {ipaddress.IPv4Address("1.2.3.4"): 1}),
    (pathlib.PurePosixPath, pathlib.PurePosixPath("/x")),
    (Fraction, Fraction(1, 3)),
    (complex, 1 + 2j),
    (re.Pattern[str], re.compile("a")),
    (bytes, b"\xff"),
    (frozenset[Colour], frozenset({Colour.RED})),
]


@pytest.mark.parametrize(("kind", "value"), PASSED_ON, ids=lambda each: str(each)[:40])
def test_returned_value_can_be_passed_on(sandbox: ProcessSandbox, kind: object, value: object) -> None:
    taken: list[object] = []

    def take(it: object) -> None:
        """Take it."""
        taken.append(it)

    take.__annotations__["it"] = kind
    tool = ez_tool(take)
    TO_GIVE[0] = value
    result = Toolkit([give, tool], sandbox=sandbox).execute("take(give())")
    assert result.success, result.error
    assert tool.execute(it=as_json(value)).success
    assert taken == [value, value]


@pytest.mark.parametrize(
    "model", [Tea(realName=1), Written.model_validate({"inside": 1}), Computed(a=1)], ids=lambda it: type(it).__name__
)
def test_return_schema_names_the_returned_type(model: BaseModel) -> None:
    def make() -> object:
        """Make one."""
        return model

    make.__annotations__["return"] = type(model)
    schema = ez_tool(make).return_schema
    assert schema is not None
    assert schema["properties"].keys() == as_json(model).keys()
