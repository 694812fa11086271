"""Signatures: types resolved where the function was defined, and the line that a model reads."""

from __future__ import annotations

import collections.abc
import functools
import math
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import EllipsisType
from typing import Annotated, Any, ClassVar, ForwardRef, Literal, NewType, Optional, TypeVar, Union, cast

import pytest
import typing_extensions

from ez_ptc import Tool, Toolkit, ez_tool, tool
from ez_ptc.errors import SchemaError
from ez_ptc.schema.annotations.signatures import EMPTY, annotation_text, read_signature, signature_text

T = TypeVar("T")
PLAIN = {"a": [1]}
ODD = {"a": object()}
OrderNumber = NewType("OrderNumber", str)
Limit = typing_extensions.TypeAliasType("Limit", int | EllipsisType)


class Route(Enum):
    AIR = "air"
    SEA = "sea"


@dataclass
class Parcel:
    grams: int


def text_of(function: Callable[..., object]) -> str:
    return signature_text("ship", read_signature(function, name="ship"))


def test_a_signature_reads_as_python() -> None:
    def ship(number: str, cups: int = 2, note: str = "with care") -> dict[str, Any]: ...

    assert text_of(ship) == "ship(number: str, cups: int = 2, note: str = 'with care') -> dict[str, Any]"


def test_postponed_annotations_read_like_others() -> None:
    """This module postpones all of its annotations; a function made at run time has real ones."""

    def ship(to: list[Parcel], by: Route | None = None) -> list[bytes]: ...
    def now(to: object, by: object = None) -> object: ...

    now.__annotations__ = {"to": list[Parcel], "by": Route | None, "return": list[bytes]}

    assert ship.__annotations__["to"] == "list[Parcel]"
    assert text_of(ship) == text_of(now) == "ship(to: list[Parcel], by: Route | None = None) -> list[bytes]"


def test_kinds_of_parameters_are_marked_as_in_python() -> None:
    def ship(a: int, /, b: int, *, c: int = 1) -> None: ...
    def send(a: int, b: int = 0, /) -> None: ...
    def collect(a: int, *rest: int, c: int, **more: int) -> None: ...

    assert text_of(ship) == "ship(a: int, /, b: int, *, c: int = 1) -> None"
    assert text_of(send) == "ship(a: int, b: int = 0, /) -> None"
    assert text_of(collect) == "ship(a: int, *, c: int) -> None"


def test_parameters_without_annotation_have_none_in_the_text() -> None:
    def ship(number: object, cups: object = 2) -> None: ...

    ship.__annotations__ = {}
    assert text_of(ship) == "ship(number, cups=2)"
    assert read_signature(ship, name="ship").parameters[0].annotation is EMPTY


def test_default_without_plain_value_is_omitted() -> None:
    def ship(
        at: datetime = datetime(2024, 1, 1),
        how: Callable[[int], str] = str,
        by: Route = Route.SEA,
        tags: Sequence[str] = ("a", "b"),
        long: str = "x" * 100,
    ) -> None: ...
    def pack(marks: Mapping[str, Sequence[int]] = PLAIN, odd: Mapping[str, object] = ODD) -> None: ...

    assert text_of(ship) == (
        "ship(at: datetime = ..., how: Callable[[int], str] = ..., by: Route = 'sea', "
        "tags: Sequence[str] = ('a', 'b'), long: str = ...) -> None"
    )
    assert (
        text_of(pack)
        == "ship(marks: Mapping[str, Sequence[int]] = {'a': [1]}, odd: Mapping[str, object] = ...) -> None"
    )


SPELLED: list[tuple[object, str]] = [
    (int, "int"),
    (None, "None"),
    (Any, "Any"),
    (Optional[int], "int | None"),  # noqa: UP045 - the older spelling is the case
    (Union[int, str], "int | str"),  # noqa: UP007 - the older spelling is the case
    (typing.List[int], "list[int]"),  # noqa: UP006 - the older spelling is the case
    (typing.Dict, "dict"),  # noqa: UP006 - the older spelling is the case
    (collections.abc.Mapping[str, int], "Mapping[str, int]"),
    (tuple[int, ...], "tuple[int, ...]"),
    (Callable[..., int], "Callable[..., int]"),
    (Callable[[int, str], bool], "Callable[[int, str], bool]"),
    (Literal["a", 1, Route.AIR], "Literal['a', 1, 'air']"),
    (Annotated[int, "how many"], "int"),
    (list[Annotated[Parcel, "which"]], "list[Parcel]"),
    (OrderNumber, "str"),
    (T, "T"),
    (list[TypeVar("N", bound=OrderNumber)], "list[str]"),
    (TypeVar("Few", int, str), "int | str"),
    (list[typing_extensions.TypeVar("Item", default=OrderNumber)], "list[str]"),
    (typing_extensions.TypeVar("Any_", default=Any), "Any"),
    (typing_extensions.TypeVar("Count", bound=int, default=bool), "bool"),
    (T, "T"),
    (type[int], "type[int]"),
    (ForwardRef("shop.orders.Order"), "Order"),
    ("list[shop.Order]", "list[Order]"),
    (datetime, "datetime"),
]


@pytest.mark.parametrize(("annotation", "text"), SPELLED)
def test_a_type_is_spelled_without_modules(annotation: object, text: str) -> None:
    assert annotation_text(annotation) == text


def test_classes_local_to_the_enclosing_functions_are_found() -> None:
    class Crate:
        pass

    def inner() -> str:
        class Box:
            pass

        def ship(crate: Crate, box: list[Box], other: dict[str, Box]) -> Crate: ...

        return text_of(ship)

    assert inner() == "ship(crate: Crate, box: list[Box], other: dict[str, Box]) -> Crate"


def test_a_nearer_class_hides_one_of_the_same_name() -> None:
    class Parcel:
        pass

    def ship(parcel: Parcel) -> None: ...

    assert read_signature(ship, name="ship").parameters[0].annotation is Parcel


def test_empty_closure_variable_does_not_prevent_signature() -> None:
    def ship(parcel: Parcel) -> str:
        return later

    text = text_of(ship)
    later = "sent"

    assert (text, ship(Parcel(1))) == ("ship(parcel: Parcel) -> str", "sent")


class Depot:
    """A shop's back door."""

    class Slot:
        pass

    def ship(self, number: str, slot: Slot) -> Parcel: ...

    @classmethod
    def open(cls, number: str) -> Depot: ...

    @staticmethod
    def weigh(grams: int) -> int: ...

    def __call__(self, number: str) -> None: ...


def test_a_bound_method_has_no_self() -> None:
    assert text_of(Depot.open) == "ship(number: str) -> Depot"
    assert text_of(Depot()) == "ship(number: str) -> None"
    assert text_of(Depot.weigh) == "ship(grams: int) -> int"


def test_a_method_without_its_object_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"ship: parameter 'self' .*bound method.*ez_tool\(thing.ship\)"):
        read_signature(Depot.ship, name="ship")


def test_wrapped_and_partial_functions_keep_remaining_parameters() -> None:
    def ship(number: str, cups: int, parcel: Parcel) -> Parcel: ...

    @functools.wraps(ship)
    def logged(*args: object, **kwargs: object) -> object: ...

    assert text_of(logged) == text_of(ship) == "ship(number: str, cups: int, parcel: Parcel) -> Parcel"
    assert text_of(functools.partial(ship, "A-17")) == "ship(cups: int, parcel: Parcel) -> Parcel"
    assert text_of(functools.partial(logged, cups=3)) == "ship(number: str, *, parcel: Parcel) -> Parcel"


def by_number(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def find(number: str, days: int = 1) -> object:
        return function({"number": number}, days)

    return find


def logging(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def log(*args: object, **kwargs: object) -> object:
        return function(*args, **kwargs)

    return log


def ship_parcel(parcel: dict[str, str], days: int) -> str:
    return f"{parcel['number']} in {days}"


def take_number(office: object, number: object) -> object:
    return number


class Office:
    ship: ClassVar[Any] = functools.wraps(ship_parcel)(take_number)
    shipped: ClassVar[Any] = logging(ship)


def take_nothing() -> None: ...
def take_the_same(parcel: object, days: object) -> None: ...
def take_any(**parcel: object) -> None: ...


as_shipping: Any = functools.wraps(ship_parcel)
WRAPPERS: list[tuple[Callable[..., object], str]] = [
    (by_number(ship_parcel), "ship(number, days: int = 1) -> str"),
    (logging(by_number(ship_parcel)), "ship(number, days: int = 1) -> str"),
    (by_number(logging(ship_parcel)), "ship(number, days: int = 1) -> str"),
    (functools.partial(by_number(ship_parcel), days=2), "ship(number, *, days: int = 2) -> str"),
    (as_shipping(take_nothing), "ship() -> str"),
    (as_shipping(take_the_same), "ship(parcel: dict[str, str], days: int) -> str"),
    (as_shipping(take_any), "ship(parcel: dict[str, str], days: int) -> str"),
    (Office().ship, "ship(number) -> str"),
    (Office().shipped, "ship(number) -> str"),
]


@pytest.mark.parametrize(("function", "text"), WRAPPERS)
def test_wrapper_without_further_arguments_has_its_parameters(function: Callable[..., object], text: str) -> None:
    assert text_of(function) == text


def test_wrapper_with_other_parameters_is_called_by_these() -> None:
    with pytest.warns(UserWarning, match="accepts anything for number"):
        tool = Tool.from_function(logging(by_number(ship_parcel)), description="Ship.")

    assert tool.call({"number": "A-17"}) == "A-17 in 1"
    assert "unknown argument 'parcel'" in str(tool.execute(parcel={"number": "A-17"}).error)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "limit: int"),
        (int | None, "limit: int | None"),
        (int | EllipsisType, "limit: int | ellipsis = ..."),
        (Annotated[int | EllipsisType, "a sentinel"], "limit: int | ellipsis = ..."),
        (Limit, "limit: Limit = ..."),
        (EllipsisType, "limit: ellipsis = ..."),
    ],
)
def test_ellipsis_as_a_default_marks_a_required_parameter(annotation: object, text: str) -> None:
    def ship(limit: object = ...) -> None: ...

    ship.__annotations__["limit"] = annotation
    assert text_of(ship) == f"ship({text}) -> None"


def test_parameter_with_an_ellipsis_is_required_of_calls() -> None:
    def ship(limit: int = cast("Any", ...), days: int | None = cast("Any", ...)) -> object:
        return limit, days

    tool = Tool.from_function(ship, description="Ship.")

    assert tool.parameters["required"] == ["limit"]
    assert tool.call({"limit": 1}) == (1, None)
    assert tool.execute().error == "ship: missing argument 'limit' (int)"


def test_a_function_of_c_has_its_signature() -> None:
    assert text_of(math.sin) == "ship(x, /)"


def test_callable_without_signature_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"ship: its parameters cannot be read .*wrap it in a Python function"):
        read_signature(int, name="ship")


@pytest.mark.parametrize("annotation", ["Nowhere", "list[Nowhere]", "datetime.nowhere", "1 +", "1 / 0"])
def test_unresolvable_annotation_is_refused_by_name(annotation: str) -> None:
    def ship(number: str, parcel: object) -> None: ...

    ship.__annotations__["parcel"] = annotation
    with pytest.raises(
        SchemaError, match=r"^ship: the annotation .* of parameter 'parcel' cannot be resolved"
    ) as caught:
        read_signature(ship, name="ship")
    assert "define or import the type above the function" in str(caught.value)


def test_unresolvable_return_annotation_stays_as_text() -> None:
    def ship(number: str) -> object: ...

    ship.__annotations__["return"] = "shop.Nowhere"
    assert text_of(ship) == "ship(number: str) -> Nowhere"


class _Cached:
    """A method's decorator whose bound form is an object, as those of caching libraries are."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __get__(self, owner: object, cls: object = None) -> object:
        return _BoundCached(self._function, owner)


class _BoundCached:
    def __init__(self, function: Callable[..., Any], owner: object) -> None:
        functools.update_wrapper(self, function)
        self._function, self._owner = function, owner

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._function(self._owner, *args, **kwargs)


class Scale:
    """Methods behind decorators that bind them in their own way."""

    tare = 2

    @_Cached
    def weigh(self, grams: int, unit: str = "g") -> str:
        """Weigh a parcel."""
        return f"{grams - self.tare} {unit}"


def test_decorators_own_bound_method_has_no_self() -> None:
    bound: Any = cast("Any", Scale()).weigh
    for weigh in (ez_tool(bound), tool()(bound)):
        assert weigh.signature == "weigh(grams: int, unit: str = 'g') -> str"
        assert list(weigh.parameters["properties"]) == ["grams", "unit"]
        assert weigh.call({"grams": "5"}) == "3 g"
    with Toolkit([bound]) as toolkit:
        assert toolkit.execute("weigh(5, unit='kg')").return_value == "3 kg"


def test_self_of_a_function_outside_a_class_is_a_parameter() -> None:
    def weigh(self: int, grams: int) -> int:
        return self + grams

    del weigh.__annotations__["self"]
    signature = read_signature(_BoundCached(weigh, 0), name="weigh")
    assert [parameter.name for parameter in signature.parameters] == ["self", "grams"]
