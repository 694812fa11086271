"""The page that lists the runs of a journal, first of all the calls that wait for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, urlencode

from ez_ptc.view.calls import MAX_FORMS, draw_questions
from ez_ptc.view.markup import element, markup_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.view.runs import RunView

__all__ = ["AUDIT_PATH", "RunEntry", "audit_body", "run_link", "runs_body"]

AUDIT_PATH: Final = "/audit"
_STATES: Final = ("paused", "running", "resumable", "outcome_unknown", "failed", "done")
_HEAD: Final = (
    '<tr><th>Run</th><th>State</th><th class="wide">Changed</th><th class="wide">Waits</th><th>Program</th></tr>'
)
_MAX_SHORT: Final = 80


class RunEntry(NamedTuple):
    """A run in a list: its id, state, program and last change (seconds since 1970), the tools of waiting calls."""

    id: str
    state: str
    program: str
    changed: float
    waiting: tuple[str, ...] = ()
    principal: str | None = None


def run_link(run_id: str) -> str:
    """Return the address of a run's page on its server."""
    return f"/run/{quote(run_id, safe='')}"


def runs_body(entries: Sequence[RunEntry], waiting: Sequence[RunView], *, state: str | None, has_more: bool) -> str:
    """Return the list of runs as HTML; `waiting` are those of them with calls that wait for a person."""
    parts = [element("header", element("h1", "Runs") + _state_links(state))]
    if waiting:
        room = MAX_FORMS // len(waiting)
        questions = "".join(_questions(view, room) for view in waiting)
        parts.append(element("section", element("h2", "Waiting for a person") + questions, id="pending"))
    if entries:
        rows = "".join(map(_row, entries))
        table = element("table", element("thead", _HEAD) + element("tbody", rows), class_="runs")
        parts.append(element("section", element("h2", "All") + table))
    else:
        parts.append("<p>No runs.</p>")
    if has_more:
        query = {"before": entries[-1].id}
        if state:
            query["state"] = state
        parts.append(element("p", element("a", "Earlier runs", href=f"/?{urlencode(query)}")))
    return "".join(parts)


def audit_body(count: int, problem: str | None) -> str:
    """Return what a check of all records has found: the number of unchanged runs, or the first problem."""
    text = f"{count:,} runs are complete and unchanged: each event has the hash of those before it."
    if count == 1:
        text = "1 run is complete and unchanged: each event has the hash of those before it."
    result = element("p", text)
    if problem is not None:
        result = element("p", markup_text(problem), class_="error")
    return element("header", element("h1", "Records")) + element("section", result)


def _state_links(state: str | None) -> str:
    links = [element("a", "all", href="/", aria_current=_current(state is None))]
    for name in _STATES:
        text = name.replace("_", " ")
        links.append(element("a", text, href=f"/?state={name}", aria_current=_current(state == name)))
    links.append(element("a", "check all records", href=AUDIT_PATH))
    return element("nav", " ".join(links), aria_label="States")


def _current(is_current: bool) -> str | None:  # noqa: FBT001 - its only argument
    if is_current:
        return "page"
    return None


def _questions(view: RunView, room: int) -> str:
    link = element("a", markup_text(f"Run {view.id[:_MAX_SHORT]}"), href=run_link(view.id))
    principal = ""
    if view.principal is not None:
        principal = f" for {markup_text(view.principal, _MAX_SHORT)}"
    return element("p", link + principal) + draw_questions(view.id, view.calls, room)


def _row(entry: RunEntry) -> str:
    line = next((line.strip() for line in entry.program.splitlines() if line.strip()), "")
    cells = [
        element("td", element("a", markup_text(entry.id[:_MAX_SHORT]), href=run_link(entry.id))),
        element("td", element("span", markup_text(entry.state.replace("_", " ")), class_=f"state {entry.state}")),
        element("td", moment_text(entry.changed), class_="wide"),
        element("td", markup_text(", ".join(entry.waiting), _MAX_SHORT), class_="wide"),
        element("td", element("code", markup_text(line[:_MAX_SHORT]))),
    ]
    return element("tr", "".join(cells))
