"""Programs of a conversation that correct a failed one."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from ez_ptc import Message, ScriptedProvider, TextMessage, ToolCall, Toolkit, ToolResultMessage, ez_tool, llm

Mode = Literal["tool", "prompt"]
FAILED = "refund(1)\n1 / 0"
PAID = "print(refund(1))"

pytestmark = pytest.mark.parametrize("mode", ["tool", "prompt"])


def _toolkit(**options: Any) -> Toolkit:
    count = 0

    @ez_tool
    def refund(order: int) -> str:
        """Refund an order."""
        nonlocal count
        count += 1
        return f"refund {count} of {order}"

    return Toolkit([refund], **options)


def _programs(mode: Mode, *programs: str) -> list[ToolCall | str]:
    if mode == "prompt":
        return [f"```python\n{program}\n```" for program in programs]
    return [ToolCall(f"c{number}", "execute_tools", {"code": program}) for number, program in enumerate(programs)]


def _reports(messages: list[Message]) -> list[str]:
    reports = [str(m.result) for m in messages if isinstance(m, ToolResultMessage)]
    return reports + [
        m.text for m in messages if isinstance(m, TextMessage) and m.text.startswith(("These calls", "refund"))
    ]


def test_conversation_continues_failed_program(mode: Mode) -> None:
    with _toolkit() as toolkit:
        model = ScriptedProvider(*_programs(mode, FAILED, PAID, PAID), "Done.")
        messages, _ = llm().toolkit(toolkit, mode=mode).provider(model).converse("Refund.")
    first, *others = _reports(messages)
    assert "the same call returns its result again" in first
    last = "Write the whole corrected program in one ```python block."
    assert first.endswith(last if mode == "prompt" else "Call execute_tools again with the whole corrected program.")
    assert others == ["refund 1 of 1\n", "refund 2 of 1\n"]


def test_next_question_continues_failed_program(mode: Mode) -> None:
    with _toolkit() as toolkit:
        model = ScriptedProvider(*_programs(mode, FAILED), "It failed.", *_programs(mode, PAID, PAID), "Done.")
        _, conversation = llm().toolkit(toolkit, mode=mode).provider(model).converse("Refund.")
        messages, _ = conversation.converse("Try again.")
    assert _reports(messages)[1:] == ["refund 1 of 1\n", "refund 2 of 1\n"]


def test_conversation_of_another_context_starts_anew(mode: Mode) -> None:
    with _toolkit() as toolkit:
        model = ScriptedProvider(*_programs(mode, FAILED), "It failed.", *_programs(mode, PAID), "Done.")
        _, conversation = llm().toolkit(toolkit, mode=mode).provider(model).converse("Refund.")
        messages, _ = conversation.tool_context("bob").converse("Try again.")
    assert _reports(messages)[-1] == "refund 2 of 1\n"
