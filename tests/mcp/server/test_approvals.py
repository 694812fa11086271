"""Who is asked, what counts as a yes, and how many questions are kept."""

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_types import ElicitResult

from ez_ptc import Journal, Toolkit, ToolRegistry, ez_tool
from ez_ptc.mcp.server.approvals import _MAX_OPEN as MAX_OPEN  # pyright: ignore[reportPrivateUsage] - no client learns it
from ez_ptc.mcp.server.approvals import OpenQuestions, decision_of
from ez_ptc.mcp.server.http import HttpSettings
from ez_ptc.messages import PendingCall
from ez_ptc.tools.decisions import Deny, Pause
from tests.mcp.servers.over_http import BEARER, MAX_SECONDS, TOKEN, served
from tests.mcp.servers.places import Place
from tests.mcp.servers.shop import toolkit

CALL = PendingCall("1", "transfer", {"amount": 5}, "")


@pytest.mark.parametrize("content", [{"approve": True}, {"approve": False}, None])
def test_yes_in_a_refusal_approves_nothing(content: dict[str, str | int | float | bool | list[str] | None]) -> None:
    assert isinstance(decision_of(ElicitResult(action="decline", content=content)), Deny)
    assert isinstance(decision_of(ElicitResult(action="cancel", content=content)), Pause)


@pytest.mark.security
def test_open_questions_are_kept_up_to_a_number() -> None:
    questions = OpenQuestions()
    tokens = [questions.ask_about_tool("ada", "transfer", CALL).request_state for _ in range(MAX_OPEN + 2)]
    kept = [token for token in tokens if questions.take(token or "", "ada", "transfer") is not None]
    assert kept == tokens[2:]


def test_question_can_be_answered_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = OpenQuestions()
    early, late = (questions.ask_about_tool("ada", "transfer", CALL).request_state or "" for _ in range(2))
    asked_at = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: asked_at + 86_300)
    assert questions.take(early, "ada", "transfer") is not None
    monkeypatch.setattr(time, "monotonic", lambda: asked_at + 86_400)
    assert questions.take(late, "ada", "transfer") is None


@pytest.mark.parametrize(
    ("elicitation", "is_asked"),
    [({"url": {}}, False), ({"form": {}}, True), ({"form": {}, "url": {}}, True), ({}, True)],
)
def test_client_that_only_opens_addresses_is_not_asked(elicitation: dict[str, object], is_asked: bool) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"elicitation": elicitation},
        "clientInfo": {"name": "test", "version": "1"},
    }
    accepted = {"Accept": "application/json, text/event-stream", "Authorization": BEARER}
    shop = toolkit.as_mcp_server(question_timeout=0.2)
    with (
        served(HttpSettings(token=TOKEN), shop) as server,
        httpx2.Client(headers=accepted, timeout=MAX_SECONDS) as http,
    ):
        url = f"http://{server.host}/mcp"
        begun = http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        http.headers |= {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-06-18"}
        http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"name": "refund", "arguments": {"order_id": 1}}
        answer = http.post(url, json={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}).text
    assert ("elicitation/create" in answer) is is_asked
    assert ("this client cannot ask its user" in answer) is not is_asked
    assert "refunded" not in answer


def test_client_answers_only_what_it_is_asked(tmp_path: Path) -> None:
    """Another call of the same program waits for the host's approver."""
    effects: list[str] = []

    @ez_tool(requires_approval=True)
    async def pay(to: str) -> None:
        """Send money."""
        effects.append(f"paid {to}")

    @ez_tool(requires_approval=True)
    async def hold(to: str) -> None:
        """Hold money."""
        effects.append(f"held {to}")

    async def call() -> None:
        journal = Journal(tmp_path / "runs.db")
        tools = (pay, *ToolRegistry([hold], approve=lambda _: Pause()))
        server = Toolkit(tools, journal=journal).as_mcp_server(mode="programs")
        arguments = {"code": "import asyncio\nawait asyncio.gather(pay('Ada'), hold('Eve'))"}
        yes = ElicitResult(action="accept", content={"approve": True})
        async with Place(server, "auto", None).client(yes) as client:
            ask = partial(client.session.call_tool, "execute_tools", arguments, allow_input_required=True)
            asked: Any = await ask()
            waiting: dict[str, Any] = {f"{call.id}@{call.digest}": yes for call in journal.runs()[0].pending}
            assert len(waiting) == len(asked.input_requests) + 1
            await ask(input_responses=waiting, request_state=asked.request_state)
        assert [call.tool for call in journal.runs()[0].pending] == ["hold"]

    asyncio.run(asyncio.wait_for(call(), MAX_SECONDS))
    assert effects == ["paid Ada"]
