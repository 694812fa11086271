"""The page of one run."""

from __future__ import annotations

import re
import time
from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ez_ptc.view.calls import call_id, draw_calls, draw_pending
from ez_ptc.view.markup import draw_pictures, element, indented_json, markup_text, moment_text
from ez_ptc.view.page import document
from ez_ptc.view.waterfall import Timeline, draw_overview, duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ez_ptc.view.runs import CallView, RunView

__all__ = ["draw_attempts", "draw_header", "draw_program", "draw_record", "draw_session", "run_body", "run_page"]

# To compare programs takes time by the square of their lines.
_MAX_LINES: Final = 2_000
_MAX_CHANGES: Final = 500
_MAX_LINE: Final = 1_000
_MAX_ERROR: Final = 2_000
_MAX_TITLE: Final = 80
_TAGS: Final = {"+": "ins", "-": "del"}


def draw_attempts(view: RunView, link: str | None) -> str:
    """Return the attempts of a run's program, in order, or "" if there was one; `link` is the address of a run."""
    items: list[str] = []
    before: str | None = None
    for number, attempt in enumerate(view.attempts, 1):
        title = element("code", markup_text(attempt.id, _MAX_TITLE))
        if attempt.id == view.id:
            title += ", this run"
        elif link is not None:
            title = element("a", title, href=link.format(quote(attempt.id, safe="")))
        parts = [element("p", f"{title}: {markup_text(attempt.state)}")]
        if before is not None:
            parts.append(_draw_changes(before, attempt.program, f"Changes of attempt {number}"))
        if attempt.error is not None:
            parts.append(element("p", markup_text(attempt.error, _MAX_ERROR), class_="error"))
        before = attempt.program
        current = "true" if attempt.id == view.id else None
        items.append(element("li", "".join(parts), aria_current=current))
    if not items:
        return ""
    return element("section", element("h2", "Attempts") + element("ol", "".join(items)), id="attempts")


def _draw_changes(before: str, after: str, label: str) -> str:
    """Return the changed lines of a program, each with some lines around it."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) > _MAX_LINES or len(new) > _MAX_LINES:
        return element("p", "The programs are too long to be compared.", class_="note")
    lines = list(islice(unified_diff(old, new, n=2, lineterm=""), 2, _MAX_CHANGES + 3))
    drawn = [element(_TAGS.get(line[0], "span"), markup_text(line, _MAX_LINE)) for line in lines[:_MAX_CHANGES]]
    if len(lines) > _MAX_CHANGES:
        drawn.append("…")
    if not drawn:
        return element("p", "The same program again.", class_="note")
    return element("pre", "".join(drawn), class_="diff", tabindex=0, role="region", aria_label=label)


_LINE_END: Final = re.compile(r"\r\n?|\n")
_MAX_VALUE: Final = 100_000
_MAX_PROGRAM_LINES: Final = 20_000
_MAX_LINKS: Final = 6
_MAX_ENTRIES: Final = 200
_MAX_DIRECTED: Final = 20_000
_STATE_WORDS: Final = {"outcome_unknown": "outcome unknown", "resumable": "can be resumed"}


def run_page(view: RunView) -> str:
    """Return the page of a run as one self-contained file."""
    return document(f"Run {view.id}", run_body(view))


def run_body(view: RunView, *, link: str | None = None) -> str:
    """Return what the page of a run has in its body; `link` is the address of another run, with `{}` for its id."""
    timeline = Timeline(view.spans, view.calls, time.time())
    parts = [
        draw_header(view, timeline),
        draw_session(view, link),
        draw_pending(view.id, view.calls),
        draw_attempts(view, link),
        _section("program", "Program", draw_program(view)),
        draw_calls(view.calls, timeline, draw_overview(timeline, view.calls)),
        *_results(view),
        draw_record(view),
    ]
    return "".join(parts)


def draw_header(view: RunView, timeline: Timeline) -> str:
    """Return a run's id, its state and its dates."""
    state = element("span", markup_text(_STATE_WORDS.get(view.state, view.state)), class_=f"state {view.state}")
    facts = {
        "started": moment_text(view.created),
        "changed": moment_text(view.changed),
        "ran for": duration_text(timeline.total),
        "executions": f"{len(view.spans):,}",
        "calls": f"{len(view.calls):,}",
        "for": view.principal,
        "session": view.session,
        "executed by": view.owner,
    }
    terms = "".join(
        element("div", element("dt", name) + element("dd", markup_text(text, 500)))
        for name, text in facts.items()
        if text
    )
    title = element("h1", f"Run {markup_text(view.id, _MAX_TITLE)} {state}")
    hint = ""
    if view.state == "resumable":
        command = element("code", f"ez-ptc runs resume {markup_text(view.id, _MAX_TITLE)}")
        hint = element("p", f"Nothing keeps this run waiting: {command} continues it.", class_="note")
    return element("header", title + element("dl", terms) + hint)


def draw_session(view: RunView, link: str | None) -> str:
    """Return the programs of the run's session, in order."""
    if len(view.entries) < 2:  # noqa: PLR2004 - a sequence of one is none
        return ""
    items: list[str] = []
    for entry in view.entries[-_MAX_ENTRIES:]:
        line = next((line for line in entry.program.splitlines() if line.strip()), "")
        text = element("code", markup_text(line.strip(), _MAX_TITLE))
        if entry.id == view.id:
            items.append(element("li", f"{text} {markup_text(entry.state)}, this run", aria_current="page"))
        else:
            if link is not None:
                text = element("a", text, href=link.format(quote(entry.id, safe="")))
            items.append(element("li", f"{text} {markup_text(entry.state)}"))
    first = max(len(view.entries) - _MAX_ENTRIES, 0) + 1
    return _section("session", "Session", element("ol", "".join(items), start=first))


def draw_program(view: RunView) -> str:
    """Return the lines of the program, with the calls that each line has made."""
    by_line: dict[int, list[CallView]] = {}
    for call in view.calls:
        by_line.setdefault(call.line, []).append(call)
    rows: list[str] = []
    lines = _LINE_END.split(view.program.removesuffix("\n"))  # as Python counts them
    for number, line in enumerate(lines[:_MAX_PROGRAM_LINES], 1):
        calls = by_line.get(number, [])
        links = "".join(_call_links(calls, number))
        row_class = None
        if number == view.error_line:
            row_class = "wrong"
            links += element("span", "failed here", class_="mark")
        cells = element("th", str(number), scope="row") + element("td", markup_text(line, 10_000) or " ")
        rows.append(element("tr", cells + element("td", links), class_=row_class, id=f"L{number}"))
    if len(lines) > _MAX_PROGRAM_LINES:
        rows.append(f"<tr><th></th><td>… {len(lines) - _MAX_PROGRAM_LINES:,} more lines</td><td></td></tr>")
    caption = '<caption class="hidden">The program, each line with its calls</caption>'
    table = element("table", caption + element("tbody", "".join(rows)), class_="program")
    note = element("p", markup_text(view.program_note), class_="note") if view.program_note else ""
    return note + element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Program")


def _call_links(calls: list[CallView], line: int) -> Iterator[str]:
    for call in calls[:_MAX_LINKS]:
        text = f"{markup_text(call.tool, 40)} {markup_text(call.path)}"
        yield element("a", text, class_=f"chip {call.state}", href=f"#{call_id(call)}")
    if len(calls) > _MAX_LINKS:
        text = f"all {len(calls):,} calls"
        yield element("button", text, class_="chip", type="button", data_search=f"line:{line}")


def _results(view: RunView) -> Iterator[str]:
    if view.error is not None or view.error_output:
        where = ""
        if view.error_line:
            where = element("p", element("a", f"line {view.error_line} of the program", href=f"#L{view.error_line}"))
        message = element("p", markup_text(view.error or "", 4_000), class_="error")
        yield _section("errors", "Errors", message + where + _text(view.error_output, "Errors"))
    if view.output or "output" in view.truncated:
        more = view.truncated.get("output", 0)
        content = _text(view.output, "Output")
        if more:
            content += element("p", f"{more:,} more bytes were cut by the limit of the run.", class_="note")
        yield _section("output", "Output", content)
    if view.has_value:
        text = indented_json(view.value, _MAX_VALUE)
        yield _section("value", "Value", _text(text, "Value"))
    elif view.described:
        yield _section("value", "Value", _text(view.described, "Value"))
    if view.images:
        yield _section("pictures", "Pictures", draw_pictures(view.images))


def draw_record(view: RunView) -> str:
    """Return what is known of the run's record: its events and the last hash of their chain."""
    text = f"{view.events:,} events, each with a hash over itself and those before it; all were verified. Last hash: "
    head = element("code", markup_text(view.head), class_="hash")
    return _section("record", "Record", element("p", text + head))


def _text(text: str, label: str) -> str:
    if not text:
        return ""
    # A browser takes seconds to find the direction of each line in a megabyte without line ends.
    name = "long" if len(text) > _MAX_DIRECTED else None
    return element("pre", markup_text(text), class_=name, tabindex=0, role="region", aria_label=label)


def _section(name: str, title: str, content: str) -> str:
    return element("section", element("h2", title) + content, id=name)
