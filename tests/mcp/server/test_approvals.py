"""Who is asked, what counts as a yes, and how many questions are kept."""

import httpx2
import pytest
from mcp_types import ElicitResult

from ez_ptc.mcp.server.approvals import _MAX_OPEN as MAX_OPEN  # pyright: ignore[reportPrivateUsage] - no client learns it
from ez_ptc.mcp.server.approvals import OpenQuestions, decision_of
from ez_ptc.mcp.server.http import HttpSettings
from ez_ptc.messages import PendingCall
from ez_ptc.tools.decisions import Deny, Pause
from tests.mcp.servers.over_http import BEARER, MAX_SECONDS, TOKEN, served
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
