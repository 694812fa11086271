"""`Tool` as a frozen dataclass: its fields, copies with changed fields, equality."""

import copy
import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from ez_ptc import (
    Context,
    ParameterType,
    PendingCall,
    SchemaError,
    Tool,
    ToolError,
    ToolParameter,
    ToolRegistry,
    ez_tool,
    tool,
)

ANY_TOOL: Any = Tool
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def forecast(city: str, days: int = 1) -> str:
    """Tell the weather."""
    return f"{city} {days}"


def pay(to: str, on: date, payer: Context[str], amount: float = 1.0) -> str:
    """Pay somebody.

    At once.
    """
    return f"{payer} pays {to} {amount:g} on {on:%d.%m.}"


def pay_on_any_day(to: str, on: str, amount: float, payer: Context[str]) -> str:
    return f"{payer} pays {to} {amount:g} on {on}"


def is_large(call: PendingCall) -> bool:
    return call.arguments["amount"] > 100


ARGUMENTS: dict[str, Any] = {"to": "Ada", "on": "2026-01-02", "amount": 500}
MADE: list[Callable[[], Tool[..., Any]]] = [
    lambda: ez_tool(pay, requires_approval=is_large, timeout=5, category="money", idempotent=True, read_only=False),
    lambda: tool(pay, requires_approval=is_large, strict=False),
    lambda: Tool.from_function(pay, requires_approval=is_large, return_schema={"type": "string"}),
    lambda: Tool(
        "pay",
        "Pay.",
        [ToolParameter(name, ParameterType.STRING, "") for name in ("to", "on")]
        + [ToolParameter("amount", ParameterType.NUMBER, "", required=False, default=1)],
        pay_on_any_day,
        requires_approval=is_large,
    ),
]


def test_fields_are_those_of_both_documents_in_order() -> None:
    names = [field.name for field in dataclasses.fields(Tool)]
    assert names[:4] == ["name", "description", "function", "schema"]
    assert {"category", "requires_approval", "timeout", "strict", "read_only", "idempotent", "return_schema"} < {*names}
    assert list(inspect.signature(Tool).parameters)[:4] == names[:4]


@pytest.mark.parametrize("make", MADE)
def test_renamed_tool_still_asks(make: Callable[[], Tool[..., Any]]) -> None:
    renamed = dataclasses.replace(make(), name="transfer")
    with pytest.raises(ToolError, match="transfer requires approval, but no approver is set"):
        renamed.call(ARGUMENTS, context="Bob")
    assert renamed.execute(**{**ARGUMENTS, "amount": 1}).error != ""
    assert "transfer" in renamed.signature


@pytest.mark.parametrize("make", MADE)
def test_renamed_tool_keeps_its_registry_settings(make: Callable[[], Tool[..., Any]]) -> None:
    asked: list[str] = []

    def refuse(call: PendingCall) -> str:
        asked.append(call.tool)
        return "not today"

    registry = ToolRegistry([make()], context="Bob", approve=refuse)
    original = registry["pay"]
    renamed = dataclasses.replace(original, name="transfer", description="Transfer.")
    assert renamed.execute(**ARGUMENTS).error == "transfer was not approved: not today"
    assert asked == ["transfer"]
    assert str(renamed.execute(**{**ARGUMENTS, "amount": 1}).output).startswith("Bob pays Ada 1")
    for field in dataclasses.fields(Tool):
        if field.name not in ("name", "description", "internals"):
            assert getattr(renamed, field.name) == getattr(original, field.name)
    assert dataclasses.replace(renamed, name="pay", description=original.description).execute(**ARGUMENTS).error


@pytest.mark.parametrize("make", MADE)
def test_unchanged_copy_is_equal(make: Callable[[], Tool[..., Any]]) -> None:
    made = make()
    assert dataclasses.replace(made) == made
    assert hash(dataclasses.replace(made)) == hash(made) == hash("pay")
    assert dataclasses.replace(made, name="other") != made
    assert dataclasses.replace(made, timeout=7) != made
    assert made != "pay"


def test_equal_definitions_are_equal_and_others_are_not() -> None:
    assert ez_tool(forecast) == ez_tool(forecast)
    assert ez_tool(forecast) != ez_tool(forecast, category="weather")
    assert ez_tool(forecast) != ez_tool(forecast, requires_approval=True)
    assert Tool("f", "F.", forecast, SCHEMA) == Tool("f", "F.", SCHEMA, forecast)
    assert Tool("f", "F.", forecast, SCHEMA) != Tool("f", "F.", SCHEMA, str)
    guarded = ToolRegistry([ez_tool(forecast)], approve=lambda _: True)["forecast"]
    assert guarded != ez_tool(forecast)
    assert len({ez_tool(forecast), ez_tool(forecast), ez_tool(pay)}) == 2


def test_each_field_can_be_changed() -> None:
    made = ez_tool(forecast)
    changed = dataclasses.replace(
        made,
        description="Say what the weather will be.",
        requires_approval=True,
        timeout=2,
        category="weather",
        strict=True,
        read_only=True,
        idempotent=True,
        return_schema={"type": "string"},
    )
    assert changed.description == changed.prose == "Say what the weather will be."
    assert changed.to_openai_format()["function"]["description"] == "Say what the weather will be."
    assert (changed.timeout, changed.category, changed.strict) == (2.0, "weather", True)
    assert (changed.read_only, changed.idempotent, changed.return_schema) == (True, True, {"type": "string"})
    assert not changed.execute(city="Oslo").success
    assert made.execute(city="Oslo").success


def test_another_schema_replaces_the_annotations() -> None:
    narrower = dataclasses.replace(Tool.from_function(forecast), schema=SCHEMA)
    assert narrower.parameters == narrower.schema == SCHEMA
    assert narrower.execute(city="Oslo").output == "Oslo 1"
    assert not narrower.execute(city="Oslo", days=2).success
    assert dataclasses.replace(ez_tool(forecast), parameters=SCHEMA).parameters == SCHEMA


def test_another_function_gets_the_same_arguments() -> None:
    @functools.wraps(pay)
    def logged(*args: Any, **kwargs: Any) -> str:
        return f"logged: {pay(*args, **kwargs)}"

    async def later(**kwargs: object) -> str:
        return f"{kwargs['on']!r} later"

    def other(where: str) -> str:
        return where

    def in_capitals(city: str) -> str:
        return city.upper()

    registry = ToolRegistry([ez_tool(pay)], context="Bob")
    made = registry["pay"]
    assert (
        dataclasses.replace(made, function=logged).execute(**ARGUMENTS).output == "logged: Bob pays Ada 500 on 02.01."
    )
    assert dataclasses.replace(made, function=later).execute(**ARGUMENTS).output == "datetime.date(2026, 1, 2) later"
    assert dataclasses.replace(made, function=later).is_async
    with pytest.raises(SchemaError, match="its new function cannot be called as the old one"):
        dataclasses.replace(made, function=other)
    by_hand = Tool("f", "F.", SCHEMA, forecast)
    assert dataclasses.replace(by_hand, function=in_capitals).execute(city="Oslo").output == "OSLO"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": "no name"}, SchemaError),
        ({"description": 5}, SchemaError),
        ({"timeout": -1}, SchemaError),
        ({"requires_approval": "yes"}, SchemaError),
        ({"schema": {"type": "string"}}, SchemaError),
        ({"function": 5}, SchemaError),
        ({"colour": "red"}, TypeError),
    ],
)
def test_invalid_change_is_refused(change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        dataclasses.replace(ez_tool(forecast), **change)


def test_function_and_schema_come_in_either_order() -> None:
    for made in (
        Tool("f", "F.", forecast, SCHEMA),
        Tool("f", "F.", SCHEMA, forecast),
        Tool("f", "F.", SCHEMA, function=forecast),
        Tool("f", "F.", forecast, schema=SCHEMA),
        Tool(name="f", description="F.", function=forecast, schema=SCHEMA),
        Tool("f", "F.", [ToolParameter("city", ParameterType.STRING, "")], forecast),
    ):
        assert made.function is forecast
        assert made.execute(city="Oslo").output == "Oslo 1"
        assert not made.execute(city="Oslo", days=5).success


@pytest.mark.parametrize(
    "arguments", [(forecast, forecast), (SCHEMA, SCHEMA), (forecast, SCHEMA, forecast), (5, SCHEMA)]
)
def test_ambiguous_constructor_arguments_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((SchemaError, TypeError)):
        ANY_TOOL("f", "F.", *arguments)


def test_fields_cannot_be_set_or_deleted() -> None:
    made: Any = ez_tool(forecast)
    for name in ("name", "requires_approval", "anything"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, name, False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.name


def test_tool_with_uncopyable_context_becomes_a_dict() -> None:
    made = ToolRegistry([ez_tool(pay)], context=threading.Lock(), approve=lambda _: True)["pay"]
    values = dataclasses.asdict(made)
    assert (values["name"], values["function"]) == ("pay", pay)
    assert copy.copy(made.internals) is not None


def test_match_statement_reads_the_fields() -> None:
    match ez_tool(forecast):
        case Tool(name=name, description=description):
            assert (name, description) == ("forecast", "Tell the weather.")
