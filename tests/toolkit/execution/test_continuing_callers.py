"""Who may continue a failed program, in threads, and with a journal."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import ContinuationError, ExecutionResult, Toolkit, ez_tool
from tests.toolkit.execution.continuing import FAILED, Desk, texts
from tests.toolkit.execution.counting import Run

# Callers --------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "other",
    [{"principal": "bob"}, {"context": "else"}, {"context": {"a": 1.0}}, {"principal": None, "context": object()}],
)
def test_other_callers_are_refused(desk: Desk, run: Run, options: dict[str, Any], other: dict[str, Any]) -> None:
    mine = {"principal": "ada", "context": {"a": 1}}
    with desk.toolkit(**options) as toolkit:
        failed = run(toolkit, FAILED, **mine)
        with pytest.raises(ContinuationError, match="belongs to another"):
            run(toolkit, "refund(1)", **{**mine, **other}, after=failed)
        assert texts(run(toolkit, "print(refund(1))", **mine, after=failed)) == ["refund 2"]
    assert len(desk.done) == 4


def test_other_toolkits_and_results_are_refused(desk: Desk, run: Run) -> None:
    with desk.toolkit() as toolkit, Desk().toolkit() as other:
        failed = run(toolkit, FAILED)
        with pytest.raises(ContinuationError, match="another toolkit"):
            run(other, "refund(1)", after=failed)
        for result in (ExecutionResult(success=False, status="failed"), pickle.loads(pickle.dumps(failed))):
            with pytest.raises(ContinuationError, match="another toolkit"):
                run(toolkit, "refund(1)", after=result)
        with pytest.raises(ContinuationError, match="one that is done"):
            run(toolkit, "refund(1)", after=run(toolkit, "1"))
        with pytest.raises(TypeError, match="expected after to be the ExecutionResult"):
            run(toolkit, "refund(1)", after="run-1")
        assert texts(run(toolkit, "print(refund(1))", after=copy.deepcopy(failed))) == ["refund 2"]


def test_result_shows_nothing_of_its_caller(desk: Desk) -> None:
    with desk.toolkit() as toolkit:
        failed = toolkit.execute(FAILED, context="secret-4711")
    assert "secret-4711" not in repr(failed) + str(failed) + repr(failed.progress)


def test_swapped_results_of_two_users_never_cross(desk: Desk) -> None:
    with desk.toolkit() as toolkit:
        failed = {user: toolkit.execute(f"note('{user}')\nnote(0)\n1 / 0", context=user) for user in ("ada", "bob")}

        def attempt(number: int) -> bool:
            user, other = ("ada", "bob") if number % 2 else ("bob", "ada")
            try:
                toolkit.execute(f"print(note('{other}'))", context=user, after=failed[other])
            except ContinuationError:
                return True
            return False

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(attempt, range(40)))
    assert len(desk.done) == 4


# Threads and journals -------------------------------------------------------------------------------------------------


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "program",
    [
        "results = parallel(*[(note, 1)] * 12)",
        "results = [r for rs in parallel(*[(parallel, (note, 1), (note, 1), (note, 1))] * 4) for r in rs]",
        "import concurrent.futures as c\nwith c.ThreadPoolExecutor(12) as pool: results = [*pool.map(note, [1] * 12)]",
    ],
    ids=["parallel", "nested", "threads"],
)
def test_each_record_serves_once_whoever_asks(desk: Desk, run: Run, options: dict[str, Any], program: str) -> None:
    with desk.toolkit(**options) as toolkit:
        failed = run(toolkit, "for _ in range(5): note(1)\n1 / 0")
        result = run(toolkit, f"{program}\nprint(*sorted(results))", after=failed)
    assert result.success, result.error
    assert len(desk.done) == 12
    assert result.output.rstrip("\n") == " ".join(sorted(f"note {number}" for number in range(1, 13)))


def test_resumed_correction_has_the_same_results(desk: Desk, run: Run, tmp_path: Path) -> None:
    journal = tmp_path / "runs.db"
    with desk.toolkit(journal=journal) as toolkit:
        failed = run(toolkit, "note(1)\nnote(1)\nnote(2)\n1 / 0")
        paused = run(toolkit, "print(note(1)); print(pay(7)); print(note(1), note(2)); print(note(1))", after=failed)
        assert paused.status == "paused"
    with desk.toolkit(journal=journal) as toolkit:  # as in another process
        result = toolkit.resume(str(paused.run_id), {paused.pending[0].id: True})
        assert texts(result) == ["note 1", "pay 4", "note 2 note 3", "note 5"]
        assert toolkit.replay(str(result.run_id)).output == result.output


def test_result_read_from_the_journal_is_continued(desk: Desk, tmp_path: Path) -> None:
    journal = tmp_path / "runs.db"
    with desk.toolkit(journal=journal) as toolkit:
        run_id = str(toolkit.execute("note(1)\n1 / 0", context="ada").run_id)
    with desk.toolkit(journal=journal) as toolkit:
        failed = toolkit.find_result(run_id, context="ada")
        assert failed is not None
        with pytest.raises(Exception, match="belongs to another"):
            toolkit.execute("note(1)", context="bob", after=failed)
        assert texts(toolkit.execute("print(note(1))", context="ada", after=failed)) == ["note 1"]
    with Toolkit([ez_tool(print)], journal=journal) as other, pytest.raises(Exception, match="has a tool"):
        other.execute("1", context="ada", after=failed)
