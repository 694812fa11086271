"""Whatever a loss of power leaves of unsynced writes, the journal opens and has what was acknowledged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="apsw, which simulates the disk, is not installed")

from ez_ptc import Journal
from tests.journal.sample_runs import exported, write_run
from tests.journal.simulated_disk import Disk

_IMAGES = 100


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """Put the journal's file on a simulated disk."""
    disk = Disk("power_loss")
    monkeypatch.setattr("ez_ptc.journal.store.connect", disk.connect)
    yield disk
    monkeypatch.undo()
    disk.close()


def _record(disk: Disk, folder: Path, chance: random.Random) -> list[tuple[int, dict[str, list[str]]]]:
    """Write runs, and return what was acknowledged at which moments."""
    acknowledged: list[tuple[int, dict[str, list[str]]]] = []
    with Journal(folder / "runs.db") as journal:
        for number in range(8):
            write_run(journal, chance, ended=number % 2 == 0)
            acknowledged.append((len(disk.log), exported(journal)))
            if number % 3 == 2:
                journal.close()  # copies the log into the file
                acknowledged.append((len(disk.log), exported(journal)))
    return acknowledged


@pytest.mark.lengthy
@pytest.mark.sampled(every=8)
@pytest.mark.filterwarnings("ignore:other users may access")  # the simulated disk keeps no permissions
@pytest.mark.parametrize("seed", range(8))
def test_power_loss_keeps_every_acknowledged_record(
    seed: int, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    acknowledged = _record(disk, tmp_path, chance)
    monkeypatch.undo()

    for number in range(_IMAGES):
        moment = chance.randint(1, len(disk.log))
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, content in disk.image(moment, chance).items():
            if content:
                (folder / name).write_bytes(content)
        with Journal(folder / "runs.db") as journal:
            journal.verify()
            present = exported(journal)
        for written, runs in acknowledged:
            if written <= moment:
                for run_id, events in runs.items():
                    assert present[run_id][: len(events)] == events
