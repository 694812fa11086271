"""What a reader in another process sees of a call's progress, while it runs and after."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Context, Journal, Toolkit, ez_tool
from ez_ptc.journal.chain import Event
from ez_ptc.journal.recorded.progress import read_progress
from ez_ptc.view.runs import ProgressView

# As a plain name, for type checkers know only that it marks parameters.
context: Any = Context
_SECONDS = 20


def reported(path: str, done: int, moment: float) -> Event:
    data = {"tool": "load", "line": 2, "done": done, "total": 9, "message": None}
    return Event("progress", data={"calls": {path: data}}, time=moment)


def test_last_report_counts_until_the_call_runs_again() -> None:
    events = [reported("1", 1, 10.0), reported("2", 1, 11.0), reported("1", 5, 12.0)]
    calls = read_progress(events)
    assert calls["1"] == ("load", 2, 10.0, ProgressView(5, 9, None, 12.0))
    again = read_progress([*events, Event("result", "2", time=13.0), Event("claim", time=14.0)])
    assert [*again] == ["2"]


@pytest.mark.parametrize("is_reader", [False, True], ids=["with effects", "read-only"])
def test_running_call_shows_its_progress_to_others(tmp_path: Path, *, is_reader: bool) -> None:
    may_end = threading.Event()

    @ez_tool(read_only=is_reader)
    def index(folder: str) -> str:
        """Index a folder."""
        context.progress(3, 12, f"<b>{folder}\x1b")
        assert may_end.wait(_SECONDS)
        return "all"

    path = tmp_path / "runs.db"
    with Toolkit([index], journal=path) as toolkit, ThreadPoolExecutor() as pool, Journal(path) as reader:
        result = pool.submit(toolkit.execute, "\nprint(index('docs'))", run_id="run")
        try:
            page = _page_with("<progress", reader)
        finally:
            may_end.set()
        assert result.result(_SECONDS).output == "all\n"
        assert '<progress value="0.25" max="1" aria-label="Progress of index 1">' in page
        assert "3 of 12: &lt;b&gt;docs\\x1b" in page
        assert ("index(…)" in page) is is_reader
        assert '<details id="c-1" class="running" data-line="2"' in page
        after = reader.run("run").to_html()
        assert "<progress" not in after
        assert reader.verify() == 1
        assert toolkit.replay("run").output == "all\n"


def test_call_with_unknown_outcome_says_how_far_it_was(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    may_end = threading.Event()

    @ez_tool(timeout=0.6)
    def index() -> str:
        """Index."""
        context.progress(3, 12)
        assert may_end.wait(_SECONDS)
        return "all"

    with Toolkit([index], journal=path) as toolkit, Journal(path) as reader:
        try:
            result = toolkit.execute("index()", run_id="run")
            assert result.status == "paused"
        finally:
            may_end.set()
        page = _page_with("Its last report: 3 of 12, ", reader)
    assert 'data-progress="3 of 12, ' in page


def _page_with(text: str, journal: Journal) -> str:
    """Return the page of the run once it has a text."""
    ends_at = time.monotonic() + _SECONDS
    while time.monotonic() < ends_at:
        page = "" if not list(journal.runs()) else journal.run("run").to_html()
        if text in page.partition("<main")[2].partition("<script")[0]:
            return page
        threading.Event().wait(0.02)
    message = f"no page with {text}"
    raise AssertionError(message)
