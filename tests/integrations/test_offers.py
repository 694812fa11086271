"""What every framework is offered: a tool or the one tool of a toolkit, checked, approved and durable."""

from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Context, PendingCall, Toolkit, ToolRegistry, ez_tool
from ez_ptc.integrations.offers import Hooks, PausedRun, ProgramOffer, offers_of, run_id_of

Effects = list[tuple[str, float, str]]


def shop(effects: Effects) -> list[Any]:
    @ez_tool
    def price(item: str) -> float:
        """Look up a price."""
        return float(len(item))

    @ez_tool(requires_approval=True)
    def refund(customer: str, amount: float, user: Context[str]) -> str:
        """Refund a customer."""
        effects.append((customer, amount, user))
        return f"refunded {amount}"

    return [price, refund]


def approve(call: PendingCall) -> bool:
    return True


class Waiting(Exception):  # noqa: N818 - a framework's control flow
    """What a framework raises to leave a decision for later."""


def test_toolkit_is_offered_as_one_tool() -> None:
    with Toolkit(shop([]), approve=approve) as toolkit:
        [offer] = offers_of(toolkit)
        assert (offer.name, list(offer.parameters["properties"])) == ("execute_tools", ["code"])
        assert "price(item: str)" in offer.description
        assert offer.call({"code": "print(price('tea'))"}).text == "3.0\n"
        assert offer.call('{"code": "print(price(item=\'milk\'))"}').text == "4.0\n"
        wrong: list[Any] = ["{}", {}, "nothing", {"code": 5}]
        for arguments in wrong:
            assert "execute_tools: " in str(offer.call(arguments).error)


def test_tools_are_offered_one_by_one() -> None:
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    for tools in ([double], double, ToolRegistry([double]), (ez_tool(double),)):
        [offer] = offers_of(tools)
        assert offer.call('{"number": 4}').data == 8
        assert "number" in offer.call({"number": "four"}).text


def test_failure_is_an_error_and_never_raised() -> None:
    def fail() -> str:
        """Fail."""
        message = "no such thing"
        raise LookupError(message)

    outcome = offers_of([fail])[0].call({})
    assert (outcome.error, outcome.text) == ("no such thing", "no such thing")


@pytest.mark.parametrize("tools", [[], (), ToolRegistry()])
def test_nothing_to_offer_is_refused(tools: object) -> None:
    with pytest.raises(ValueError, match="expected a toolkit or tools, got none"):
        offers_of(tools)


def test_undecidable_approval_is_refused_at_once(tmp_path: Path) -> None:
    tools = shop([])
    with Toolkit(tools) as toolkit, pytest.raises(ValueError, match="expected an approver for refund: pass approve="):
        offers_of(toolkit)
    with pytest.raises(ValueError, match="Quux has no approval of its own"):
        offers_of(tools, framework="Quux")
    for given in (Toolkit(tools, approve=approve), ToolRegistry(tools, approve=approve)):
        assert offers_of(given, framework="Quux")
    assert offers_of(tools, approve=approve, framework="Quux")
    assert offers_of(Toolkit(tools, journal=tmp_path / "runs.db"))


def test_developers_context_and_approver_come_first() -> None:
    effects: Effects = []
    arguments: dict[str, object] = {"customer": "Ada", "amount": 5}
    refund = shop(effects)[1]
    hooks = Hooks("framework", approve)
    offers_of(refund)[0].call(arguments, hooks)
    offers_of(refund, context="given")[0].call(arguments, hooks)
    offers_of(ToolRegistry([refund], context="registry"))[0].call(arguments, hooks)
    assert [user for *_, user in effects] == ["framework", "given", "registry"]
    refused = offers_of(refund, approve=lambda _: "no")[0].call(arguments, hooks)
    assert refused.error == "refund was not approved: no"


def test_frameworks_control_flow_is_raised() -> None:
    def wait(call: PendingCall) -> bool:
        raise Waiting

    with pytest.raises(Waiting):
        offers_of(shop([])[1])[0].call({"customer": "Ada", "amount": 5}, Hooks("eve", wait, (Waiting,)))


CODE = "price('tea')\nprint(refund('Ada', 1), refund('Bob', 2))"


def test_repeated_call_continues_its_own_run(tmp_path: Path) -> None:
    """A framework calls again after each decision, and after the end: no effect is repeated."""
    effects: Effects = []
    known: list[bool] = []

    async def decide(paused: PausedRun) -> dict[str, object]:
        known.append(paused.is_known)
        if not paused.is_known:
            raise Waiting
        return {call.id: True for call in paused.pending}

    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        [offer] = offers_of(toolkit)
        hooks = Hooks("eve", run_id=run_id_of("call 1"), decide=decide)
        for _ in range(2):
            with pytest.raises(Waiting):
                offer.call({"code": CODE}, hooks)
        texts = {offer.call({"code": CODE}, hooks).text for _ in range(2)}
    assert known == [False, True, False, True]
    assert effects == [("Ada", 1.0, "eve"), ("Bob", 2.0, "eve")]
    assert texts == {"refunded 1.0 refunded 2.0\n"}


def test_paused_program_without_decider_is_a_failure(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        outcome = offers_of(toolkit)[0].call({"code": CODE}, Hooks("eve"))
    assert (outcome.error, effects) == ("not finished: refund waits for a person's decision", [])
    assert [call.arguments["customer"] for call in outcome.pending] == ["Ada"]


@pytest.mark.parametrize("resumed", [False, True])
def test_events_of_a_program_are_reported(tmp_path: Path, *, resumed: bool) -> None:
    reported: list[str] = []
    watched: list[str] = []

    async def report(event: object) -> None:
        reported.append(type(event).__name__)

    async def decide(paused: PausedRun) -> dict[str, object]:
        return {call.id: resumed for call in paused.pending}

    with Toolkit(shop([]), journal=tmp_path / "runs.db", context="eve") as toolkit:
        hooks = Hooks(decide=decide, report=report, watch=lambda event: watched.append(type(event).__name__))
        offers_of(toolkit)[0].call({"code": "refund('Ada', 1)"}, hooks)
    assert [name for name in watched if name.startswith("Call")] == ["CallStarted", "CallEnded"]
    assert {"CallStarted", "CallEnded"} <= set(reported)


def test_equal_parts_make_equal_run_ids() -> None:
    assert run_id_of("a", "b") == run_id_of("a", "b") != run_id_of("ab", "")


def test_offer_of_a_toolkit_says_whether_it_pauses(tmp_path: Path) -> None:
    for journal in (None, tmp_path / "runs.db"):
        [offer] = offers_of(Toolkit(shop([])[:1], journal=journal))
        assert isinstance(offer, ProgramOffer)
        assert offer.is_durable is (journal is not None)
