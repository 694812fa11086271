"""Tools given straight to frameworks, which read, call and await them as they do functions.

Two of these are providers' packages; what others were seen doing is done here by hand.
"""

import functools
import inspect
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, cast, get_type_hints

import anyio.lowlevel
import pytest
from pydantic import BaseModel

from ez_ptc.errors import ArgumentsError, ToolError
from ez_ptc.messages import PendingCall
from ez_ptc.schema.annotations.context import Context
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.frameworks import passed_arguments
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.tools.tool import Tool

MISSING: Any = object()


class Order(BaseModel):
    """What a framework makes of nested arguments before it calls a tool."""

    what: str


@ez_tool(requires_approval=True)
def pay(to: str, user: Context[str], amount: int = 1) -> str:
    """Pay somebody.

    Args:
        to: Who gets the money.
        user: The one who pays, which is nobody's business.
        amount: How much.

    Returns:
        What was paid.
    """
    return f"{user} paid {amount} to {to}"


@ez_tool(requires_approval=True)
async def pay_later(to: str, user: Context[str], amount: int = 1) -> str:
    """Pay somebody later."""
    await anyio.lowlevel.checkpoint()
    return f"{user} paid {amount} to {to}"


@ez_tool
async def add(a: int) -> int:
    """Add one."""
    await anyio.lowlevel.checkpoint()
    return a + 1


@ez_tool
async def count(to: int) -> AsyncIterator[int]:
    """Count."""
    for number in range(to):
        yield number


@ez_tool(requires_approval=True)
def find(
    what: str = MISSING,
    limit: int = cast("int", None),
    order: Order = Order(what="tea"),  # noqa: B008 - nothing changes it
) -> str:
    """Find."""
    return f"{'nothing' if what is MISSING else what} {limit} {order.what}"


def everything(**given: object) -> dict[str, object]:
    return given


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "Who"},
        "amount": {"type": "integer", "default": 1},
        "note": {"type": "string"},
        "from": {"type": "string"},
    },
    "required": ["to"],
}
send = Tool.from_schema("send", "Send money.", SCHEMA, everything)


def yes(call: PendingCall) -> bool:
    return True


def bound(tool: Tool[..., Any]) -> Tool[..., Any]:
    return ToolRegistry([tool], context="Ada", approve=yes)[tool.name]


def filled_in(function: Callable[..., Any], arguments: dict[str, object]) -> dict[str, object]:
    """Return arguments as pydantic-ai and LangChain pass them: with the defaults that they read."""
    parameters = inspect.signature(function).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    others = {each.name: None for each in parameters if each.kind is each.VAR_KEYWORD}
    return {**defaults, **others, **arguments}


# Reading --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", [pay_later, add, bound(pay_later), bound(add)])
def test_an_async_tool_is_a_coroutine_function(tool: Tool) -> None:
    assert inspect.iscoroutinefunction(tool)
    assert inspect.iscoroutinefunction(functools.partial(tool, "Bob"))
    assert "user" not in getattr(getattr(tool, "__code__", None), "co_varnames", ())


def test_other_tools_are_not_coroutine_functions() -> None:
    for tool in (pay, find, send, count, bound(pay)):
        assert not inspect.iscoroutinefunction(tool)
    assert inspect.iscoroutinefunction(count.as_function())


async def test_a_guarded_async_generator_gives_a_coroutine(anyio_backend: str) -> None:
    tool = bound(replace(count, requires_approval=True))
    assert inspect.iscoroutinefunction(tool)
    assert await tool(2) == [0, 1]


@pytest.mark.parametrize("thing", [pay, bound(pay), pay.as_function()])
def test_docstring_omits_context_parameters(thing: Callable[..., Any]) -> None:
    assert inspect.getdoc(thing) == "Pay somebody.\n\nArgs:\n    to: Who gets the money.\n    amount: How much."
    assert pay.docstring == inspect.getdoc(pay)


def test_framework_reads_tool_name_and_description() -> None:
    def find(what: str) -> str:
        """Find it.

        Args:
            what: What to find.
        """
        return what

    tool = ez_tool(find, name="search", description="Search the shop.")
    for thing in (tool, tool.as_function(), replace(tool, requires_approval=True)):
        assert getattr(thing, "__name__", None) == "search"
        assert thing.__doc__ == "Search the shop.\n\nArgs:\n    what: What to find."
    assert getattr(replace(tool, name="look"), "__name__", None) == "look"


def test_tool_of_object_is_read_like_function() -> None:
    def buy(what: str, amount: int = 1) -> str:
        return f"{amount} {what}"

    tool = ez_tool(functools.partial(buy, amount=2), name="buy", description="Buy.")
    assert tool.__annotations__ == {"what": str, "amount": int, "return": str}
    assert (tool.__doc__, getattr(tool, "__qualname__", None)) == ("Buy.", "buy")


def test_tool_of_schema_is_read_by_its_schema() -> None:
    assert list(inspect.signature(send).parameters) == ["to", "amount", "note", "other_arguments"]
    assert send.__annotations__["amount"] is int
    assert inspect.getdoc(send) == "Send money.\n\nArgs:\n    to: Who"


def test_function_with_complete_signature_is_read_directly() -> None:
    def give(to: object, amount: object = 2) -> object:
        return f"{amount} to {to}"

    schema = {"type": "object", "properties": {"to": {"type": "string", "description": "Who"}}}
    tool = Tool.from_schema("give", "Give.", schema, give)
    assert (tool.__doc__, list(inspect.signature(tool).parameters)) == ("Give.", ["to", "amount"])


def test_parameter_for_other_names_has_distinct_name() -> None:
    schema = {"type": "object", "properties": {"other_arguments": {"type": "string"}, "from": {"type": "string"}}}
    tool = Tool.from_schema("send", "Send.", schema, everything)
    assert list(inspect.signature(tool).parameters) == ["other_arguments", "other_arguments_"]
    assert tool(**{"other_arguments": "a", "from": "b"}) == {"other_arguments": "a", "from": "b"}


# Calling --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [bound(find), find.as_function(approve=yes)])
def test_defaults_that_a_framework_fills_in_are_left_out(call: Callable[..., Any]) -> None:
    assert call(**filled_in(call, {})) == "nothing None tea"
    assert call(**filled_in(call, {"limit": "3", "order": Order(what="jam")})) == "nothing 3 jam"
    assert call(*filled_in(call, {"limit": 3}).values()) == "nothing 3 tea"
    with pytest.raises(ArgumentsError, match="'what' must be str, got object"):
        call(what=object())


@pytest.mark.parametrize("call", [send, bound(send), send.as_function()])
def test_optional_parameters_of_a_schema_are_left_out(call: Callable[..., Any]) -> None:
    assert call(**filled_in(call, {"to": "Bob"})) in ({"to": "Bob"}, {"to": "Bob", "amount": 1})
    assert call(to="Bob", other_arguments={"from": "Ada"}) == {"to": "Bob", "from": "Ada"}
    with pytest.raises(ArgumentsError, match="'to' must be str"):
        call(to=5)
    assert call(to="Bob", other_arguments={"too": 1}) in ({"to": "Bob", "too": 1}, {"to": "Bob", "too": 1, "amount": 1})
    with pytest.raises(ArgumentsError, match="unknown argument 'other_arguments'"):
        call(to="Bob", other_arguments={"to": "Eve"})


def test_no_argument_is_passed_twice_without_a_word() -> None:
    passed = passed_arguments(inspect.signature(find))
    assert passed(("a",), {"what": "b"}) == (("a",), {"what": "b"})
    assert passed((1, 2, 3, 4), {}) == ((1, 2, 3, 4), {})


def test_positional_only_parameter_may_be_passed_by_name() -> None:
    @ez_tool(requires_approval=True)
    def multiply(a: int, b: int = 2, /) -> int:
        """Multiply."""
        return a * b

    assert bound(multiply)(a="3") == bound(multiply)(3) == bound(multiply)(3, 2) == 6
    assert {each.kind for each in inspect.signature(multiply).parameters.values()} == {
        inspect.Parameter.POSITIONAL_OR_KEYWORD
    }


# Providers' packages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", [pay, pay_later])
async def test_google_calls_a_tool_with_approval_and_context_only(tool: Tool, anyio_backend: str) -> None:
    from google.genai import _extra_utils as genai
    from google.genai.types import FunctionDeclaration

    described = FunctionDeclaration.from_callable_with_api_option(callable=tool, api_option="GEMINI_API")
    assert (described.name, "user" in described.model_dump_json()) == (tool.name, False)

    async def call(thing: Callable[..., Any], **arguments: object) -> object:
        if inspect.iscoroutinefunction(thing):
            return await genai.invoke_function_from_dict_args_async(arguments, thing)
        return genai.invoke_function_from_dict_args(arguments, thing)

    with pytest.raises(Exception, match="no approver is set"):
        await call(ToolRegistry([tool], context="Ada")[tool.name], to="Bob")
    assert await call(bound(tool), to="Bob") == "Ada paid 1 to Bob"
    assert await call(bound(tool), to="Bob", user="Eve") == "Ada paid 1 to Bob"
    assert await call(tool.as_function(approve=yes, context="Ada"), to="Bob") == "Ada paid 1 to Bob"


async def test_anthropic_calls_the_function_of_a_tool(anyio_backend: str) -> None:
    from anthropic import beta_async_tool, beta_tool

    plain = beta_tool(pay.as_function(approve=yes, context="Ada"))
    awaited = beta_async_tool(pay_later.as_function(approve=yes, context="Ada"))
    refused = beta_async_tool(pay_later.as_function(context="Ada"))

    assert "user" not in str(plain.to_dict()) + str(awaited.to_dict())
    assert plain.call({"to": "Bob"}) == "Ada paid 1 to Bob"
    assert await awaited.call({"to": "Bob", "amount": 2}) == "Ada paid 2 to Bob"
    with pytest.raises(ToolError, match="no approver is set"):
        await refused.call({"to": "Bob"})
    for call in (lambda: plain.call({"to": "Bob", "user": "Eve"}), lambda: plain.call({"to": "Bob", "other": 1})):
        with pytest.raises((ValueError, ArgumentsError), match=r"user|other|argument"):
            call()


class Doubling:
    """An object to call."""

    def __call__(self, a: int) -> int:
        return 2 * a


def scale(factor: int, a: int) -> int:
    """Scale a number."""
    return factor * a


CALLABLES: list[tuple[Tool[..., Any], dict[str, Any]]] = [
    (pay, {"to": str, "amount": int, "return": str}),
    (pay_later, {"to": str, "amount": int, "return": str}),
    (add, {"a": int, "return": int}),
    (Tool.from_function(scale), {"factor": int, "a": int, "return": int}),
    (Tool.from_function(functools.partial(scale, 2), name="twice"), {"a": int, "return": int}),
    (Tool.from_function(Doubling(), name="double"), {"a": int, "return": int}),
]


@pytest.mark.parametrize(("tool", "hints"), CALLABLES, ids=lambda value: getattr(value, "name", ""))
def test_call_of_a_tool_has_its_parameters(tool: Tool[..., Any], hints: dict[str, Any]) -> None:
    call = tool.__call__
    assert get_type_hints(call) == hints
    assert inspect.signature(call) == inspect.signature(tool)
    assert inspect.iscoroutinefunction(call) == tool.is_async


def test_class_calls_a_tool_like_a_method() -> None:
    double = Tool.from_function(Doubling(), name="double")
    assert Tool.__call__(double, 5) == Tool.__call__(double, a=5) == 10


def test_call_of_a_tool_asks_for_approval() -> None:
    @ez_tool(requires_approval=True)
    def wipe(disk: str) -> None:
        """Wipe a disk."""

    with pytest.raises(ToolError, match="requires approval"):
        wipe.__call__("all")


def test_decorated_tool_is_called_through_its_decorator() -> None:
    class Traced:
        def __init__(self, function: Callable[..., Any]) -> None:
            functools.update_wrapper(self, function)
            self.function = function

        def __call__(self, a: int) -> int:
            return -self.function(a)

    traced = Traced(Tool.from_function(Doubling(), name="double"))
    assert traced(2) == traced.__call__(2) == -4
