"""A person's yes, before a call has any effect."""

import contextlib
import gc
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from typing import Annotated, Any

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel, Field, StringConstraints

from ez_ptc.errors import ArgumentsError, DuplicateToolError, ToolError
from ez_ptc.messages import PendingCall, ToolCall
from ez_ptc.schema.annotations.context import Context
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.tools.tool import Tool

FAILED = "pay was not approved: its approver failed (the log of 'ez_ptc.tools' has the error)"

paid: list[tuple[str, int]] = []


@ez_tool(requires_approval=True)
def pay(to: str, amount: int = 1, /, note: str = "") -> int:
    """Pay somebody."""
    paid.append((to, amount))
    return amount


@ez_tool(requires_approval=True, name="pay")
async def pay_later(to: str, amount: int = 1) -> int:
    """Pay somebody."""
    paid.append((to, amount))
    return amount


@pytest.fixture(autouse=True)
def nobody_is_paid() -> None:
    paid.clear()


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_call_without_approver_never_runs(tool: Tool) -> None:
    with pytest.raises(ToolError, match="pay requires approval, but no approver is set"):
        tool.call({"to": "Ada"})
    assert not tool.execute(to="Ada").success
    assert paid == []


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_approved_call_runs_unchanged(tool: Tool) -> None:
    asked: list[PendingCall] = []

    def approve(call: PendingCall) -> bool:
        asked.append(call)
        return True

    assert tool.call({"to": "Ada", "amount": 5}, approve=approve) == 5
    others = {"note": ""} if tool is pay else {}
    assert asked == [PendingCall(asked[0].id, "pay", {"to": "Ada", "amount": 5, **others}, "")]
    assert paid == [("Ada", 5)]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (False, "pay was not approved"),
        ("too much", "pay was not approved: too much"),
        ("yes", "pay was not approved: 'yes' is text, which refuses a call; True approves it"),
        ("OK!", "pay was not approved: 'OK!' is text, which refuses a call; True approves it"),
        ("no money, yes?", r"pay was not approved: no money, yes\?"),
        (None, "pay was not approved: its approver returned None; True approves a call"),
        (1, "pay was not approved: int 1 is not an approval; True approves a call"),
        ("", "pay was not approved"),
    ],
)
@pytest.mark.parametrize("tool", [pay, pay_later])
def test_anything_but_true_refuses(tool: Tool, answer: object, complaint: str) -> None:
    with pytest.raises(ToolError, match=f"^{complaint}$"):
        tool.call({"to": "Ada"}, approve=lambda _: answer)
    assert paid == []


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_changed_arguments_are_checked_and_used(tool: Tool) -> None:
    assert tool.call({"to": "Ada", "amount": 500}, approve=lambda _: {"to": "Ada", "amount": 5}) == 5
    assert paid == [("Ada", 5)]
    with pytest.raises(ArgumentsError, match="'amount' must be int"):
        tool.call({"to": "Ada"}, approve=lambda _: {"to": "Ada", "amount": "much"})
    assert paid == [("Ada", 5)]


def test_impossible_call_is_never_put_to_approver() -> None:
    def approve(call: PendingCall) -> bool:
        raise AssertionError(call)

    with pytest.raises(ArgumentsError, match="missing argument 'to'"):
        pay.call({}, approve=approve)


@pytest.mark.parametrize("error", [ValueError, StopIteration, TimeoutError, ToolError, ArgumentsError])
@pytest.mark.parametrize("tool", [pay, pay_later])
def test_failing_approver_refuses_and_is_only_logged(
    tool: Tool, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    secret = "postgresql://admin:hunter2@approvals"

    def approve(call: PendingCall) -> bool:
        raise error(secret)

    with pytest.raises(ToolError, match=f"^{re.escape(FAILED)}$"):
        tool.call({"to": "Ada"}, approve=approve)
    result = tool.run(ToolCall("", "pay", {"to": "Ada"}), CallSettings(approve=approve))
    assert result.error == FAILED
    assert secret in caplog.text
    assert paid == []


def test_an_asynchronous_approval_needs_a_call_that_is_awaited() -> None:
    async def approve(call: PendingCall) -> bool:
        return True

    with pytest.raises(ToolError, match="the approval of pay is asynchronous"):
        pay.call({"to": "Ada"}, approve=approve)
    assert paid == []


@pytest.mark.parametrize("tool", [pay, pay_later])
async def test_an_asynchronous_approval_is_awaited(tool: Tool, anyio_backend: str) -> None:
    async def approve(call: PendingCall) -> dict[str, object]:
        return {"to": "Bob"}

    assert await tool.acall({"to": "Ada"}, approve=approve) == 1
    assert paid == [("Bob", 1)]


# What is shown is what runs -------------------------------------------------------------------------------------------


class Role(Enum):
    """What somebody may do."""

    ADMIN = "admin"
    MEMBER = "member"


class Order(BaseModel):
    """An order with another name for one of its fields."""

    item: str
    count: int = Field(default=1, alias="howMany")


@dataclass
class Place:
    """Where something is."""

    x: float
    y: float = 0.0


@ez_tool(requires_approval=True)
def act(
    role: Role = Role.MEMBER,
    to: Sequence[str] = ("nobody",),
    amount: int = 1_000_000,
    name: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)] = "",
    user: Context[str] = "host",
) -> str:
    """Do something."""
    return repr((role, tuple(to), amount, name, user))


@ez_tool(requires_approval=True)
def send(
    due: date | None = None,
    data: bytes = b"",
    order: Order | None = None,
    place: Place = Place(0.0),  # noqa: B008 - a default as people write it
    user: Context[str] = "host",
) -> str:
    """Send something."""
    return repr((due, data, order, place, user))


AS_SHOWN: list[tuple[Tool, dict[str, Any], dict[str, Any]]] = [
    (act, {}, {"role": "member", "to": ["nobody"], "amount": 1_000_000, "name": ""}),
    (act, {"role": "ADMIN"}, {"role": "admin"}),
    (act, {"amount": None}, {"amount": 1_000_000}),
    (act, {"amount": "500"}, {"amount": 500}),
    (act, {"to": '["eve"]'}, {"to": ["eve"]}),
    (act, {"name": " USERS"}, {"name": "users"}),
    (send, {}, {"due": None, "data": "", "order": None, "place": {"x": 0.0, "y": 0.0}}),
    (send, {"due": "2024-01-02"}, {"due": "2024-01-02"}),
    (send, {"data": "aGk="}, {"data": "aGk="}),
    (send, {"order": {"item": "tea", "howMany": "3"}}, {"order": {"item": "tea", "howMany": 3}}),
    (send, {"place": {"x": "1"}}, {"place": {"x": 1.0, "y": 0.0}}),
]


@pytest.mark.parametrize(("tool", "given", "shown"), AS_SHOWN)
def test_approved_arguments_are_what_runs(tool: Tool, given: dict[str, Any], shown: dict[str, Any]) -> None:
    asked: list[dict[str, object]] = []

    def approve(call: PendingCall) -> bool:
        assert isinstance(call.arguments, dict)
        asked.append(call.arguments)
        return True

    ran = str(tool.call(given, approve=approve, context="Ada"))
    assert {name: asked[0][name] for name in shown} == shown
    assert list(asked[0]) == list(tool.parameters["properties"])
    # By construction: whoever sends what was shown has the same call run.
    assert tool.call(asked[0], approve=lambda _: True, context="Ada") == ran
    assert tool.call({}, approve=lambda _: dict(asked[0]), context="Ada") == ran
    assert ran.endswith("'Ada')")


@ez_tool(requires_approval=True)
def keep(anything: Any, rows: list[dict[str, Any]], *, options: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - whatever is passed
    """Keep what is given."""
    return anything, rows, options


GIVEN_BY_SCHEMA = Tool.from_schema(
    "keep", "Keep it.", {"properties": {"anything": {}, "rows": {}, "options": {}}}, keep.fn, requires_approval=True
)


@pytest.mark.parametrize("tool", [keep, GIVEN_BY_SCHEMA])
def test_later_changes_by_caller_do_not_run(tool: Tool) -> None:
    anything: dict[str, Any] = {"to": ["Ada"]}
    rows: list[dict[str, Any]] = [{"sum": [1]}]
    options: dict[str, Any] = {"deep": {"er": [1]}}

    def approve(call: PendingCall) -> bool:
        anything["to"].append("Eve")
        rows.append({"sum": [500]})
        rows[0]["sum"][0] = 500
        options["deep"]["er"] += [2]
        return True

    given: dict[str, object] = {"anything": anything, "rows": rows, "options": options}
    assert tool.call(given, approve=approve) == ({"to": ["Ada"]}, [{"sum": [1]}], {"deep": {"er": [1]}})


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_arguments_changed_by_approver_are_what_runs(tool: Tool) -> None:
    def approve(call: PendingCall) -> bool:
        assert isinstance(call.arguments, dict)
        call.arguments["amount"] = 1
        return True

    assert tool.call({"to": "Ada", "amount": 500}, approve=approve) == 1
    assert paid == [("Ada", 1)]


def test_default_of_another_type_can_be_approved() -> None:
    missing: Any = object()
    nothing: Any = None

    @ez_tool(requires_approval=True)
    def find(name: str, near: str = nothing, limit: int = missing) -> object:
        """Find something."""
        return name, near, limit is missing

    def approve(call: PendingCall) -> dict[str, object]:
        assert isinstance(call.arguments, dict)
        return {**call.arguments, "name": "tea"}

    assert find.call({"name": "coffee"}, approve=approve) == ("tea", None, True)


@pytest.mark.parametrize("answer", [True, "no", RuntimeError("gone")])
@pytest.mark.parametrize("kind", ["call", "run", "direct", "function"])
def test_no_way_around_required_approval(kind: str, answer: object) -> None:
    def approve(call: PendingCall) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run(tool: Tool, approve: Callable[[PendingCall], object] | None) -> object:
        if kind == "call":
            return tool.call({"to": "Ada"}, approve=approve)
        if kind == "run":
            return tool.run(ToolCall("", "pay", {"to": "Ada"}), CallSettings(approve=approve)).output
        if kind == "direct":
            return (ToolRegistry([tool], approve=approve) if approve else ToolRegistry([tool]))["pay"]("Ada")
        return tool.as_function(approve=approve)("Ada")

    for approver in (None, approve):
        may_run = answer is True and approver is not None
        with contextlib.suppress(ToolError):
            run(pay, approver)
        assert paid == ([("Ada", 1)] if may_run else [])


def test_each_asked_call_has_its_own_id() -> None:
    asked: list[PendingCall] = []
    for _ in range(2):
        pay.call({"to": "Ada", "amount": 5}, approve=lambda call: asked.append(call) or True)

    assert asked[0].id
    assert asked[0].id != asked[1].id
    assert asked[0].name == asked[0].tool == "pay"
    assert asked[0].state == "needs_approval"


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_approver_changes_arguments_in_place(tool: Tool) -> None:
    def approve(call: PendingCall) -> bool:
        call.arguments["amount"] += 1
        return True

    assert tool.call({"to": "Ada", "amount": 5}, approve=approve) == 6


# Registries -----------------------------------------------------------------------------------------------------------


def test_registry_approver_applies_wherever_tools_are_used() -> None:
    asked: list[PendingCall] = []
    registry = ToolRegistry(context="Ada", approve=lambda call: asked.append(call) or True)

    @ez_tool(requires_approval=True, registry=registry)
    def greet(name: str, user: Context[str]) -> str:
        """Greet someone."""
        return f"{user} greets {name}"

    found: Any = registry["greet"]
    decorated: Any = greet
    said: list[object] = [
        registry.execute("greet", name="Bob").output,
        registry.run(ToolCall("", "greet", {"name": "Bob"})).output,
        found.execute(name="Bob").output,
        found.call({"name": "Bob"}),
        found("Bob"),
        decorated("Bob"),
        next(iter(registry)).as_function()("Bob"),
        registry.prefixed("my_").execute("my_greet", name="Bob").output,
        ToolRegistry([found]).execute("greet", name="Bob").output,
    ]
    assert said == ["Ada greets Bob"] * 9
    assert [call.arguments for call in asked] == [{"name": "Bob"}] * 9


def test_caller_overrides_the_registry() -> None:
    registry = ToolRegistry([pay], approve=lambda _: "not by me")
    assert registry["pay"].call({"to": "Ada"}, approve=lambda _: True) == 1
    with pytest.raises(ToolError, match="not by me"):
        registry["pay"].call({"to": "Ada"})


def test_registry_recognizes_its_tools() -> None:
    registry = ToolRegistry([pay], approve=lambda _: True)
    own = registry["pay"]
    registry.register(pay)
    assert registry["pay"] is own
    assert ToolRegistry([pay])["pay"] is pay
    with pytest.raises(DuplicateToolError):
        registry.register(pay_later)


# Ends -----------------------------------------------------------------------------------------------------------------


async def test_call_cancelled_during_approval_never_runs(anyio_backend: str) -> None:
    asked, thinks = threading.Event(), threading.Event()

    def approve(call: PendingCall) -> bool:
        asked.set()
        assert thinks.wait(60)
        return True

    for tool in (pay, pay_later):
        asked.clear()
        thinks.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(partial(tool.acall, {"to": "Ada"}, approve=approve))
            assert await anyio.to_thread.run_sync(partial(asked.wait, 60))
            group.cancel_scope.cancel()
        thinks.set()
    await anyio.to_thread.run_sync(gc.collect)
    assert paid == []
