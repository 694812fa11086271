"""Answers and open questions by themselves: what counts as a yes, and how many questions are kept."""

import pytest
from mcp_types import ElicitResult

from ez_ptc.mcp.server.approvals import _MAX_OPEN as MAX_OPEN  # pyright: ignore[reportPrivateUsage] - no client learns it
from ez_ptc.mcp.server.approvals import OpenQuestions, decision_of
from ez_ptc.messages import PendingCall
from ez_ptc.tools.decisions import Deny, Pause

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
