"""Two programs of one answer that correct the same failed one."""

from pathlib import Path

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
