"""Pydantic's models and dataclasses."""

from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Final, Generic, Literal, Self, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    RootModel,
    Tag,
    computed_field,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from tests.callables.cases import Case, record, takes

__all__ = ["CASES"]

T = TypeVar("T")
INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}


class Route(Enum):
    AIR = "air"
    SEA = "sea"


class Address(BaseModel):
    street: str
    number: int = Field(ge=1)


class Person(BaseModel):
    """Somebody."""

    name: str
    home: Address
    others: list[Address] = []
    by: Route = Route.SEA
    born: datetime | None = None
    raw: bytes = b""


class Closed(BaseModel, extra="forbid"):
    a: int
    b: int = 1


class Open(BaseModel, extra="allow"):
    a: int


class Aliased(BaseModel):
    first_name: str = Field(alias="firstName")
    age: int = Field(1, validation_alias="theAge")


class Populated(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    first_name: str = Field(alias="firstName")


class Choice(BaseModel):
    city: str = Field(validation_alias=AliasChoices("city", "town"))


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=lambda name: name.title().replace("_", ""))
    the_name: str


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


class Left(BaseModel):
    right: "Right | None" = None


class Right(BaseModel):
    left: Left | None = None


class Envelope(BaseModel, Generic[T]):
    content: T
    count: int = 1


class Numbers(RootModel[list[int]]):
    pass


class Names(RootModel[dict[str, str]]):
    """Names by their short forms."""


class Period(BaseModel):
    start: int
    end: int

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start > self.end:
            message = "the start comes after the end"
            raise ValueError(message)
        return self


class Trimmed(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            message = "a name is not blank"
            raise ValueError(message)
        return value.strip()


class Area(BaseModel):
    width: int

    @computed_field
    @property
    def doubled(self) -> int:
        return self.width * 2


class Frozen(BaseModel, frozen=True):
    a: int


class Rigid(BaseModel, strict=True):
    a: int


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    legs: int


def _kind(value: object) -> str:
    return "many" if isinstance(value, list) else "one"


class Child(Address):
    floor: int = 0


class WithDefaults(BaseModel):
    a: int = 1
    b: list[int] = Field(default_factory=list[int])
    c: Address = Address(street="x", number=1)


@dataclass
class Parcel:
    grams: int = Field(gt=0)
    note: str = "x"


Dynamic = create_model("Dynamic", a=(int, ...), b=(str, "x"))
ADDRESS = record({"street": STRING, "number": {**INTEGER, "minimum": 1}}, "street", "number")
HIGH: dict[str, Any] = {"street": "High", "number": 7}
PERSON = record(
    {
        "name": STRING,
        "home": ADDRESS,
        "others": {"type": "array", "items": ADDRESS, "default": []},
        "by": {"type": "string", "enum": ["air", "sea"], "default": "sea"},
        "born": {"anyOf": [{"type": "string", "format": "date-time"}, NULL], "default": None},
        "raw": {"type": "string", "contentEncoding": "base64"},
    },
    "name",
    "home",
    description="Somebody.",
)
CAT = record({"kind": {**STRING, "enum": ["cat"]}, "lives": {**INTEGER, "default": 9}}, "kind")
DOG = record({"kind": {**STRING, "enum": ["dog"], "default": "dog"}, "legs": INTEGER}, "legs")
TAGGED_DOG = record({"kind": {**STRING, "enum": ["dog"], "default": "dog"}, "legs": INTEGER}, "kind", "legs")

CASES: Final[list[Case]] = [
    takes(
        Address,
        ADDRESS,
        valid=[(HIGH, Address(street="High", number=7))],
        lenient=[({**HIGH, "number": "7"}, Address(street="High", number=7))],
        objects=[Address(street="x", number=1)],
        invalid=["x", None, [], ({}, "it.street", "it.number"), ({"street": 1, "number": 0}, "it.street", "it.number")],
    ),
    takes(
        Person,
        PERSON,
        valid=[
            ({"name": "A", "home": HIGH}, Person(name="A", home=Address(**HIGH))),
            (
                {"name": "A", "home": HIGH, "others": [HIGH], "by": "air", "raw": "dGVh"},
                Person(name="A", home=Address(**HIGH), others=[Address(**HIGH)], by=Route.AIR, raw=b"tea"),
            ),
        ],
        invalid=[
            (
                {"name": "A", "home": {"street": "x"}, "others": [{}], "by": "rail", "raw": "t="},
                "it.home.number",
                "it.others[0].street",
                "it.others[0].number",
                "it.by",
                "it.raw",
            )
        ],
    ),
    takes(
        Closed,
        record({"a": INTEGER, "b": {**INTEGER, "default": 1}}, "a", additionalProperties=False),
        valid=[({"a": 1}, Closed(a=1))],
        invalid=[({"a": 1, "c": 2}, "it.c"), ({"bb": 1}, "it.a", "it.bb")],
    ),
    takes(
        Open,
        record({"a": INTEGER}, "a", additionalProperties=True),
        valid=[({"a": 1, "z": 2}, Open.model_validate({"a": 1, "z": 2}))],
        invalid=[({"z": 1}, "it.a")],
    ),
    takes(
        Aliased,
        record({"firstName": STRING, "theAge": {**INTEGER, "default": 1}}, "firstName"),
        valid=[({"firstName": "A", "theAge": 3}, Aliased.model_validate({"firstName": "A", "theAge": 3}))],
        lenient=[({"first_name": "A", "age": 3}, Aliased.model_validate({"firstName": "A", "theAge": 3}))],
        invalid=[({"name": "A"}, "it.firstName", "it.name")],
    ),
    takes(
        Populated,
        record({"firstName": STRING}, "firstName"),
        valid=[({"firstName": "A"}, Populated(firstName="A"))],
        lenient=[({"first_name": "A"}, Populated(firstName="A"))],
        invalid=[({}, "it.firstName")],
    ),
    takes(
        Choice,
        record({"city": STRING}, "city"),
        valid=[({"city": "A"}, Choice(city="A"))],
        lenient=[({"town": "A"}, Choice(city="A"))],
        invalid=[({}, "it.city")],
    ),
    takes(
        Camel,
        record({"TheName": STRING}, "TheName"),
        valid=[({"TheName": "A"}, Camel.model_validate({"TheName": "A"}))],
        invalid=[({}, "it.TheName")],
    ),
    takes(
        Tree,
        {"$ref": "#/$defs/Tree"},
        valid=[({"value": 1, "children": [{"value": 2}]}, Tree(value=1, children=[Tree(value=2)]))],
        invalid=[({"value": 1, "children": [{}]}, "it.children[0].value")],
    ),
    takes(
        Left, {"$ref": "#/$defs/Left"}, valid=[({"right": {"left": {}}}, Left(right=Right(left=Left())))], invalid=["x"]
    ),
    takes(
        Envelope[int],
        record({"content": INTEGER, "count": {**INTEGER, "default": 1}}, "content"),
        valid=[({"content": 1}, Envelope[int](content=1))],
        invalid=[({"content": "x"}, "it.content")],
    ),
    takes(
        Envelope[Address],
        record({"content": ADDRESS, "count": {**INTEGER, "default": 1}}, "content"),
        valid=[({"content": HIGH}, Envelope[Address](content=Address(**HIGH)))],
        invalid=[({"content": {}}, "it.content.street", "it.content.number")],
    ),
    takes(
        Numbers, {"type": "array", "items": INTEGER}, valid=[([1, 2], Numbers([1, 2]))], invalid=["x", (["x"], "it[0]")]
    ),
    takes(
        Names,
        {"type": "object", "additionalProperties": STRING, "description": "Names by their short forms."},
        valid=[({"a": "b"}, Names({"a": "b"}))],
        invalid=[({"a": 1}, "it.a")],
    ),
    takes(
        Period,
        record({"start": INTEGER, "end": INTEGER}, "start", "end"),
        valid=[({"start": 1, "end": 2}, Period(start=1, end=2))],
        invalid=[{"start": 2, "end": 1}, ({"start": "x", "end": 1}, "it.start")],
    ),
    takes(
        Trimmed,
        record({"name": STRING}, "name"),
        valid=[({"name": " A "}, Trimmed(name="A"))],
        invalid=[({"name": " "}, "it.name")],
    ),
    takes(Area, record({"width": INTEGER}, "width"), valid=[({"width": 2}, Area(width=2))], invalid=[({}, "it.width")]),
    takes(Frozen, record({"a": INTEGER}, "a"), valid=[({"a": 2}, Frozen(a=2))], invalid=[({}, "it.a")]),
    takes(Rigid, record({"a": INTEGER}, "a"), valid=[({"a": 2}, Rigid(a=2))], invalid=[({"a": "2"}, "it.a")]),
    takes(
        Child,
        record(
            {"street": STRING, "number": {**INTEGER, "minimum": 1}, "floor": {**INTEGER, "default": 0}},
            "street",
            "number",
        ),
        valid=[(HIGH, Child(**HIGH))],
        invalid=[({"floor": 1}, "it.street", "it.number")],
    ),
    takes(
        WithDefaults,
        record({"a": {**INTEGER, "default": 1}, "b": {"type": "array", "items": INTEGER}, "c": ADDRESS}),
        valid=[({}, WithDefaults()), ({"b": [1]}, WithDefaults(b=[1]))],
        invalid=[({"a": "x", "b": ["x"]}, "it.a", "it.b[0]")],
    ),
    takes(
        Dynamic,
        record({"a": INTEGER, "b": {**STRING, "default": "x"}}, "a"),
        valid=[({"a": 1}, Dynamic(a=1))],
        invalid=[({}, "it.a")],
    ),
    takes(
        Parcel,
        record({"grams": {**INTEGER, "exclusiveMinimum": 0}, "note": {**STRING, "default": "x"}}, "grams"),
        valid=[({"grams": 1}, Parcel(grams=1))],
        invalid=[({"grams": 0}, "it.grams"), ({}, "it.grams")],
    ),
    takes(
        Cat | Dog,
        {"anyOf": [CAT, DOG]},
        valid=[({"kind": "cat"}, Cat(kind="cat")), ({"kind": "dog", "legs": 4}, Dog(kind="dog", legs=4))],
        invalid=["x", {"kind": "cow"}],
    ),
    takes(
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {"anyOf": [CAT, TAGGED_DOG]},
        valid=[({"kind": "cat", "lives": 7}, Cat(kind="cat", lives=7)), ({"kind": "dog", "legs": 4}, Dog(legs=4))],
        invalid=["x", ({"kind": "cow"}, "it.kind"), ({}, "it.kind"), ({"kind": "dog"}, "it.legs")],
    ),
    takes(
        list[Annotated[Cat | Dog, Field(discriminator="kind")]],
        {"type": "array", "items": {"anyOf": [CAT, TAGGED_DOG]}},
        valid=[([{"kind": "cat"}], [Cat(kind="cat")])],
        invalid=[([{"kind": "dog"}], "it[0].legs"), ([{"kind": "x"}], "it[0].kind")],
    ),
    takes(
        Annotated[Annotated[int, Tag("one")] | Annotated[list[int], Tag("many")], Discriminator(_kind)],
        {"anyOf": [INTEGER, {"type": "array", "items": INTEGER}]},
        valid=[1, [1]],
        invalid=["x", (["x"], "it[0]")],
    ),
    takes(
        list[Address],
        {"type": "array", "items": ADDRESS},
        valid=[([HIGH], [Address(**HIGH)])],
        invalid=[([HIGH, {}], "it[1].street", "it[1].number")],
    ),
    takes(
        dict[str, Address],
        {"type": "object", "additionalProperties": ADDRESS},
        valid=[({"a": HIGH}, {"a": Address(**HIGH)})],
        invalid=[({"a": {}}, "it.a.street", "it.a.number")],
    ),
    takes(
        Address | None,
        {"anyOf": [ADDRESS, NULL]},
        valid=[(HIGH, Address(**HIGH)), None],
        invalid=["x", ({}, "it.street", "it.number")],
    ),
    takes(
        Address | str,
        {"anyOf": [ADDRESS, STRING]},
        valid=[(HIGH, Address(**HIGH)), "High 7"],
        invalid=[5, ({}, "it.street", "it.number")],
    ),
    takes(
        Annotated[Address, "Where to"],
        {**ADDRESS, "description": "Where to"},
        valid=[(HIGH, Address(**HIGH))],
        invalid=[({}, "it.street", "it.number")],
    ),
]
