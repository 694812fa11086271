"""The pieces of the journal's benchmark: one kill point, the counting, and each cost once, small."""

import json
from pathlib import Path

import pytest

from benchmarks.journal import __main__ as journal
from benchmarks.journal.costs import count_syncs
from benchmarks.journal.kills import Outcome, python_of, run_point, table_lines
from benchmarks.journal.process import main as run_process
from benchmarks.journal.subjects import OURS
from benchmarks.journal.subjects.ours_costs import resume_times, stream_times
from benchmarks.journal.subjects.ours_upkeep import upkeep_figures
from benchmarks.journal.workload import EFFECTS, POINTS, Journey


def _lines_of(folder: Path, names: tuple[str, ...]) -> Journey:
    (folder / "effects").write_text("".join(f"{name}\n" for name in names))
    return Journey(folder)


def test_doubled_and_lost_effects_are_counted(tmp_path: Path) -> None:
    tally = _lines_of(tmp_path, (*EFFECTS[:3], EFFECTS[0])).tally()
    assert (tally.doubled, tally.lost) == (1, 3)


def test_each_effect_has_three_kill_points() -> None:
    assert len(POINTS) == 3 * len(EFFECTS) + 1


@pytest.mark.sampled(every=0)
def test_kill_between_effect_and_record_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    python = python_of(OURS)
    monkeypatch.chdir(Path(journal.__file__).parent)
    assert run_point(OURS, python, "after one") == Outcome("after one", questions=1)


def test_table_adds_up_outcomes_and_names_problems() -> None:
    lines = table_lines({OURS: [Outcome("after one", doubled=1), Outcome("before two", lost=2, problem="it broke")]})
    assert lines[-2:] == ["| ez-ptc | 1 | 0 | 1 | 2 | 0 | 2 |", "ez-ptc, before two: it broke"]


def test_trace_counts_both_waits_for_disk() -> None:
    assert count_syncs("7 fsync(3) = 0\n7 fdatasync(4 <unfinished ...>\n7 <... fdatasync resumed>) = 0\n") == 2


@pytest.mark.parametrize("action", ["steps", "plain", "parallel"])
def test_costs_of_steps_are_seconds(action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_process(OURS, action, str(tmp_path), "20")
    assert json.loads(capsys.readouterr().out) > 0


@pytest.mark.sampled(every=0)
def test_resumed_runs_are_timed_to_pause_and_result(tmp_path: Path) -> None:
    assert all(seconds > 0 for times in resume_times(tmp_path, 3).values() for pair in times for seconds in pair)


def test_each_program_is_streamed_both_ways(tmp_path: Path) -> None:
    assert [title.split()[0] for title in stream_times(tmp_path, 1, calls=3)] == ["`stream`,", "`astream`,"] * 3


def test_comparison_without_a_checkout_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        journal.main(["--only", "off"])
    assert "git worktree add" in capsys.readouterr().err


@pytest.mark.sampled(every=0)
def test_upkeep_of_many_runs_has_its_figures(tmp_path: Path) -> None:
    figures = upkeep_figures(tmp_path, 20, pauses=2)
    assert len(figures) == 6
    assert all(values and min(values) > 0 for values in figures.values())
