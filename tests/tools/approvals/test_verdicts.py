"""A function that decides which calls need approval says True or False, or no call runs."""

import asyncio
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import httpx2
import pytest

from ez_ptc import NotApprovedError, Toolkit, ToolRegistry, ez_tool, openapi_tools
from ez_ptc.integrations.offers import Hooks, OpenCalls, offers_of
from ez_ptc.messages import PendingCall
from ez_ptc.tools.tool import Tool
from tests.mcp.servers.places import open_place
from tests.openapi.test_calls import PETS

EFFECTS: list[int] = []


class Unclear:
    """An object like an array, whose truth no one knows."""

    def __bool__(self) -> NoReturn:
        message = "ambiguous"
        raise ValueError(message)

    def __repr__(self) -> str:
        return str(bool(self))


class Numpy:
    """As `numpy.bool_`, which is no bool either; the approvers' answers are read alike."""

    def __bool__(self) -> bool:
        return False


async def later() -> bool:
    return False


def generate() -> Iterator[bool]:
    yield True


VERDICTS: dict[str, tuple[Callable[[], Any], str]] = {
    "None": (lambda: None, "None"),
    "zero": (lambda: 0, "int"),
    "one": (lambda: 1, "int"),
    "no text": (lambda: "", "str"),
    "a text": (lambda: "no", "str"),
    "a number": (lambda: Fraction(0), "Fraction"),
    "no list": (list, "list"),
    "NotImplemented": (lambda: NotImplemented, "NotImplementedType"),
    "a class": (lambda: bool, "type"),
    "a coroutine": (later, "coroutine"),
    "a generator": (generate, "generator"),
    "an object": (Unclear, "Unclear"),
    "like numpy": (Numpy, "Numpy"),
}
every_verdict = pytest.mark.parametrize(("make", "name"), VERDICTS.values(), ids=VERDICTS)


@pytest.fixture(autouse=True)
def effects() -> list[int]:
    EFFECTS.clear()
    return EFFECTS


def pay_tool(make: Callable[[], Any], *, is_async: bool = False) -> Tool[..., Any]:
    def risky(call: PendingCall) -> bool:
        del call
        return make()

    def pay(amount: int) -> int:
        """Pay."""
        EFFECTS.append(amount)
        return amount

    async def apay(amount: int) -> int:
        """Pay."""
        return pay(amount)

    return ez_tool(apay if is_async else pay, name="pay", requires_approval=risky)


def approve(call: PendingCall) -> bool:
    del call
    return True


def refusal(name: str) -> str:
    return (
        f"pay was not run: expected its requires_approval, risky, to return True or False, got {name}: "
        "return False to let a call run without asking"
    )


@every_verdict
@pytest.mark.parametrize("is_async", [False, True])
def test_call_without_a_verdict_never_runs(make: Callable[[], Any], name: str, is_async: bool) -> None:
    tool = pay_tool(make, is_async=is_async)
    with pytest.raises(NotApprovedError, match=re.escape(refusal(name))):
        tool.call({"amount": 1})
    with pytest.raises(NotApprovedError, match=re.escape(refusal(name))):
        asyncio.run(tool.acall({"amount": 1}, approve=approve))
    assert tool.execute(amount=1).error == refusal(name)
    assert ToolRegistry([tool], approve=approve).execute("pay", amount=1).error == refusal(name)
    assert EFFECTS == []


@every_verdict
@pytest.mark.sampled(every=5)
def test_program_learns_that_there_was_no_verdict(make: Callable[[], Any], name: str, tmp_path: Path) -> None:
    verdicts = [make, make, bool]

    def next_verdict() -> object:
        return verdicts.pop(0)()

    tool = pay_tool(next_verdict)
    for journal in (None, tmp_path / "runs.db"):
        with Toolkit([tool], journal=journal) as toolkit:
            result = toolkit.execute("pay(amount=1)")
            assert (result.status, result.is_denied) == ("failed", True)
            assert refusal(name) in str(result.error)
            if journal is not None:
                # What was recorded of a call stays so, whatever its predicate would say later.
                assert toolkit.execute("pay(amount=1)", run_id=result.run_id).error == result.error
    assert (verdicts, EFFECTS) == ([bool], [])


@every_verdict
def test_frameworks_call_fails_without_a_verdict(make: Callable[[], Any], name: str) -> None:
    [offer] = offers_of(pay_tool(make))
    asked: list[OpenCalls] = []

    async def decide(calls: OpenCalls) -> dict[str, object]:
        asked.append(calls)
        return {call.id: True for call in calls.pending}

    for hooks in (Hooks(), Hooks(decide=decide)):
        assert offer.call({"amount": 1}, hooks).error == refusal(name)
    # A person who was asked about the call, as an earlier verdict demanded, has decided.
    assert offer.call({"amount": 1}, Hooks(was_asked=True, decide=decide)).data == 1
    assert (len(asked), EFFECTS) == (1, [1])


def test_served_call_fails_without_a_verdict() -> None:
    async def call() -> None:
        with Toolkit([pay_tool(lambda: None)]) as toolkit:
            async with (
                open_place("in process, 2026", toolkit.as_mcp_server(mode="both")) as place,
                place.client() as client,
            ):
                # What the client cannot do is not the reason.
                single = await client.call_tool("pay", {"amount": 1})
                program = await client.call_tool("execute_tools", {"code": "pay(amount=1)"})
        for result in (single, program):
            assert result.is_error
            assert refusal("None") in str(result.content)
            assert "cannot" not in str(result.content)

    asyncio.run(call())
    assert EFFECTS == []


@every_verdict
def test_operation_without_a_verdict_is_no_tool(make: Callable[[], Any], name: str) -> None:
    def risky(operation: object) -> bool:
        del operation
        return make()

    with pytest.raises(TypeError, match=f"getPet: expected its requires_approval, risky, .* got {name}: return False"):
        openapi_tools(PETS, client=httpx2.Client(base_url="http://api.test"), requires_approval=risky)
