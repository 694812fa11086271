"""A signature as one parameters schema."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict, cast

import pytest
from pydantic import AliasChoices, BaseModel, Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import Doc, Unpack

from ez_ptc import ArgumentsError, SchemaError, Tool, ez_tool, generate_tool_schema, tool
from ez_ptc.schema.annotations.signatures import read_signature, signature_text
from ez_ptc.schema.functions import FunctionSchema, function_schema


class Route(Enum):
    AIR = "air"


@dataclass
class Parcel:
    grams: int


class Handle:
    """Something of this process alone."""


def made_with(names: list[str]) -> Callable[..., object]:
    namespace: dict[str, Any] = {}
    exec(f"def ship({', '.join(f'{name}: int' for name in names)}): ...", namespace)
    return namespace["ship"]


def schema_of(function: Callable[..., object], **texts: str) -> FunctionSchema:
    return function_schema("ship", read_signature(function, name="ship"), texts)


def test_parameters_are_required_where_they_have_no_default() -> None:
    def ship(number: str, cups: int = 2, *, note: str) -> None: ...

    assert schema_of(ship).parameters == {
        "type": "object",
        "properties": {
            "number": {"type": "string"},
            "cups": {"type": "integer", "default": 2},
            "note": {"type": "string"},
        },
        "required": ["number", "note"],
    }


def test_a_function_without_parameters_requires_nothing() -> None:
    def ship() -> None: ...

    assert schema_of(ship).parameters == {"type": "object", "properties": {}}


def test_variadic_parameters_are_omitted() -> None:
    def ship(*parts: int, number: str, **more: int) -> None: ...

    assert list(schema_of(ship).parameters["properties"]) == ["number"]


def test_no_annotation_accepts_anything() -> None:
    def ship(number: object, cups: object = 2) -> None: ...

    ship.__annotations__ = {}
    assert schema_of(ship).parameters["properties"] == {"number": {}, "cups": {"default": 2}}


def test_annotation_description_precedes_docstring() -> None:
    def ship(
        number: str,
        to: Annotated[str, "Where to"],
        by: Annotated[str, Doc("How")],
        cups: Annotated[int, Field(ge=1, description="How many")],
        note: Annotated[int, Field(ge=1)],
        left: str,
    ) -> None: ...

    texts = {"number": "Which", "to": "no", "by": "no", "cups": "no", "note": "What it says"}
    properties = schema_of(ship, **texts).parameters["properties"]

    assert {name: each.get("description") for name, each in properties.items()} == {
        "number": "Which",
        "to": "Where to",
        "by": "How",
        "cups": "How many",
        "note": "What it says",
        "left": None,
    }
    assert properties["cups"]["minimum"] == properties["note"]["minimum"] == 1


def test_class_used_twice_is_a_root_definition() -> None:
    def ship(parcel: Parcel, others: list[Parcel], by: Route = Route.AIR, *, instead: Route | None = None) -> None: ...

    parameters = schema_of(ship, parcel="The first").parameters

    assert parameters["properties"]["parcel"] == {"$ref": "#/$defs/Parcel", "description": "The first"}
    assert parameters["properties"]["others"] == {"type": "array", "items": {"$ref": "#/$defs/Parcel"}}
    assert parameters["properties"]["by"] == {"$ref": "#/$defs/Route", "default": "air"}
    assert sorted(parameters["$defs"]) == ["Parcel", "Route"]


def test_class_used_once_is_inlined() -> None:
    def ship(parcel: Parcel, by: Route = Route.AIR) -> None: ...

    schema = schema_of(ship, parcel="The first")

    assert "$defs" not in schema.parameters
    assert schema.parameters["properties"]["parcel"]["type"] == "object"
    assert schema.parameters["properties"]["parcel"]["description"] == "The first"
    assert schema.parameters["properties"]["by"] == {"type": "string", "enum": ["air"], "default": "air"}
    assert schema.named == {"parcel", "by"}


def test_any_name_is_good_for_a_parameter() -> None:
    names = ["self", "name", "model_config", "_x", "__y", "cls", "größe", "default", "type"]
    schema = schema_of(made_with(names))

    assert schema.parameters["required"] == names
    assert schema.binder.bind((), dict.fromkeys(names, 1)).kwargs == dict.fromkeys(names, 1)


def test_a_hundred_parameters_work() -> None:
    names = [f"field_{number}" for number in range(100)]
    schema = schema_of(made_with(names))

    assert schema.parameters["required"] == names
    assert schema.binder.bind(range(100), {}).kwargs == dict(zip(names, range(100), strict=True))


def test_a_field_as_default_gives_default_constraints_and_description() -> None:
    def ship(
        cups: int = Field(5, ge=1, description="How many"),
        number: str = Field(..., min_length=2),
        tags: list[str] = Field(default_factory=list),  # noqa: B008 - a default as FastAPI writes it
        note: Annotated[str, Field(default="none")] = "",
    ) -> None: ...

    schema = schema_of(ship)

    assert schema.parameters["properties"]["cups"] == {
        "type": "integer",
        "minimum": 1,
        "default": 5,
        "description": "How many",
    }
    assert schema.parameters["required"] == ["number"]
    assert schema.binder.bind((), {"number": "A-17"}).kwargs["cups"] == 5
    assert schema.binder.bind((), {"number": "A-17"}).kwargs["tags"] == []
    assert signature_text("ship", schema.signature).startswith("ship(cups: int = 5, number: str, tags: list[str] = ...")


def test_alias_of_a_parameter_is_refused() -> None:
    def annotated(number: Annotated[str, Field(alias="no")]) -> None: ...
    def in_default(number: str = Field("A", alias="no")) -> None: ...
    def of_validation(number: str = Field(validation_alias="no")) -> None: ...
    def of_choices(number: Annotated[str, Field(validation_alias=AliasChoices("number", "no"))]) -> None: ...
    def same(number: Annotated[str, Field(alias="number", serialization_alias="no")]) -> None: ...

    for function in (annotated, in_default, of_validation, of_choices):
        with pytest.raises(SchemaError, match="'number' has the alias"):
            schema_of(function)
    assert schema_of(same).binder.bind((), {"number": "A-17"}).kwargs == {"number": "A-17"}


def test_default_beside_a_factory_is_refused() -> None:
    def plain(days: Annotated[int, Field(default_factory=int)] = 3) -> None: ...
    def empty(days: Annotated[int | None, Field(default_factory=int)] = None) -> None: ...
    def in_field(days: Annotated[int, Field(default_factory=int)] = Field(3)) -> None: ...
    def factory_last(days: Annotated[int, Field(default=3)] = Field(default_factory=int)) -> None: ...
    def both_inside(*, days: Annotated[int, Field(default=3), Field(default_factory=int)]) -> None: ...

    for function in (plain, empty, in_field, factory_last, both_inside):
        with pytest.raises(SchemaError, match="'days' has a default and a default_factory"):
            schema_of(function)


def test_factory_alone_is_a_default() -> None:
    def required_mark(days: Annotated[list[int], Field(default_factory=list)] = ...) -> None: ...
    def twice(days: Annotated[int, Field(default_factory=int), Field(default_factory=int)]) -> None: ...

    for function in (required_mark, twice):
        parameters = schema_of(function).parameters
        assert list(parameters["properties"]) == ["days"]
        assert "required" not in parameters


UNDEFINED: dict[str, Any] = {"__name__": __name__}
exec(
    """
from __future__ import annotations
from dataclasses import dataclass
from pydantic import BaseModel
from typing_extensions import TypedDict

class Later(BaseModel):
    rows: list[Row]

class Around(BaseModel):
    later: dict[str, Later]

@dataclass
class LaterRecord:
    row: Row

class LaterDict(TypedDict):
    row: Row
""",
    UNDEFINED,
)
Later, LaterDict = UNDEFINED["Later"], UNDEFINED["LaterDict"]


@pytest.mark.parametrize(
    "kind", [Later, UNDEFINED["Around"], UNDEFINED["LaterRecord"], LaterDict, list[Later], Later | None]
)
def test_undefined_name_within_a_type_is_named(kind: object) -> None:
    def ship(box: object) -> None:
        """Ship a box."""

    ship.__annotations__["box"] = kind

    makers: list[Callable[[Callable[..., object]], object]] = [ez_tool, tool, Tool.from_function, generate_tool_schema]
    for make in makers:
        with pytest.raises(SchemaError, match=r"name 'Row' is not defined.*define or import Row") as refused:
            make(ship)
        assert "http" not in str(refused.value)


def test_undefined_name_within_keyword_arguments_is_named() -> None:
    def ship(**options: object) -> None:
        """Ship a box."""

    ship.__annotations__["options"] = Unpack[LaterDict]
    with pytest.raises(SchemaError, match=r"parameter 'options' cannot be resolved .*name 'Row' is not defined"):
        ez_tool(ship)


def test_non_json_parameter_with_default_is_omitted() -> None:
    def ship(number: str, log: Callable[[str], None] = print, handle: Handle | None = None, cups: int = 1) -> None: ...

    schema = schema_of(ship)

    assert list(schema.parameters["properties"]) == ["number", "cups"]
    assert signature_text("ship", schema.signature) == "ship(number: str, cups: int = 1) -> None"
    assert schema.binder.bind(("A-17", 3), {}).kwargs == {"number": "A-17", "cups": 3}


class Fussy:
    """A type whose own hook for pydantic fails."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> object:
        message = "not today"
        raise ValueError(message)


class Handler(BaseModel):
    handle: Callable[[str], None] | type[str]


class Caller(BaseModel):
    kind: Literal["caller"]
    call: Callable[[str], None]


class Maker(BaseModel):
    kind: Literal["maker"]
    make: type[str]


UNDESCRIBED_UNIONS: list[Any] = [
    Callable[[str], None] | type[str],
    list[type[int] | type[str]],
    (Callable[[str], None] | type[str]) | None,
    dict[str, Handler],
    Annotated[Caller | Maker, Field(discriminator="kind")],
    Caller | Maker,
]


@pytest.mark.parametrize("annotation", [Handle, Callable[[str], None], list[Handle], Fussy, 5, *UNDESCRIBED_UNIONS])
def test_non_json_parameter_is_refused_by_name(annotation: object) -> None:
    def ship(number: str, odd: object, cups: int = 1) -> None: ...

    ship.__annotations__["odd"] = annotation
    with pytest.raises(SchemaError, match=r"^ship: parameter 'odd' cannot be of type .*annotate it with") as caught:
        schema_of(ship)
    assert "or give it a default" in str(caught.value)


@pytest.mark.parametrize(
    "annotation",
    [
        SkipJsonSchema[int],
        Annotated[int, cast("Any", SkipJsonSchema)()],
        Annotated[SkipJsonSchema[int], Field(ge=1)],
        list[SkipJsonSchema[int]],
    ],
)
def test_parameter_hidden_from_its_schema_needs_a_default(annotation: Any) -> None:  # noqa: ANN401 - any form of type
    def ship(number: int, secret: Any = 5) -> int:  # noqa: ANN401 - annotated below
        """Ship something."""
        return number + secret

    ship.__annotations__["secret"] = annotation
    for made in (ez_tool(ship), tool()(ship), Tool.from_function(ship)):
        assert list(made.parameters["properties"]) == ["number"]
        assert made.call({"number": "1"}) == 6
        with pytest.raises(ArgumentsError, match="unknown argument 'secret'"):
            made.call({"number": 1, "secret": 2})
    ship.__defaults__ = None
    with pytest.raises(SchemaError, match=r"ship: parameter 'secret' .*hidden from the JSON Schema.* default"):
        ez_tool(ship)


def test_annotation_default_applies_without_function_default() -> None:
    def ship(
        boxes: Annotated[int, Field(default=5)],
        tags: Annotated[list[str], Field(default_factory=list)],
        grams: Annotated[int, Field(default=7, ge=1)] = 8,
    ) -> None: ...

    schema = schema_of(ship)

    assert signature_text("ship", schema.signature).startswith(
        "ship(boxes: int = 5, tags: list[str] = ..., grams: int = 8)"
    )
    assert [each.get("default") for each in schema.parameters["properties"].values()] == [5, None, 8]
    assert "required" not in schema.parameters
    assert schema.binder.bind((), {}).kwargs == {"boxes": 5, "tags": [], "grams": 8}


class Branch(TypedDict):
    size: int
    twigs: "list[Branch]"


def test_a_type_that_several_parameters_have_is_defined_once() -> None:
    def graft(stock: Branch, scion: Branch) -> None: ...

    parameters = schema_of(graft).parameters

    assert list(parameters["$defs"]) == ["Branch"]
    assert parameters["properties"] == {name: {"$ref": "#/$defs/Branch"} for name in ("stock", "scion")}
