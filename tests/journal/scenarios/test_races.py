"""Of several processes that resume a run, or decide about a call, at the same moment, one wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sandbox.scripts import run_script

_RUN = "import json, sys\nfrom tests.journal.racing import main\nprint(json.dumps(main(*sys.argv[1:])))"


@pytest.mark.security
@pytest.mark.parametrize("runs", [4, 200])
def test_one_of_eight_processes_resumes_a_run(runs: int, tmp_path: Path) -> None:
    figures = json.loads(run_script(_RUN, str(tmp_path), "resume", str(runs), timeout=300))

    assert figures["codes"] == [0]
    assert figures["winners"] == {"1": runs}
    assert sum(figures["losers"].values()) == 7 * runs
    assert figures["states"] == {"done": runs}
    assert figures["effects"] == {"1": runs}


@pytest.mark.parametrize("runs", [4, 200])
@pytest.mark.sampled(every=0)
def test_one_of_eight_deciders_is_heard(runs: int, tmp_path: Path) -> None:
    figures = json.loads(run_script(_RUN, str(tmp_path), "decide", str(runs), timeout=300))

    assert figures["winners"] == {"1": runs}
    assert figures["losers"] == {"DecisionError": 7 * runs}
    assert figures["states"] == {"resumable": runs}


@pytest.mark.parametrize("runs", [4, pytest.param(50, marks=pytest.mark.security)])
@pytest.mark.sampled(every=0)
def test_one_of_eight_claimers_resumes_each_run(runs: int, tmp_path: Path) -> None:
    figures = json.loads(run_script(_RUN, str(tmp_path), "claim", str(runs), timeout=300))

    assert figures["winners"] == {"1": runs}
    assert set(figures["losers"]) <= {"none", "JournalError", "RunInProgressError"}
    assert figures["states"] == {"done": runs}
    assert figures["effects"] == {"1": runs}
