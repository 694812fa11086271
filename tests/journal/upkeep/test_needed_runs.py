"""Pruning leaves the runs that others need: those of a session go together, and a failed one after its correction."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from ez_ptc import ExecutionResult, Journal, JournalError, Toolkit, ez_tool
from tests.costs.test_calls import count_steps
from tests.journal.rewriting import change_row
from tests.journal.sample_runs import NOTHING_KEPT

_effects: list[int] = []


@ez_tool
def charge(amount: int) -> int:
    """Charge an amount."""
    _effects.append(amount)
    return amount


@ez_tool(requires_approval=True)
def pay(amount: int) -> int:
    """Pay an amount."""
    _effects.append(amount)
    return amount


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "runs.db", retention=None) as journal:
        yield journal


@pytest.fixture
def toolkit(journal: Journal) -> Iterator[Toolkit]:
    _effects.clear()
    with Toolkit([charge, pay], journal=journal) as toolkit:
        yield toolkit


def _resume(toolkit: Toolkit, paused: ExecutionResult) -> ExecutionResult:
    return toolkit.resume(str(paused.run_id), {call.id: True for call in paused.pending})


def test_failed_run_stays_while_its_correction_may_go_on(toolkit: Toolkit, journal: Journal) -> None:
    first = toolkit.execute("charge(1)\n1 / 0")
    second = toolkit.execute("charge(1)\ncharge(2)\n1 / 0", after=first)
    other = toolkit.execute("1 / 0")
    paused = toolkit.execute("charge(1)\ncharge(2)\nprint(pay(3))\ncharge(1)", after=second)
    assert paused.status == "paused"
    assert journal.prune(NOTHING_KEPT) == 1
    assert {run.id for run in journal.runs()} == {first.run_id, second.run_id, paused.run_id}
    with pytest.raises(JournalError, match="it was pruned"):
        journal.run(str(other.run_id))
    assert _resume(toolkit, paused).success
    assert _effects == [1, 2, 3, 1]
    assert journal.prune(NOTHING_KEPT) == 3


def test_failed_run_of_a_session_stays_while_its_correction_may_go_on(toolkit: Toolkit, journal: Journal) -> None:
    with toolkit.session() as session:
        done = session.execute("x = charge(1)")
        failed = session.execute("charge(2)\n1 / 0")
    paused = toolkit.execute("charge(2)\nprint(pay(3))", after=failed)
    assert paused.status == "paused"
    assert journal.prune(NOTHING_KEPT) == 0
    assert {run.id for run in journal.runs()} == {done.run_id, failed.run_id, paused.run_id}
    assert _resume(toolkit, paused).success
    assert _effects == [1, 2, 3]
    assert journal.prune(NOTHING_KEPT) == 3


def test_pruning_takes_linear_time_for_a_session_that_stays(tmp_path: Path) -> None:
    steps: list[int] = []
    for size in (10, 20, 40):
        path = tmp_path / f"{size}.db"
        with Journal(path, retention=None) as journal, Toolkit([charge], journal=journal) as toolkit:
            with toolkit.session() as session:
                for number in range(size):
                    session.execute(f"x = {number}")
                session.execute("1 / 0")
            steps.append(count_steps(lambda journal=journal: journal.prune(NOTHING_KEPT, states=["done"])))
            assert journal.prune(NOTHING_KEPT) == size + 1
    assert steps[2] - steps[1] < 2.5 * (steps[1] - steps[0])


def test_runs_of_a_session_are_removed_together(toolkit: Toolkit, journal: Journal) -> None:
    with toolkit.session() as session:
        session.execute("x = charge(1)")
        session.execute("y = x + 1\n1 / 0")
        paused = session.execute("print(x, y, pay(3))")
    toolkit.execute("1")
    assert [journal.prune(NOTHING_KEPT, states=states) for states in ("failed", "done", ("done", "failed"))] == [
        0,
        1,
        0,
    ]
    assert _resume(toolkit, paused).output == "1 2 3\n"
    assert journal.prune(NOTHING_KEPT, states=["done"]) == 0
    with toolkit.session(session.id) as session:
        assert session.execute("x + y").return_value == 3
    assert journal.prune(NOTHING_KEPT) == 4
    assert _effects == [1, 3]
    assert journal.verify() == 0


def test_session_is_as_old_as_its_last_program(
    toolkit: Toolkit, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    sessions = [toolkit.session(), toolkit.session()]
    for days, programs in {40: sessions, 1: sessions[1:], 0: ()}.items():
        monkeypatch.setattr(time, "time", lambda days=days: now - days * 86_400)
        for session in programs:
            session.execute(f"x{days} = {days}")
        toolkit.execute("1")
    for session in sessions:
        session.close()
    assert journal.prune(timedelta(days=30)) == 2
    assert {run.session for run in journal.runs()} == {None, sessions[1].id}
    with toolkit.session(sessions[1].id) as session:
        assert session.execute("x40 + x1").return_value == 41


def test_damaged_run_keeps_its_session_alone(toolkit: Toolkit, journal: Journal) -> None:
    with toolkit.session() as session:
        damaged, _ = session.execute("x = 1"), session.execute("y = 1")
    toolkit.execute("1")
    change_row(journal, str(damaged.run_id), state="5")
    assert journal.prune(NOTHING_KEPT) == 1
    journal.discard(str(damaged.run_id))
    assert journal.prune(NOTHING_KEPT) == 1


def test_paused_run_of_a_session_can_be_removed_alone(toolkit: Toolkit, journal: Journal) -> None:
    with toolkit.session() as session:
        session.execute("x = 1")
        session.execute("pay(1)")
    assert journal.prune(NOTHING_KEPT, states=["paused"]) == 1
    with toolkit.session(session.id) as session:
        assert session.execute("x").return_value == 1
