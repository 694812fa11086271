"""A decision that decides nothing leaves a run as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ez_ptc import Deny, Journal, Pause, Toolkit, ez_tool


@ez_tool
def stop() -> str:
    """End this process, before anyone knows what happened."""
    os._exit(0)


@ez_tool(requires_approval=True)
def pay(amount: int) -> int:
    """Pay an amount."""
    return amount


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "runs.db") as journal:
        yield journal


@pytest.mark.parametrize(
    ("state", "waits"), [("paused", False), ("paused", True), ("resumable", False), ("outcome_unknown", False)]
)
def test_empty_decision_leaves_the_run_as_it_was(state: str, waits: bool, journal: Journal) -> None:
    pid = os.fork()
    if not pid:
        with Toolkit([stop, pay], journal=journal) as toolkit:
            toolkit.execute("stop()" if state == "outcome_unknown" else "pay(1)", run_id="r")
            os._exit(0)
    os.waitpid(pid, 0)
    (call,) = journal.run("r").pending
    if state == "resumable":
        journal.decide("r", {call.id: True})
    before = [*journal.export("r")]
    for _ in range(2):
        journal.decide("r", {call.id: Pause()} if waits else {})
        assert (journal.run("r").state, [*journal.export("r")]) == (state, before)
        assert journal.verify() == 1
    with Toolkit([stop, pay], journal=journal) as toolkit:
        assert toolkit.resume("r", {} if state == "resumable" else {call.id: Deny("no")}).status != "paused"
