"""The calls of a run: a list that folds and can be searched, and those that wait for a person."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.results.sketch import size_text
from ez_ptc.view.markup import cut_middle, element, markup_text, moment_text, recorded_json
from ez_ptc.view.waterfall import draw_bar, duration_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.view.runs import CallView, DecisionView, ProgressView
    from ez_ptc.view.waterfall import Timeline

__all__ = [
    "MAX_FORMS",
    "call_id",
    "call_line",
    "decision_text",
    "draw_call",
    "draw_calls",
    "draw_outcome",
    "draw_pending",
    "draw_questions",
    "outcome_line",
    "progress_text",
]

MAX_FORMS: Final = 1_500_000
"""The characters of all forms of a page that edit arguments."""

# Characters of the arguments, or the result, of one call: less if there are many calls.
_MAX_STRUCTURE: Final = 50_000
_MIN_STRUCTURE: Final = 240
_MAX_ALL: Final = 4_000_000
_MAX_SHORT: Final = 90
_CONTAINERS: Final = frozenset[type]({list, dict})
_MAX_OUTCOME: Final = 1_000
_PART: Final = 500
_MAX_ERROR: Final = 4_000
_UNDECIDED: Final = frozenset({"needs_approval", "outcome_unknown"})
_WORDS: Final = {
    "decided": "runs when the run is resumed",
    "needs_approval": "waits for an approval",
    "outcome_unknown": "may have taken effect",
    "running": "is running",
}


def draw_calls(calls: Sequence[CallView], timeline: Timeline, overview: str) -> str:
    """Return the section with all calls; `overview` is the drawing above them."""
    if not calls:
        return ""
    most = max(min(_MAX_STRUCTURE, _MAX_ALL // len(calls)), _MIN_STRUCTURE)
    parts = ["".join(draw_call(call, timeline, most) for call in calls[:_PART])]
    for start in range(_PART, len(calls), _PART):
        batch = calls[start : start + _PART]
        rows = "".join(draw_call(call, timeline, most) for call in batch)
        label = f"Show calls {start + 1:,} to {start + len(batch):,}"
        # As text until the script shows it: a browser takes seconds for elements of thousands of calls. It is whole:
        # cut anywhere, it would let foreign text stand between our own quotes.
        parts.append(f'<button type="button" class="part" data-rows="{escape(rows)}">{label}</button>')
    search = (
        '<p class="search"><label>Search <input type="search" id="search" placeholder="a tool, a text, line:3, failed" '
        'autocomplete="off" spellcheck="false"></label> <output id="matches" for="search"></output></p>'
    )
    heading = element("h2", f"Calls <small>{len(calls):,}</small>")
    return element("section", heading + overview + search + element("div", "".join(parts), class_="calls"), id="calls")


def call_id(call: CallView) -> str:
    """Return the name of a call within the page."""
    return f"c-{call.path}"


def call_line(call: CallView) -> str:
    """Return a call as one line of text: `price_of(product="lamp")`."""
    if call.arguments is None:
        return f"{call.tool[:_MAX_SHORT]}(…)"
    arguments = ", ".join(f"{name}={recorded_json(value, _MAX_SHORT)}" for name, value in call.arguments.items())
    if len(arguments) > _MAX_SHORT:
        arguments = f"{arguments[:_MAX_SHORT]}…"
    return f"{call.tool[:_MAX_SHORT]}({arguments})"


def outcome_line(call: CallView) -> str:
    """Return the outcome of a call as one line of text."""
    if call.state == "running" and call.progress is not None:
        return progress_text(call.progress)
    if call.state in _WORDS:
        return _WORDS[call.state]
    text = call.error
    if text is None:
        text = recorded_json(call.result, _MAX_OUTCOME)
        if len(text) > _MAX_SHORT and type(call.result) in _CONTAINERS:
            text = size_text(call.result)
    text = " ".join(text[: _MAX_SHORT + 1].split())
    if len(text) > _MAX_SHORT:
        text = f"{text[:_MAX_SHORT]}…"
    return text


def draw_call(call: CallView, timeline: Timeline, most: int) -> str:
    """Return one row; the script shows what its data have once it is opened."""
    seconds = ""
    if call.started is not None and call.ended is not None:
        seconds = duration_text(max(call.ended - call.started, 0.0))
    cells = (
        element("b", markup_text(call.path))
        + element("code", markup_text(call_line(call)))
        + draw_outcome(call)
        + draw_bar(timeline.bar_of(call))
        + element("time", seconds)
    )
    names: dict[str, Any] = {}
    if call.arguments is not None:
        names["arguments"] = recorded_json(call.arguments, most)
    if call.progress is not None and call.state != "done":
        names["progress"] = f"{progress_text(call.progress)}, {moment_text(call.progress.time)}"
    if call.error is not None:
        names["error"] = cut_middle(call.error, _MAX_ERROR)
    elif call.state == "done":
        names["result"] = recorded_json(call.result, most)
    if call.decision is not None:
        names["decision"] = decision_text(call.decision)
        if call.decision.arguments is not None:
            names["edited"] = recorded_json(call.decision.arguments, most)
    if call.question:
        asked = "" if call.asked is None else f"{moment_text(call.asked)}\n\n"
        names["question"] = f"{asked}{call.question}"
    data = {f"data_{name}": text for name, text in names.items()}
    line = call.line or None
    return element("details", element("summary", cells), id=call_id(call), class_=call.state, data_line=line, **data)


def progress_text(progress: ProgressView) -> str:
    """Return what a call has reported as one line of text: `3 of 4: the third file`."""
    text = f"{progress.done:,.12g}"
    if progress.total is not None:
        text += f" of {progress.total:,.12g}"
    if progress.message:
        text += f": {' '.join(progress.message.split())}"
    return text


def draw_outcome(call: CallView) -> str:
    """Return the outcome of a call; of a running one its last report, with a bar if the whole is known."""
    text = markup_text(outcome_line(call))
    if call.state == "running" and call.progress is not None and call.progress.total:
        share = f"{min(call.progress.done / call.progress.total, 1):.4g}"
        text = element("progress", "", value=share, max=1, aria_label=f"Progress of {call.tool} {call.path}") + text
    return element("i", text)


def decision_text(decision: DecisionView) -> str:
    """Return who decided what, and when."""
    text = f"{decision.verdict} by {decision.by or 'someone'}, {moment_text(decision.time)}"
    if decision.reason:
        text += f": {cut_middle(decision.reason, _MAX_ERROR)}"
    return text


def draw_pending(run_id: str, calls: Sequence[CallView]) -> str:
    """Return the section with the calls that wait for a person, or "" without any.

    A served page adds buttons to it.
    """
    waiting = [call for call in calls if call.state in _UNDECIDED]
    if not waiting:
        return ""
    title = f"{len(waiting):,} calls wait for a person"
    if len(waiting) == 1:
        title = "1 call waits for a person"
    return element("section", element("h2", title) + draw_questions(run_id, waiting), id="pending")


def draw_questions(run_id: str, calls: Sequence[CallView], room: int = MAX_FORMS) -> str:
    """Return the questions about those of some calls that wait for a person, with forms of `room` characters in all.

    A call whose form has no room can be approved and denied, but not edited.
    """
    drawn: list[str] = []
    for call in calls:
        if call.state in _UNDECIDED:
            # Each argument as its own text: a browser would round large numbers.
            arguments = {name: json.dumps(value, default=str) for name, value in (call.arguments or {}).items()}
            form = json.dumps({"arguments": arguments, "secrets": call.secrets, "schema": call.schema})
            size = len(markup_text(form))
            if size <= room:
                room -= size
                drawn.append(_draw_question(run_id, call, form))
            else:
                drawn.append(_draw_question(run_id, call, None))
    return "".join(drawn)


def _draw_question(run_id: str, call: CallView, form: str | None) -> str:
    """Return the question about a call, with the data of its form."""
    label = f"Question about {call.tool} {call.path}"
    question = element("pre", markup_text(call.question), tabindex=0, role="region", aria_label=label)
    notes: list[str] = []
    if call.asked is not None:
        notes.append(f"Asked {moment_text(call.asked)}")
    if call.progress is not None:
        notes.append(f"Its last report: {progress_text(call.progress)}, {moment_text(call.progress.time)}")
    question += "".join(element("p", markup_text(text), class_="note") for text in notes)
    data = {"data_form": form, "data_state": call.state, "data_digest": call.digest}
    return element("article", question, class_="question", data_run=run_id, data_path=call.path, **data)
