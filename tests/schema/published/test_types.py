"""Any annotation as JSON Schema in the forms of the conversion's tables, whose rows are quoted as names of tests."""

import collections
import sys
import typing
from collections import Counter, OrderedDict, abc, defaultdict, deque
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, ForwardRef, Generic, Literal, NamedTuple, NewType, TypeVar
from uuid import UUID

import attrs
import msgspec
import pytest
import typing_extensions
from jsonschema_rs import validator_for
from pydantic import BaseModel, Field, RootModel

from ez_ptc.schema.published_form import type_to_json_schema

Schema = dict[str, Any]
T = TypeVar("T")
Number = TypeVar("Number", int, float)
Bound = TypeVar("Bound", bound=int)
Anything: Any = Any
ALIAS: Any = typing_extensions.TypeAliasType
OLD: Any = typing  # under a name by which no tool modernises what is tested
BARE: Any = {kind: kind for kind in (list, dict, set, frozenset, tuple, deque)}

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
STRINGS: Schema = {"type": "array", "items": STRING}
INTEGERS: Schema = {"type": "array", "items": INTEGER}
UNIQUE: Schema = {"type": "array", "items": INTEGER, "uniqueItems": True}
BY_NAME: Schema = {"type": "object", "additionalProperties": INTEGER}


class Unknown:
    """No type that JSON knows of."""


class Iterates(list[int]):
    """A class of one's own, whatever it is derived from."""


class Route(StrEnum):
    """How a parcel goes."""

    AIR = "air"
    SEA = "sea"


class Priority(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    NUMBER = 1
    TEXT = "one"


class Opaque(Enum):
    THING = object()


class Empty(Enum):
    pass


ROWS: list[tuple[str, object, Schema]] = [
    ('`string` / `str` | {"type": "string"}', str, STRING),
    ('`int` / `integer` | {"type": "integer"}', int, INTEGER),
    ('`float` / `number` | {"type": "number"}', float, NUMBER),
    ('`bool` / `boolean` | {"type": "boolean"}', bool, BOOLEAN),
    ('`bytes` | {"type": "string", "contentEncoding": "base64"}', bytes, {**STRING, "contentEncoding": "base64"}),
    ('`datetime` | {"type": "string", "format": "date-time"}', datetime, {**STRING, "format": "date-time"}),
    ('`date` | {"type": "string", "format": "date"}', date, {**STRING, "format": "date"}),
    ('`time` | {"type": "string", "format": "time"}', time, {**STRING, "format": "time"}),
    ('list[T] | {"type": "array", "items": <schema(T)>}', list[int], INTEGERS),
    ("or Sequence[T]", abc.Sequence[int], INTEGERS),
    ('set[T] | {"type": "array", "items": <schema(T)>, "uniqueItems": true}', set[int], UNIQUE),
    ("or frozenset[T]", frozenset[int], UNIQUE),
    ('list without type args | {"type": "array", "items": {"type": "string"}}', BARE[list], STRINGS),
    (
        'tuple[T1, T2, T3] | {"type": "array", "prefixItems": [...], "minItems": 3, "maxItems": 3}',
        tuple[int, str, bool],
        {"type": "array", "prefixItems": [INTEGER, STRING, BOOLEAN], "minItems": 3, "maxItems": 3},
    ),
    ('tuple[T, ...] | {"type": "array", "items": <schema(T)>}', tuple[int, ...], INTEGERS),
    ('dict[K, V] | {"type": "object", "additionalProperties": <schema(V)>}', dict[str, int], BY_NAME),
    ("or Mapping[K, V]", abc.Mapping[str, int], BY_NAME),
    (
        'dict without type args | {"type": "object", "additionalProperties": {"type": "string"}}',
        BARE[dict],
        {"type": "object", "additionalProperties": STRING},
    ),
    (
        'Literal["a", "b", "c"] | {"type": "string", "enum": ["a", "b", "c"]}',
        Literal["a", "b", "c"],
        {"type": "string", "enum": ["a", "b", "c"]},
    ),
    ('Literal[1, 2, 3] | {"type": "integer", "enum": [1, 2, 3]}', Literal[1, 2, 3], {**INTEGER, "enum": [1, 2, 3]}),
    ('Mixed types - no type field | {"enum": ["a", 1, true]}', Literal["a", 1, True], {"enum": ["a", 1, True]}),
    ('enum with string values | {"type": "string", "enum": [...]}', Route, {**STRING, "enum": ["air", "sea"]}),
    ('enum with integer values | {"type": "integer", "enum": [...]}', Priority, {**INTEGER, "enum": [1, 2]}),
    ('Union[X, Y] | {"oneOf": [<schema(X)>, <schema(Y)>]}', OLD.Union[int, str], {"oneOf": [INTEGER, STRING]}),
    ("or X | Y", int | float, {"oneOf": [INTEGER, NUMBER]}),
    ("Optional[T] (Union[T, None]) - unwrap to just T", OLD.Optional[int], INTEGER),
    ('Any unrecognized type defaults to {"type": "string"}', Unknown, STRING),
    ("Annotated[T, metadata...], unwrap to extract the base type T", Annotated[int, "how many"], INTEGER),
]


@pytest.mark.parametrize(("annotation", "form"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_type_has_the_form_of_its_row(annotation: object, form: Schema) -> None:
    assert list(type_to_json_schema(annotation).items()) == list(form.items())


FURTHER: list[tuple[object, Schema]] = [
    # What the tables do not have is text.
    *((each, STRING) for each in (None, Anything, object, complex, Decimal, UUID, Path, timedelta, bytearray, range)),
    *((each, STRING) for each in (Callable[[int], int], type[int], T, Iterates, Opaque, Empty, Enum, "Nowhere", 3)),
    *((each, STRING) for each in (ForwardRef("Nowhere"), abc.Awaitable[int], typing.IO[str], Literal[b"a"])),
    # Nested as well.
    (list[Unknown], STRINGS),
    (dict[str, Unknown], {"type": "object", "additionalProperties": STRING}),
    (Unknown | int, {"oneOf": [STRING, INTEGER]}),
    (list[Any], STRINGS),
    # Collections in other spellings.
    *((each, STRINGS) for each in (OLD.List, OLD.Sequence, abc.Iterable, BARE[tuple], BARE[deque])),
    *((each, INTEGERS) for each in (OLD.List[int], deque[int], abc.Iterable[int], abc.Iterator[int])),
    *((each, INTEGERS) for each in (abc.Collection[int], abc.MutableSequence[int], OLD.Tuple[int, ...])),
    *((each, UNIQUE) for each in (OLD.Set[int], abc.Set[int], abc.MutableSet[int], OLD.FrozenSet[int])),
    *((BARE[each], {**STRINGS, "uniqueItems": True}) for each in (set, frozenset)),
    *((each, BY_NAME) for each in (OLD.Dict[str, int], OrderedDict[str, int], defaultdict[str, int])),
    *((each, BY_NAME) for each in (abc.MutableMapping[str, int], Counter[str], collections.ChainMap[str, int])),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
    (tuple[int, *tuple[str, ...]], {"type": "array", "items": {"oneOf": [INTEGER, STRING]}}),
    # Null is nowhere.
    *((each, INTEGER) for each in (int | None, None | int, Annotated[int | None, "none is good too"])),
    (int | str | None, {"oneOf": [INTEGER, STRING]}),
    (list[int | None], INTEGERS),
    (Literal["a", None], {"enum": ["a", None]}),  # noqa: PYI061 - listed as a value
    # Values.
    (Mixed, {"enum": [1, "one"]}),
    (Literal[Route.AIR, "road"], {**STRING, "enum": ["air", "road"]}),
    (Literal[Mixed.NUMBER], {**INTEGER, "enum": [1]}),
    # Wrappers, and what stands for another type.
    *((each, INTEGER) for each in (NewType("Id", int), typing.Final[int], Bound, Annotated[int, Field(ge=1)])),
    (Annotated[list[int], Field(min_length=1, description="some")], INTEGERS),
    (list[Annotated[str, Field(pattern="^a", description="some")]], STRINGS),
    (Number, {"oneOf": [INTEGER, NUMBER]}),
    (ALIAS("Ints", list[int]), INTEGERS),
    (RootModel[list[int]], INTEGERS),
]


@pytest.mark.parametrize(("annotation", "form"), FURTHER, ids=lambda value: str(value)[:60])
@pytest.mark.sampled(every=4)
def test_other_types_have_forms_of_the_tables_too(annotation: object, form: Schema) -> None:
    assert type_to_json_schema(annotation) == form
    assert validator_for(form)


# --- structures -------------------------------------------------------------------------------------------------------


class Typed(typing.TypedDict):
    name: str
    size: typing.NotRequired[int]


class Partial(typing_extensions.TypedDict, total=False):
    name: typing_extensions.Required[str]
    size: "int"


class PostponedEntry(typing.TypedDict):
    name: "str"
    size: "typing.NotRequired[int]"


@dataclass
class Data:
    """What it is for."""

    name: str
    size: int = 3
    kept: ClassVar[int] = 4
    made: int = field(default=5, init=False)


@dataclass
class Initialized:
    name: InitVar[str]
    size: InitVar[int] = 3


@dataclass(slots=True, kw_only=True)
class Inherited(Data):
    size: int = field(default_factory=int)


class Named(NamedTuple):
    name: str
    size: int = 3


class Model(BaseModel):
    """What it is for."""

    name: str
    size: int = 3


@attrs.define
class Attrs:
    name: str
    _size: int = 3
    made: int = attrs.field(default=5, init=False)


class Struct(msgspec.Struct):
    name: str
    size: int = 3


class KeywordStruct(msgspec.Struct, kw_only=True):
    size: int = 3
    name: str


SAME: Schema = {"type": "object", "properties": {"name": STRING, "size": INTEGER}, "required": ["name"]}


@pytest.mark.parametrize(
    "cls", [Typed, Partial, PostponedEntry, Data, Initialized, Inherited, Named, Model, Attrs, Struct, KeywordStruct]
)
def test_structure_has_type_properties_and_required(cls: type) -> None:
    assert type_to_json_schema(cls) == SAME
    assert list(type_to_json_schema(cls)) == ["type", "properties", "required"]
    assert type_to_json_schema(list[cls | None]) == {"type": "array", "items": SAME}


def test_structure_may_have_no_required_or_no_fields() -> None:
    class Nothing(typing.TypedDict):
        pass

    untyped = collections.namedtuple("untyped", "x y", defaults=(1, 2))  # noqa: PYI024 - without annotations  # pyright: ignore[reportUntypedNamedTuple] - they are what is missing
    assert type_to_json_schema(Nothing) == {"type": "object", "properties": {}, "required": []}
    assert type_to_json_schema(untyped) == {"type": "object", "properties": {"x": STRING, "y": STRING}, "required": []}


def test_generic_structures_have_the_types_that_are_given() -> None:
    @dataclass
    class Box(Generic[T]):
        it: T
        more: "list[T] | None" = None

    class Pair(typing_extensions.TypedDict, Generic[T]):
        it: T

    class Shelf(BaseModel, Generic[T]):
        it: T

    assert type_to_json_schema(Box[int])["properties"] == {"it": INTEGER, "more": INTEGERS}
    assert type_to_json_schema(Box)["properties"] == {"it": STRING, "more": STRINGS}
    assert (
        type_to_json_schema(Pair[int])["properties"] == type_to_json_schema(Shelf[int])["properties"] == {"it": INTEGER}
    )


def test_structures_are_described_where_they_are_used() -> None:
    class Crate(typing.TypedDict):
        left: Data
        right: Data
        route: Route

    route = {"type": "string", "enum": ["air", "sea"]}
    crate = {"type": "object", "properties": {"left": SAME, "right": SAME, "route": route}}
    assert type_to_json_schema(dict[str, Crate]) == {
        "type": "object",
        "additionalProperties": {**crate, "required": ["left", "right", "route"]},
    }


def test_recursive_structure_keeps_a_resolvable_reference() -> None:
    class Node(typing.TypedDict):
        value: int
        children: "list[Node]"

    @dataclass
    class Tree:
        left: "Tree | None" = None
        leaf: "Leaf | None" = None

    @dataclass
    class Leaf:
        size: int

    assert type_to_json_schema(Node) == {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"value": INTEGER, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
                "required": ["value", "children"],
            }
        },
    }
    tree = validator_for(type_to_json_schema(list[Tree]))
    assert tree.is_valid([{"left": {"left": {}, "leaf": {"size": 3}}}])
    assert not tree.is_valid([{"left": {"left": {}, "leaf": {"size": "3"}}}])


def test_recursive_alias_keeps_a_resolvable_reference() -> None:
    json_value = ALIAS("json_value", "dict[str, json_value] | list[json_value] | int | None")
    schema = type_to_json_schema(list[json_value])

    assert schema["items"] == {"$ref": "#/$defs/json_value"}
    assert validator_for(schema).is_valid([{"a": [1, {"b": 2}]}])
    assert not validator_for(schema).is_valid(["text"])


def test_two_structures_of_one_name_stay_two() -> None:
    def made(size: type) -> type:
        @dataclass
        class Item:
            size: Any
            inner: "Item | None" = None

        Item.__annotations__["size"] = size
        return Item

    schema = type_to_json_schema(tuple[made(int), made(bool)])

    assert validator_for(schema).is_valid([{"size": 1}, {"size": True}])
    assert not validator_for(schema).is_valid([{"size": True}, {"size": 1}])


def test_unknown_field_type_does_not_hide_its_structure() -> None:
    @dataclass
    class Parcel:
        size: int
        to: "Nowhere"  # noqa: F821 - it is not there  # pyright: ignore[reportUndefinedVariable] - it is not there
        made: "list[Nowhere.Inner]"  # noqa: F821 - it is not there  # pyright: ignore[reportUndefinedVariable, reportUnknownMemberType] - it is not there

    assert type_to_json_schema(Parcel)["properties"] == {"size": INTEGER, "to": STRING, "made": STRINGS}


def test_class_without_schema_becomes_text() -> None:
    class Unfinished(BaseModel):
        to: "Nowhere"  # noqa: F821 - it is not there  # pyright: ignore[reportUndefinedVariable] - it is not there

    class Refusing:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: object, handler: object) -> object:
            raise LookupError

    assert type_to_json_schema(dict[str, Unfinished | int]) == {
        "type": "object",
        "additionalProperties": {"oneOf": [STRING, INTEGER]},
    }
    assert type_to_json_schema(list[Refusing]) == STRINGS
    assert type_to_json_schema(tuple[Refusing, Model])["prefixItems"] == [STRING, SAME]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is of Python 3.12")
def test_python_3_12_type_syntax_is_understood() -> None:
    code = """
type Ints = list[int]
type Odd = Nowhere
type Pair[T] = tuple[T, T]
type Tree = dict[str, Tree] | int
@dataclass
class Box[T]:
    it: T
    more: "list[T] | None" = None
"""
    names: dict[str, Any] = {"dataclass": dataclass}
    exec(code, names)

    assert [type_to_json_schema(names[each]) for each in ("Ints", "Odd")] == [INTEGERS, STRING]
    assert type_to_json_schema(names["Pair"][int])["prefixItems"] == [INTEGER, INTEGER]
    assert type_to_json_schema(names["Box"][int])["properties"] == {"it": INTEGER, "more": INTEGERS}
    assert validator_for(type_to_json_schema(names["Tree"])).is_valid({"a": {"b": 1}})
