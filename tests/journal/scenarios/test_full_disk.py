"""On a full disk a program ends with a typed error before its next effect, and goes on once there is space."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="apsw, which simulates the disk, is not installed")

from ez_ptc import Approve, Journal, JournalError, Toolkit, ez_tool
from tests.journal.programs import LIMITS, PROGRAMS, Effects
from tests.journal.sample_runs import NOTHING_KEPT, write_run
from tests.journal.simulated_disk import Disk


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """Put the journal's file on a simulated disk."""
    disk = Disk("full_disk")
    monkeypatch.setattr("ez_ptc.journal.store.connect", disk.connect)
    yield disk
    monkeypatch.undo()
    disk.close()


def _go_on(toolkit: Toolkit, effects: Effects) -> str:
    """Run the program, or continue it, until it has ended; return its output."""
    assert isinstance(toolkit.journal, Journal)
    for _ in range(6):
        runs = toolkit.journal.runs()
        if not runs:
            toolkit.execute(PROGRAMS["parallel"])
        elif runs[0].state == "done":
            assert runs[0].result is not None
            return runs[0].result.output
        else:
            pending = runs[0].pending
            toolkit.resume(
                runs[0].id,
                {call.id: effects.settle(call) if call.state == "outcome_unknown" else Approve() for call in pending},
            )
    pytest.fail("the run does not end")


@pytest.mark.lengthy
@pytest.mark.sampled(every=24)
@pytest.mark.parametrize("shard", range(1, 13))
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_full_disk_stops_before_the_next_effect(is_async: bool, shard: int, disk: Disk, tmp_path: Path) -> None:
    effects = Effects(tmp_path / "whole.effects")
    with Toolkit(effects.tools(is_async=is_async), journal=tmp_path / "whole.db", limits=LIMITS) as toolkit:
        output = _go_on(toolkit, effects)
    expected, writes = effects.distinct(), disk.writes
    assert writes > 30

    for full_from in range(shard, writes + 1, 12):
        effects = Effects(tmp_path / f"{full_from}.effects")
        # Always closed before the disk is full again: a file that is left open is written as it is dropped.
        with (
            Journal(tmp_path / f"{full_from}.db") as journal,
            Toolkit(effects.tools(is_async=is_async), journal=journal, limits=LIMITS) as toolkit,
        ):
            disk.writes, disk.full_from = 0, full_from
            try:
                # Parallel calls share commits, so that a run may end with fewer writes.
                with contextlib.suppress(JournalError):
                    assert _go_on(toolkit, effects) == output
                    continue
                before = effects.lines()
                with pytest.raises(JournalError, match="cannot use the journal"):
                    toolkit.execute(PROGRAMS["sequential"])
                assert effects.lines() == before
            finally:
                disk.full_from = None
            assert _go_on(toolkit, effects) == output
            assert effects.distinct() == expected
            journal.verify()


@ez_tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def _fill(journal: Journal) -> None:
    """Write runs to a file with free pages, so that the log alone takes room."""
    for number in range(6):
        write_run(journal, random.Random(number), calls=20)
    assert journal.prune(NOTHING_KEPT) == 6
    journal.close()
    for _ in range(20):
        write_run(journal, random.Random(0), calls=0)


@pytest.mark.filterwarnings("ignore:other users may access")  # the simulated disk keeps no permissions
def test_log_that_fills_the_disk_is_emptied(disk: Disk, tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db", retention=None) as journal, Toolkit([double], journal=journal) as toolkit:
        _fill(journal)
        disk.room = 0
        with pytest.raises(JournalError, match="disk is full; free some space, and resume the run"):
            toolkit.execute("print(double(1))")
        assert toolkit.execute("print(double(1))").output == "2\n"
        assert journal.verify() == 21


@pytest.mark.filterwarnings("ignore:other users may access")
def test_prune_makes_room_on_a_full_disk(disk: Disk, tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db", retention=None) as journal:
        _fill(journal)
        disk.room = 0
        assert journal.prune(NOTHING_KEPT) == 20
        assert journal.verify() == 0
