"""Corrections of failed programs in frameworks: by the token in the failure's text, whatever identifies a caller."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Context, Toolkit, ez_tool
from ez_ptc.integrations.offers import Hooks, OpenCalls, ProgramOffer, offers_of

TOKEN = re.compile(r"p_[0-9a-f]{24}")
REFUSED = "there is no such program of this caller; nothing was run"


class User:
    """A context without an identity of its own."""

    def __init__(self, name: str) -> None:
        self.name = name


def name_of(user: User) -> str:
    return user.name


def shop(done: list[str], **options: Any) -> Toolkit:
    @ez_tool
    def charge(customer: str, user: Context[object]) -> str:
        """Charge a customer."""
        del user
        done.append(customer)
        return f"receipt {len(done)}"

    @ez_tool(requires_approval=True)
    def refund(customer: str) -> str:
        """Refund a customer."""
        done.append(f"refund {customer}")
        return f"refund {len(done)}"

    return Toolkit([charge, refund], **options)


def offer_of(toolkit: Toolkit, **options: Any) -> ProgramOffer:
    [offer] = offers_of(toolkit, approve=lambda _: True, **options)
    assert isinstance(offer, ProgramOffer)
    return offer


def fail(offer: ProgramOffer, hooks: Hooks) -> str:
    outcome = offer.call({"code": "charge('Ada')\n1 / 0"}, hooks)
    (token,) = set(TOKEN.findall(outcome.error or ""))
    return token


def correct(offer: ProgramOffer, token: object, hooks: Hooks) -> str:
    return offer.call(json.dumps({"code": "print(charge('Ada'))", "after": token}), hooks).text


def caller(context: object, name: str | None = None, principal: str | None = None) -> Callable[[], Hooks]:
    """Return a function that returns the framework's part in the next call; the ids of calls begin with the name."""
    ids = itertools.count()
    return lambda: Hooks(context, id=name and f"{name} {next(ids)}", principal=principal)


CALLERS = {
    "data": (caller("ada"), caller("eve")),
    "principals": (caller(User("ada"), principal="ada"), caller(User("ada"), principal="eve")),
    "calls with ids": (caller("ada", "a"), caller("eve", "b")),
    "objects": (caller(User("ada")), caller(User("ada"))),
    "objects, calls with ids": (caller(User("ada"), "a"), caller(User("ada"), "b")),
}


@pytest.mark.parametrize("journal", [False, True], ids=["memory", "journal"])
@pytest.mark.parametrize("callers", CALLERS)
def test_caller_corrects_its_own_program_alone(callers: str, tmp_path: Path, *, journal: bool) -> None:
    done: list[str] = []
    with shop(done, journal=tmp_path / "runs.db" if journal else None) as toolkit:
        offer = offer_of(toolkit)
        mine, others = CALLERS[callers]
        tokens = [fail(offer, mine()), fail(offer, others())]
        assert REFUSED in correct(offer, tokens[1], mine())
        assert REFUSED in correct(offer, tokens[0], others())
        assert REFUSED in correct(offer, "p_" + "0" * 24, mine())
        assert "expected after to be the token" in correct(offer, 7, mine())
        assert len(done) == 2
        assert correct(offer, tokens[0], mine()) == "receipt 1\n"
        assert correct(offer, tokens[1], others()) == "receipt 2\n"
        assert correct(offer, None, mine()) == "receipt 3\n"
    assert len(done) == 3


def test_principal_of_the_developer_owns_the_token() -> None:
    done: list[str] = []
    with shop(done) as toolkit:
        offer = offer_of(toolkit, principal=name_of)
        token = fail(offer, Hooks(User("ada")))
        assert REFUSED in correct(offer, token, Hooks(User("eve")))
        assert correct(offer, token, Hooks(User("ada"))) == "receipt 1\n"


def test_repeated_call_of_a_correction_goes_on(tmp_path: Path) -> None:
    """A framework makes the whole call again after a decision, or in another process: it is still one program."""
    done: list[str] = []
    approved: list[bool] = []

    async def decide(calls: OpenCalls) -> dict[str, object]:
        return {call.id: True for call in calls.pending if approved}

    def send(toolkit: Toolkit, token: str) -> str:
        [offer] = offers_of(toolkit)
        arguments: dict[str, object] = {"code": "print(charge('Ada'), refund('Ada'))", "after": token}
        return offer.call(arguments, Hooks("ada", id="call 2", decide=decide)).text

    with shop(done, journal=tmp_path / "runs.db") as toolkit:
        [offer] = offers_of(toolkit)
        assert isinstance(offer, ProgramOffer)
        token = fail(offer, Hooks("ada", id="call 1"))
        assert "waits for a person's decision" in send(toolkit, token)
    approved.append(True)
    with shop(done, journal=tmp_path / "runs.db") as toolkit:  # as in another process, which knows no tokens
        assert send(toolkit, token) == "receipt 1 refund 2\n"
        assert send(toolkit, token) == "receipt 1 refund 2\n"
    assert done == ["Ada", "refund Ada"]


def test_token_of_an_interrupted_correction_runs_nothing_again(tmp_path: Path) -> None:
    done: list[int] = []

    class InterruptError(Exception):
        pass

    @ez_tool
    def pay(amount: int) -> int:
        """Pay."""
        done.append(amount)
        return amount

    @ez_tool(requires_approval=True)
    def wipe() -> int:
        """Wipe."""
        return 1

    async def interrupt(calls: OpenCalls) -> Mapping[str, object]:
        raise InterruptError

    with Toolkit([pay, wipe], journal=tmp_path / "runs.db") as toolkit:
        (offer,) = [offer for offer in offers_of(toolkit) if isinstance(offer, ProgramOffer)]
        error = offer.call({"code": "pay(1)\n1 / 0"}, Hooks(id="first")).error
        (token,) = set(TOKEN.findall(str(error)))
        with pytest.raises(InterruptError):
            offer.call({"code": "pay(2)\nwipe()", "after": token}, Hooks(id="second", decide=interrupt))
        again = offer.call({"code": "pay(2)", "after": token}, Hooks(id="third"))
    assert "waits for a person's decision" in str(again.error)
    assert done == [1, 2]


def test_correction_beside_another_one_is_reported(tmp_path: Path) -> None:
    done: list[str] = []
    reports: list[str] = []
    hooks = caller("ada")

    @ez_tool
    def branch() -> None:
        """Correct the failed program once more, from inside of its correction."""
        reports.append(correct(offer, token, hooks()))

    toolkit = shop(done, journal=tmp_path / "runs.db")
    with replace(toolkit, tools=(*toolkit.tools, branch)) as toolkit:
        offer = offer_of(toolkit)
        token = fail(offer, hooks())
        (run,) = toolkit.open_journal().runs()
        failed = toolkit.find_result(run.id, context="ada")
        assert toolkit.execute("charge('Ada')\nbranch()", context="ada", after=failed).success
        reports.append(correct(offer, token, hooks()))
    assert ["another correction of that program is running" in report for report in reports] == [True, False]
    assert done == ["Ada"]
