"""Calls about which a client's user has said nothing: they wait, and no one else decides about them."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, ElicitResult, TextContent

from ez_ptc import Deny, Journal, PendingCall, Toolkit, ez_tool
from ez_ptc.tools.decisions import Pause
from tests.mcp.servers.places import Place

EFFECTS: list[str] = []
YES = ElicitResult(action="accept", content={"approve": True})
DISMISSED = ElicitResult(action="cancel")
BOTH = "import asyncio\nprint(await asyncio.gather(pay('Ada'), pay('Eve')))"


@ez_tool(requires_approval=True)
async def pay(to: str) -> str:
    """Send money."""
    EFFECTS.append(to)
    return f"paid {to}"


@ez_tool
def stop() -> str:
    """End this process, before anyone knows what happened."""
    os._exit(0)


@pytest.fixture(autouse=True)
def effects() -> list[str]:
    EFFECTS.clear()
    return EFFECTS


async def ask(client: Client, name: str, arguments: dict[str, Any], **retry: Any) -> Any:  # noqa: ANN401 - either result
    """Call a tool once, without answering for the client's user."""
    return await client.session.call_tool(name, arguments, allow_input_required=True, **retry)


def text_of(result: Any) -> str:  # noqa: ANN401 - of either result, only one has text
    assert isinstance(result, CallToolResult)
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def test_dismissed_question_leaves_its_call_waiting(tmp_path: Path) -> None:
    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        server = Toolkit([pay], journal=journal).as_mcp_server(mode="programs")
        async with Place(server, "auto", None).client(YES) as client:
            asked = await ask(client, "execute_tools", {"code": BOTH})
            keys = {question.params.message.split('"')[1]: key for key, question in asked.input_requests.items()}
            run_id = journal.runs()[0].id
            before = [*journal.export(run_id)]

            async def answer(answers: dict[str, ElicitResult], state: str) -> Any:  # noqa: ANN401 - either result
                responses = {keys[name]: item for name, item in answers.items()}
                retry = {"input_responses": responses, "request_state": state}
                return await ask(client, "execute_tools", {"code": BOTH}, **retry)

            waits = text_of(await answer({"Ada": DISMISSED, "Eve": DISMISSED}, asked.request_state))
            assert "a person's decision about 2 calls: the user dismissed the question. Once" in waits
            assert ([*journal.export(run_id)], EFFECTS) == (before, [])
            again = await ask(client, "resume_program", {"run_id": run_id})
            assert set(again.input_requests) == set(keys.values())
            retry = {
                "input_responses": {keys["Ada"]: YES, keys["Eve"]: DISMISSED},
                "request_state": again.request_state,
            }
            waits = text_of(await ask(client, "resume_program", {"run_id": run_id}, **retry))
            assert f"about 1 call. Once the person has decided, call resume_program with run_id {run_id!r}" in waits
            assert EFFECTS == ["Ada"]
            assert [call.arguments for call in journal.run(run_id).pending] == [{"to": "Eve"}]

    asyncio.run(asyncio.wait_for(call(), 60))


def test_question_dismissed_while_a_program_waits_is_the_reason(tmp_path: Path) -> None:
    async def call() -> None:
        server = Toolkit([pay], journal=tmp_path / "runs.db").as_mcp_server(mode="programs")
        async with Place(server, "legacy", None).client(DISMISSED) as client:
            text = text_of(await client.call_tool("execute_tools", {"code": "await pay('Ada')"}))
        assert "a person's decision about 1 call: the user dismissed the question. Once" in text

    asyncio.run(asyncio.wait_for(call(), 60))
    assert EFFECTS == []


def leave(call: PendingCall) -> Pause:
    del call
    return Pause()


def test_client_neither_asks_nor_denies_beside_an_approver(tmp_path: Path) -> None:
    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        server = Toolkit([pay], journal=journal, approve=leave).as_mcp_server(mode="programs")
        async with Place(server, "auto", None).client(YES) as client:
            assert "waits for a person's decision" in text_of(await ask(client, "execute_tools", {"code": BOTH}))
            run = journal.runs()[0]
            names = [f"{call.id}@{call.digest}" for call in run.pending]
            refused = await ask(client, "resume_program", {"run_id": run.id, "deny": names})
            assert "takes no decisions from its client" in text_of(refused)
            assert len(journal.run(run.id).pending) == len(names)

    asyncio.run(asyncio.wait_for(call(), 60))


@pytest.mark.parametrize("decide", ["person", "client"])
def test_client_settles_no_unknown_outcome(decide: Any, tmp_path: Path) -> None:  # noqa: ANN401 - one of two texts
    if not (pid := os.fork()):
        with Toolkit([stop], journal=tmp_path / "runs.db") as toolkit:
            toolkit.execute("stop()", run_id="r", principal="ada")
            os._exit(0)
    os.waitpid(pid, 0)
    journal = Journal(tmp_path / "runs.db")
    (pending,) = journal.run("r").pending
    assert pending.state == "outcome_unknown"
    before = [*journal.export("r")]

    async def call() -> None:
        server = Toolkit([stop], journal=journal).as_mcp_server(mode="programs", decide=decide, principal="ada")
        async with Place(server, "auto", None).client(YES) as client:
            for choice in (
                {},
                {"approve": [f"{pending.id}@{pending.digest}"]},
                {"deny": [f"{pending.id}@{pending.digest}"]},
            ):
                result = await ask(client, "resume_program", {"run_id": "r", **choice})
                assert isinstance(result, CallToolResult)
                assert re.search(
                    "it is unknown whether stop|expected calls that wait|takes no decisions", text_of(result)
                )

    asyncio.run(asyncio.wait_for(call(), 60))
    assert [*journal.export("r")] == before
    with Toolkit([stop], journal=journal) as toolkit:
        assert toolkit.resume("r", {pending.id: Deny("it failed")}, principal="ada").status == "failed"
