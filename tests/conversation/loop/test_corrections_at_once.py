"""Two programs of one answer that correct the same failed one."""

from pathlib import Path
from typing import Literal

import pytest

from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ToolResultMessage, ez_tool, llm

CORRECTED = "print(refund(1))\nprint(refund(2))\n1 / 0"


def test_two_corrections_of_one_answer_have_effects_once() -> None:
    refunded: list[int] = []

    @ez_tool
    def refund(order: int) -> str:
        """Refund an order."""
        refunded.append(order)
        return f"refund {len(refunded)} of {order}"

    failed = ToolCall("a", "execute_tools", {"code": "refund(1)\n1 / 0"})
    corrections = [ToolCall(call_id, "execute_tools", {"code": CORRECTED}) for call_id in ("b", "c")]
    with Toolkit([refund]) as toolkit:
        model = ScriptedProvider(failed, corrections, "Done.")
        messages, _ = llm().toolkit(toolkit, mode="tool").provider(model).converse("Refund.")
    _, *reports = [str(message.result) for message in messages if isinstance(message, ToolResultMessage)]
    assert [report.count("refund 1 of 1\n    refund 2 of 2\n") for report in reports] == [1, 1]
    assert refunded == [1, 2]


def test_two_paused_corrections_of_one_answer_go_on(tmp_path: Path) -> None:
    done: list[str] = []

    @ez_tool
    def refund(order: int) -> None:
        """Refund an order."""
        done.append(f"refund {order}")

    @ez_tool(requires_approval=True)
    def ship(order: int) -> int:
        """Ship an order."""
        done.append(f"ship {order}")
        return order

    failed = ToolCall("a", "execute_tools", {"code": "refund(1)\n1 / 0"})
    corrections = [ToolCall(call_id, "execute_tools", {"code": f"refund(1)\nship({call_id})"}) for call_id in "12"]
    with Toolkit([refund, ship], journal=tmp_path / "runs.db") as toolkit:
        model = ScriptedProvider(failed, corrections, "Done.")
        _, conversation = llm().toolkit(toolkit, mode="tool").provider(model).converse("Refund, and ship.")
        messages, _ = conversation.resume({call.id: True for call in conversation.pending})
    assert [message.success for message in messages if isinstance(message, ToolResultMessage)] == [False, True, True]
    assert sorted(done) == ["refund 1", "ship 1", "ship 2"]


@pytest.mark.parametrize("mode", ["tool", "prompt"])
def test_correction_beside_that_of_another_conversation_is_reported(mode: Literal["tool", "prompt"]) -> None:
    refunded: list[int] = []
    reports: list[str] = []

    @ez_tool
    def refund(order: int) -> None:
        """Refund an order."""
        refunded.append(order)

    @ez_tool
    def branch() -> None:
        """Go on from the failed program in another conversation, while this one does."""
        reports.append(report_of(answer("refund(1)\nrefund(3)")))

    def answer(code: str) -> ToolCall | str:
        return ToolCall("a", "execute_tools", {"code": code}) if mode == "tool" else f"```python\n{code}\n```"

    def report_of(program: ToolCall | str) -> str:
        messages, _ = failed.provider(ScriptedProvider(program, "Done.")).converse("Go on.")
        return str(messages[-2])

    with Toolkit([refund, branch]) as toolkit:
        model = ScriptedProvider(answer("refund(1)\n1 / 0"), "It failed.")
        _, failed = llm().toolkit(toolkit, mode=mode).provider(model).converse("Refund.")
        reports.append(report_of(answer("refund(1)\nbranch()\nrefund(2)")))
    assert ["another correction of that program is running" in report for report in reports] == [True, False]
    assert refunded == [1, 2]
