"""The attempts of a program as differences: what each correction changed, and the error before it."""

from __future__ import annotations

from difflib import unified_diff
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ez_ptc.view.markup import element, markup_text

if TYPE_CHECKING:
    from ez_ptc.view.runs import RunView

__all__ = ["draw_attempts"]

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
