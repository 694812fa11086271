"""Pruning leaves the runs that others need: those of a session go together, and a failed one after its correction."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import ContinuationError, ExecutionResult, Journal, JournalError, Toolkit, ez_tool
from ez_ptc.journal.chain import Event
from ez_ptc.journal.results import result_to_bytes
from ez_ptc.journal.rows import find_run, prune_run
from tests.costs.test_calls import count_steps
from tests.journal.rewriting import change_row
from tests.journal.sample_runs import NOTHING_KEPT, START

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
    for size in (1, 10, 20, 40):  # the first one pays for what is done once in a process
        path = tmp_path / f"{size}.db"
        with Journal(path, retention=None) as journal, Toolkit([charge], journal=journal) as toolkit:
            with toolkit.session() as session:
                for number in range(size):
                    session.execute(f"x = {number}")
                session.execute("1 / 0")
            steps.append(count_steps(lambda journal=journal: journal.prune(NOTHING_KEPT, states=["done"])))
            assert journal.prune(NOTHING_KEPT) == size + 1
    assert steps[3] - steps[2] < 2.5 * (steps[2] - steps[1])


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


def _write_failed(journal: Journal, *, after: str | None = None, session: str = "", position: int = 0) -> str:
    data = {**START, "continues": {"run": after, "reread": False}} if after is not None else START
    row, _ = journal.start("1 / 0", data, session=session, position=position)
    result = ExecutionResult(success=False, status="failed", error="it failed")
    journal.finish(row, [Event("end", data={"state": "failed"}, payload=result_to_bytes(result))], "fail")
    journal.store.locks.disown(row.number)
    return row.id


def _is_there(journal: Journal, run_id: str) -> bool:
    return run_id in {run.id for run in journal.runs()}


def test_failed_run_stays_while_a_failed_correction_of_it_does(
    toolkit: Toolkit, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3 * 86_400)
    first = toolkit.execute("charge(1)\n1 / 0")
    other = toolkit.execute("1 / 0")
    monkeypatch.setattr(time, "time", lambda: now - 2 * 86_400)
    second = toolkit.execute("charge(1)\ncharge(2)\n1 / 0", after=first)
    monkeypatch.undo()
    third = toolkit.execute("1 / 0", after=second)
    assert journal.prune(timedelta(days=1)) == 1
    assert not _is_there(journal, str(other.run_id))
    assert toolkit.execute("charge(1)\ncharge(2)\ncharge(3)", after=third).success
    assert _effects == [1, 2, 3]


@pytest.mark.parametrize("in_session", [False, True])
@pytest.mark.parametrize("states", [["failed"], ["done", "failed"]])
def test_failed_runs_go_with_the_last_of_them(journal: Journal, states: list[str], in_session: bool) -> None:
    session = "s" * 32 if in_session else ""
    last = _write_failed(journal, session=session)
    for position in range(1, 5):
        last = _write_failed(journal, after=last, session=session, position=position)
    assert journal.prune(NOTHING_KEPT, states=["done"]) == 0
    assert journal.prune(NOTHING_KEPT, states=states) == 5


def test_corrections_that_leave_a_session_and_come_back_go_with_it(toolkit: Toolkit, journal: Journal) -> None:
    with toolkit.session() as session, toolkit.session() as other:
        first = session.execute("charge(1)\n1 / 0")
        second = toolkit.execute("charge(1)\n1 / 0", after=first)
        third = other.execute("charge(1)\n1 / 0", after=second)
        last = session.execute("charge(1)\n1 / 0", after=third)
    assert last.status == "failed"
    assert journal.prune(NOTHING_KEPT) == 4
    assert journal.runs() == []


@pytest.mark.parametrize("is_in_session", [False, True])
def test_corrections_that_leave_a_session_and_come_back_stay_with_it(
    is_in_session: bool, toolkit: Toolkit, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3 * 86_400)
    with toolkit.session() as session, toolkit.session() as other:
        first = session.execute("charge(1)\n1 / 0")
        second = toolkit.execute("charge(1)\n1 / 0", after=first)
        third = other.execute("charge(1)\n1 / 0", after=second)
        last = session.execute("charge(1)\n1 / 0", after=third)
        lost = toolkit.execute("1 / 0")
        monkeypatch.undo()
        if is_in_session:
            session.execute("1")
        else:
            toolkit.execute("1 / 0", after=first)
    assert journal.prune(timedelta(days=1)) == 1
    assert not _is_there(journal, str(lost.run_id))
    assert toolkit.execute("charge(1)\ncharge(2)", after=last).success
    assert _effects == [1, 2]


def test_correction_that_begins_during_a_prune_keeps_its_failed_run(
    toolkit: Toolkit, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = toolkit.execute("charge(1)\n1 / 0")
    paused: list[ExecutionResult] = []
    make_room = journal.store.make_room

    def make_room_while_it_begins() -> None:  # between the look for corrections and the removal
        make_room()
        paused.append(toolkit.execute("charge(1)\nprint(pay(2))", after=failed))

    monkeypatch.setattr(journal.store, "make_room", make_room_while_it_begins)
    assert journal.prune(NOTHING_KEPT) == 0
    assert paused[0].status == "paused"
    assert _is_there(journal, str(failed.run_id))
    assert _resume(toolkit, paused[0]).output == "2\n"
    assert _effects == [1, 2]


def test_correction_of_a_run_that_was_just_pruned_never_begins(
    toolkit: Toolkit, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = toolkit.execute("charge(1)\n1 / 0")
    start = journal.start

    def prune_before(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - as of the method
        assert journal.prune(NOTHING_KEPT) == 1
        return start(*args, **named)

    monkeypatch.setattr(journal, "start", prune_before)
    with pytest.raises(ContinuationError, match="no record of run"):
        toolkit.execute("charge(1)\ncharge(2)", after=failed)
    assert _effects == [1]
    assert journal.runs() == []


def test_correction_whose_first_run_is_lost_says_so(toolkit: Toolkit, journal: Journal) -> None:
    first = toolkit.execute("charge(1)\n1 / 0")
    second = toolkit.execute("1 / 0", after=first)
    row = journal.store.read(lambda rows: find_run(rows, str(first.run_id)))
    journal.store.transact(lambda rows: prune_run(rows, row))  # as an earlier version did
    with pytest.raises(ContinuationError, match=f"no record of run {first.run_id} any more"):
        toolkit.execute("charge(1)", after=second)
    assert _effects == [1]
