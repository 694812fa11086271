"""What a recorder gives of a run's record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ez_ptc import Journal, Toolkit
from ez_ptc.journal.record import Record
from ez_ptc.journal.recorder import RunRecorder
from tests.journal.programs import Effects


def _accept(record: Record, decisions: Mapping[str, object]) -> None:
    """Find nothing wrong with a run."""
    del record, decisions


def test_first_replies_are_bounded_in_size(tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    program = "for number in range(9):\n    effect('x' * 1000)\ntransfer('d', 1)"
    with Journal(tmp_path / "runs.db") as journal, Toolkit(effects.tools(), journal=journal) as toolkit:
        paused = toolkit.execute(program)
        assert paused.run_id is not None
        row, record = journal.claim(paused.run_id, {}, _accept)
        recorder = RunRecorder(journal.store, row, record, {})
        journal.release(row)

    replies = recorder.first_replies(3_500)
    assert [(path, made) for path, made, _ in replies] == [("1", 1), ("2", 2), ("3", 3)]
    assert {reply for _, _, reply in replies} == {f"s{'x' * 1000}!"}
    assert len(recorder.first_replies(1 << 20)) == 9
