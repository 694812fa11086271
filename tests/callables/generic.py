"""Names for types, type variables and forward references."""

from typing import Annotated, Final, Generic, List, NewType, TypeAlias, TypeVar, Union  # noqa: UP035 - its old name works too

import typing_extensions
from pydantic import BaseModel, Field, GetCoreSchemaHandler, JsonValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypeAliasType

from tests.callables.cases import Case, takes

__all__ = ["CASES"]

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
INTEGERS = {"type": "array", "items": INTEGER}

T = TypeVar("T")
Bounded = TypeVar("Bounded", bound=int)
Constrained = TypeVar("Constrained", int, str)
Defaulted = typing_extensions.TypeVar("Defaulted", default=int)

UserId = NewType("UserId", int)
OwnerId = NewType("OwnerId", UserId)
Teas: TypeAlias = list[str]
Numbers = TypeAliasType("Numbers", list[int])
Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))
Nested = TypeAliasType("Nested", "int | list[Nested]")
Tag = Annotated[str, Field(min_length=1)]
Listed = list[T]
ANYTHING: object = TypeVar("ANYTHING")


class Tree(BaseModel):
    leaves: "list[Leaf]"


class Leaf(BaseModel):
    value: int


class Wrapper(BaseModel, Generic[T]):
    inner: T


class Hooked:
    """A class that says itself how it is validated."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hooked) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    @classmethod
    def __get_pydantic_core_schema__(cls, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls, handler(str))


TREE = {
    "type": "object",
    "properties": {
        "leaves": {
            "type": "array",
            "items": {"type": "object", "properties": {"value": INTEGER}, "required": ["value"]},
        }
    },
    "required": ["leaves"],
}

CASES: Final[list[Case]] = [
    takes(UserId, INTEGER, valid=[5], invalid=["x", None]),
    takes(OwnerId, INTEGER, valid=[5], invalid=["x"]),
    takes(list[UserId], INTEGERS, valid=[[5]], invalid=[(["x"], "it[0]")]),
    takes(Teas, {"type": "array", "items": STRING}, valid=[["a"]], invalid=["a"]),
    takes(Numbers, INTEGERS, valid=[[1]], invalid=["x", (["x"], "it[0]")]),
    takes(Numbers | None, {"anyOf": [INTEGERS, {"type": "null"}]}, valid=[[1], None], invalid=["x"]),
    takes(
        Pair[int],
        {"type": "array", "prefixItems": [INTEGER, INTEGER], "minItems": 2, "maxItems": 2},
        valid=[([1, 2], (1, 2))],
        invalid=["x", (["x", 1], "it[0]")],
    ),
    takes(Nested, {"$ref": "#/$defs/Nested"}, valid=[1, [1, [2]]], invalid=["x"]),
    takes(Tag, {**STRING, "minLength": 1}, valid=["a"], invalid=["", 5]),
    takes(list[Tag], {"type": "array", "items": {**STRING, "minLength": 1}}, valid=[["a"]], invalid=[([""], "it[0]")]),
    takes(Listed, {"type": "array"}, valid=[[1, "a"]], invalid=["x"]),
    takes(Listed[int], INTEGERS, valid=[[1]], invalid=["x"]),
    takes(ANYTHING, {}, valid=[1, "a", None]),
    takes(List[int], INTEGERS, valid=[[1]], invalid=["x"]),  # noqa: UP006 - its old name works too
    takes(Bounded, INTEGER, valid=[1], invalid=["x"]),
    takes(Constrained, {"anyOf": [INTEGER, STRING]}, valid=[1, "a"], invalid=[None]),
    takes(Defaulted, INTEGER, valid=[1], invalid=["x"]),
    takes("int", INTEGER, valid=[1], invalid=["x"]),
    takes(
        Tree,
        TREE,
        valid=[({"leaves": [{"value": 1}]}, Tree(leaves=[Leaf(value=1)]))],
        invalid=[({"leaves": [{}]}, "it.leaves[0].value")],
    ),
    takes(
        Wrapper[list[int]],
        {"type": "object", "properties": {"inner": INTEGERS}, "required": ["inner"]},
        valid=[({"inner": [1]}, Wrapper[list[int]](inner=[1]))],
        invalid=[({"inner": ["x"]}, "it.inner[0]")],
    ),
    takes(Hooked, STRING, valid=[("a", Hooked("a"))], invalid=[5]),
    takes(JsonValue, {}, is_optional=True, valid=[1, "a", None, [1, {"a": None}], {"a": [True]}]),
    takes(Final[int], INTEGER, valid=[1], invalid=["x"]),
    takes(Union["int", "str"], {"anyOf": [INTEGER, STRING]}, valid=[1, "a"], invalid=[None]),
    takes(list["int"], INTEGERS, valid=[[1]], invalid=[(["x"], "it[0]")]),
]
