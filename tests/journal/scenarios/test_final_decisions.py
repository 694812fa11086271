"""What is recorded about a call binds it: no rule, no toolkit and no changed tool is asked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator

from ez_ptc import (
    Approve,
    DecisionError,
    Deny,
    DidNotHappen,
    ExecutionResult,
    Journal,
    JournalError,
    Pause,
    PendingCall,
    Tool,
    Toolkit,
    ez_tool,
)
from ez_ptc.journal.chain import Event
from ez_ptc.journal.record import RunRecord
from ez_ptc.journal.rows import append, find_run
from ez_ptc.tools.approvals.approval import Approver

REFUND = "try:\n    print(refund(7, 80))\nexcept Exception as error:\n    print('refused:', error)"
BOTH = "print(parallel(lambda: refund(1, 10), lambda: refund(2, 20)))\nprint(refund(3, 30))"

Place = Literal["toolkit", "awaited", "session"]
PLACES: tuple[Place, ...] = ("toolkit", "awaited", "session")


@dataclass
class Shop:
    """A refund whose rule can be changed between two executions, and what it has refunded and was asked."""

    path: Path
    rule: bool = True
    refunded: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def tool(self, *, has_rule: bool = True, **options: Any) -> Tool:
        def refund(order: int, amount: int) -> str:
            """Refund."""
            self.refunded.append((order, amount))
            return f"refunded {amount}"

        def needs_approval(call: PendingCall) -> bool:
            self.asked.append(dict(call.arguments))
            return self.rule

        return ez_tool(requires_approval=needs_approval if has_rule else False, **options)(refund)

    def toolkit(self, tool: Tool | None = None, approve: Approver | None = None) -> Toolkit:
        return Toolkit([tool or self.tool()], journal=self.path, approve=approve)

    def pause(self, program: str = REFUND, place: Place = "toolkit") -> ExecutionResult:
        """Run a program until it pauses."""
        with self.toolkit() as toolkit:
            if place == "session":
                with toolkit.session() as session:
                    result = session.execute(program)
            else:
                result = toolkit.execute(program)
        assert result.status == "paused"
        return result

    def kinds(self, run_id: str | None) -> list[str]:
        with Journal(self.path) as journal:
            return [event.kind for event in journal.events(str(run_id))]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "runs.db")


def _without_a_rule(shop: Shop) -> Tool:
    return shop.tool(has_rule=False)


def _with_another_rule(shop: Shop) -> Tool:
    shop.rule = False
    return shop.tool()


def _with_an_alias(shop: Shop) -> Tool:
    return shop.tool(has_rule=False, read_only=True)


WEAKER: tuple[Callable[[Shop], Tool], ...] = (_without_a_rule, _with_another_rule, _with_an_alias)


async def _resume(toolkit: Toolkit, place: Place, run_id: str | None, decisions: dict[str, object]) -> ExecutionResult:
    if place == "awaited":
        return await toolkit.aresume(str(run_id), decisions)
    return toolkit.resume(str(run_id), decisions)


@pytest.mark.parametrize("is_early", [True, False], ids=["decide", "resume"])
@pytest.mark.parametrize("weaken", WEAKER)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_denied_call_never_runs_whatever_is_asked_later(
    shop: Shop, place: Place, weaken: Callable[[Shop], Tool], is_early: bool, anyio_backend: str
) -> None:
    del anyio_backend
    paused = shop.pause(place=place)
    decisions: dict[str, object] = {paused.pending[0].id: Deny("no!", by="Ann")}
    if is_early:
        with Journal(shop.path) as journal:
            journal.decide(str(paused.run_id), decisions)
        decisions = {}
    with shop.toolkit(weaken(shop), approve=lambda _: True) as toolkit:
        result = await _resume(toolkit, place, paused.run_id, decisions)
    assert (result.status, result.output) == ("done", "refused: refund was not approved: no!\n")
    assert shop.refunded == []


@pytest.mark.parametrize("weaken", WEAKER)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_edited_call_runs_as_edited_whatever_is_asked_later(
    shop: Shop, place: Place, weaken: Callable[[Shop], Tool], anyio_backend: str
) -> None:
    del anyio_backend
    paused = shop.pause(place=place)
    decisions: dict[str, object] = {paused.pending[0].id: Approve({"order": 7, "amount": 6})}
    with shop.toolkit(weaken(shop), approve=lambda _: False) as toolkit:
        result = await _resume(toolkit, place, paused.run_id, decisions)
    assert result.output == "refunded 6\n"
    assert shop.refunded == [(7, 6)]


@pytest.mark.parametrize("weaken", WEAKER)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_pending_call_waits_until_it_is_decided(
    shop: Shop, place: Place, weaken: Callable[[Shop], Tool], anyio_backend: str
) -> None:
    del anyio_backend
    paused = shop.pause(place=place)
    for _ in range(2):
        with shop.toolkit(weaken(shop)) as toolkit:
            result = await _resume(toolkit, place, paused.run_id, {})
        assert (result.status, result.pending) == ("paused", paused.pending)
        assert shop.refunded == []
    with shop.toolkit(weaken(shop), approve=lambda call: call.arguments == {"order": 7, "amount": 80}) as toolkit:
        assert (await _resume(toolkit, place, paused.run_id, {})).output == "refunded 80\n"
    assert shop.refunded == [(7, 80)]


def test_rule_is_asked_once_a_call(shop: Shop) -> None:
    paused = shop.pause("print(refund(7, 80), refund(8, 1))")
    with shop.toolkit() as toolkit:
        paused = toolkit.resume(str(paused.run_id), {paused.pending[0].id: True})
        assert toolkit.resume(str(paused.run_id), {paused.pending[0].id: True}).success
    assert [call["order"] for call in shop.asked] == [7, 8]


@pytest.mark.parametrize("is_free", [True, False], ids=["free", "approved"])
def test_verdict_binds_a_call_that_runs_again(shop: Shop, is_free: bool) -> None:
    """What was free or approved when it began needs no further answer to run again, and an edit stays."""

    def crash(_: PendingCall) -> object:
        return Approve({"order": 7, "amount": 5})

    def refund(order: int, amount: int) -> str:
        shop.refunded.append((order, amount))
        if len(shop.refunded) == 1:
            raise KeyboardInterrupt
        return f"refunded {amount}"

    tool = ez_tool(requires_approval=lambda _: not is_free, description="Refund.")(refund)
    with shop.toolkit(tool, crash) as toolkit:
        with pytest.raises(KeyboardInterrupt):
            toolkit.execute(REFUND)
        (run,) = toolkit.open_journal().runs()
    stricter = ez_tool(requires_approval=True, description="Refund.")(refund)
    with shop.toolkit(stricter, lambda _: Deny("asked again")) as toolkit:
        result = toolkit.resume(run.id, {call.id: DidNotHappen() for call in run.pending})
    amount = 80 if is_free else 5
    assert result.output == f"refunded {amount}\n"
    assert shop.refunded == [(7, amount)] * 2


def test_call_that_was_shown_waits_when_its_process_dies(shop: Shop) -> None:
    def die(_: PendingCall) -> object:
        raise KeyboardInterrupt

    with shop.toolkit(approve=die) as toolkit:
        with pytest.raises(KeyboardInterrupt):
            toolkit.execute(REFUND)
        (run,) = toolkit.open_journal().runs()
    assert (run.state, [call.state for call in run.pending]) == ("paused", ["needs_approval"])
    with shop.toolkit(_without_a_rule(shop)) as toolkit:
        assert toolkit.resume(run.id).status == "paused"
        assert shop.refunded == []
        assert toolkit.resume(run.id, {run.pending[0].id: Deny("no!")}).output.startswith("refused")
    assert shop.refunded == []


def test_remembered_approval_covers_no_call_that_waits(shop: Shop) -> None:
    """Another call that waits beside it was shown as a question of its own."""
    paused = shop.pause(BOTH)
    first, second = paused.pending
    with shop.toolkit() as toolkit:
        result = toolkit.resume(str(paused.run_id), {first.id: Approve(remember="run")})
        assert (result.status, result.pending) == ("paused", (second,))
        assert shop.refunded == [(1, 10)]
        shop.rule = True
        assert toolkit.resume(str(paused.run_id), {second.id: True}).success
    assert shop.refunded == [(1, 10), (2, 20), (3, 30)]


def test_decision_of_another_process_during_the_question_counts(shop: Shop) -> None:
    with Journal(shop.path) as elsewhere:

        def approve(call: PendingCall) -> bool:
            (run,) = elsewhere.runs()
            assert [waiting.id for waiting in run.pending] == [call.id]
            elsewhere.decide(run.id, {call.id: Deny("first")})
            return True

        with shop.toolkit(approve=approve) as toolkit:
            assert toolkit.execute(REFUND).output == "refused: refund was not approved: first\n"
    assert shop.refunded == []


def test_denial_between_reading_and_claiming_wins(shop: Shop) -> None:
    """A worker resumes with an approval that it has read; meanwhile the boss denies the call."""
    paused = shop.pause(REFUND)
    run_id, call_id = str(paused.run_id), paused.pending[0].id
    denials = iter([{call_id: Deny("no!", by="the boss")}])
    with Journal(shop.path) as elsewhere:

        def deny_once(amount: int) -> int:
            for denial in denials:
                elsewhere.decide(run_id, denial)
            return amount

        def refund(order: int, amount: Annotated[int, AfterValidator(deny_once)]) -> str:
            """Refund."""
            shop.refunded.append((order, amount))
            return f"refunded {amount}"

        # The edited arguments are checked in between, by the tool's own validators.
        with shop.toolkit(ez_tool(refund)) as toolkit:
            with pytest.raises(DecisionError, match="is decided already: deny, by the boss"):
                toolkit.resume(run_id, {call_id: Approve({"order": 7, "amount": 6})})
            assert shop.kinds(run_id)[-1] == "decision"
            assert toolkit.resume(run_id).output == "refused: refund was not approved: no!\n"
        assert elsewhere.verify() == 1
    assert shop.refunded == []


def test_claim_has_the_decision_made_while_it_was_checked(shop: Shop) -> None:
    paused = shop.pause(REFUND)
    run_id = str(paused.run_id)
    denials = iter([{paused.pending[0].id: Deny("no!")}])
    with Journal(shop.path) as journal, Journal(shop.path) as elsewhere:

        def check(record: RunRecord, decisions: Mapping[str, object]) -> None:
            del record, decisions
            for denial in denials:
                elsewhere.decide(run_id, denial)

        row, record = journal.claim(run_id, {}, check)
        journal.store.locks.disown(row.number)
        assert record.calls["1"].decision == Deny("no!")
        assert record.size == RunRecord.of(run_id, journal.events(run_id)).size
        assert journal.verify() == 1
    assert shop.kinds(run_id)[-2:] == ["decision", "claim"]


def _accept(record: RunRecord, decisions: Mapping[str, object]) -> None:
    del record, decisions


def test_execution_that_was_continued_elsewhere_records_nothing(shop: Shop) -> None:
    run_id = str(shop.pause(REFUND).run_id)
    with Journal(shop.path) as journal, Journal(shop.path) as elsewhere:
        ours, _ = journal.claim(run_id, {}, _accept)
        journal.store.locks.disown(ours.number)  # as a server does that takes the process for dead
        theirs, _ = elsewhere.claim(run_id, {}, _accept)
        before = journal.events(run_id)
        with pytest.raises(JournalError, match="continued elsewhere"):
            journal.finish(ours, [Event("pause", data={"state": "paused"})], "pause")
        assert journal.events(run_id) == before
        elsewhere.finish(theirs, [Event("pause", data={"state": "paused"})], "pause")
        elsewhere.store.locks.disown(theirs.number)
        assert journal.verify() == 1


def _write_old_run(shop: Shop, *events: Event) -> str:
    """Write a run as a version did that recorded no verdicts: without `cleared` in its intents."""
    with shop.toolkit() as toolkit, toolkit.open_journal() as journal:
        run_id = str(shop.pause().run_id)
        start = journal.events(run_id)[0]
        row, _ = journal.start(REFUND, start.data, run_id="old")
        journal.store.transact(lambda database: append(database, find_run(database, row.id), events, "record"))
        journal.store.locks.disown(row.number)
    return row.id


_ARGUMENTS = {"order": 7, "amount": 80}
_CALL = b"[[7,80],{}]"
_PENDING = Event("pending", "1", {"tool": "refund", "arguments": _ARGUMENTS}, _CALL)
_INTENT = Event("intent", "1", {"tool": "refund", "arguments": _ARGUMENTS, "repeatable": True}, _CALL)
_DENIAL = Event("decision", "1", {"tool": "refund", "decision": "deny", "reason": "old", "by": None})


@pytest.mark.parametrize("rule", [True, False])
@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ((_PENDING,), "paused"),
        ((_PENDING, _INTENT), "paused"),
        ((_PENDING, _DENIAL), "refused"),
        ((_PENDING, _DENIAL, _INTENT), "refused"),
        ((_INTENT,), "by the rule"),
    ],
    ids=["pending", "pending, then begun", "denied", "denied, then begun", "begun"],
)
def test_old_record_is_bound_by_what_it_says(shop: Shop, events: tuple[Event, ...], outcome: str, rule: bool) -> None:
    """A call without a verdict is judged by the present rule, which can only ask too often."""
    run_id = _write_old_run(shop, *events)
    assert not any("cleared" in json.dumps(dict(event.data)) for event in events)
    shop.rule = rule
    with shop.toolkit() as toolkit:
        result = toolkit.resume(run_id)
    if outcome == "by the rule" and not rule:
        assert shop.refunded == [(7, 80)]
    elif outcome == "refused":
        assert result.output == "refused: refund was not approved: old\n"
        assert shop.refunded == []
    else:
        assert result.status == "paused"
        assert shop.refunded == []


def test_approver_that_leaves_the_decision_marks_the_call_once(shop: Shop) -> None:
    with shop.toolkit(approve=lambda _: Pause()) as toolkit:
        paused = toolkit.execute(REFUND)
        assert toolkit.resume(str(paused.run_id)).pending == paused.pending
    assert shop.kinds(paused.run_id) == ["start", "pending", "pause", "claim", "pause"]


def test_approver_that_fails_refuses_and_leaves_the_mark(shop: Shop) -> None:
    def fail(_: PendingCall) -> bool:
        message = "no network"
        raise OSError(message)

    with shop.toolkit(approve=fail) as toolkit:
        result = toolkit.execute(REFUND)
    assert "its approver failed" in result.output
    assert shop.kinds(result.run_id) == ["start", "pending", "intent", "result", "end"]
    assert shop.refunded == []


def test_approver_may_run_programs_itself(shop: Shop) -> None:
    """Its programs are runs of their own, and its own run cannot be resumed while it is asked."""
    outcomes: list[str] = []

    def approve(call: PendingCall) -> bool:
        if call.arguments["order"] == 8:
            return False
        outcomes.append(toolkit.execute("refund(8, 1)").error or "")
        with pytest.raises(Exception, match="is being executed by process"):
            toolkit.resume(call.id.rpartition(":")[0], {call.id: True})
        return True

    with shop.toolkit(approve=approve) as toolkit:
        assert toolkit.execute(REFUND).output == "refunded 80\n"
    assert outcomes == ["ToolError: refund was not approved"]
    assert shop.refunded == [(7, 80)]
