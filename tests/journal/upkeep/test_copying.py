"""Ended runs move to another journal with their chains, and unfinished ones stay."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from ez_ptc import Journal, JournalError, Toolkit, ez_tool
from ez_ptc.cli.app import main
from tests.journal.sample_runs import exported, write_run


@ez_tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


def test_ended_runs_are_copied_once_with_their_chains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "runs.db", tmp_path / "copy.db"
    with Journal(source) as journal, Toolkit([double], journal=journal) as toolkit:
        result = toolkit.execute("print(double(4))", run_id="r")
        with toolkit.session() as session:
            session.execute("x = double(1)")
            session.execute("print(x)")
        whole = exported(journal) | {write_run(journal, random.Random(1)): []}
        left = write_run(journal, random.Random(2), ended=False)
    for copied in (4, 0):
        assert main(["runs", "copy", str(source), str(target)]) == 0
        assert f"{copied} ended runs were copied" in capsys.readouterr().out
    with Journal(source) as journal, Journal(target) as other, Toolkit([double]) as toolkit:
        assert {run.id for run in other.runs()} == set(whole)
        for run in other.runs():
            assert other.run(run.id) == journal.run(run.id)
            assert [*other.export(run.id)] == [*journal.export(run.id)]
        assert other.verify() == 4
        assert other.replay("r", toolkit).output == result.output
        with pytest.raises(JournalError, match="has no run"):
            other.run(left)


def test_another_run_of_the_same_id_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        with Toolkit([double], journal=tmp_path / name) as toolkit:
            toolkit.execute(f"print('{name}')", run_id="r")
    assert main(["runs", "copy", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "there is another run 'r' in the journal to copy to" in capsys.readouterr().err
    with Journal(tmp_path / "b") as journal:
        assert journal.run("r").program == "print('b')"


@pytest.mark.parametrize("change", ["head = x'00'", "session = ''", "state = 5"])
@pytest.mark.parametrize("damaged", [0, 1])
def test_later_runs_of_a_session_with_a_damaged_run_are_left_out(
    damaged: int, change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Toolkit([double], journal=tmp_path / "a") as toolkit, toolkit.session() as session, toolkit.session() as whole:
        ids = [str(session.execute(program).run_id) for program in ("x = 1", "x += 1", "x += 1")]
        others = [str(whole.execute("y = 1").run_id), str(toolkit.execute("1").run_id)]
    with sqlite3.connect(tmp_path / "a") as database:
        database.execute(f"UPDATE runs SET {change} WHERE id = ?", [ids[damaged]])
    database.close()
    assert main(["runs", "copy", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    later = ids[damaged + 1 :]
    text = f"1 damaged ones were left out, with {len(later)} later ones of their sessions ({', '.join(later)}): "
    assert text in capsys.readouterr().err
    with Journal(tmp_path / "b") as journal, Toolkit([double], journal=journal) as toolkit:
        assert {run.id for run in journal.runs()} == {*ids[:damaged], *others}
        if damaged:
            with toolkit.session(session.id) as again:
                assert again.execute("x").return_value == 1
