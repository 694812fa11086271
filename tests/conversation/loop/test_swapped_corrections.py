"""Conversations of two users on one toolkit: a correction gets the results of its own user's program alone."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import (
    Context,
    LLMPromptBuilder,
    Message,
    ScriptedProvider,
    ToolCall,
    Toolkit,
    ToolResultMessage,
    ez_tool,
    llm,
)

USERS = ("ada", "bob")
PAIRS = 3


@ez_tool
def charge(order: int, user: Context[str]) -> str:
    """Charge an order."""
    return f"{user} charged {order}"


def begin(toolkit: Toolkit, user: str, number: int) -> LLMPromptBuilder:
    """Return a conversation whose first program fails after a call, and whose next one makes the same call."""
    failing = ToolCall("c1", "execute_tools", {"code": f"charge({number})\n1 / 0"})
    corrected = ToolCall("c2", "execute_tools", {"code": f"print(charge({number}))"})
    model = ScriptedProvider(failing, "It failed.", corrected, "Done.")
    return llm().toolkit(toolkit).tool_context(user).provider(model)


def last_report(messages: list[Message]) -> str:
    return [str(message.result) for message in messages if isinstance(message, ToolResultMessage)][-1]


def check_reports(reports: list[tuple[str, int, str]]) -> None:
    """Check what each user's correction has printed: the charge of that user, and of no other."""
    assert len(reports) == 2 * PAIRS
    assert [f"{user} charged {number}\n" for user, number, _ in reports] == [report for _, _, report in reports]


@pytest.fixture(params=["memory", "journal"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    return {"journal": tmp_path / "runs.db"} if request.param == "journal" else {}


def test_swapped_conversations_in_threads_never_cross(options: dict[str, Any]) -> None:
    with Toolkit([charge], **options) as toolkit, ThreadPoolExecutor(2 * PAIRS) as threads:

        def ask(case: tuple[str, int]) -> LLMPromptBuilder:
            return begin(toolkit, *case).converse("Charge.")[1]

        def correct(failed: LLMPromptBuilder, case: tuple[str, int]) -> tuple[str, int, str]:
            user, number = case
            return user, number, last_report(failed.tool_context(user).converse("Try again.")[0])

        cases = [(user, number) for number in range(PAIRS) for user in USERS]
        swapped = [(user, number) for number in range(PAIRS) for user in reversed(USERS)]
        check_reports([*threads.map(correct, threads.map(ask, cases), swapped)])


def test_swapped_conversations_in_tasks_never_cross(options: dict[str, Any]) -> None:
    async def correct(toolkit: Toolkit, user: str, number: int, other: str) -> tuple[str, int, str]:
        _, failed = await begin(toolkit, other, number).prompt_conversation("Charge.")
        messages, _ = await failed.tool_context(user).prompt_conversation("Try again.")
        return user, number, last_report(messages)

    async def correct_all() -> list[tuple[str, int, str]]:
        with Toolkit([charge], **options) as toolkit:
            swaps = [(user, number, other) for number in range(PAIRS) for user, other in (USERS, USERS[::-1])]
            return await asyncio.gather(*(correct(toolkit, *swap) for swap in swaps))

    check_reports(asyncio.run(correct_all()))


def test_own_conversations_at_once_continue_their_own_programs(options: dict[str, Any]) -> None:
    done: list[str] = []

    @ez_tool
    def charge(order: int, user: Context[str]) -> str:
        """Charge an order."""
        done.append(f"{user} charged {order}")
        return done[-1]

    with Toolkit([charge], **options) as toolkit, ThreadPoolExecutor(2 * PAIRS) as threads:

        def ask_twice(case: tuple[str, int]) -> tuple[str, int, str]:
            _, failed = begin(toolkit, *case).converse("Charge.")
            return *case, last_report(failed.converse("Try again.")[0])

        cases = [(user, number) for number in range(PAIRS) for user in USERS]
        check_reports([*threads.map(ask_twice, cases)])
    assert sorted(done) == sorted(f"{user} charged {number}" for user, number in cases)
