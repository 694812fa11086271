"""Types that pydantic describes once, for all tools."""

import io
import json
import sys
import typing
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from types import ModuleType
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from ez_ptc import ArgumentsError, Tool, ez_tool
from ez_ptc.schema.known_types import known_type
from ez_ptc.schema.types import NativeJsonSchema

KNOWN: list[Any] = [
    date,
    int | str,
    str | int,
    str | int | None,
    Literal["a", 1],
    Literal["a", True],
    tuple[int, str],
    tuple[float, ...],
    dict[str, Any],
    dict[int, list[UUID]],
    set[date] | None,
    Decimal,
    dict[str, Decimal] | None,
    list[Any],
    Any,
    bytes,
]


def test_known_types_are_what_pydantic_says() -> None:
    for annotation in KNOWN * 2:
        known, adapter = known_type(annotation), TypeAdapter[Any](annotation)
        assert known is not None, annotation
        assert known.described == adapter.json_schema(schema_generator=NativeJsonSchema), annotation
        assert known.core == adapter.core_schema, annotation
        known.described["description"] = "another tool's"


class Order(TypedDict):
    id: int


class OwnOrder(typing.TypedDict):  # pydantic takes it from Python 3.12 on
    id: int


class OrderRow(typing.NamedTuple):
    id: int


def test_types_of_local_and_other_classes_are_not_known() -> None:
    class Local(TypedDict):
        id: int

    own = type("Own", (int,), {})
    for annotation in (Local, list[Local], own, "int", list["Order"], Callable[[], int], complex):
        assert known_type(annotation) is None, annotation


CLASSES = """
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional
from typing_extensions import NotRequired, TypedDict
from pydantic import BaseModel, Field, RootModel
import typing

class Color(Enum):
    RED = "red"

class Point(NamedTuple):
    x: int
    y: int = 0

class Item(TypedDict):
    sku: str
    count: NotRequired[int]

@dataclass
class Order:
    id: int
    items: list[Item]
    at: Point = Point(1)
    color: Color = Color.RED
    total: float = field(default=0.0, init=False)

@dataclass
class Place:
    at: Point
    other: Point | None = None

class Owner(BaseModel):
    '''An owner of orders.'''
    name: Annotated[str, Field(min_length=2, alias="Name")]
    color: Color | None = None

class Node(BaseModel):
    next: Optional["Node"] = None

class Maybe(RootModel[int | None]):
    pass

class Label(typing.TypedDict):
    '''A label.'''
    at: Point
    item: NotRequired[Item]
    next: NotRequired["Label"]

class Sticker(typing.TypedDict, total=False):
    sku: str
    color: Color
"""
TYPES = [
    "Order", "list[Order]", "Order | None", "dict[str, Owner] | None", "Owner", "Point", "Place", "Node", "Maybe",
    "Maybe | None", "Item | Order", "Color", "tuple[Item, Owner]", "Annotated[Item, 'an item']", "Literal['a'] | Item",
    "Label", "list[Sticker]", "Sticker | None",
]  # fmt: skip
VALUES: list[Any] = [
    {"id": 1, "items": [{"sku": "a"}]},
    {"id": "x", "items": [{"count": 1}], "at": [1, 2]},
    [{"id": 1, "items": [], "color": "red"}],
    {"Name": "Ann"},
    {"a": {"Name": "A", "color": "red"}},
    {"sku": "a", "count": 2},
    {"at": [1, 2], "item": {"sku": "a"}, "next": {"at": [3]}},
    [{"sku": "b", "color": "red"}],
    {"at": [1], "other": [2, 3]},
    {"next": {"next": {}}},
    [1, 2],
    "red",
    None,
]


def outcome(tool: Tool[..., Any], arguments: dict[str, Any]) -> str:
    try:
        return repr(tool.call(arguments))
    except ArgumentsError as error:
        return str(error)


@cache
def read_classes(name: str, *, with_module: bool) -> dict[str, Any]:
    """Return a namespace with the classes at its top, that of a module or of none."""
    module = ModuleType(name)
    if with_module:
        sys.modules[name] = module
    exec(CLASSES, vars(module))
    return vars(module)


def read_tool(first: str, second: str, *, with_module: bool) -> Tool[..., Any]:
    namespace = read_classes("known_shop" if with_module else "unknown_shop", with_module=with_module)
    source = f"def act(first: {first}, second: {second} = None) -> object:\n    'Act.'\n    return first, second\n"
    exec(source, namespace)
    return ez_tool(namespace["act"])


@pytest.mark.sampled(every=20)
@pytest.mark.parametrize("first", TYPES)
@pytest.mark.parametrize("second", TYPES)
def test_classes_of_modules_are_described_as_any_others(first: str, second: str) -> None:
    tool, other = (read_tool(first, second, with_module=with_module) for with_module in (True, False))
    assert (tool.parameters, tool.signature) == (other.parameters, other.signature)
    assert tool.definition.named == other.definition.named
    for value in VALUES:
        for arguments in ({"first": value}, {"first": value, "second": VALUES[0]}, {"second": value}):
            assert outcome(tool, arguments) == outcome(other, arguments)


@pytest.mark.parametrize(("cls", "order"), [(Order, {"id": 5}), (OwnOrder, {"id": 5}), (OrderRow, OrderRow(5))])
def test_pydantic_describes_a_class_of_many_tools_once(
    cls: type, order: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ship(order: object, urgent: bool = False) -> object:
        """Ship an order."""
        return order

    ship.__annotations__ |= {"order": cls, "return": cls}
    ez_tool(ship)
    monkeypatch.setattr(TypeAdapter, "__init__", None)
    tool = ez_tool(ship, name="ship_again")
    assert tool.call({"order": {"id": 5}}) == order
    with pytest.raises(ArgumentsError, match=r"order\.id"):
        tool.call({"order": {"id": "x"}})


def test_class_beside_other_types_is_described_once_if_they_do_not_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Speed(Enum):
        SLOW = "slow"

    class Parcel(TypedDict):
        order: Order

    def ship(order: Order, speed: Speed, day: date) -> object:
        """Ship an order."""
        return order, speed, day

    def pack(order: Order, parcel: Parcel) -> object:
        """Pack an order."""
        return order, parcel

    ez_tool(ship)
    described: list[set[str]] = []
    initialize: Any = vars(TypeAdapter)["__init__"]

    def note(adapter: TypeAdapter[Any], type_: Any, **options: Any) -> None:  # noqa: ANN401 - a type of any form
        described.append(set(type_.__annotations__))
        initialize(adapter, type_, **options)

    monkeypatch.setattr(TypeAdapter, "__init__", note)
    shipped, packed = ez_tool(ship, name="ship_again"), ez_tool(pack)

    assert described == [{"speed"}, {"parcel"}, {"order", "parcel"}]
    assert "$defs" not in shipped.parameters
    assert [*packed.parameters["$defs"]] == ["Order"]
    assert shipped.call({"order": {"id": 5}, "speed": "slow", "day": "2026-05-01"}) == (
        {"id": 5},
        Speed.SLOW,
        date(2026, 5, 1),
    )


@pytest.mark.parametrize("second", ["list[Item] | dict[str, other.Item]", "list[Item | other.Item | Color]"])
def test_classes_of_one_name_are_described_as_any_others(second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    for with_module in (True, False):
        shop = "known_shop" if with_module else "unknown_shop"
        other = ModuleType("other_shop")
        if with_module:
            monkeypatch.setitem(sys.modules, other.__name__, other)
        run_cell(other, "from typing_extensions import TypedDict\nclass Item(TypedDict):\n    size: int\n")
        read_classes(shop, with_module=with_module)["other"] = other
        tool = read_tool("Item", second, with_module=with_module)
        texts.append(json.dumps(tool.parameters).replace("unknown_shop", "known_shop"))
    assert texts[0] == texts[1]


def test_parameter_that_is_left_out_leaves_classes_as_they_are() -> None:
    def ship(order: Order, speed: object = object(), truck: io.IOBase | None = None) -> object:
        """Ship an order."""
        return order, truck

    tool = ez_tool(ship)

    assert [*tool.parameters["properties"]] == ["order", "speed"]
    assert tool.call({"order": {"id": 5}}) == ({"id": 5}, None)


def test_pydantic_describes_a_type_of_many_tools_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(first: date, within: timedelta | int, tags: dict[str, Any] | None = None) -> str:
        """Plan something."""
        return f"{first} {within} {tags}"

    ez_tool(plan)
    monkeypatch.setattr(TypeAdapter, "__init__", None)
    tool = ez_tool(plan, name="plan_again")
    assert tool.call({"first": "2026-05-01", "within": 5}) == "2026-05-01 5 None"
    with pytest.raises(ArgumentsError, match=r"first.*within"):
        tool.call({"first": "May", "within": "x"})


REPLACED = """
from __future__ import annotations
from dataclasses import dataclass
from typing import NamedTuple, TypedDict
from pydantic import BaseModel, Field
@dataclass
class Order:
    line: Line
@dataclass
class Line:
    sku: str
class Refund(BaseModel):
    amount: float
class Parcel(TypedDict):
    size: Size
class Size(NamedTuple):
    width: int
def pack(parcel: Parcel) -> object:
    "Pack."
    return isinstance(parcel["size"], Size)
def order(order: Order) -> object:
    "Order."
    return isinstance(order.line, Line)
def refund(refund: Refund) -> float:
    "Refund."
    return refund.amount
"""


def run_cell(module: ModuleType, source: str) -> None:
    exec(compile(source, module.__name__, "exec"), module.__dict__)


def test_replaced_class_within_another_is_described_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("cells_of_orders")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    run_cell(module, REPLACED)
    assert outcome(ez_tool(module.order), {"order": {"line": {"sku": "a"}}}) == "True"

    run_cell(module, "@dataclass\nclass Line:\n    sku: str\n    amount: int\n")
    assert outcome(ez_tool(module.order), {"order": {"line": {"sku": "a", "amount": 1}}}) == "True"


def test_replaced_class_with_a_substitute_is_described_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("cells_of_parcels")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    run_cell(module, REPLACED)
    assert outcome(ez_tool(module.pack), {"parcel": {"size": [1]}}) == "True"

    run_cell(module, "class Size(NamedTuple):\n    width: int\n    height: int\n")
    assert outcome(ez_tool(module.pack), {"parcel": {"size": [1, 2]}}) == "True"


def test_rebuilt_model_is_described_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("cells_of_refunds")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    run_cell(module, REPLACED)
    assert outcome(ez_tool(module.refund), {"refund": {"amount": 1_000}}) == "1000.0"

    run_cell(
        module, "Refund.model_fields['amount'].metadata = Field(le=100).metadata\nRefund.model_rebuild(force=True)"
    )
    assert "less than or equal to 100" in outcome(ez_tool(module.refund), {"refund": {"amount": 1_000}})
