"""Tools with approval or context in the hands of a framework: what it can read, and what its calls do."""

import inspect
import typing
from collections.abc import Callable
from typing import Any

import anyio.lowlevel
import pytest

from ez_ptc.errors import ArgumentsError, SchemaError, ToolError
from ez_ptc.messages import PendingCall, ToolCall
from ez_ptc.schema.annotations.context import Context
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.tools.tool import Tool


class Stop(Exception):  # noqa: N818 - it stands for what a framework stops by, which is no error
    """Stops a framework's graph."""


@ez_tool(requires_approval=True)
def pay(to: str, amount: int = 1) -> str:
    """Pay somebody.

    Args:
        to: Who gets the money.
    """
    if to == "nobody":
        raise Stop
    return f"{to} got {amount}"


@ez_tool
def whoami(greeting: str, user: Context[str], *, loud: bool = False) -> str:
    """Say who is there."""
    return f"{greeting} {user}{'!' if loud else ''}"


@ez_tool
async def later(name: str, user: Context[str] = "nobody") -> str:
    """Greet later."""
    await anyio.lowlevel.checkpoint()
    return f"{user} greets {name}"


def names_in(thing: Any) -> set[str]:  # noqa: ANN401 - whatever a framework is given
    """Return the names of the parameters that a framework can find, however it looks for them."""
    found = set(inspect.signature(thing).parameters)
    found |= set(inspect.signature(thing, follow_wrapped=False).parameters)
    found |= set(inspect.get_annotations(thing)) | set(typing.get_type_hints(thing))
    found |= set(inspect.signature(inspect.unwrap(thing)).parameters)
    return found - {"return"}


@pytest.mark.parametrize(
    ("tool", "names"), [(whoami, {"greeting", "loud"}), (later, {"name"}), (pay, {"to", "amount"})]
)
def test_context_is_hidden_from_frameworks(tool: Tool, names: set[str]) -> None:
    assert names_in(tool) == names
    assert names_in(tool.as_function()) == names
    assert not hasattr(tool, "__wrapped__")
    assert "Context" not in f"{inspect.signature(tool)} {tool.__annotations__} {tool.parameters}"


def test_context_cannot_be_passed_from_outside() -> None:
    calls: list[Callable[[], object]] = [
        lambda: whoami("hi", "Eve"),
        lambda: whoami("hi", user="Eve"),
        lambda: whoami.as_function(context="Ada")("hi", user="Eve"),
        lambda: whoami.call({"greeting": "hi", "user": "Eve"}, context="Ada"),
        lambda: ToolRegistry([whoami], context="Ada")["whoami"]("hi", user="Eve"),
    ]
    for call in calls:
        with pytest.raises(ArgumentsError, match=r"user|by position"):
            call()
    assert ToolRegistry([whoami], context="Ada")["whoami"]("hi") == "hi Ada"
    assert whoami.as_function(context="Ada")("hi", loud=True) == "hi Ada!"


def test_missing_context_error_names_the_hosts_task() -> None:
    calls: list[Callable[..., object]] = [whoami, whoami.as_function()]
    for call in calls:
        with pytest.raises(TypeError, match="'user' is filled by the host, which passed no context"):
            call("hi")


def test_a_function_that_a_framework_calls_checks_its_arguments() -> None:
    asked: list[PendingCall] = []
    function = pay.as_function(approve=lambda call: asked.append(call) or True)
    assert function("Ada", amount="5") == "Ada got 5"
    assert [call.arguments for call in asked] == [{"to": "Ada", "amount": 5}]
    with pytest.raises(ArgumentsError, match="'amount' must be int"):
        function("Ada", amount="much")
    assert (function.__name__, function.__doc__, function.__module__) == ("pay", pay.docstring, __name__)
    assert str(inspect.signature(function)) == "(to: str, amount: int = 1) -> str"


def test_without_approver_no_framework_runs_the_tool() -> None:
    for call in (pay, pay.as_function(), ToolRegistry([pay])["pay"]):
        with pytest.raises(ToolError, match="pay requires approval, but no approver is set"):
            call("Ada")
    assert pay.fn("Ada") == "Ada got 1"


async def test_an_asynchronous_tool_is_a_real_coroutine_function(anyio_backend: str) -> None:
    function = later.as_function(context="Ada")
    assert inspect.iscoroutinefunction(function)
    assert not inspect.iscoroutinefunction(pay.as_function())
    assert await function("Bob") == "Ada greets Bob"
    assert await later("Bob") == "nobody greets Bob"


def test_unguarded_tool_is_its_function() -> None:
    @ez_tool
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    unchecked: Any = add
    assert unchecked("1", "2") == "12"
    assert inspect.unwrap(add) is add.fn
    assert add.as_function()("1", "2") == 3


@pytest.mark.parametrize("schema", [{"type": "object"}, {"properties": {"to": {"type": "string"}, "from": {}}}])
def test_tool_of_given_schema_is_guarded(schema: dict[str, Any]) -> None:
    def send(**given: object) -> list[str]:
        return sorted(given)

    tool = Tool.from_schema("send", "Send.", schema, send, requires_approval=True)
    with pytest.raises(ToolError, match="no approver is set"):
        tool(to="Ada")
    assert tool.as_function(approve=lambda _: True)(**{"to": "Ada", "from": "Bob"}) == ["from", "to"]
    assert "other_arguments" in inspect.signature(tool).parameters or not schema.get("properties")


BOUND = pay.from_definition(pay.definition, CallSettings(approve=lambda _: True, reraise=(Stop,)))
NOBODY: dict[str, object] = {"to": "nobody"}


@pytest.mark.parametrize(
    "call",
    [
        lambda: BOUND.call(NOBODY),
        lambda: BOUND.acall(NOBODY),
        lambda: BOUND.run(ToolCall("", "pay", NOBODY)),
        lambda: BOUND.arun(ToolCall("", "pay", NOBODY)),
        lambda: BOUND.execute(to="nobody"),
        lambda: pay.as_function(approve=lambda _: True, reraise=(Stop,))("nobody"),
    ],
)
async def test_framework_interruption_passes_through(call: Callable[[], Any], anyio_backend: str) -> None:
    async def finish() -> None:
        output = call()
        if inspect.isawaitable(output):
            await output

    with pytest.raises(Stop):
        await finish()
    assert not pay.run(ToolCall("", "pay", NOBODY), CallSettings(approve=lambda _: True)).success


def test_approver_interruption_passes_through() -> None:
    def approve(call: PendingCall) -> bool:
        raise Stop

    with pytest.raises(Stop):
        pay.as_function(approve=approve, reraise=(Stop,))("Ada")


NESTED: list[Any] = [
    list[Context[str]],
    dict[str, Context[str]],
    tuple[int, Context[str]],
    typing.TypedDict("Inner", {"user": Context[str]}),
    typing.NamedTuple("Pair", [("user", Context[str])]),
]


@pytest.mark.parametrize("kind", NESTED, ids=str)
def test_unfillable_context_is_refused_at_definition(kind: Any) -> None:  # noqa: ANN401 - any type
    def find(request: Any) -> None:  # noqa: ANN401 - it is annotated below
        """Find."""

    find.__annotations__["request"] = kind
    with pytest.raises(SchemaError, match="Context marks parameters of the function itself"):
        ez_tool(find)
