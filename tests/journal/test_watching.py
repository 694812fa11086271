"""Which runs a worker goes on with, and being told of them, in a file."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import cast

import pytest

from ez_ptc import Journal, Toolkit
from tests.journal.programs import LIMITS, Effects
from tests.journal.sample_runs import START


def test_decided_and_left_runs_are_claimable(tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    with Journal(tmp_path / "runs.db") as journal, Toolkit(effects.tools(), journal=journal, limits=LIMITS) as toolkit:
        first, second = (toolkit.execute(f"print(transfer('{name}', 1))") for name in "ab")
        left, _ = journal.start("print(1)", START)
        assert journal.claimable() == []
        journal.store.locks.disown(left.number)
        journal.decide(str(second.run_id), {second.pending[0].id: True})
        assert [run.id for run in journal.claimable()] == [second.run_id, left.id]
        journal.decide(str(first.run_id), {first.pending[0].id: False})
        assert [run.id for run in journal.claimable(1)] == [first.run_id]
        for limit in (0, True, "1"):
            with pytest.raises(ValueError, match="limit must be a positive int"):
                journal.claimable(limit)  # pyright: ignore[reportArgumentType] - that is the point


def test_watcher_sees_decisions_and_changed_states_alone(tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    with Journal(tmp_path / "runs.db") as journal, Toolkit(effects.tools(), journal=journal, limits=LIMITS) as toolkit:
        paused = toolkit.execute("print(transfer('a', 1))")
        run_id = str(paused.run_id)
        with Journal(journal.path) as elsewhere:
            every, other, this = (elsewhere.watch(name, timeout=30) for name in (None, "other", run_id))
            decision = {paused.pending[0].id: True}
            decider = threading.Thread(target=journal.decide, args=(run_id, decision))
            decider.start()
            assert next(every) == run_id
            decider.join(30)
            assert next(this) == run_id
            toolkit.resume(run_id)
            assert next(every) == run_id
            assert [*elsewhere.watch(timeout=0.05)] == []
            del other


@pytest.mark.parametrize("path", ["runs.db", "postgresql://ada@127.0.0.1:1/runs"])
@pytest.mark.parametrize("timeout", [math.nan, True, "5", b"1", [], 1j])
def test_timeout_that_is_no_number_is_refused(timeout: object, path: str, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    journal = Journal(path if "://" in path else tmp_path / path)
    with journal, pytest.raises((TypeError, ValueError), match="timeout"):
        journal.watch(timeout=cast("float", timeout))


@pytest.mark.parametrize("timeout", [-math.inf, -1, 0, -(10**400), 0.0])
def test_watching_for_no_time_ends_at_once(timeout: float, tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        assert [*journal.watch(timeout=timeout)] == []


@pytest.mark.parametrize("timeout", [math.inf, 1e308, 10**400, 1 << 63, None])
def test_watching_without_an_end_tells_of_changes(timeout: float | None, tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        changes = journal.watch(timeout=timeout)
        row, _ = journal.start("print(1)", START)
        assert next(changes) == row.id
        journal.store.locks.disown(row.number)
