"""Annotations as the types that they name."""

import functools
from typing import Any, ClassVar, Final

import pytest

from ez_ptc.schema.annotations.resolution import innermost, names_around, resolve, resolve_leniently


class Depot:
    class Slot:
        pass

    def put(self, slot: "Slot") -> None: ...
    def __call__(self, slot: "Slot") -> None: ...


class Branch(Depot):
    pass


def ship(number: str) -> None: ...


@functools.wraps(ship)
def logged(*args: Any) -> None: ...


@pytest.mark.parametrize(
    "function", [ship, logged, functools.partial(logged), functools.partial(functools.partial(ship))]
)
def test_the_function_with_the_code_is_found(function: Any) -> None:  # noqa: ANN401 - any value may come
    assert innermost(function) is ship


def test_code_of_methods_and_objects_is_found() -> None:
    assert innermost(Branch().put) is Depot.put
    assert innermost(Branch()) is Depot.__call__
    assert innermost(Depot) is Depot


def test_a_method_knows_the_classes_within_its_class() -> None:
    names = names_around(Depot.put, owner=Branch())

    assert names["Slot"] is Depot.Slot
    assert names["Depot"] is Depot
    assert "Slot" not in names_around(Depot.put)
    assert "Slot" not in names_around(Depot.put, owner=pytest)


def test_a_class_knows_the_names_of_its_module() -> None:
    assert names_around(Depot)["Branch"] is Branch


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        ("int", int),
        ("list[int]", list[int]),
        ("Final[int]", Final[int]),
        ("ClassVar[int]", ClassVar[int]),
        (None, None),
    ],
)
def test_text_annotation_becomes_its_type(annotation: object, found: object) -> None:
    assert resolve(annotation, {"Final": Final, "ClassVar": ClassVar}) == found


@pytest.mark.parametrize("text", ["Nowhere", "nowhere.Thing", "nowhere.Thing[int]", "list[Nowhere] | None"])
def test_undefined_name_gets_a_substitute(text: str) -> None:
    with pytest.raises(NameError):
        resolve(text, {})
    assert resolve_leniently(text, {}, {}) != text


def test_undefined_name_may_be_known() -> None:
    assert resolve_leniently("nowhere.Thing", {}, {"Thing": int}) is int
    assert resolve_leniently("Thing", {"Thing": str}, {"Thing": int}) is str


@pytest.mark.parametrize("text", ["1 +", "1 / 0", "nowhere.__name__ / 0"])
def test_unhelpful_annotation_stays_unchanged(text: str) -> None:
    assert resolve_leniently(text, {}, {}) == text
