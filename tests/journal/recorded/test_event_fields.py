"""What an event or a result may say: anything else is a problem with a name, before anyone reads it."""

from __future__ import annotations

import re
from typing import Any, Final, cast

import pytest

from ez_ptc.journal.chain import Event
from ez_ptc.journal.recorded.event_fields import find_event_problem, find_result_problem

_REPORT: Final = {"tool": "load", "line": 1, "done": 1, "total": None, "message": None}
_START: Final[dict[str, Any]] = {"program": "", "imports": [], "tools": {}, "limits": {}, "clock_ns": None}
_RESULT: Final[dict[str, Any]] = {"output": "", "success": True, "status": "done", "images": []}


def _progress(path: str = "1.2", **changes: object) -> Event:
    return Event("progress", "", {"calls": {path: {**_REPORT, **changes}}})


def test_events_of_the_library_have_no_problem() -> None:
    for event in (Event("start", "", _START, b"print(1)"), Event("claim", "", {}), _progress(), _progress(done=0.5)):
        assert find_event_problem(event) is None
    assert find_event_problem(Event("decision", "1.2", {"decision": "did_not_happen"})) is None
    assert find_result_problem(_RESULT) is None


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (_progress(done=True), "done is wrong: .*expected a number"),
        (_progress(total=False), "total.* is wrong"),
        (_progress(done=-1), "done is wrong"),
        (_progress(done=float("nan")), "done is wrong"),
        (_progress(path="1.x"), "its field calls.1.x.* is wrong"),
        (_progress(path="1\n"), "its field calls.1\n.* is wrong"),
        (_progress(line="1"), "line is wrong"),
        (Event("start", "", {**_START, "clock_ns": "5"}), "its field clock_ns is wrong"),
        (Event("start", "", {**_START, "clock_ns": 5.0}), "its field clock_ns is wrong"),
        (Event("start", "", {**_START, "scheduled": 1}), "its field scheduled is wrong"),
        (Event("start", "", {**_START, "schedule": [["1", "5"]]}), "its field schedule.0.1 is wrong"),
        (Event("start", "", {**_START, "continues": {"run": "a", "reread": "yes"}}), "continues.reread is wrong"),
        (Event("result", "1", {"tool": "t", "kind": "v", "error": None, "duration_ms": "1"}), "duration_ms is wrong"),
        (Event("claim", "1", {}), "its path is wrong"),
        (Event("progress", "1", {"calls": {}}), "its path is wrong"),
        (Event("decision", "", {"decision": "did_not_happen"}), "its path is wrong"),
        (Event("decision", "1.", {"decision": "did_not_happen"}), "its path is wrong"),
        (Event("decision", "1\n", {"decision": "did_not_happen"}), "its path is wrong"),
        (Event("claim", "", {}, None, -1.0), "its time is wrong"),
        (Event("claim", "", {}, None, float("nan")), "its time is wrong"),
        (Event("start", "", _START, b"\xff"), "its program is not UTF-8"),
        (Event(cast("Any", "later"), "", {}), "its kind is unknown"),
    ],
)
def test_foreign_event_is_a_problem_with_its_place(event: Event, problem: str) -> None:
    assert re.search(problem, find_event_problem(event) or "")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"later": 1}, "its field later is wrong"),
        ({"success": "x"}, "its field success is wrong"),
        ({"success": 1}, "its field success is wrong"),
        ({"is_denied": "true"}, "its field is_denied is wrong"),
        ({"output": b"x"}, "its field output is wrong"),
        ({"images": ["x"]}, "its field images.0 is wrong"),
        ({"truncated": {"output": "1"}}, "its field truncated.output is wrong"),
        ({"status": "running"}, "its field status is wrong"),
    ],
)
def test_foreign_result_is_a_problem_with_its_place(changes: dict[str, Any], problem: str) -> None:
    assert re.search(problem, find_result_problem({**_RESULT, **changes}) or "")
