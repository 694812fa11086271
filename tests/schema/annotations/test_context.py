"""Parameters that the host fills: found in every form, and no model knows of them."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, NewType, Optional, Protocol, TypedDict, TypeVar

import pytest
import typing_extensions

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.context import (
    NO_CONTEXT,
    Context,
    ContextParameter,
    context_arguments,
    context_names,
    is_context,
    takes_none,
)
from ez_ptc.schema.annotations.signatures import EMPTY, read_signature, signature_text
from ez_ptc.schema.functions import FunctionSchema, function_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    import ez_ptc.schema.annotations.context as hidden


class Session:
    """Something of this process alone."""


Own = NewType("Own", Context[Session])
Alias = typing_extensions.TypeAliasType("Alias", Context[Session])
SESSION = Session()

FORMS: list[object] = [
    Context,
    Context[Session],
    Context[Session] | None,
    Optional[Context[Session]],  # noqa: UP045 - its old spelling works too
    Context[Session | None],
    Annotated[Context[Session], "which"],
    Annotated[Context[Session] | None, "which"],
    Context[Session] | int,
    typing.Final[Context[Session]],
    Annotated[Session, Context],
    Alias,
    Own,
]


@pytest.mark.parametrize("annotation", FORMS, ids=str)
def test_a_context_is_one_in_every_form(annotation: object) -> None:
    assert is_context(annotation)


@pytest.mark.parametrize(
    "annotation", [Session, int, None, EMPTY, Any, list[Context[Session]], "Context", Annotated[int, "Context"]]
)
def test_unmarked_parameter_is_no_context(annotation: object) -> None:
    assert not is_context(annotation)


@pytest.mark.parametrize(
    ("annotation", "answer"),
    [(int | None, True), (None, True), (Annotated[int | None, "x"], True), (int, False), (Any, False), (EMPTY, False)],
)
def test_none_is_a_value_for_nullable_context(annotation: object, answer: bool) -> None:
    assert takes_none(annotation) is answer


def described(function: Callable[..., object]) -> FunctionSchema:
    return function_schema("buy", read_signature(function, name="buy"), {})


def buy(item: str, session: Context[Session], cups: int = 1) -> object:
    return item, session, cups


def test_only_the_host_knows_the_context() -> None:
    schema = described(buy)

    assert list(schema.parameters["properties"]) == ["item", "cups"]
    assert list(schema.binder.fields) == ["item", "cups"]
    assert signature_text("buy", schema.signature) == "buy(item: str, cups: int = 1) -> object"
    assert signature_text("buy", read_signature(buy, name="buy")) == "buy(item: str, cups: int = 1) -> object"


def test_the_host_fills_it_with_the_very_object() -> None:
    call = described(buy).binder.bind(("tea", 2), {}, context=SESSION)

    assert call.kwargs == {"item": "tea", "session": SESSION, "cups": 2}
    assert call.kwargs["session"] is SESSION
    assert described(buy).binder.bind(("tea",), {}, context=None).kwargs["session"] is None


def test_model_sending_context_is_refused_without_details() -> None:
    for name in ("session", "sesion"):
        with pytest.raises(ArgumentsError) as caught:
            described(buy).binder.bind(("tea",), {name: 1}, context=SESSION)
        assert str(caught.value) == f"buy: unknown argument '{name}' (it takes item, cups)"


def test_missing_context_error_says_what_to_pass() -> None:
    with pytest.raises(
        TypeError, match=r"buy: its parameter 'session' is filled by the host.*pass context=\.\.\. where"
    ):
        described(buy).binder.bind(("tea",), {})


def test_context_is_optional_with_default_or_none() -> None:
    def sell(a: Context[Session] | None, b: Context[Session] = SESSION, *, c: Context[Session | None]) -> None: ...

    binder = described(sell).binder

    assert binder.bind((), {}).kwargs == {"a": None, "b": SESSION, "c": None}
    other = Session()
    assert binder.bind((), {}, context=other).kwargs == {"a": other, "b": other, "c": other}


def test_it_is_passed_by_position_where_it_must_be() -> None:
    def sell(session: Context[Session], item: str, later: Context[Session] = SESSION, /, cups: int = 1) -> None: ...

    other = Session()
    call = described(sell).binder.bind(("tea", 2), {}, context=other)

    assert (call.args, call.kwargs) == ((other, "tea", other), {"cups": 2})


def typed_for_checkers(
    item: str,
    a: Context[Mapping[str, int]],
    b: hidden.Context[Mapping[str, int]] | None,
    *,
    c: hidden.Context[hidden.Context[hidden.RunningCall]] | None = None,
    d: Mapping[str, int] | None = None,
) -> None: ...


def test_type_checking_only_import_does_not_prevent_context() -> None:
    schema = described(typed_for_checkers)

    assert list(schema.parameters["properties"]) == ["item"]
    assert schema.binder.bind(("tea",), {}, context=5).kwargs == {"item": "tea", "a": 5, "b": 5, "c": 5}


def test_a_functions_contexts_are_found_without_describing_it() -> None:
    found = context_names(typed_for_checkers)
    assert {name: parameter.default for name, parameter in found.items()} == {"a": EMPTY, "b": None, "c": None}
    assert context_names(int) == {}


def test_contexts_are_filled_by_name() -> None:
    a, b = ContextParameter(int, EMPTY), ContextParameter(int, 1)
    assert context_arguments("buy", {"a": a, "b": b}, 5) == {"a": 5, "b": 5}
    assert context_arguments("buy", {"b": b}, NO_CONTEXT) == {"b": 1}
    assert repr(NO_CONTEXT) == "NO_CONTEXT"


class Named(Protocol):
    """A protocol that nothing is an instance of at run time."""

    name: str


class Row(TypedDict):
    """A dict, as far as run time is concerned."""

    name: str


UserId = NewType("UserId", int)

ACCEPTED: list[tuple[object, object]] = [
    (str, "a"),
    (float, 5),
    (int, True),
    (str | None, None),
    (str, None),
    (list[int], ["whatever is in it"]),
    (Session | int, 5),
    (Annotated[int, "note"], 5),
    (UserId, 5),
    (Named, object()),
    (Row, {}),
    (Literal["a"], "b"),
    (object, 5),
    (Any, 5),
    (TypeVar("T"), 5),
]
REFUSED: list[tuple[object, object, str]] = [
    (str, 5, "expected the context of its parameter 'user' to be str, got int 5"),
    (int, "5", "to be int, got str '5'"),
    (Session, 5, "to be Session, got int 5"),
    (Session, Session, "to be Session, got type"),
    (str | int, [], r"to be str \| int, got list of 0"),
    (UserId, "5", "UserId, got str '5'"),
    (dict[str, int], [1], "got list of 1"),
    (bytes, "text", "to be bytes, got str 'text'"),
]


def with_context(kind: object) -> Any:  # noqa: ANN401 - a function
    """Return a function whose context is of a type."""

    def tool(item: str, user: object) -> str:
        return f"{item} {user}"

    tool.__annotations__["user"] = Context[kind]
    return tool


@pytest.mark.parametrize(("kind", "value"), ACCEPTED)
def test_context_of_its_type_is_accepted(kind: object, value: object) -> None:
    assert described(with_context(kind)).binder.bind(("a",), {}, context=value).kwargs["user"] is value


@pytest.mark.parametrize(("kind", "value", "message"), REFUSED)
def test_context_of_another_type_is_a_mistake_of_the_host(kind: object, value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        described(with_context(kind)).binder.bind(("a",), {}, context=value)
