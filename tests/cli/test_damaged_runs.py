"""`ez-ptc runs` ends damaged runs, one at a time."""

import random
from pathlib import Path

import pytest

from ez_ptc import Journal
from ez_ptc.cli.app import main
from tests.journal.rewriting import change_row
from tests.journal.sample_runs import write_run

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")


def test_damaged_runs_are_ended_one_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.db"
    with Journal(path) as journal:
        unknown, broken, kept = (write_run(journal, random.Random(number), ended=False) for number in range(3))
        change_row(journal, unknown, state="5")
        change_row(journal, broken, events=2)

    def run(*arguments: str) -> tuple[int, str]:
        status = main(["runs", *arguments, "--journal", str(path)])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    assert "ez-ptc runs discard removes it" in run("list")[1]
    assert run("abandon", unknown[:8], "--reason", "no use")[0] == 0
    assert "failed" in run("show", unknown)[1]
    assert "ez-ptc runs discard, removes it alone" in run("abandon", broken, "--reason", "no use")[1]
    assert run("discard", broken[:8]) == (
        0,
        f"removed the damaged run {broken}: its record is lost, and its id stays in use\n",
    )
    for run_id in (unknown, broken, kept):
        assert run("discard", run_id)[0] != 0
    assert "damaged" not in run("list")[1]
    with Journal(path) as journal:
        assert {run.id: run.state for run in journal.runs()} == {unknown: "failed", kept: "resumable"}
