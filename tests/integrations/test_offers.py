"""What every framework is offered: a tool or the one tool of a toolkit, checked, approved and durable."""

import itertools
import re
import threading
from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.to_thread
import pytest
from pydantic import AfterValidator

from ez_ptc import (
    Approve,
    CallEnded,
    CallStarted,
    Context,
    Deny,
    JournalError,
    PendingCall,
    RunInProgressError,
    Toolkit,
    ToolRegistry,
    ez_tool,
)
from ez_ptc.integrations.offers import (
    Hooks,
    OpenCalls,
    ProgramOffer,
    answer,
    call_id_of,
    find_decisions,
    find_problem,
    offers_of,
)
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.events import ProgramEvent

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


async def approve_all(calls: OpenCalls) -> dict[str, object]:
    return {call.id: True for call in calls.pending}


class Waiting(Exception):  # noqa: N818 - a framework's control flow
    """What a framework raises to leave a decision for later."""


def test_toolkit_is_offered_as_one_tool() -> None:
    with Toolkit(shop([]), approve=approve) as toolkit:
        [offer] = offers_of(toolkit)
        assert (offer.name, list(offer.parameters["properties"])) == ("execute_tools", ["code", "after"])
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
    hooks = Hooks("framework", decide=approve_all)
    offers_of(refund)[0].call(arguments, hooks)
    offers_of(refund, context="given")[0].call(arguments, hooks)
    offers_of(ToolRegistry([refund], context="registry"))[0].call(arguments, hooks)
    assert [user for *_, user in effects] == ["framework", "given", "registry"]
    refused = offers_of(refund, approve=lambda _: "no")[0].call(arguments, hooks)
    assert refused.error == "refund was not approved: no"


def test_frameworks_control_flow_is_raised() -> None:
    async def wait(calls: OpenCalls) -> dict[str, object]:
        raise Waiting

    with pytest.raises(Waiting):
        offers_of(shop([])[1])[0].call({"customer": "Ada", "amount": 5}, Hooks("eve", (Waiting,), decide=wait))


CODE = "price('tea')\nprint(refund('Ada', 1), refund('Bob', 2))"


def test_repeated_call_continues_its_own_run(tmp_path: Path) -> None:
    """A framework calls again after each decision, and after the end: no effect is repeated."""
    effects: Effects = []
    asked: list[OpenCalls] = []

    async def decide(calls: OpenCalls) -> dict[str, object]:
        if calls not in asked:
            asked.append(calls)
            raise Waiting
        return {call.id: True for call in calls.pending}

    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        [offer] = offers_of(toolkit)
        hooks = Hooks("eve", id=call_id_of("quux", call="1"), decide=decide)
        for _ in range(2):
            with pytest.raises(Waiting):
                offer.call({"code": CODE}, hooks)
        texts = {offer.call({"code": CODE}, hooks).text for _ in range(2)}
    assert len(asked) == 2
    assert effects == [("Ada", 1.0, "eve"), ("Bob", 2.0, "eve")]
    assert texts == {"refunded 1.0 refunded 2.0\n"}


@pytest.mark.parametrize("other", [{"code": "print(1)"}, {"context": "bob"}, {"principal": "bob"}])
def test_call_id_alone_finds_no_other_run(tmp_path: Path, other: dict[str, Any]) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        [offer] = offers_of(toolkit)
        hooks: dict[str, Any] = {"context": "eve", "id": call_id_of("quux", call="1"), "decide": approve_all}
        first = offer.call({"code": CODE}, Hooks(**hooks))
        assert first.text == "refunded 1.0 refunded 2.0\n"
        code = other.pop("code", CODE)
        with pytest.raises(JournalError, match=r"run \w+ (is of another program|belongs to another principal)"):
            offer.call({"code": code}, Hooks(**{**hooks, **other}))
    assert len(effects) == 2


def test_context_without_identity_is_bound_to_its_call(tmp_path: Path) -> None:
    """A framework's own objects are others in each process."""
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        [offer] = offers_of(toolkit)
        for _ in range(2):
            offer.call({"code": "price('tea')"}, Hooks(object(), id=call_id_of("quux", call="1")))
        assert len(toolkit.open_journal().runs()) == 1


@pytest.mark.parametrize("is_journaled", [False, True])
def test_next_call_of_a_conversation_reads_long_results(*, is_journaled: bool, tmp_path: Path) -> None:
    class Deps:
        """What a framework passes to its tools, without an identity."""

    mine, others, calls = Deps(), Deps(), itertools.count()
    with Toolkit(shop([]), journal=tmp_path / "runs.db" if is_journaled else None) as toolkit:
        offer = offers_of(toolkit, approve=approve)[0]

        def run(code: str, context: object) -> str:
            outcome = offer.call({"code": code}, Hooks(context, id=call_id_of("quux", call=str(next(calls)))))
            return outcome.text or outcome.error or ""

        for context, other in ((mine, others), ("ada", "eve")):
            text = run("print('x' * 50_000)", context)
            (name,) = re.findall(r"r_[0-9a-f]{32}", text)
            assert len(text) <= 30_000
            assert run(f"print(len(results['{name}']))", context) == "50001\n"
            assert "there is no result" in run(f"print(len(results['{name}']))", other)


def test_principal_stands_for_a_context_that_changes(tmp_path: Path) -> None:
    code: dict[str, object] = {"code": "print(price('tea'))"}
    call_id = call_id_of("quux", call="1")
    with Toolkit(shop([]), journal=tmp_path / "runs.db") as toolkit:
        [offer] = offers_of(toolkit, principal=lambda context: context["user"])
        for request in range(2):
            assert offer.call(code, Hooks({"user": "eve", "request": request}, id=call_id)).text == "3.0\n"
        with pytest.raises(JournalError, match="belongs to another principal"):
            offer.call(code, Hooks({"user": "bob", "request": 0}, id=call_id))
        assert len(toolkit.open_journal().runs()) == 1


def test_program_decided_elsewhere_goes_on(tmp_path: Path) -> None:
    effects: Effects = []

    async def wait(calls: OpenCalls) -> dict[str, object]:
        return {}

    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        [offer] = offers_of(toolkit)
        hooks = Hooks("eve", id=call_id_of("quux", call="1"), decide=wait)
        for _ in range(2):
            waiting = offer.call({"code": CODE}, hooks).open
            assert waiting is not None
            toolkit.open_journal().decide(str(waiting.run_id), {call.id: True for call in waiting.pending})
        assert offer.call({"code": CODE}, hooks).text == "refunded 1.0 refunded 2.0\n"
    assert effects == [("Ada", 1.0, "eve"), ("Bob", 2.0, "eve")]


def test_answer_counts_only_for_its_question() -> None:
    calls = [PendingCall(f"run:{number}", "refund", {"amount": number}, "") for number in range(3)]
    first, second, _ = OpenCalls(tuple(calls), "run").as_json()["pending"]
    assert find_decisions(calls, [answer(second, "no"), answer(first, True), answer(first, False)]) == {
        "run:1": Deny("no"),
        "run:0": Approve(),
    }
    assert find_decisions(calls, answer(first, {"amount": 5})) == {"run:0": Approve({"amount": 5})}
    assert find_decisions(calls, {"pending": [first]}, default=True) == {"run:0": Approve()}
    bare = {"id": first["id"], "digest": first["digest"]}
    swapped = {**answer(first, True), "id": second["id"]}
    wrong: list[tuple[object, str]] = [
        (True, "expected an answer with the id and the digest"),
        (None, "got None"),
        ({"id": first["id"], "decision": True}, "expected an answer with the id and the digest"),
        ({"id": 1, "digest": 2, "decision": True}, "expected an answer with the id and the digest"),
        ({"pending": {"id": "run:0"}}, "expected an answer with the id and the digest"),
        ({**answer(first, True), "id": "other:0"}, "about another call"),
        (swapped, "about other arguments"),
        (bare, "has no decision"),
        ([[[[[answer(first, True)]]]]], "expected an answer with the id and the digest"),
    ]
    for value, problem in wrong:
        assert find_decisions(calls, value) == {}
        assert problem in find_problem(calls, value)


def test_predicate_is_asked_once_for_a_call() -> None:
    asked: list[str] = []
    effects: list[int] = []

    def is_large(call: PendingCall) -> bool:
        asked.append(call.tool)
        return len(asked) % 2 == 0

    @ez_tool(requires_approval=is_large)
    def pay(amount: int) -> int:
        """Pay."""
        effects.append(amount)
        return amount

    [offer] = offers_of(pay)
    assert offer.call({"amount": 1}, Hooks(decide=approve_all)).data == 1
    assert len(asked) == 1  # again, it would say that approval is needed

    async def deny(calls: OpenCalls) -> dict[str, object]:
        return {call.id: "no" for call in calls.pending}

    assert offer.call({"amount": 2}, Hooks(was_asked=True, decide=deny)).error == "pay was not approved: no"
    assert (effects, len(asked)) == ([1], 1)


def test_paused_program_without_decider_is_a_failure(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        outcome = offers_of(toolkit)[0].call({"code": CODE}, Hooks("eve"))
    assert (outcome.error, effects) == ("not finished: refund waits for a person's decision", [])
    assert outcome.open is not None
    assert [call.arguments["customer"] for call in outcome.open.pending] == ["Ada"]


@pytest.mark.parametrize("is_approved", [False, True])
@pytest.mark.parametrize("is_kept", [True, False], ids=["same worker", "new worker"])
def test_events_of_a_program_are_reported(tmp_path: Path, *, is_approved: bool, is_kept: bool) -> None:
    """A new worker makes the call that waited once more, with the same id."""
    reported: list[str] = []
    watched: list[CallStarted | CallEnded] = []

    async def report(event: object) -> None:
        reported.append(type(event).__name__)

    async def decide(calls: OpenCalls) -> dict[str, object]:
        return {call.id: is_approved for call in calls.pending}

    def watch(event: ProgramEvent) -> None:
        if isinstance(event, CallStarted | CallEnded):
            watched.append(event)

    with (
        ProcessSandbox(paused=60.0 if is_kept else 0.0) as sandbox,
        Toolkit(shop([]), journal=tmp_path / "runs.db", context="eve", sandbox=sandbox) as toolkit,
    ):
        hooks = Hooks(decide=decide, report=report, watch=watch)
        offers_of(toolkit)[0].call({"code": "refund('Ada', 1)"}, hooks)
    starts = 1 if is_kept else 2
    assert [type(event).__name__ for event in watched] == [*["CallStarted"] * starts, "CallEnded"]
    assert len({event.id.rpartition(":")[2] for event in watched}) == 1
    assert {"CallStarted", "CallEnded"} <= set(reported)


def test_run_that_is_resumed_elsewhere_does_not_begin_again(tmp_path: Path) -> None:
    effects: list[int] = []
    has_begun, may_end = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    @ez_tool(requires_approval=True)
    def pay(amount: int) -> None:
        """Pay."""
        effects.append(amount)
        has_begun.set()
        may_end.wait(60)

    async def decide(calls: OpenCalls) -> dict[str, object]:
        decisions: dict[str, object] = {call.id: True for call in calls.pending}
        threads.append(threading.Thread(target=toolkit.resume, args=(calls.run_id, decisions)))
        threads[0].start()
        await anyio.to_thread.run_sync(has_begun.wait, 10)
        return decisions

    with Toolkit([pay], journal=tmp_path / "runs.db") as toolkit:
        try:
            with pytest.raises(RunInProgressError):
                offers_of(toolkit)[0].call({"code": "pay(5)"}, Hooks(decide=decide))
        finally:
            may_end.set()
            threads[0].join(60)
        assert len(toolkit.open_journal().runs()) == 1
    assert effects == [5]


def test_call_ids_differ_with_each_of_their_parts() -> None:
    parts = [{"a": "b"}, {"a": "c"}, {"b": "b"}, {"a": "b", "c": ""}, {"a": 'b", "c": "'}]
    ids = [call_id_of(framework, **part) for framework in ("x", "y") for part in parts]
    assert len({*ids}) == len(ids)
    assert call_id_of("x", a="1", b="2") == call_id_of("x", b="2", a="1")


def test_offer_of_a_toolkit_says_whether_it_pauses(tmp_path: Path) -> None:
    for journal in (None, tmp_path / "runs.db"):
        [offer] = offers_of(Toolkit(shop([])[:1], journal=journal))
        assert isinstance(offer, ProgramOffer)
        assert offer.is_durable is (journal is not None)


@pytest.mark.anyio
async def test_call_that_fits_only_later_runs_unasked_never(anyio_backend: str) -> None:
    effects: list[int] = []
    checks: list[int] = []

    def refuse_first(amount: int) -> int:
        checks.append(amount)
        if len(checks) == 1:
            message = "not now"
            raise ValueError(message)
        return amount

    @ez_tool(requires_approval=True)
    def pay(amount: Annotated[int, AfterValidator(refuse_first)]) -> None:
        """Pay."""
        effects.append(amount)

    async def decide(calls: OpenCalls) -> dict[str, object]:
        return {}

    (offer,) = offers_of([pay])
    outcome = await offer.acall({"amount": 5}, Hooks(id="call", decide=decide))

    assert "pay requires approval" in str(outcome.error)
    assert not effects
