"""Complaints that a model can act on: which field, what came, what was wanted."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

import attrs
import msgspec
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field
from pydantic.alias_generators import to_camel

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.signatures import read_signature
from ez_ptc.schema.functions import function_schema


class Route(Enum):
    AIR = "air"
    SEA = "sea"


@dataclass
class Parcel:
    grams: int


class Order(BaseModel, extra="forbid"):
    number: str
    parcels: list[Parcel] = []
    prices: dict[str, float] = {}


class Tea(TypedDict):
    name: str


class Dog(BaseModel):
    kind: Literal["dog"]
    legs: int


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


def complaint(function: Callable[..., object], *args: object, **kwargs: object) -> str:
    binder = function_schema(function.__name__, read_signature(function, name=function.__name__), {}).binder
    with pytest.raises(ArgumentsError) as caught:
        binder.bind(args, kwargs)
    return str(caught.value)


def about(annotation: object, value: object) -> str:
    def ship(it: object) -> None: ...

    ship.__annotations__["it"] = annotation
    return complaint(ship, value).removeprefix("ship: ")


def fetch_forecast(place: str, scale: str = "celsius") -> None: ...
def track_shipment(number: str, *, days: int = 1) -> None: ...
def ping() -> None: ...


def test_an_unknown_name_is_answered_with_the_missing_one() -> None:
    assert complaint(fetch_forecast, city="Rome") == (
        "fetch_forecast: unknown argument 'city' (did you mean 'place'?); missing argument 'place' (str)"
    )


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    assert complaint(fetch_forecast, "Rome", scales="kelvin") == (
        "fetch_forecast: unknown argument 'scales' (did you mean 'scale'?)"
    )


def test_unknown_name_without_near_one_lists_all() -> None:
    assert complaint(fetch_forecast, "Rome", zzz=1) == "fetch_forecast: unknown argument 'zzz' (it takes place, scale)"
    assert complaint(ping, zzz=1) == "ping: unknown argument 'zzz' (it takes no arguments)"


def test_surplus_and_repeated_arguments_are_counted() -> None:
    assert complaint(track_shipment, "A", 1) == "track_shipment: takes at most 1 argument by position, got 2"
    assert complaint(fetch_forecast, "A", "B", "C") == "fetch_forecast: takes at most 2 arguments by position, got 3"
    assert complaint(ping, 1) == "ping: takes no arguments by position, got 1"
    assert "'place' is given twice" in complaint(fetch_forecast, "Rome", place="Oslo")


def test_list_for_single_item_suggests_a_call_each() -> None:
    assert complaint(track_shipment, ["A", "B", "C"]) == (
        "track_shipment: 'number' must be one str, got a list of 3: call it once per item"
    )
    assert complaint(track_shipment, ("A",)) == (
        "track_shipment: 'number' must be one str, got a tuple of 1: pass the item itself"
    )


def test_list_for_list_parameter_is_accepted() -> None:
    assert about(int | list[str], [1]) == "'it[0]' must be str, got int 1"
    assert about(list[int] | list[str], [None]).startswith("'it' must be list[int] | list[str], got list of 1 [None] (")


@pytest.mark.parametrize(
    ("annotation", "items"),
    [
        (str, []),
        (str, [["A"]]),
        (int | str, [["A"], "B"]),
        (Parcel, [1, 2]),
        (Tea | None, [1]),
        (dict[str, int], []),
        (dict[str, int], [["tea", 1]]),
        (Counter[str], ["tea", "tea"]),
        (Mapping[str, int], [("tea", 1), ("milk", 2)]),
        (Order, [{"number": "1"}, "2"]),
    ],
)
def test_call_each_is_suggested_only_for_possible_items(annotation: object, items: list[object]) -> None:
    assert f", got list of {len(items)} [" in about(annotation, items)


def test_list_of_dicts_for_one_suggests_a_call_each() -> None:
    empty: dict[str, int] = {}

    assert about(Tea | None, [empty]) == "'it' must be one Tea | None (a dict), got a list of 1: pass the item itself"
    assert about(dict[str, int], [empty, empty]).endswith("got a list of 2: call it once per item")


SENTENCES: list[tuple[object, object, str]] = [
    (int, "many", "'it' must be int, got str 'many'"),
    (int, 5.5, "'it' must be int, got float 5.5"),
    (int, None, "'it' must be int, got None"),
    (int | None, "x", "'it' must be int | None, got str 'x'"),
    (bool, "maybe", "'it' must be bool, got str 'maybe'"),
    (str, {"a": 1}, "'it' must be str, got dict of 1 {'a': 1}"),
    (dict[str, int], "x", "'it' must be dict[str, int], got str 'x'"),
    (list[int], "x", "'it' must be list[int], got str 'x'"),
    (list[int], [1, "x"], "'it[1]' must be int, got str 'x'"),
    (dict[str, list[int]], {"a b": [None]}, "\"it['a b'][0]\" must be int, got None"),
    (set[int], ["x"], "'it[0]' must be int, got str 'x'"),
    (tuple[int, int], [1], "'it[1]' is missing"),
    (Route, "rail", "'it' must be 'air' or 'sea', got str 'rail'"),
    (Literal[Route.AIR, "road"], "rail", "'it' must be 'air' or 'road', got str 'rail'"),
    (list[Literal["a", "b"]], ["c"], "'it[0]' must be 'a' or 'b', got str 'c'"),
    (datetime, "soon", "'it' must be datetime, got str 'soon' (input is too short)"),
    (UUID, 5, "'it' must be UUID, got int 5"),
    (Path, 5, "'it' must be Path, got int 5"),
    (bytes, "t=", "'it': expected a base64 string, got str 't='"),
    (Annotated[int, Field(gt=0)], 0, "'it' should be greater than 0, got int 0"),
    (Annotated[str, Field(min_length=2)], "a", "'it': String should have at least 2 characters, got str 'a'"),
    (Parcel, "x", "'it' must be Parcel (a dict), got str 'x'"),
    (Parcel, {}, "'it.grams' is missing"),
    (
        Order,
        {"number": 1, "parcels": [{"grams": "x"}]},
        "'it.number' must be str, got int 1; 'it.parcels[0].grams' must be int, got str 'x'",
    ),
    (Order, {"number": "1", "colour": "red"}, "'it.colour' is unknown (it takes number, parcels, prices)"),
    (Order, {"number": "1", "pracels": []}, "'it.pracels' is unknown (did you mean 'parcels'?)"),
    (Order, {"number": "1", "prices": {"tea": "dear"}}, "'it.prices.tea' must be float, got str 'dear'"),
    (list[Parcel], [5], "'it[0]' must be Parcel, got int 5"),
    (int | list[int], {"a": 1}, "'it' must be int | list[int], got dict of 1 {'a': 1}"),
    (Dog | Cat, {"kind": "cat"}, "'it.lives' is missing"),
    (
        Dog | Cat,
        {"kind": "cow", "lives": 9},
        (
            "'it' must be Dog | Cat, got dict of 2 {'kind': 'cow', 'lives': 9} "
            "(Dog: 'it.kind' must be 'dog', got str 'cow'; Cat: 'it.kind' must be 'cat', got str 'cow')"
        ),
    ),
    (list[int | bool], ["x"], "'it[0]' must be int | bool, got str 'x'"),
    (list[Dog | Cat], [{"kind": "cat"}], "'it[0].lives' is missing"),
    (
        list[Dog | Cat],
        [{"kind": "cat", "legs": 4}],
        "'it[0].lives' is missing; 'it[0].legs' belongs to another of the possible types",
    ),
    (dict[str, Order | Parcel], {"a": {"grams": "x"}}, "'it.a.grams' must be int, got str 'x'"),
    (dict[str, int | list[Literal["a"]]], {"a": "x"}, "'it.a' must be int | list[Literal['a']], got str 'x'"),
    (Annotated[Dog | Cat, Field(discriminator="kind")], {"kind": "cat"}, "'it.lives' is missing"),
    (
        Annotated[Dog | Cat, Field(discriminator="kind")],
        {"kind": "cat", "lives": 9, "legs": 4},
        "'it.legs' belongs to another of the possible types",
    ),
]


@pytest.mark.parametrize(("annotation", "value", "sentence"), SENTENCES)
def test_mismatch_names_the_expected_type(annotation: object, value: object, sentence: str) -> None:
    assert about(annotation, value) == sentence


def test_union_branch_is_named_if_only_one_applied() -> None:
    union = Annotated[Dog | Cat, Field(discriminator="kind")]

    assert about(union, {"kind": "cow"}) == "'it.kind' must be 'dog' or 'cat', got str 'cow'"
    assert about(union, {"knd": "cat", "lives": 9}) == "'it.kind' is missing (did you mean 'knd'?)"
    assert about(list[union], [5]) == "'it[0]' must be dict, got int 5"


def test_missing_tag_is_named_as_models_know_it() -> None:
    class Cake(BaseModel):
        sort: Literal["cake"] = Field("cake", alias="type")

    class Bread(BaseModel):
        sort: Literal["bread"] = Field("bread", alias="type")

    union = Annotated[Cake | Bread, Field(discriminator="sort")]

    assert about(union, {}) == "'it.type' is missing"
    assert about(union, {"type": "pie"}) == "'it.type' must be 'cake' or 'bread', got str 'pie'"


class Leg(BaseModel, alias_generator=to_camel, populate_by_name=True):
    ship_name: str
    port_calls: list[int] = []
    next_leg: "Leg | None" = None
    berth: int = Field(1, validation_alias=AliasChoices("quay", AliasPath("berths", 0)))


class Crate(msgspec.Struct, rename="camel"):
    net_weight: int
    part_counts: list[int] = []


@attrs.define
class Seal:
    _code: int = attrs.field(alias="code")
    # Each has the other's name.
    left: int = attrs.field(default=1, alias="right")
    right: int = attrs.field(default=2, alias="left")


class Voyage(TypedDict):
    legs: Annotated[list[Leg], Field(alias="allLegs")]


@pytest.mark.parametrize(
    ("annotation", "value", "sentence"),
    [
        (Leg, {"ship_name": 1}, "'it.ship_name' must be str, got int 1"),
        (Leg, {"shipName": 1}, "'it.shipName' must be str, got int 1"),
        (Leg | None, {"ship_name": 1}, "'it.ship_name' must be str, got int 1"),
        (Leg | int, {"ship_name": 1}, "'it.ship_name' must be str, got int 1"),
        (
            list[Leg],
            [{"ship_name": "a", "next_leg": {"ship_name": 1}}],
            "'it[0].next_leg.ship_name' must be str, got int 1",
        ),
        (Leg, {"ship_name": "a", "next_leg": {}}, "'it.next_leg.shipName' is missing"),
        (Leg, {"ship_name": "a", "port_calls": ["x"]}, "'it.port_calls[0]' must be int, got str 'x'"),
        (Leg, {"ship_name": "a", "berth": "x"}, "'it.berth' must be int, got str 'x'"),
        (Leg, {"ship_name": "a", "quay": "x"}, "'it.quay' must be int, got str 'x'"),
        (Leg, {"ship_name": "a", "berths": ["x"]}, "'it.berths[0]' must be int, got str 'x'"),
        (dict[str, Leg], {"shipName": {"ship_name": 1}}, "'it.shipName.ship_name' must be str, got int 1"),
        (Crate, {"net_weight": "x"}, "'it.net_weight' must be int, got str 'x'"),
        (Crate, {"netWeight": "x"}, "'it.netWeight' must be int, got str 'x'"),
        (Crate | None, {"net_weight": 1, "part_counts": ["x"]}, "'it.part_counts[0]' must be int, got str 'x'"),
        (Seal, {"_code": "x"}, "'it._code' must be int, got str 'x'"),
        (Seal, {"code": 1, "left": "x"}, "'it.left' must be int, got str 'x'"),
        (Voyage, {"legs": [{"ship_name": 1}]}, "'it.legs[0].ship_name' must be str, got int 1"),
        (Voyage, {"allLegs": [{"ship_name": 1}]}, "'it.allLegs[0].ship_name' must be str, got int 1"),
    ],
)
def test_problem_names_the_field_as_the_call_did(annotation: object, value: object, sentence: str) -> None:
    assert about(annotation, value) == sentence


class Span(TypedDict):
    point1: int
    point2: int


class Move(BaseModel):
    from_place: str
    to_place: str = Field(alias="toPlace")


@dataclass
class Shot:
    frame_a: int
    frame_b: int


@pytest.mark.parametrize(
    ("annotation", "value", "sentence"),
    [
        (Span, {"point1": 1}, "'it.point2' is missing"),
        (
            Span,
            {"point1": 1, "point_2": 2},
            "'it.point2' is missing (did you mean 'point_2'?); 'it.point_2' is unknown (did you mean 'point2'?)",
        ),
        (list[Span], [{"point2": 1}], "'it[0].point1' is missing"),
        (Shot, {"frame_a": 1}, "'it.frame_b' is missing"),
        (Shot | None, {"frame_a": 1}, "'it.frame_b' is missing"),
        (Leg, {"port_calls": [1]}, "'it.shipName' is missing"),
        (Move, {"toPlace": "a"}, "'it.from_place' is missing"),
        (dict[str, Span], {"a": {"point1": 1}}, "'it.a.point2' is missing"),
    ],
)
def test_name_of_another_field_is_not_taken_for_a_missing_one(annotation: object, value: object, sentence: str) -> None:
    assert about(annotation, value) == sentence


def test_field_passed_by_its_second_name_is_repaired() -> None:
    def sail(leg: Leg) -> None: ...

    binder = function_schema("sail", read_signature(sail, name="sail"), {}).binder
    call = binder.bind((), {"leg": {"ship_name": "a", "port_calls": "[1]", "berth": None}})

    assert call.kwargs["leg"] == Leg.model_validate({"shipName": "a", "portCalls": [1]})
    assert len(call.repairs) == 2


def test_names_that_two_fields_share_are_those_of_the_schema() -> None:
    def close(seal: Seal, crate: Crate) -> None: ...

    binder = function_schema("close", read_signature(close, name="close"), {}).binder
    call = binder.bind((), {"seal": {"_code": 5, "left": 7}, "crate": {"net_weight": 1, "part_counts": "[2]"}})

    assert call.kwargs == {"seal": Seal(code=5, left=7), "crate": Crate(net_weight=1, part_counts=[2])}
    with pytest.raises(ArgumentsError, match=r"'crate.net_weight' is unknown"):
        binder.bind((), {"seal": {"code": 5}, "crate": {"netWeight": 1, "net_weight": 2}})


def test_non_text_name_is_refused() -> None:
    names: Any = {5: 1}

    assert complaint(fetch_forecast, "Rome", scale=5) == "fetch_forecast: 'scale' must be str, got int 5"
    binder = function_schema("ping", read_signature(ping, name="ping"), {}).binder
    with pytest.raises(ArgumentsError, match=r"ping: unknown argument 5 \(names are text\)"):
        binder.bind((), names)


def test_message_stays_short_for_any_value() -> None:
    many = {f"name_{number}": number for number in range(100_000)}

    assert complaint(fetch_forecast, "Rome", **many).endswith("; and 99990 more")
    assert len(complaint(fetch_forecast, "Rome", **many)) < 1000
    assert len(complaint(fetch_forecast, "x" * 10_000_000, **{"y" * 1_000_000: 1})) < 400
    assert len(about(dict[str, int], {"k" * 100_000: "x"})) < 400
    assert about(list[int], ["x"] * 100_000) == "'it[0]' must be int, got str 'x'"
    assert about(list[int], ["x"] * 100).endswith("; and 90 more")
