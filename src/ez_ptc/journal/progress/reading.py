"""Reading the progress of calls from the events of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ez_ptc.schema.annotations.progress import ProgressReport
from ez_ptc.view.runs import ProgressView

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.journal.chain import Event

__all__ = ["ReportedCall", "read_progress"]

_FIELDS: Final = ("done", "total", "message")


class ReportedCall(NamedTuple):
    """A call that has reported its progress: its tool, its line, the time of its first report, and the last report."""

    tool: str
    line: int
    first: float
    progress: ProgressView


def read_progress(events: Iterable[Event]) -> dict[str, ReportedCall]:
    """Return what calls have last reported, by their paths; not of those that run again."""
    reported: dict[str, ReportedCall] = {}
    ended: set[str] = set()
    for event in events:
        if event.kind == "result":
            ended.add(event.path)
        elif event.kind == "claim":
            reported = {path: call for path, call in reported.items() if path in ended}
        elif event.kind == "progress":
            for path, data in cast("dict[str, dict[str, Any]]", event.data["calls"]).items():
                progress = ProgressView(*ProgressReport.of(*map(data.get, _FIELDS)), event.time)
                first = reported[path].first if path in reported else event.time
                reported[path] = ReportedCall(str(data["tool"]), int(data["line"]), first, progress)
    return reported
