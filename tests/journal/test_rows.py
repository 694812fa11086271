"""What is written to the journal's rows is read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ez_ptc import Deny, Journal, JournalError, Toolkit, ez_tool


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


def test_id_with_a_lone_surrogate_is_unknown(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit([], journal=journal) as toolkit:
        uses: list[Callable[[str], object]] = [journal.run, journal.session_of, toolkit.resume]
        uses.append(lambda name: journal.runs(before=name))
        for use in uses:
            with pytest.raises(JournalError, match=r"the journal has no run '\\ud800'"):
                use("\ud800")
        with pytest.raises(JournalError, match="no session"):
            toolkit.session("\ud800")
        assert journal.store.read(lambda rows: rows.ids_like("\ud800")) == []
