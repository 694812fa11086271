"""What is written to the journal's rows is read back."""

from __future__ import annotations

from pathlib import Path

from ez_ptc import Deny, Journal, Toolkit, ez_tool


@ez_tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def test_lone_surrogate_in_a_reason_damages_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit([pay], journal=journal) as toolkit:
        paused = toolkit.execute("pay(1)")
        assert paused.run_id is not None
        refused = toolkit.resume(paused.run_id, {paused.pending[0].id: Deny("no \ud800", by="Ann \ud800")})

        assert refused.error is not None
        assert refused.error.startswith("ToolError: pay was not approved: no")
        assert journal.run(paused.run_id).state == "failed"
        assert journal.verify() == 1
