"""Checks that a framework asks for before it makes a call: its predicate is asked once, and its answer counts."""

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from ez_ptc import ez_tool
from ez_ptc.integrations.offers import Hooks, OpenCalls, ToolOffer, offers_of
from ez_ptc.integrations.offers.checks import AskedChecks, SharedChecks

ARGUMENTS: dict[str, object] = {"amount": 1}


class Till:
    """A tool whose predicate gives one verdict after another."""

    def __init__(self, *verdicts: object) -> None:
        self.verdicts = [*verdicts]
        self.paid: list[int] = []

        def rule(_: object) -> Any:
            return self.verdicts.pop(0)

        @ez_tool(requires_approval=rule)
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        [offer] = offers_of(pay)
        assert isinstance(offer, ToolOffer)
        self.offer = offer


async def decide_nothing(calls: OpenCalls) -> dict[str, object]:
    del calls
    return {}


def hooks_of(call_id: str) -> Hooks:
    return Hooks(id=call_id, decide=decide_nothing)


@pytest.mark.parametrize("make", [AskedChecks, SharedChecks])
@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ([None, False], "got None"),
        ([False, None], "paid"),
        ([False, True], "paid"),
        ([True, False], "waits for a person's decision"),
    ],
)
async def test_first_verdict_of_a_call_counts(
    make: Callable[[], AskedChecks | SharedChecks], verdicts: list[object], outcome: str, anyio_backend: str
) -> None:
    del anyio_backend
    till, checks = Till(*verdicts), make()
    hooks = hooks_of("a")
    checked = await checks.check(till.offer, ARGUMENTS, hooks)
    if isinstance(checks, AskedChecks) and checked.call is None:
        # Some frameworks pass the arguments as text later.
        taken = checks.take(till.offer, '{"amount": 1}', hooks)
        assert (taken, checks.take(till.offer, ARGUMENTS, hooks)) == (checked, None)
    elif isinstance(checks, SharedChecks):
        assert await checks.check(till.offer, '{"amount": 1}', hooks) == checked
    assert outcome in (await till.offer.acall(ARGUMENTS, hooks, checked)).text
    assert (till.verdicts, till.paid) == (verdicts[1:], [1] * (outcome == "paid"))


@pytest.mark.parametrize("count", [2, 5])
async def test_calls_at_once_share_a_check(count: int, anyio_backend: str) -> None:
    del anyio_backend
    till, checks = Till(None, *[False] * count), SharedChecks()

    async def call() -> None:
        checked = await checks.check(till.offer, ARGUMENTS, hooks_of("a"))
        assert "got None" in (await till.offer.acall(ARGUMENTS, hooks_of("a"), checked)).text

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(call)
    assert (till.verdicts, till.paid) == ([False] * count, [])


async def test_calls_with_one_id_have_checks_of_their_own(anyio_backend: str) -> None:
    del anyio_backend
    till, checks = Till(None, False, True, False), AskedChecks()
    hooks = hooks_of("a")
    errors = [(await checks.check(till.offer, ARGUMENTS, hooks)).error for _ in range(3)]
    assert [bool(error) for error in errors] == [True, False, False]
    # The last one waits for a person, and so is not kept; other arguments are another call.
    assert checks.take(till.offer, {"amount": 2}, hooks) is None
    taken = [checks.take(till.offer, ARGUMENTS, hooks) for _ in range(3)]
    assert [check and check.error for check in taken] == [None, errors[0], None]
    assert [check is None for check in taken] == [False, False, True]


class User:
    """A context. Two users are never one, also if they are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, User)

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize("make", [AskedChecks, SharedChecks])
@pytest.mark.parametrize("contexts", [(User(), User()), ({}, {}), ("ada", "bob")])
async def test_verdict_about_one_context_is_none_about_another(
    make: Callable[[], AskedChecks | SharedChecks], contexts: tuple[object, object], anyio_backend: str
) -> None:
    """The calls of two runs may have one id and equal arguments."""
    del anyio_backend
    till, checks = Till(None, False), make()
    first, second = (replace(hooks_of("a"), context=context) for context in contexts)
    outcomes = [await checks.check(till.offer, ARGUMENTS, hooks) for hooks in (first, second)]
    assert [bool(outcome.error) for outcome in outcomes] == [True, False]
    if isinstance(checks, AskedChecks):
        assert checks.take(till.offer, ARGUMENTS, first) == outcomes[0]
        assert checks.take(till.offer, ARGUMENTS, first) is None
        assert checks.take(till.offer, ARGUMENTS, second) == outcomes[1]
    assert till.verdicts == []


@pytest.mark.parametrize("make", [AskedChecks, SharedChecks])
async def test_verdict_about_a_context_that_has_ended_is_none_about_no_context(
    make: Callable[[], AskedChecks | SharedChecks], anyio_backend: str
) -> None:
    del anyio_backend
    till, checks = Till(False, None), make()
    assert not (await checks.check(till.offer, ARGUMENTS, replace(hooks_of("a"), context=User()))).error
    gc.collect()
    without = replace(hooks_of("a"), context=None)
    if isinstance(checks, AskedChecks):
        assert checks.take(till.offer, ARGUMENTS, without) is None
    assert (await checks.check(till.offer, ARGUMENTS, without)).error


async def test_wrong_arguments_of_a_checked_call_fail(anyio_backend: str) -> None:
    del anyio_backend
    for checks in (AskedChecks(), SharedChecks()):
        till = Till()
        wrong: list[dict[str, object] | str] = [{"amount": "many"}, "no JSON"]
        for arguments in wrong:
            checked = await checks.check(till.offer, arguments, hooks_of("a"))
            assert checked.is_invalid
            assert (await till.offer.acall(arguments, hooks_of("a"), checked)).error
        assert till.paid == []
