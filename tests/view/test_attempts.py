"""The page of a run among its corrections: each with what it changed."""

import html
import re
from pathlib import Path
from typing import Any

from ez_ptc import Journal, Toolkit, ez_tool
from ez_ptc.view.run_page import draw_attempts
from ez_ptc.view.runs import AttemptView, RunView


@ez_tool(read_only=True)
def price_of(product: str) -> float:
    """Look up a price."""
    return 39.5


def test_corrections_are_shown_as_differences(tmp_path: Path) -> None:
    programs = iter(["print(price_of('lamp') / 0)", "print(price_of('lamp') / 2)"])

    def repair(_code: str, _error: str, _done: list[dict[str, Any]]) -> str:
        return next(programs)

    with Toolkit([price_of], journal=tmp_path / "runs.db") as toolkit:
        result = toolkit.execute("print(price_off('lamp'))", repair=repair)
        toolkit.execute("print(1)")
        with Journal(tmp_path / "runs.db") as journal:
            runs = [run.id for run in journal.runs()]
            views = {run_id: journal.run(run_id).view() for run_id in runs}
    attempts = [attempt.id for attempt in views[str(result.run_id)].attempts]
    assert attempts == runs[3:0:-1]
    assert [len(view.attempts) for view in views.values()] == [0, 3, 3, 3]
    page = html.unescape(draw_attempts(views[attempts[1]], "/run/{}"))
    assert re.findall(r"<(ins|del)>(.*?)</", page) == [
        ("del", "-print(price_off('lamp'))"),
        ("ins", "+print(price_of('lamp') / 0)"),
        ("del", "-print(price_of('lamp') / 0)"),
        ("ins", "+print(price_of('lamp') / 2)"),
    ]
    assert "ZeroDivisionError" in page
    assert re.findall(r'href="/run/(\w+)"', page) == [attempts[0], attempts[2]]


def test_differences_have_a_bound() -> None:
    long = "\n".join(map(str, range(100_000)))
    many = "\n".join("x" * 5_000 for _ in range(1_500))
    attempts = (AttemptView("1", "failed", ""), AttemptView("2", "failed", long), AttemptView("3", "failed", many))
    view = RunView("1", "failed", "", 1.0, 2.0, attempts=(*attempts, AttemptView("4", "done", "")))
    page = draw_attempts(view, None)
    assert len(page) < 2_000_000
    assert page.count("too long to be compared") == 2
