"""The lines about calls while a program runs."""

import pytest

from ez_ptc import ApprovalNeeded, CallEnded, CallStarted, ExecutionResult, PendingCall
from ez_ptc.cli.calls import CallLines
from ez_ptc.cli.output.progress import ProgressBars

_HOSTILE = "[bold]\x1b[2J\u202e\n"
_RESULT = ExecutionResult(
    tool_calls=[
        {"name": "refund", "args": (), "kwargs": {}, "result": None, "error": "no", "duration_ms": 0.0, "path": "9"}
    ]
)


def started(path: str, *args: object) -> CallStarted:
    return CallStarted(f"p:{path}", "p", "price_of", args, {}, path)


def ended(path: str, result: object, error: str | None = None) -> CallEnded:
    return CallEnded(f"p:{path}", "p", "price_of", result, error, 1.0)


def written(events: list[object], capsys: pytest.CaptureFixture[str], *, shows_starts: bool) -> list[str]:
    lines = CallLines(ProgressBars(), shows_starts=shows_starts)
    for event in events:
        lines.add(event)
    lines.add_rest(_RESULT)
    return capsys.readouterr().err.splitlines()


def test_each_call_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    pending = PendingCall("p:5", "price_of", {}, "5")
    events: list[object] = [
        started("1", "lamp"),
        ended("1", 39.5),
        started("2", _HOSTILE),
        started("3"),
        ended("2", None, _HOSTILE),
        ended("3", [1, 2]),
        started("5"),
        ApprovalNeeded(pending, "p"),
        ended("7", "unknown"),
    ]
    hostile = "price_of('[bold]\\x1b[2J\\u202e\\n')"
    lines = ["price_of('lamp') -> 39.5", f"{hostile} -> error: [bold]\\x1b[2J\\u202e\\n", "price_of() -> 2 items"]
    last = "refund() -> error: no"
    assert written(events, capsys, shows_starts=False) == [*lines, last]
    begun = [lines[0], hostile, "price_of()", *lines[1:], "price_of()", last]
    assert written(events, capsys, shows_starts=True) == begun
