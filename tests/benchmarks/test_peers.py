"""The benchmark's own arithmetic: what counts as met, how figures read, where a column gets its figures."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers.growth import CALLERS, growth_lines, measure_growth
from benchmarks.peers.measures import MEASURES
from benchmarks.peers.memory import of_the_lot, of_workers
from benchmarks.peers.newborn import NEWBORN_MEASURES
from benchmarks.peers.own_growth import Cost, measure_early_programs, measure_tools, measure_turns
from benchmarks.peers.results import TARGETS, Figures, Target
from benchmarks.peers.subjects import start
from benchmarks.peers.table import figure_text, table_lines, verdict_line


def _figures(**rounds: list[float]) -> Figures:
    figures = Figures()
    for name, values in rounds.items():
        measure, _, subject = name.partition("__")
        for value in values:
            figures.add(measure, subject, value)
    return figures


def test_a_figure_is_the_median_of_its_rounds() -> None:
    assert _figures(fresh__ours=[5.0, 1.0, 2.0]).medians == {("fresh", "ours"): 2.0}


@pytest.mark.parametrize(("value", "met"), [(499e-6, True), (500e-6, True), (501e-6, False)])
def test_a_target_is_met_up_to_its_limit(value: float, met: bool) -> None:
    assert _figures(fresh__ours=[value]).judge(Target("fresh", 500e-6), ours="ours").met is met


@pytest.mark.sampled(every=0)
def test_growth_is_measured_for_all_callers() -> None:
    rows = measure_growth("plain_exec")
    assert [row.callers for row in rows] == list(CALLERS)
    assert all(0 < row.median <= row.percentile_99 and row.cpu > 0 for row in rows)
    assert len(growth_lines("exec", rows)) == len(CALLERS)


@pytest.mark.parametrize("measure", [measure_tools, measure_turns, measure_early_programs])
def test_library_alone_is_measured(measure: Callable[[int], Cost]) -> None:
    cost = measure(4)
    assert cost.seconds > 0
    assert cost.cpu >= 0


def test_every_target_is_about_a_measure() -> None:
    names = {measure.name for measure in (*MEASURES, *NEWBORN_MEASURES)}
    assert {target.measure for target in TARGETS} <= names


@pytest.mark.parametrize("prefix", ["send_", "call_", "print"])
@pytest.mark.sampled(every=0)
def test_values_are_measured_in_both_directions(prefix: str) -> None:
    subject = start("ours")
    try:
        figures = [measure.take(subject) for measure in MEASURES if measure.name.startswith(prefix)]
    finally:
        subject.close()
    assert figures
    assert all(figure is not None and figure >= 0 for figure in figures)


def test_a_target_may_be_a_least() -> None:
    target = Target("throughput", 100, kind="at least")
    assert _figures(throughput__ours=[100]).judge(target, ours="ours").met
    assert not _figures(throughput__ours=[99]).judge(target, ours="ours").met


def test_relative_target_compares_with_peer_of_same_run() -> None:
    figures = _figures(work__ours=[1.2], work__cold=[1.0])
    verdict = figures.judge(Target("work", 1.1, relative_to="cold"), ours="ours")
    assert (verdict.figure, verdict.met) == (1.2, False)


def test_a_target_that_was_not_measured_is_missed() -> None:
    figures = _figures(work__ours=[1.0])
    assert not figures.judge(Target("other", 1), ours="ours").met
    assert not figures.judge(Target("work", 1.1, relative_to="absent"), ours="ours").met


@pytest.mark.parametrize(
    ("figure", "unit", "text"),
    [
        (None, "seconds", "–"),
        (0.25, "seconds", "250 ms"),
        (1.5, "seconds", "1.50 s"),
        (42.4e-6, "seconds", "42.4 µs"),
        (28e-9, "seconds", "28.0 ns"),
        (1_500_000, "bytes", "1.50 MB"),
        (1234.4, "a second", "1,234/s"),
        (0.0, "flag", "no"),
        (1.0, "flag", "yes"),
    ],
)
def test_figures_read_with_their_units(figure: float | None, unit: str, text: str) -> None:
    assert figure_text(figure, unit) == text


def test_table_shows_our_figure_as_multiple_of_peers() -> None:
    medians = {("fresh", "ours"): 2e-3, ("fresh", "peer"): 1e-3}
    head, row = table_lines([("fresh", "fresh program", "seconds")], {"ours": "Ours", "peer": "Peer"}, medians)
    assert head.split() == ["Ours", "Peer"]
    assert row.split() == ["fresh", "program", "2.00", "ms", "1.00", "ms", "×2.00"]


def test_a_verdict_names_its_target() -> None:
    verdict = _figures(work__ours=[1.2], work__cold=[1.0]).judge(Target("work", 1.1, relative_to="cold"), ours="ours")
    assert verdict_line(verdict, "work", "seconds", "cold python") == (
        "MISSED  work: 1.20 × (target: at most 1.1 × cold python)"
    )


def test_memory_counts_the_processes_that_have_no_children() -> None:
    """A shell that waits for a sleep: only the sleep is a leaf, and both are in the sum."""
    program = "import subprocess; subprocess.run(['sleep', '60'])"
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as outer:
        pause, leaf = threading.Event(), None
        try:
            for _ in range(3_000):
                if (leaf := of_workers(outer.pid)) is not None:
                    break
                pause.wait(0.02)
            lot = of_the_lot(os.getpid())
            assert leaf is not None
            assert lot is not None
            assert leaf < lot
        finally:
            os.killpg(outer.pid, signal.SIGKILL)


@pytest.mark.security
def test_run_prints_what_json_readers_need(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(peers.__file__).parent)
    code = peers.main(
        ["--rounds", "1", "--json", "--measure", "import", "--measure", "import_pydantic", "--subject", "ours"]
    )
    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    assert answer["measures"]["import"]["medians"]["ours"] > 0
    assert [target["measure"] for target in answer["targets"]] == ["import", "import_pydantic"]
    assert answer["problems"] == {"ours": []}
