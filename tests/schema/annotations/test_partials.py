"""Bound arguments are no parameters, however they were bound: a bound secret is in no text a model reads."""

import functools
import inspect
import json
import math
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from ez_ptc import SchemaError, Tool, Toolkit, ez_tool, function_to_tool
from ez_ptc.schema.annotations.partials import call_signature, open_defaults, open_signature

SECRET = "s3cr3t-value"


def fetch(url: str, token: str = "none", retries: int = 3) -> str:
    """Fetch a page."""
    return f"{url} {token} {retries}"


async def fetch_later(url: str, token: str, retries: int = 3) -> str:
    """Fetch a page."""
    return f"{url} {token} {retries}"


class Client:
    """A client with methods of which some arguments are bound."""

    base: ClassVar[str] = "base"

    def fetch(self, url: str, token: str, retries: int = 3) -> str:
        """Fetch a page."""
        return f"{url} {token} {retries}"

    by_name = functools.partialmethod(fetch, token=SECRET)

    @classmethod
    def fetch_base(cls, url: str, token: str, retries: int = 3) -> str:
        """Fetch a page."""
        return f"{url} {token} {retries}"


def updated(partial: functools.partial[Any]) -> Callable[..., Any]:
    return functools.update_wrapper(partial, partial.func)


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def log(*args: object, **kwargs: object) -> object:
        return function(*args, **kwargs)

    return log


_partial = functools.partial
BOUND: dict[str, Any] = {
    "by name": _partial(fetch, token=SECRET),
    "by name, updated": updated(_partial(fetch, token=SECRET)),
    "nested": updated(_partial(updated(_partial(fetch, token=SECRET)), retries=3)),
    "replaced": updated(_partial(updated(_partial(fetch, token="other")), token=SECRET)),
    "asynchronous": _partial(fetch_later, token=SECRET),
    "asynchronous, updated": updated(_partial(fetch_later, token=SECRET)),
    "a method": _partial(Client().fetch, token=SECRET),
    "a method, updated": updated(_partial(Client().fetch, token=SECRET)),
    "an object": updated(_partial(Client.fetch, Client(), token=SECRET)),
    "a class method": updated(_partial(Client.fetch_base, token=SECRET)),
    "a partial method": Client().by_name,
    "wrapped": logged(_partial(fetch, token=SECRET)),
    "wrapped, updated": logged(updated(_partial(fetch, token=SECRET))),
    "a partial of a wrapper": updated(_partial(logged(updated(_partial(fetch, token=SECRET))))),
}


@pytest.mark.parametrize("function", BOUND.values(), ids=BOUND)
def test_bound_secret_is_in_no_text_of_a_tool(function: Callable[..., Any]) -> None:
    tool = ez_tool(name="fetch", requires_approval=False)(function)
    toolkit = Toolkit([tool], assist_tool_chaining=True)
    texts = [
        repr(tool),
        tool.signature,
        str(inspect.signature(tool)),
        json.dumps([tool.parameters, Tool.from_function(function, name="fetch").schema, function_to_tool(function)]),
        json.dumps([tool.to_format("openai"), toolkit.tool_schema(format="anthropic")]),
        toolkit.prompt(),
    ]

    assert not [text for text in texts if SECRET in text]
    assert list(tool.parameters["properties"]) == ["url", "retries"]
    assert tool.execute(url="u").output == f"u {SECRET} 3"
    assert "token" in (tool.execute(url="u", token="mine").error or "")


@pytest.mark.parametrize("fetch_fixed", [_partial(fetch, "http://fixed"), updated(_partial(fetch, "http://fixed"))])
def test_value_bound_by_position_is_no_parameter(fetch_fixed: Callable[..., Any]) -> None:
    tool = ez_tool(fetch_fixed, name="fetch")

    assert list(tool.parameters["properties"]) == ["token", "retries"]
    assert tool.execute(token="t").output == "http://fixed t 3"


def test_number_bound_by_name_is_a_new_default() -> None:
    tool = ez_tool(updated(functools.partial(fetch, retries=9)))

    assert tool.parameters["properties"]["retries"]["default"] == 9
    assert tool.execute(url="u").output == "u none 9"
    assert tool.execute(url="u", retries=1).output == "u none 1"


def test_number_bound_to_a_needed_parameter_is_no_parameter() -> None:
    def orders(customer: int, limit: int = 5) -> str: ...

    assert str(open_signature(functools.partial(orders, customer=7))) == "(*, limit: int = 5) -> str"
    assert str(call_signature(functools.partial(orders, customer=7))) == "(*, customer: int = 7, limit: int = 5) -> str"


def test_partial_that_does_not_fit_is_refused_without_its_values() -> None:
    function: Any = fetch
    with pytest.raises(SchemaError, match="its function takes url, token, retries") as refused:
        ez_tool(functools.partial(function, SECRET, url=SECRET))

    assert SECRET not in str(refused.value)


def test_partial_method_without_its_object_is_refused() -> None:
    with pytest.raises(SchemaError, match="a method without its object"):
        ez_tool(Client.by_name, name="fetch", description="Fetch.")


def test_question_to_a_person_has_no_bound_values() -> None:
    asked: list[object] = []

    def approve(call: object) -> bool:
        asked.append(call)
        return True

    tool = ez_tool(updated(functools.partial(fetch, token=SECRET)), requires_approval=True)

    assert tool.call({"url": "u"}, approve=approve) == f"u {SECRET} 3"
    assert asked
    assert SECRET not in repr(asked)


@pytest.mark.parametrize("bound", [functools.partial(fetch, token=SECRET), functools.partial(fetch, "x", SECRET)])
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_text_of_a_definition_has_no_bound_value(bound: "functools.partial[str]", *, is_wrapped: bool) -> None:
    function = functools.update_wrapper(bound, fetch) if is_wrapped else bound

    assert SECRET not in repr(Tool.from_function(function, name="fetch", description="Fetch.").definition)


def _plain(a: int, /, b: int = 2, *rest: int, c: int, d: int = 4, **others: int) -> None: ...


def _by_keyword(a: int = 1, *, b: int = 2) -> None: ...


def _with_signature_of_another(*args: object, b: int = 3, **others: object) -> None: ...


functools.update_wrapper(_with_signature_of_another, _plain)


class _Shop:
    def order(self, product: str, quantity: int = 1) -> None: ...


_DEFAULTS: list[tuple[Callable[..., object], dict[str, object]]] = [
    (_plain, {"b": 2, "d": 4}),
    (lambda: None, {}),
    (_by_keyword, {"a": 1, "b": 2}),
    (_with_signature_of_another, {"b": 2, "d": 4}),
    (_Shop().order, {"quantity": 1}),
    (functools.partial(_plain, c=5), {"b": 2, "d": 4}),
    (functools.partial(_plain, 1, b=7), {"b": 7, "d": 4}),
    (math.hypot, {}),
    (dict, {}),
]


@pytest.mark.parametrize(("function", "expected"), _DEFAULTS)
def test_open_defaults_are_those_of_the_signature(function: Callable[..., object], expected: dict[str, object]) -> None:
    assert open_defaults(function) == expected


def test_open_defaults_follow_a_changed_function() -> None:
    def search(limit: int = 10, *, offset: int = 0) -> None: ...

    search.__defaults__, search.__kwdefaults__ = (20,), {"unknown": 1}

    assert open_defaults(search) == {"limit": 20}
