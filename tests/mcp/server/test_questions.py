"""Questions to a client's user: in both revisions of the protocol, over each transport, with every kind of answer."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, ElicitResult, ErrorData, TextContent

from ez_ptc import Approve, Deny, Pause, Toolkit, ToolRegistry, ez_tool
from ez_ptc.journal.journal import Journal
from tests.mcp.servers.places import PLACES, Place, open_place

EFFECTS: list[tuple[str, int]] = []
YES = ElicitResult(action="accept", content={"approve": True})
ANSWERS: dict[str, ElicitResult | ErrorData | None] = {
    "yes": YES,
    "no": ElicitResult(action="accept", content={"approve": False}),
    "decline": ElicitResult(action="decline"),
    "cancel": ElicitResult(action="cancel"),
    "text": ElicitResult(action="accept", content={"approve": "true"}),
    "number": ElicitResult(action="accept", content={"approve": 1}),
    "nothing": ElicitResult(action="accept"),
}
BROKEN: dict[str, ElicitResult | ErrorData | None] = {"error": ErrorData(code=-1, message="no"), "silence": None}
REFUSED = "the user did not approve it"
PROGRAM = "print(transfer('Eve', 5))"


@ez_tool(requires_approval=True)
def transfer(to: str, amount: int) -> str:
    """Send money."""
    EFFECTS.append((to, amount))
    return f"{amount} to {to}"


@pytest.fixture(autouse=True)
def effects() -> list[tuple[str, int]]:
    EFFECTS.clear()
    return EFFECTS


@pytest.fixture(params=PLACES)
def place_of(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that serves in one of the places."""
    return partial(open_place, request.param)


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def ask(who: Client, name: str, arguments: dict[str, Any], **retry: Any) -> Any:  # noqa: ANN401 - either result
    """Call a tool once, without answering for the client's user."""
    return await who.session.call_tool(name, arguments, allow_input_required=True, **retry)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


def run_id_of(text: str) -> str:
    found = re.search(r"run_id '([0-9a-f]+)'", text)
    assert found is not None, text
    return found[1]


@pytest.mark.parametrize("answer", [*ANSWERS, *BROKEN])
@pytest.mark.sampled(every=5)
def test_answer_about_a_tool_counts(place_of: Callable[..., Any], answer: str) -> None:
    async def call() -> None:
        server = Toolkit([transfer]).as_mcp_server(question_timeout=0.5)
        async with place_of(server) as place:
            if answer in BROKEN and place.mode == "auto":
                return  # the client itself fails or waits
            async with place.client((ANSWERS | BROKEN)[answer]) as client:
                result = await client.call_tool("transfer", {"to": "Eve", "amount": 5})
            reasons = {
                "yes": "5 to Eve",
                "cancel": "the user dismissed the question",
                "error": "the client could not ask its user",
                "silence": "the client did not answer within 0.5 s",
            }
            assert reasons.get(answer, REFUSED) in text_of(result)
            assert result.is_error == (answer != "yes")
            assert len(place.questions) == 1
            assert 'to = "Eve"\n    amount = 5' in place.questions[0].message
        assert ([("Eve", 5)] if answer == "yes" else []) == EFFECTS

    run(call())


@pytest.mark.parametrize("answer", ["yes", "no", "decline", "cancel"])
@pytest.mark.sampled(every=5)
def test_answer_counts_whatever_the_predicate_says_later(place_of: Callable[..., Any], answer: str) -> None:
    async def call() -> None:
        verdicts = [True]
        tool = ez_tool(requires_approval=lambda _: bool(verdicts) and verdicts.pop())(transfer.function)
        async with place_of(Toolkit([tool]).as_mcp_server()) as place, place.client(ANSWERS[answer]) as client:
            result = await client.call_tool("transfer", {"to": "Eve", "amount": 5})
        assert result.is_error == (answer != "yes")
        assert not verdicts
        assert ([("Eve", 5)] if answer == "yes" else []) == EFFECTS

    run(call())


@pytest.mark.parametrize("decision", [Deny("the bank says no"), Pause()])
@pytest.mark.sampled(every=5)
def test_client_decides_nothing_over_a_tools_own_approver(
    place_of: Callable[..., Any], decision: Deny | Pause, tmp_path: Path
) -> None:
    async def call() -> None:
        tools = tuple(ToolRegistry([transfer], approve=lambda _: decision))
        toolkit = Toolkit(tools, journal=Journal(tmp_path / "runs.db"))
        async with place_of(toolkit.as_mcp_server(mode="both")) as place, place.client(YES) as client:
            await client.call_tool("transfer", {"to": "Eve", "amount": 5})
            await client.call_tool("execute_tools", {"code": PROGRAM})
        assert not place.questions
        assert not EFFECTS
        with pytest.raises(ValueError, match="or a tool of it has"):
            toolkit.as_mcp_server(mode="both", decide="client")

    run(call())


@pytest.mark.parametrize("answer", [*ANSWERS, *BROKEN, ...])
@pytest.mark.sampled(every=14)
def test_program_waits_where_no_answer_comes(place_of: Callable[..., Any], answer: object, tmp_path: Path) -> None:
    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        server = Toolkit([transfer], journal=journal).as_mcp_server(mode="programs", question_timeout=0.5)
        async with place_of(server) as place:
            if answer in BROKEN and place.mode == "auto":
                return
            given = (ANSWERS | BROKEN)[answer] if isinstance(answer, str) else ...
            async with place.client(given) as client:
                result = await client.call_tool("execute_tools", {"code": PROGRAM})
                if answer not in {"cancel", "error", "silence", ...}:
                    assert ("5 to Eve" if answer == "yes" else REFUSED) in text_of(result)
                    assert result.is_error == (answer != "yes")
                    return
                run_id = run_id_of(text_of(result))
                assert not result.is_error
                assert 'Allow transfer (1)?\n\n    to = "Eve"\n    amount = 5' in text_of(result)
                assert not EFFECTS
                journal.decide(run_id, {journal.run(run_id).pending[0].id: Approve()})
                result = await client.call_tool("resume_program", {"run_id": run_id})
                assert (text_of(result).strip(), result.is_error) == ("5 to Eve", False)
                again = await client.call_tool("resume_program", {"run_id": run_id})
                assert text_of(again) == text_of(result)
        assert EFFECTS == [("Eve", 5)]

    run(call())


def test_program_without_journal_is_refused_where_no_one_can_be_asked(place_of: Callable[..., Any]) -> None:
    async def call() -> None:
        async with place_of(Toolkit([transfer]).as_mcp_server(mode="programs")) as place:
            async with place.client() as client:
                result = await client.call_tool("execute_tools", {"code": PROGRAM})
                assert result.is_error
                assert "this client's user cannot be asked while a program runs" in text_of(result)
            async with place.client(YES) as client:
                result = await client.call_tool("execute_tools", {"code": PROGRAM})
                assert result.is_error == (place.mode == "auto")
        assert len(EFFECTS) == (place.mode == "legacy")

    run(call())


def leave(call: object) -> Pause:
    return Pause()


def deny(call: object) -> bool:
    return False


@pytest.mark.parametrize("approve", [leave, deny, None])
@pytest.mark.parametrize("answer", [..., YES], ids=["no elicitation", "elicitation"])
@pytest.mark.sampled(every=10)
def test_client_never_approves_its_own_call(
    place_of: Callable[..., Any], approve: Callable[[object], object] | None, answer: object, tmp_path: Path
) -> None:
    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        server = Toolkit([transfer], journal=journal, approve=approve).as_mcp_server(mode="programs")
        async with place_of(server) as place, place.client(answer) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(listed["resume_program"].input_schema["properties"]) == ["run_id"]
            result = await client.call_tool("execute_tools", {"code": PROGRAM})
            if answer is YES and approve is None:
                assert text_of(result).strip() == "5 to Eve"
                return
            assert not place.questions  # the toolkit's own approver decides, or whoever has the journal
            if approve is deny:
                assert "transfer was not approved" in text_of(result)
                return
            run_id = run_id_of(text_of(result))
            (pending,) = journal.run(run_id).pending
            for name in (pending.id, f"{pending.id}@{pending.digest}"):
                refused = await client.call_tool("resume_program", {"run_id": run_id, "approve": [name]})
                assert refused.is_error
                assert "takes no decisions from its client" in text_of(refused)
            still = await client.call_tool("resume_program", {"run_id": run_id})
            assert run_id_of(text_of(still)) == run_id
            assert not EFFECTS
            journal.decide(run_id, {pending.id: True})
            assert text_of(await client.call_tool("resume_program", {"run_id": run_id})).strip() == "5 to Eve"
        assert EFFECTS == [("Eve", 5)]

    run(call())


@pytest.mark.sampled(every=3)
def test_client_that_decides_names_each_call_as_shown(place_of: Callable[..., Any], tmp_path: Path) -> None:
    code = "import asyncio\nprint(transfer('Ada', 1))\nprint(transfer('Eve', 5))"

    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        server = Toolkit([transfer], journal=journal).as_mcp_server(mode="programs", decide="client")
        async with place_of(server) as place, place.client() as client:
            text = text_of(await client.call_tool("execute_tools", {"code": code}))
            run_id = run_id_of(text)
            (key,) = re.findall(r"^(\S+@[0-9a-f]{64}): Allow transfer", text, re.MULTILINE)
            first = journal.run(run_id).pending[0].id
            for wrong in ([first], [f"{first}@{'0' * 64}"], [key.replace(":1@", ":2@")], ["*"]):
                result = await client.call_tool("resume_program", {"run_id": run_id, "approve": wrong})
                assert result.is_error
                assert "nothing was decided or run" in text_of(result)
            text = text_of(await client.call_tool("resume_program", {"run_id": run_id, "approve": [key]}))
            assert EFFECTS == [("Ada", 1)]
            (key,) = re.findall(r"^(\S+@[0-9a-f]{64}): Allow transfer", text, re.MULTILINE)
            both = await client.call_tool("resume_program", {"run_id": run_id, "approve": [key], "deny": [key]})
            assert "transfer was not approved" in text_of(both)
        assert EFFECTS == [("Ada", 1)]

    run(call())


@pytest.mark.parametrize("options", [{"approve": deny, "journal": "runs.db"}, {}])
def test_client_cannot_decide_beside_an_approver(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="decide='client'"):
        Toolkit([transfer], **options).as_mcp_server(mode="programs", decide="client")
    with pytest.raises(ValueError, match="expected decide to be"):
        Toolkit([transfer]).as_mcp_server(decide="model")  # pyright: ignore[reportArgumentType] - a wrong value


@pytest.mark.sampled(every=3)
def test_run_of_one_client_is_not_anothers(place_of: Callable[..., Any], tmp_path: Path) -> None:
    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        server = Toolkit([transfer], journal=journal).as_mcp_server(mode="programs")
        async with place_of(server) as place, place.client() as ada, place.client() as eve:
            run_id = run_id_of(text_of(await ada.call_tool("execute_tools", {"code": PROGRAM})))
            has_sessions = place.over is None or place.mode == "legacy"
            if has_sessions:
                journal.decide(run_id, {journal.run(run_id).pending[0].id: True})
                for tries in (run_id, "0" * 32, run_id[:8]):
                    crossed = await eve.call_tool("resume_program", {"run_id": tries})
                    assert crossed.is_error
                    assert "no such run of this client" in text_of(crossed)
                assert not EFFECTS
                assert text_of(await ada.call_tool("resume_program", {"run_id": run_id})).strip() == "5 to Eve"
                assert (await eve.call_tool("resume_program", {"run_id": run_id})).is_error
            foreign = Toolkit([transfer], journal=journal).execute(PROGRAM)
            assert (await eve.call_tool("resume_program", {"run_id": foreign.run_id})).is_error

    run(call())


@pytest.mark.sampled(every=3)
def test_principal_continues_runs_in_another_connection(place_of: Callable[..., Any], tmp_path: Path) -> None:
    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        toolkit = Toolkit([transfer], journal=journal)
        for principal in ("ada", "eve", "ada"):
            server = toolkit.as_mcp_server(mode="programs", principal=principal)
            async with place_of(server) as place, place.client() as client:
                runs = journal.runs()
                if not runs:
                    await client.call_tool("execute_tools", {"code": PROGRAM})
                    continue
                if runs[0].state == "paused":
                    journal.decide(runs[0].id, {runs[0].pending[0].id: True})
                result = await client.call_tool("resume_program", {"run_id": runs[0].id})
                assert result.is_error == (principal == "eve")
        assert EFFECTS == [("Eve", 5)]

    run(call())


def test_answers_count_once_for_their_caller_and_call(tmp_path: Path) -> None:
    """A client since 2026 forges, repeats and swaps answers."""

    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        server = Toolkit([transfer], journal=journal).as_mcp_server(mode="both")
        place = Place(server, "auto", None)
        async with place.client(YES) as client, place.client(YES) as other:
            five, million = {"to": "Eve", "amount": 5}, {"to": "Eve", "amount": 1_000_000}
            asked = await ask(client, "transfer", five)
            (key,) = asked.input_requests
            answer = {"input_responses": {key: YES}, "request_state": asked.request_state}
            for forged in ("", "x", key, asked.request_state[:-1] + "A" * 2, "0" * 32):
                result = await ask(client, "transfer", five, input_responses={key: YES}, request_state=forged)
                assert result.is_error
            assert (await ask(client, "transfer", five, input_responses={key: YES})).is_error
            assert (await ask(other, "transfer", five, **answer)).is_error
            assert (await ask(client, "execute_tools", {"code": PROGRAM}, **answer)).is_error
            assert not EFFECTS
            more = await ask(client, "transfer", million, **answer)  # is asked about anew
            assert set(more.input_requests) != {key}
            assert (await ask(client, "transfer", five, **answer)).is_error
            (key,) = more.input_requests
            answer = {"input_responses": {key: YES}, "request_state": more.request_state}
            assert not (await ask(client, "transfer", million, **answer)).is_error
            assert (await ask(client, "transfer", million, **answer)).is_error
        assert EFFECTS == [("Eve", 1_000_000)]

    run(call())


def test_questions_of_one_request_are_answered_by_id(tmp_path: Path) -> None:
    code = "import asyncio\n\n\nasync def main():\n    return await asyncio.gather(pay('Ada', 1), pay('Eve', 5))\n\n\n"
    code += "print(await main())"

    @ez_tool(requires_approval=True)
    async def pay(to: str, amount: int) -> str:
        """Send money."""
        EFFECTS.append((to, amount))
        return f"{amount} to {to}"

    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        server = Toolkit([pay], journal=journal).as_mcp_server(mode="programs")
        place = Place(server, "auto", None)
        async with place.client(YES) as client:
            asked = await ask(client, "execute_tools", {"code": code})
            questions: dict[str, Any] = asked.input_requests
            (eve,) = [key for key, question in questions.items() if "Eve" in question.params.message]
            (ada,) = set(questions) - {eve}
            assert {ada, eve} == {f"{call.id}@{call.digest}" for call in journal.runs()[0].pending}
            # One answer, among others that are about no call: the other call is asked about again.
            answers = {"0": YES, "1": YES, ada: YES, "*": YES, eve.partition("@")[0]: YES}
            retry = {"input_responses": answers, "request_state": asked.request_state}
            again = await ask(client, "execute_tools", {"code": code}, **retry)
            assert EFFECTS == [("Ada", 1)]
            assert list(again.input_requests) == [eve]
            no = {eve: ElicitResult(action="decline")}
            retry = {"input_responses": no, "request_state": again.request_state}
            done = await ask(client, "execute_tools", {"code": code}, **retry)
            assert "pay was not approved" in text_of(done)
        assert EFFECTS == [("Ada", 1)]

    run(call())


@pytest.mark.parametrize("program", [False, True])
@pytest.mark.sampled(every=5)
def test_failing_or_slow_approver_refuses(place_of: Callable[..., Any], program: bool) -> None:
    def fail(call: object) -> bool:
        message = "a secret"
        raise RuntimeError(message)

    async def wait(call: object) -> bool:
        await asyncio.Event().wait()
        return True

    async def call() -> None:
        for approve in (fail, wait):
            toolkit = Toolkit([transfer], approve=approve)
            toolkit = replace(toolkit, limits=replace(toolkit.limits, approval_timeout=0.2))
            async with place_of(toolkit.as_mcp_server(mode="both")) as place, place.client(YES) as client:
                name, arguments = ("transfer", {"to": "Eve", "amount": 5})
                if program:
                    name, arguments = ("execute_tools", {"code": PROGRAM})
                result = await client.call_tool(name, arguments)
                assert result.is_error
                assert "transfer was not approved" in text_of(result)
                assert "secret" not in text_of(result)
        assert not EFFECTS

    run(call())
